package check

import (
	"crypto/x509"
	"fmt"
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func chainCases() []verdictCase {
	begin, end := inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(1000)
	root, otherRoot := pkitest.NewCA("root", begin, end), pkitest.NewCA("other root", begin, end)
	policy := root.CA("policy CA", begin, end)
	now, before := policy.CA("issuing CA 2", begin, end, pkitest.KeyName("issuing CA 2")), policy.CA("issuing CA 1", begin, end)
	impostor := otherRoot.CA("issuing CA 2", begin, end, pkitest.KeyName("impostor"))
	leaf := now.Issue("shop.example.com", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(80), pkitest.DNS("shop.example.com"))
	expired := now.Issue("old.example.com", begin, inspecttest.DaysFromNoon(-1), pkitest.DNS("old.example.com"))
	client := now.Issue("client", begin, end, pkitest.Usages(x509.ExtKeyUsageClientAuth))
	weak := now.Issue("weak.example.com", begin, end, pkitest.DNS("weak.example.com"), pkitest.Template(func(c *x509.Certificate) { c.SignatureAlgorithm = x509.ECDSAWithSHA1 }))
	direct := root.Issue("direct.example.com", begin, end, pkitest.DNS("direct.example.com"))
	alone := pkitest.SelfSigned("alone.example.com", begin, end)
	// As service-ca serves for a while after it rotated: the new CA, and the same one signed by
	// the previous CA.
	bridge := otherRoot.CA("issuing CA 2", begin, end, pkitest.KeyName("issuing CA 2"))
	chain := func(blocks ...[]byte) *inspecttest.Fixture {
		return inspecttest.NewFixture("").Secret("shop", "tls", nil, pkitest.Pair{CertPEM: pkitest.Bundle(blocks...), KeyPEM: leaf.KeyPEM})
	}
	broken := func() *inspecttest.Fixture { return chain(leaf.CertPEM, before.CertPEM, policy.CertPEM) }
	weakly := func() *inspecttest.Fixture { return chain(weak.CertPEM, before.CertPEM) }
	return []verdictCase{
		{"serving-chain", "a chain up to the root", chain(leaf.CertPEM, now.CertPEM, policy.CertPEM, root.CertPEM), "", "", 0},
		{"serving-chain", "a chain without its root", chain(leaf.CertPEM, now.CertPEM, policy.CertPEM), "", "", 0},
		{"serving-chain", "no chain", chain(leaf.CertPEM), "", "", 0},
		{"serving-chain", "a CA under two issuers", chain(leaf.CertPEM, bridge.CertPEM, now.CertPEM, policy.CertPEM), "", "", 0},
		{"serving-chain", "what is too much after a root", chain(leaf.CertPEM, now.CertPEM, policy.CertPEM, root.CertPEM, before.CertPEM), "", "", 0},
		{"serving-chain", "a CA's own", chain(now.CertPEM, otherRoot.CertPEM), "", "", 0},
		{"serving-chain", "a self-signed certificate beside another one", chain(alone.CertPEM, before.CertPEM), "", "", 0},
		{"serving-chain", "a client's", chain(client.CertPEM, before.CertPEM), "", "", 0},
		{"serving-chain", "one that expired", chain(expired.CertPEM, before.CertPEM), "", "", 0},
		{"serving-chain", "a Route's own", inspecttest.NewFixture("4.15.1").Object(inspect.Object{Kind: inspect.KindRoute, Namespace: "shop", Name: "shop"},
			map[string][]byte{inspect.RouteCertificate: pkitest.Bundle(leaf.CertPEM, before.CertPEM)}), "", "", 0},
		{"serving-chain", "two certificates of servers, of which a root that was read issued the first", chain(direct.CertPEM, leaf.CertPEM).ConfigMap("shop", "ca", "ca.crt", root.CertPEM), "", "", 0},
		{"serving-chain", "an intermediate that is in a CA bundle beside it", broken().ConfigMap("shop", "ca", "ca.crt", now.CertPEM), "", "", 0},
		{"serving-chain", "an intermediate that is in another tenant's CA bundle", broken().ConfigMap("tenant", "ca", "ca.crt", now.CertPEM), "warning", "lacks “issuing CA 2”", 1},
		{"serving-chain", "the chain of the previous intermediate, in two Secrets", broken().Secret("shop", "copy", nil, pkitest.Pair{CertPEM: pkitest.Bundle(leaf.CertPEM, before.CertPEM, policy.CertPEM), KeyPEM: leaf.KeyPEM}),
			"warning", "lacks “issuing CA 2”, which issued it, and holds “issuing CA 1”", 2},
		{"serving-chain", "a CA of the same name with another key", chain(leaf.CertPEM, impostor.CertPEM), "warning", "lacks “issuing CA 2”", 1},
		{"serving-chain", "an intermediate that is left out in the middle", chain(leaf.CertPEM, now.CertPEM, root.CertPEM), "warning", "lacks “policy CA”, which issued “issuing CA 2”", 1},
		{"serving-chain", "a signature that is verified no more, and a CA of the issuer's name", weakly().ConfigMap("shop", "ca", "ca.crt", now.CertPEM), "warning", "whether its chain is complete is unknown", 1},
		{"serving-chain", "a signature that is verified no more, and no CA of the issuer's name", weakly(), "warning", "lacks “issuing CA 2”", 1},
		{"serving-chain", "a signature that is verified no more, with all CAs that it names", chain(weak.CertPEM, now.CertPEM, policy.CertPEM, root.CertPEM), "", "", 0},
		{"serving-chain", "a certificate after its CA", chain(now.CertPEM, policy.CertPEM, leaf.CertPEM), "warning", "comes after “issuing CA 2”", 1},
		{"serving-chain", "a root before the intermediate", chain(leaf.CertPEM, root.CertPEM, policy.CertPEM, now.CertPEM), "info", "did not issue it", 1},
	}
}

func TestAChainThatCostsTooMuchIsUnknown(t *testing.T) {
	t.Parallel()
	begin, end := inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(80)
	leaf := pkitest.NewCA("issuing CA", begin, end).Issue("shop.example.com", begin, end)
	blocks := [][]byte{leaf.CertPEM}
	for n := range inspect.MaxSameName + 1 {
		blocks = append(blocks, pkitest.NewCA("issuing CA", begin, end, pkitest.KeyName(fmt.Sprintf("issuing CA %d", n))).CertPEM)
	}
	got := findings(inspecttest.NewFixture("").Secret("shop", "tls", nil, pkitest.Pair{CertPEM: pkitest.Bundle(blocks...), KeyPEM: leaf.KeyPEM}), t, "serving-chain")
	if len(got) != 1 || got[0].Reason != "shop/tls: whether its chain is complete is unknown" ||
		got[0].Evidence != `the chain of "shop.example.com" (`+got[0].Certs[0].Short()+`) has many CAs of one name or large keys, and verifying them costs too much` {
		t.Errorf("got %+v, want that it is unknown", got)
	}
}

// TestTenantsChainsAreJudgedLast: what their keys cost leaves the platform's readable.
func TestTenantsChainsAreJudgedLast(t *testing.T) {
	t.Parallel()
	begin, end := inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(80)
	ca := pkitest.NewCA("CA", begin, end)
	leaf := ca.Issue("*.apps.example.com", begin, end)
	chain := pkitest.Pair{CertPEM: pkitest.Bundle(leaf.CertPEM, ca.CertPEM), KeyPEM: leaf.KeyPEM}
	given := inspecttest.NewFixture("4.15.1").Secret("a", "tls", nil, chain).Secret("openshift-ingress", "tls", nil, chain).Secret("shop", "tls", nil, chain)
	given.Snapshot.Sort()
	var order []string
	for _, h := range chainsPresented(inspect.NewFacts(given.Snapshot, inspecttest.Noon, 30*inspecttest.Day)) {
		order = append(order, h.At.Namespace)
	}
	if !slices.Equal(order, []string{"openshift-ingress", "a", "shop"}) {
		t.Errorf("%q", order)
	}
}

// TestAChainOnAWorkerIsJudgedByItsOwnCAs: root on another worker writes the same chain, and beside it
// the CA that it lacks.
func TestAChainOnAWorkerIsJudgedByItsOwnCAs(t *testing.T) {
	t.Parallel()
	begin, end := inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(80)
	ca := pkitest.NewCA("issuing CA", begin, end)
	other := pkitest.NewCA("other", begin, end).CA("stray", begin, end)
	sc := pki.NewScanner()
	chain := sc.Scan(pkitest.Bundle(ca.Issue("system:node:worker-1", begin, end, pkitest.DNS("worker-1")).CertPEM, other.CertPEM))[0].Content
	file := func(node, path string, c *pki.Content) inspect.Bundle {
		return inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node, Path: path}, Content: c}
	}
	const serving = "/var/lib/kubelet/pki/kubelet-server-current.pem"
	given := inspecttest.NewFixture("4.15.1")
	given.Snapshot.Nodes = []inspect.Node{{Name: "worker-0", Role: "worker", Via: "ssh"}, {Name: "worker-1", Role: "worker", Via: "ssh"}}
	given.Snapshot.Bundles = []inspect.Bundle{
		file("worker-0", serving, chain), file("worker-0", "/etc/kubernetes/kubelet-ca.crt", sc.Scan(ca.CertPEM)[0].Content), file("worker-1", serving, chain),
	}
	got := findings(given, t, "serving-chain")
	if len(got) != 1 || len(got[0].At) != 1 || got[0].At[0].Node != "worker-1" {
		t.Errorf("%+v", got)
	}
}

// TestAChainThatItsCAsDoNotAllow: the root beside it is right, and no client verifies it by that.
func TestAChainThatItsCAsDoNotAllow(t *testing.T) {
	t.Parallel()
	begin, end := inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(1000)
	root := pkitest.NewCA("root", begin, end)
	for name, c := range map[string]struct {
		limit func(*x509.Certificate)
		want  bool
	}{
		"it has no limits":     {func(*x509.Certificate) {}, false},
		"no CA below it":       {func(c *x509.Certificate) { c.MaxPathLenZero = true }, true},
		"of other names":       {func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"example.org"} }, true},
		"of clients":           {func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, true},
		"it may sign requests": {func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign }, true},
		"of clients and others": {func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
		}, false},
	} {
		upper := root.CA("upper", begin, end, pkitest.Template(c.limit))
		lower := upper.CA("lower", begin, end)
		leaf := lower.Issue("a.example.com", begin, end, pkitest.DNS("a.example.com"), pkitest.Usages(x509.ExtKeyUsageServerAuth))
		f := inspecttest.NewFixture("").Object(inspect.Object{Kind: "Secret", Namespace: "shop", Name: "x", Type: "kubernetes.io/tls"},
			map[string][]byte{"ca.crt": root.CertPEM, "tls.crt": pkitest.Bundle(leaf.CertPEM, lower.CertPEM, upper.CertPEM)})
		if found := secretCA(inspect.NewFacts(f.Snapshot, inspecttest.Noon, inspecttest.Day)); (len(found) > 0) != c.want {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
