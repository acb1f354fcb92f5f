//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

func TestKubeconfigWorksFromTheHost(t *testing.T) {
	lab := labtest.Require(t)
	if got := lab.KubectlOutput(t, "get", "--raw", "/readyz"); got != "ok" {
		t.Errorf("/readyz says %q, want ok", got)
	}
	if got := lab.KubectlOutput(t, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"); got != "system:admin" {
		t.Errorf("the kubeconfig logs in as %q, want system:admin", got)
	}
	if got := lab.KubectlOutput(t, "config", "view", "-o", "jsonpath={.clusters[*].cluster.insecure-skip-tls-verify}"); got != "" {
		t.Errorf("the kubeconfig skips the verification of the server: %q", got)
	}
}

func TestRunIsInsideTheLabWithTheUsersFiles(t *testing.T) {
	lab := labtest.Require(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(lab.Run(t, "pwd")); got != here {
		t.Errorf("the current folder inside is %s, want %s", got, here)
	}
	if got := lab.Run(t, "kubectl", "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"); got != "https://api.lab.test:6443" {
		t.Errorf("the kubeconfig inside is for %s", got)
	}
	if got := lab.Run(t, "oc", "get", "--raw", "/readyz"); got != "ok" {
		t.Errorf("/readyz inside says %q, want ok", got)
	}
	if err := lab.Command(t.Context(), "sh", "-c", "exit 7").Run(); err == nil || !strings.Contains(err.Error(), "7") {
		t.Errorf("a command that exits with 7 gives %v", err)
	}
}

// Every name of the API server has a certificate of its own, signed by a CA of
// its own, and it is the one that the cluster's Secret holds.
func TestEachServerNameHasItsOwnCertificate(t *testing.T) {
	lab := labtest.Require(t)
	server, err := url.Parse(lab.KubectlOutput(t, "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"))
	if err != nil {
		t.Fatal(err)
	}
	const op = "openshift-kube-apiserver-operator"
	for _, c := range []struct{ name, secret, ca string }{
		{"api-int.lab.test", "internal-loadbalancer-serving-certkey", "loadbalancer-serving-ca"},
		{"api.lab.test", "external-loadbalancer-serving-certkey", "loadbalancer-serving-ca"},
		{"localhost", "localhost-serving-cert-certkey", "localhost-serving-ca"},
		{"localhost-recovery", "localhost-recovery-serving-certkey", "localhost-recovery-serving-ca"},
		{"kubernetes.default.svc", "service-network-serving-certkey", "service-network-serving-ca"},
		{"127.0.0.1", "localhost-serving-cert-certkey", "localhost-serving-ca"},
	} {
		t.Run(c.name, func(t *testing.T) {
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM([]byte(lab.KubectlOutput(t, "-n", op, "get", "configmap", c.ca, "-o", `jsonpath={.data.ca-bundle\.crt}`)))
			conn, err := tls.Dial("tcp", server.Host, &tls.Config{ServerName: c.name, RootCAs: roots})
			if err != nil {
				t.Fatalf("shake hands as %s, trusting %s alone: %v", c.name, c.ca, err)
			}
			defer conn.Close()
			want := secretCert(t, lab, "openshift-kube-apiserver", c.secret)
			if got := conn.ConnectionState().PeerCertificates[0]; !got.Equal(want) {
				t.Errorf("served: serial %s of %s, want the one in Secret %s: serial %s of %s", got.SerialNumber, got.Issuer, c.secret, want.SerialNumber, want.Issuer)
			}
		})
	}
}

// The chain that api-int's clients depend on, from signer to what MCO delivers.
func TestServingSignersReachEveryBundle(t *testing.T) {
	lab := labtest.Require(t)
	const op = "openshift-kube-apiserver-operator"
	for _, signer := range []string{"loadbalancer", "localhost", "service-network", "localhost-recovery"} {
		want := strings.TrimSpace(secretText(t, lab, op, signer+"-serving-signer"))
		for _, bundle := range [][2]string{
			{op, signer + "-serving-ca"},
			{"openshift-kube-apiserver", "kube-apiserver-server-ca"},
			{"openshift-config-managed", "kube-apiserver-server-ca"},
			{"openshift-kube-controller-manager", "serviceaccount-ca"},
			{"openshift-multus", "kube-root-ca.crt"},
		} {
			key := `jsonpath={.data.ca-bundle\.crt}`
			if bundle[1] == "kube-root-ca.crt" {
				key = `jsonpath={.data.ca\.crt}`
			}
			if got := lab.KubectlOutput(t, "-n", bundle[0], "get", "configmap", bundle[1], "-o", key); !strings.Contains(got, want) {
				t.Errorf("ConfigMap %s/%s lacks the %s signer", bundle[0], bundle[1], signer)
			}
		}
	}
}

func TestAnnotationsSayWhatTheCertificateSays(t *testing.T) {
	lab := labtest.Require(t)
	const ns, name = "openshift-kube-apiserver", "internal-loadbalancer-serving-certkey"
	cert := secretCert(t, lab, ns, name)
	for key, want := range map[string]string{
		"certificate-not-after":  cert.NotAfter.UTC().Format(time.RFC3339),
		"certificate-not-before": cert.NotBefore.UTC().Format(time.RFC3339),
		"certificate-issuer":     cert.Issuer.CommonName,
		"certificate-hostnames":  "api-int.lab.test",
	} {
		if got := lab.KubectlOutput(t, "-n", ns, "get", "secret", name, "-o", `jsonpath={.metadata.annotations.auth\.openshift\.io/`+key+`}`); got != want {
			t.Errorf("annotation %s is %q, want %q", key, got, want)
		}
	}
}

func TestCRDsAreEstablishedAndValidate(t *testing.T) {
	lab := labtest.Require(t)
	lab.KubectlOutput(t, "wait", "--for=condition=Established", "--timeout=10s", "crd",
		"clusterversions.config.openshift.io", "clusteroperators.config.openshift.io", "infrastructures.config.openshift.io",
		"apiservers.config.openshift.io", "proxies.config.openshift.io", "images.config.openshift.io",
		"controllerconfigs.machineconfiguration.openshift.io", "machineconfigs.machineconfiguration.openshift.io", "machineconfigpools.machineconfiguration.openshift.io",
		"ingresscontrollers.operator.openshift.io", "servicecas.operator.openshift.io", "kubeapiservers.operator.openshift.io", "routes.route.openshift.io")

	out, err := lab.OnHost(t.Context(), "kubectl", "patch", "--dry-run=server", "--type=merge", "infrastructure", "cluster", "--patch", `{"spec":{"platformSpec":{"type":"Mainframe"}}}`).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Unsupported value") {
		t.Errorf("a platform that doesn't exist is not refused: %v\n%s", err, out)
	}
}

func TestClaimsAVersion(t *testing.T) {
	lab := labtest.Require(t)
	version := lab.KubectlOutput(t, "get", "clusterversion", "version", "-o", "jsonpath={.status.history[0].version}")
	if version == "" {
		t.Fatal("ClusterVersion has no history")
	}
	if got := lab.KubectlOutput(t, "get", "clusteroperator", "kube-apiserver", "-o", `jsonpath={.status.versions[?(@.name=="operator")].version}`); got != version {
		t.Errorf("ClusterOperator kube-apiserver is at %q, ClusterVersion at %q", got, version)
	}
}

func TestPluginsAreFound(t *testing.T) {
	lab := labtest.Require(t)
	dir := t.TempDir()
	script := func(name string) {
		text := "#!/bin/sh\necho " + name + " \"$@\"\n"
		if strings.Contains(name, "complete") {
			text += "echo :4\n" // no file names
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("kubectl-labprobe")
	script("kubectl_complete-labprobe")
	for _, c := range []struct {
		name string
		argv []string
		want string
	}{
		{"kubectl runs it", []string{"kubectl", "labprobe", "a", "--b"}, "kubectl-labprobe a --b"},
		{"kubectl completes it", []string{"kubectl", "__complete", "labprobe", "a", ""}, "kubectl_complete-labprobe a"},
		{"oc runs kubectl's", []string{"oc", "labprobe", "a"}, "kubectl-labprobe a"},
		{"oc prefers its own", []string{"oc", "labprobe", "a"}, "oc-labprobe a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "oc prefers its own" {
				script("oc-labprobe")
			}
			cmd := lab.OnHost(t.Context(), c.argv...)
			cmd.Env = append(cmd.Env, "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.Output()
			if first, _, _ := strings.Cut(string(out), "\n"); err != nil || first != c.want {
				t.Errorf("%q prints %q (%v), want %q", c.argv, first, err, c.want)
			}
		})
	}
}

func TestAuditLogHasEveryRequest(t *testing.T) {
	lab := labtest.Require(t)
	const path = "/api/v1/namespaces/openshift-config/configmaps/asked-for-by-the-audit-test"
	// The answer is "not found": the request is what counts.
	_ = lab.OnHost(t.Context(), "kubectl", "get", "--raw", path).Run()
	eventually(t, "the request is in the audit log", func() bool {
		log, err := os.ReadFile(filepath.Join(lab.Dir, "log", "audit.log"))
		return err == nil && strings.Contains(string(log), path)
	})
}

func secretText(t *testing.T, lab *labtest.Lab, namespace, name string) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(lab.KubectlOutput(t, "-n", namespace, "get", "secret", name, "-o", `jsonpath={.data.tls\.crt}`))
	if err != nil {
		t.Fatalf("read Secret %s/%s: %v", namespace, name, err)
	}
	return string(text)
}

func secretCert(t *testing.T, lab *labtest.Lab, namespace, name string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(secretText(t, lab, namespace, name)))
	if block == nil {
		t.Fatalf("read Secret %s/%s: no certificate in it", namespace, name)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatalf("read Secret %s/%s: %v", namespace, name, err)
	}
	return cert
}

// eventually fails the test if what is claimed doesn't become true in a minute: on a busy
// machine a node that booted takes half of it until its heartbeat.
func eventually(t *testing.T, claim string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not so after a minute: %s", claim)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
