package trust_test

import (
	"context"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestATenantsCopyIsNoOrigin: what the API server presents is public. A Route that holds it says
// nothing about who signs it next.
func TestATenantsCopyIsNoOrigin(t *testing.T) {
	t.Parallel()
	const file = "/home/me/.kube/config"
	route := pki.Location{Kind: "Route", Namespace: "a-team", Name: "r", Field: "spec.tls.certificate"}
	secret := pki.Location{Kind: "Secret", Namespace: "a-team", Name: "mine", Key: "tls.crt"}
	for name, c := range map[string]struct {
		at          *pki.Location
		annotations map[string]string
	}{
		"none":                 {},
		"in a Route":           {&route, nil},
		"in a service's":       {&secret, map[string]string{catalog.AnnotationServiceName: "x"}},
		"as if cert-manager's": {&secret, map[string]string{catalog.AnnotationCertManager: "x"}},
	} {
		s := newStarting()
		user, ca := pki.Location{Kind: pki.KindFile, Path: file, Field: "user"}, pki.Location{Kind: pki.KindFile, Path: file, Field: "ca"}
		leaf := s.old.Issue("api.example.com", from(-2), from(28), pkitest.DNS("api.example.com"))
		s.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver", Name: "external-loadbalancer-serving-certkey", Key: "tls.crt"}, leaf.CertPEM)
		s.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver-operator", Name: "loadbalancer-serving-signer", Key: "tls.crt"}, s.fresh.CertPEM)
		if c.at != nil {
			s.s.Bundles = append(s.s.Bundles, inspect.Bundle{At: *c.at, Object: &inspect.Object{Kind: c.at.Kind, Namespace: c.at.Namespace, Name: c.at.Name, Annotations: c.annotations}, Content: s.sc.Scan(leaf.CertPEM)[0].Content})
		}
		s.s.Bundles = append(s.s.Bundles,
			inspect.Bundle{At: user, Content: s.sc.Scan(s.clients.Issue("system:admin", from(-1), from(3000)).CertPEM)[0].Content},
			inspect.Bundle{At: ca, Content: s.sc.Scan(s.old.CertPEM)[0].Content})
		s.s.Served = append(s.s.Served, inspect.Served{Address: "api.example.com:6443", Name: "api.example.com", Server: catalog.ListenerUserKubeconfig, Chain: s.sc.Scan(leaf.CertPEM)[0].Content.Certs})
		s.s.Access = &inspect.Access{Presents: inspect.CredentialCertificate, CA: inspect.CAEmbedded, Certificate: user, Trust: ca, Server: "api.example.com:6443", Name: "api.example.com"}
		s.s.Sort()
		if got := report.NewRestartReport(context.Background(), inspect.NewFacts(s.s, noon, 25*day)).Access; got.Status != assess.Warn {
			t.Errorf("a copy %s: %s: %s", name, got.Status, got.Reason)
		}
	}
}
