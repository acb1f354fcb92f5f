package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// Each certificate that expires within the time that was asked for is one finding,
// whatever share of its life is left.
func TestWhatExpiresWithinTheAskedTimeIsAFinding(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("test CA", from(-3000), from(3000))
	leaf := func(begin, end int) pkitest.Pair {
		return ca.Issue("shop.example.com", from(begin), from(end), pkitest.DNS("shop.example.com"))
	}
	ending, next := pkitest.NewCA("ending CA", from(-10), from(20)), pkitest.NewCA("next CA", from(-10), from(3000))
	below := ending.CA("intermediate CA", from(-5), from(25))
	api := leaf(-10, 20)
	serving := map[string]string{catalog.AnnotationServiceName: "svc"}
	for _, c := range []struct {
		name     string
		given    *fixture
		severity string // empty: no finding
		says     string
	}{
		{"a month's certificate with 15 days left, not renewed", newFixture("").secret("shop", "tls", nil, leaf(-15, 15)), "warning", "in 15d (2024-06-16"},
		{"25 hours of a two days' certificate", newFixture("").secret("shop", "tls", nil, leaf(-1, 1)), "warning", "in 24h"},
		{"3 days of a year's certificate", newFixture("").secret("shop", "tls", nil, leaf(-362, 3)), "critical", "nothing is known to renew it"},
		{"40 days left", newFixture("").secret("shop", "tls", nil, leaf(-10, 40)), "", ""},
		{"renewed automatically, not due yet", newFixture("4.15.1").secret(targetNS, "localhost-serving-cert-certkey", rotation(api), api), "info", "renews it automatically in 5d"},
		{"renewed automatically, due within its grace", newFixture("4.15.1").secret(targetNS, "localhost-serving-cert-certkey", rotation(leaf(-16, 14)), leaf(-16, 14)), "info", "was due 24h ago"},
		{"renewed automatically, overdue: rotation-overdue says it", newFixture("4.15.1").secret(targetNS, "localhost-serving-cert-certkey", rotation(leaf(-17, 13)), leaf(-17, 13)), "", ""},
		{"renewed by service-ca", newFixture("4.15.1").secret("team", "served", serving, leaf(-700, 29)), "info", "renews it automatically"},
		{"renewed by a rule of a version that was not read", unreadVersion().secret("team", "served", serving, leaf(-10, 20)), "warning", "whether it is renewed automatically is unknown"},
		{"the last CA of its bundle", newFixture("").configMap("shop", "ca", "ca.crt", ending.CertPEM), "warning", "the last one of its bundle"},
		{"a CA whose bundle holds its successor", newFixture("").configMap("shop", "ca", "ca.crt", ending.CertPEM, next.CertPEM), "info", "its bundles hold another CA that is valid for longer"},
		{"an intermediate CA sent with a certificate", newFixture("").secret("shop", "tls", nil, chained(below.Issue("shop.example.com", from(-1), from(400)), below.CertPEM)), "warning", "sent as part of a chain"},
		{"an intermediate CA sent with what service-ca renews", newFixture("4.15.1").secret("team", "served", serving, chained(below.Issue("svc.team.svc", from(-1), from(400)), below.CertPEM)), "info", "sent as part of a chain, which is renewed automatically"},
		{"a certificate of a request", newFixture("").object(Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, map[string][]byte{"status.certificate": leaf(-1, 1).CertPEM}), "info", "kept for the record"},
		{"only older revisions hold it", newFixture("4.15.1").secret(targetNS, "etcd-client-3", nil, leaf(-300, 3)).secret(targetNS, "etcd-client-4", nil, leaf(-10, 300)), "info", "only older static pod revisions"},
		{"it has expired: certificate-expired says it", newFixture("").secret("shop", "tls", nil, leaf(-300, -3)), "", ""},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			c.given.snapshot.Sort()
			facts := NewFacts(c.given.snapshot, noon, 30*fixtureDay).Asked()
			found := slices.DeleteFunc(Judge(facts), func(f Finding) bool { return f.Check != "certificate-expiring" })
			switch {
			case c.severity == "" && len(found) == 0:
			case c.severity == "":
				t.Errorf("want nothing, got %v %s", found[0].Severity, found[0].Message)
			case len(found) != 1:
				t.Errorf("want one finding, got %d: %+v", len(found), found)
			case found[0].Severity.String() != c.severity || !strings.Contains(found[0].Message, c.says):
				t.Errorf("got %v %q, want %s and %q", found[0].Severity, found[0].Message, c.severity, c.says)
			case len(found[0].Certs) != 1:
				t.Errorf("it is about one certificate, got %v", found[0].Certs)
			}
		})
	}
}

// Without a version no rule says who renews: a certificate that is nearly over is
// no silence then.
func TestWhatExpiresWithAnUnknownRenewalIsSaid(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("test CA", from(-3000), from(3000))
	serving := map[string]string{catalog.AnnotationServiceName: "svc"}
	for left, want := range map[int]int{3: 1, 15: 0} {
		p := ca.Issue("svc.team.svc", from(left-60), from(left))
		found := unreadVersion().secret("team", "served", serving, p).findings(t, "certificate-expiring")
		if len(found) != want || want > 0 && (found[0].Severity != Warning || !strings.Contains(found[0].Message, "unknown")) {
			t.Errorf("%d days of 60 left: want %d warnings that say unknown, got %+v", left, want, found)
		}
	}
}

// unreadVersion is a cluster of OpenShift whose version was not read.
func unreadVersion() *fixture {
	f := newFixture("4.15.1")
	f.snapshot.Cluster.Versions = catalog.Versions{}
	return f
}

// chained is a pair that is sent with its issuer.
func chained(p pkitest.Pair, issuer []byte) pkitest.Pair {
	p.CertPEM = pkitest.Bundle(p.CertPEM, issuer)
	return p
}

// TestATenantsBundleSpeaksForItself: what is said of a CA that is the last one of a tenant's bundle
// is not said of the platform's chain that holds it.
func TestATenantsBundleSpeaksForItself(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("middle CA", from(-345), from(20))
	leaf := ca.Issue("apps", from(-10), from(700), pkitest.DNS("apps.example.com"))
	f := newFixture("4.15.1").secret("openshift-ingress", "wildcard", nil, pkitest.Pair{CertPEM: pkitest.Bundle(leaf.CertPEM, ca.CertPEM), KeyPEM: leaf.KeyPEM}).configMap("a-team", "ca", "ca.crt", ca.CertPEM)
	f.snapshot.Sort()
	var chain bool
	for _, found := range expiring(NewFacts(f.snapshot, noon, 30*fixtureDay).Asked()) {
		chain = chain || strings.Contains(found.Message, "sent as part of a chain") && slices.ContainsFunc(found.At, func(at pki.Location) bool { return at.Namespace == "openshift-ingress" })
	}
	if !chain {
		t.Error("nothing is said of the platform's chain")
	}
}
