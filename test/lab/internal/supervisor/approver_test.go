//go:build linux

package supervisor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
)

// What the approver accepts, whether or not the node exists.
func TestApproverJudgesByWhoAsksForWhat(t *testing.T) {
	nodes, err := node.Parse("worker-0 worker-1")
	if err != nil {
		t.Fatal(err)
	}
	a := &machineApprover{nodes: nodes}
	type ask struct {
		signer, user, usage, cn, group string
		names                          []string
		addresses                      []string
	}
	first := ask{clientSigner, bootstrapper, "client auth", nodeUser + "worker-0", nodesGroup, nil, nil}
	serving := ask{servingSigner, nodeUser + "worker-0", "server auth", nodeUser + "worker-0", nodesGroup, []string{"worker-0"}, []string{"10.99.0.11"}}
	but := func(a ask, change func(*ask)) ask { change(&a); return a }
	for _, c := range []struct {
		name string
		ask  ask
		want bool
	}{
		{"a node's first client certificate", first, true},
		{"a client certificate for a machine that is none of ours", but(first, func(a *ask) { a.cn = nodeUser + "worker-9" }), false},
		{"a client certificate in another group", but(first, func(a *ask) { a.group = "system:masters" }), false},
		{"a client certificate asked for by somebody else", but(first, func(a *ask) { a.user = "system:admin" }), false},
		{"a client certificate that serves names", but(first, func(a *ask) { a.names = []string{"worker-0"} }), false},
		{"a client certificate for another use", but(first, func(a *ask) { a.usage = "server auth" }), false},
		{"a node's serving certificate", serving, true},
		{"a serving certificate for another node", but(serving, func(a *ask) { a.cn = nodeUser + "worker-1" }), false},
		{"a serving certificate with another node's name", but(serving, func(a *ask) { a.names = []string{"worker-0", "worker-1"} }), false},
		{"a serving certificate with another node's address", but(serving, func(a *ask) { a.addresses = []string{"10.99.0.12"} }), false},
		{"a certificate of another signer", but(serving, func(a *ask) { a.signer = "kubernetes.io/kube-apiserver-client" }), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r signingRequest
			r.Spec.SignerName, r.Spec.Username, r.Spec.Usages = c.ask.signer, c.ask.user, []string{"digital signature", c.ask.usage}
			template := &x509.CertificateRequest{
				Subject:  pkix.Name{CommonName: c.ask.cn, Organization: []string{c.ask.group}},
				DNSNames: c.ask.names,
			}
			for _, ip := range c.ask.addresses {
				template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
			}
			n, err := a.judge(r, parsed(t, template))
			if accepted := err == nil; accepted != c.want {
				t.Errorf("accepted %v (%v), want %v", accepted, err, c.want)
			}
			if c.want && n.Name != "worker-0" {
				t.Errorf("taken for the request of %q", n.Name)
			}
		})
	}
}

func parsed(t *testing.T, template *x509.CertificateRequest) *x509.CertificateRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		t.Fatal(err)
	}
	return request
}
