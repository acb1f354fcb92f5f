//go:build linux

package main

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

const (
	kubeletClientSigner  = "kubernetes.io/kube-apiserver-client-kubelet"
	kubeletServingSigner = "kubernetes.io/kubelet-serving"
	bootstrapUser        = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
)

// Who approves what: the stand-in for the machine approver a node's first client
// certificate and its serving certificates, the controller manager renewals, an
// administrator the rest.
func TestKubeletsSigningRequests(t *testing.T) {
	lab := labtest.RequireNodes(t)
	name := worker(t, lab)
	user := "system:node:" + name
	subject := pkix.Name{CommonName: user, Organization: []string{"system:nodes"}}
	address := lab.KubectlOutput(t, "get", "node", name, "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`)
	for _, c := range []struct {
		name         string
		signer, as   string
		request      x509.CertificateRequest
		approvedWith string // empty: it is not approved
	}{
		{
			"a second first certificate for a node that exists", kubeletClientSigner, bootstrapUser,
			x509.CertificateRequest{Subject: subject}, "",
		},
		{
			"a renewal of a client certificate", kubeletClientSigner, user,
			x509.CertificateRequest{Subject: subject}, "Auto approving self kubelet client certificate",
		},
		{
			"a serving certificate", kubeletServingSigner, user,
			x509.CertificateRequest{Subject: subject, DNSNames: []string{name}, IPAddresses: []net.IP{net.ParseIP(address)}}, "stand-in for cluster-machine-approver",
		},
		{
			"a serving certificate for the API server's name", kubeletServingSigner, user,
			x509.CertificateRequest{Subject: subject, DNSNames: []string{name, "api-int.lab.test"}, IPAddresses: []net.IP{net.ParseIP(address)}}, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := "asked-for-in-a-test-" + strings.ToLower(strings.ReplaceAll(t.Name()[len(t.Name())-8:], "_", "-"))
			text := signingRequestOf(t, object, c.signer, &c.request)
			create := []string{"kubectl", "create", "-f", "-", "--as=" + c.as}
			if c.as == user {
				create = append(create, "--as-group=system:nodes", "--as-group=system:authenticated")
			}
			cmd := lab.OnHost(t.Context(), create...)
			cmd.Stdin = strings.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("create a signing request: %v\n%s", err, out)
			}
			defer lab.KubectlOutput(t, "delete", "csr", object)
			conditions := func() string {
				return lab.KubectlOutput(t, "get", "csr", object, "-o", "jsonpath={.status.conditions[*].message}")
			}
			if c.approvedWith == "" {
				time.Sleep(3 * time.Second) // the approver looks twice a second
				if got := conditions(); got != "" {
					t.Errorf("it is decided: %s", got)
				}
				return
			}
			eventually(t, "it is approved", func() bool { return conditions() != "" })
			if got := conditions(); !strings.Contains(got, c.approvedWith) {
				t.Errorf("it is approved with %q, want %q", got, c.approvedWith)
			}
		})
	}
}

// The bootstrap token is a service account's, and the cluster's own.
func TestBootstrapTokenIsTheServiceAccounts(t *testing.T) {
	lab := labtest.RequireNodes(t)
	kubeconfig := lab.SSH(t, lab.Nodes()[0], "sudo", "cat", "/etc/kubernetes/kubeconfig")
	_, token, _ := strings.Cut(kubeconfig, "token: ")
	// Not with the administrator's kubeconfig: its certificate would go first.
	got := lab.Run(t, "kubectl", "--kubeconfig=/dev/null", "--server=https://api-int.lab.test:6443",
		"--certificate-authority="+lab.Dir+"/pki/bundle-kube-apiserver-server-ca.crt",
		"--token="+strings.TrimSpace(token), "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	if got != bootstrapUser {
		t.Errorf("the token in the bootstrap kubeconfig is of %s", got)
	}
}
