package check

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// Each certificate that expires within the time that was asked for is one finding,
// whatever share of its life is left.
func TestWhatExpiresWithinTheAskedTimeIsAFinding(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	leaf := func(begin, end int) pkitest.Pair {
		return ca.Issue("shop.example.com", inspecttest.DaysFromNoon(begin), inspecttest.DaysFromNoon(end), pkitest.DNS("shop.example.com"))
	}
	ending, next := pkitest.NewCA("ending CA", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(20)), pkitest.NewCA("next CA", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(3000))
	below := ending.CA("intermediate CA", inspecttest.DaysFromNoon(-5), inspecttest.DaysFromNoon(25))
	api := leaf(-10, 20)
	serving := map[string]string{catalog.AnnotationServiceName: "svc"}
	for _, c := range []struct {
		name     string
		given    *inspecttest.Fixture
		severity string // empty: no finding
		says     string
	}{
		{"a month's certificate with 15 days left, not renewed", inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(-15, 15)), "warning", "in 15d (2024-06-16"},
		{"25 hours of a two days' certificate", inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(-1, 1)), "warning", "in 24h"},
		{"3 days of a year's certificate", inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(-362, 3)), "critical", "nothing is known to renew it"},
		{"40 days left", inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(-10, 40)), "", ""},
		{"renewed automatically, not due yet", inspecttest.NewFixture("4.15.1").Secret(inspecttest.TargetNS, "localhost-serving-cert-certkey", inspecttest.Rotation(api), api), "info", "renews it automatically in 5d"},
		{"renewed automatically, due within its grace", inspecttest.NewFixture("4.15.1").Secret(inspecttest.TargetNS, "localhost-serving-cert-certkey", inspecttest.Rotation(leaf(-16, 14)), leaf(-16, 14)), "info", "was due 24h ago"},
		{"renewed automatically, overdue: rotation-overdue says it", inspecttest.NewFixture("4.15.1").Secret(inspecttest.TargetNS, "localhost-serving-cert-certkey", inspecttest.Rotation(leaf(-17, 13)), leaf(-17, 13)), "", ""},
		{"renewed by service-ca", inspecttest.NewFixture("4.15.1").Secret("team", "served", serving, leaf(-700, 29)), "info", "renews it automatically"},
		{"renewed by a rule of a version that was not read", unreadVersion().Secret("team", "served", serving, leaf(-10, 20)), "warning", "whether it is renewed automatically is unknown"},
		{"the last CA of its bundle", inspecttest.NewFixture("").ConfigMap("shop", "ca", "ca.crt", ending.CertPEM), "warning", "the last one of its bundle"},
		{"a CA whose bundle holds its successor", inspecttest.NewFixture("").ConfigMap("shop", "ca", "ca.crt", ending.CertPEM, next.CertPEM), "info", "its bundles hold another CA that is valid for longer"},
		{"an intermediate CA sent with a certificate", inspecttest.NewFixture("").Secret("shop", "tls", nil, chained(below.Issue("shop.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(400)), below.CertPEM)), "warning", "sent as part of a chain"},
		{"an intermediate CA sent with what service-ca renews", inspecttest.NewFixture("4.15.1").Secret("team", "served", serving, chained(below.Issue("svc.team.svc", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(400)), below.CertPEM)), "info", "sent as part of a chain, which is renewed automatically"},
		{"a certificate of a request", inspecttest.NewFixture("").Object(inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, map[string][]byte{"status.certificate": leaf(-1, 1).CertPEM}), "info", "kept for the record"},
		{"only older revisions hold it", inspecttest.NewFixture("4.15.1").Secret(inspecttest.TargetNS, "etcd-client-3", nil, leaf(-300, 3)).Secret(inspecttest.TargetNS, "etcd-client-4", nil, leaf(-10, 300)), "info", "only older static pod revisions"},
		{"it has expired: certificate-expired says it", inspecttest.NewFixture("").Secret("shop", "tls", nil, leaf(-300, -3)), "", ""},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			c.given.Snapshot.Sort()
			facts := inspect.NewFacts(c.given.Snapshot, inspecttest.Noon, 30*inspecttest.Day).ForWindow()
			found := slices.DeleteFunc(Judge(context.Background(), facts), func(f assess.Finding) bool { return f.ID != "certificate-expiring" })
			switch {
			case c.severity == "" && len(found) == 0:
			case c.severity == "":
				t.Errorf("want nothing, got %v %s", found[0].Severity, found[0].Line())
			case len(found) != 1:
				t.Errorf("want one finding, got %d: %+v", len(found), found)
			case found[0].Severity.String() != c.severity || !strings.Contains(found[0].Line(), c.says):
				t.Errorf("got %v %q, want %s and %q", found[0].Severity, found[0].Line(), c.severity, c.says)
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
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	serving := map[string]string{catalog.AnnotationServiceName: "svc"}
	for left, want := range map[int]int{3: 1, 15: 0} {
		p := ca.Issue("svc.team.svc", inspecttest.DaysFromNoon(left-60), inspecttest.DaysFromNoon(left))
		found := findings(unreadVersion().Secret("team", "served", serving, p), t, "certificate-expiring")
		if len(found) != want || want > 0 && (found[0].Severity != assess.Warning || !strings.Contains(found[0].Line(), "unknown")) {
			t.Errorf("%d days of 60 left: want %d warnings that say unknown, got %+v", left, want, found)
		}
	}
}

// unreadVersion is a cluster of OpenShift whose version was not read.
func unreadVersion() *inspecttest.Fixture {
	f := inspecttest.NewFixture("4.15.1")
	f.Snapshot.Cluster.Versions = catalog.Versions{}
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
	ca := pkitest.NewCA("middle CA", inspecttest.DaysFromNoon(-345), inspecttest.DaysFromNoon(20))
	leaf := ca.Issue("apps", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(700), pkitest.DNS("apps.example.com"))
	f := inspecttest.NewFixture("4.15.1").Secret("openshift-ingress", "wildcard", nil, pkitest.Pair{CertPEM: pkitest.Bundle(leaf.CertPEM, ca.CertPEM), KeyPEM: leaf.KeyPEM}).ConfigMap("a-team", "ca", "ca.crt", ca.CertPEM)
	f.Snapshot.Sort()
	var chain bool
	for _, found := range expiring(inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day).ForWindow()) {
		chain = chain || strings.Contains(found.Line(), "sent as part of a chain") && slices.ContainsFunc(found.At, func(at pki.Location) bool { return at.Namespace == "openshift-ingress" })
	}
	if !chain {
		t.Error("nothing is said of the platform's chain")
	}
}

// copiedCases are the platform's certificate, and a copy where a kubelet's is renewed: root on a node
// writes there what it likes.
func copiedCases() []verdictCase {
	ca := pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	leaf := ca.Issue("api.example.com", inspecttest.DaysFromNoon(-345), inspecttest.DaysFromNoon(20), pkitest.DNS("api.example.com"))
	copied := func(role string) *inspecttest.Fixture {
		return inspecttest.NewFixture("4.15.1").Secret("openshift-config", "api-cert", nil, leaf).
			OnNode("/var/lib/kubelet/pki/kubelet-server-2024-06-01-00-00-00.pem", 0o600, leaf.CertPEM).With(func(n *inspect.Node) { n.Role = role })
	}
	return []verdictCase{
		{"certificate-expiring", "a copy on a worker", copied("worker"), "warning", "nothing is known to renew it", 2},
		{"certificate-expiring", "a copy on a node whose role is unknown", copied(""), "warning", "nothing is known to renew it", 2},
		{"certificate-expiring", "a copy on a control plane node", copied(catalog.RoleMaster), "", "", 0},
	}
}

// TestWhatAServerPresentsIsNotThePlatforms: who answers at an address presents a twin of a CA of the
// platform's that expires later, or the CA itself, and hides nothing by that.
func TestWhatAServerPresentsIsNotThePlatforms(t *testing.T) {
	t.Parallel()
	begin, soon, late := inspecttest.DaysFromNoon(-400), inspecttest.DaysFromNoon(20), inspecttest.DaysFromNoon(2000)
	ca, twin := pkitest.NewCA("lb", begin, soon, pkitest.KeyName("lb")), pkitest.NewCA("lb", begin, late, pkitest.KeyName("lb"))
	leaf := ca.Issue("svc", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(300), pkitest.DNS("svc"))
	for name, presented := range map[string][]byte{"a later twin": pkitest.Bundle(leaf.CertPEM, twin.CertPEM), "the CA": ca.CertPEM} {
		given := inspecttest.NewFixture("4.15.1").ConfigMap("openshift-x", "ca", "ca-bundle.crt", ca.CertPEM).Secret("openshift-x", "s", nil, leaf)
		given.Snapshot.AddHandshakes([]inspect.Handshake{{Address: inspect.Address{HostPort: "app.team.example:443", Name: "app.team.example"}, Chain: pki.NewScanner().Scan(presented)[0].Content.Certs}})
		facts := inspect.NewFacts(given.Snapshot, inspecttest.Noon, 30*inspecttest.Day)
		if got := outlivesIssuer(facts); len(got) != 1 || !strings.HasSuffix(got[0].Reason, " outlives CA lb, which expires in 20d") {
			t.Errorf("%s: %+v", name, got)
		}
		if got := expiring(facts); !slices.ContainsFunc(got, func(x assess.Finding) bool { return x.Reason == "openshift-x/ca: its last CA expires in 20d" }) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
