package trust

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestATenantsTwinIsNotTheIssuer: any tenant may make a CA of another one's name and key, which
// verifies the same, and is of another age.
func TestATenantsTwinIsNotTheIssuer(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := func(raw []byte) *pki.Cert { return pki.NewScanner().Scan(raw)[0].Content.Certs[0] }
	ca := pkitest.NewCA("lb", from, from.AddDate(1, 0, 0))
	leaf, real := one(ca.Issue("api-int", from, from.AddDate(1, 0, 0)).CertPEM), one(ca.CertPEM)
	older, younger := *real, *real
	older.NotBefore, younger.NotBefore = from.AddDate(-1, 0, 0), from.AddDate(0, 1, 0)
	in := func(namespace string) func(*pki.Cert) inspect.StoredCert {
		return func(c *pki.Cert) inspect.StoredCert {
			at := pki.Location{Kind: "Route", Namespace: namespace, Name: "r", Field: "spec.tls.caCertificate"}
			return inspect.StoredCert{Cert: c, Entries: []*inspect.Entry{{Bundle: &inspect.Bundle{At: at}, Row: &catalog.Place{}}}}
		}
	}
	known, tenant := in("openshift-kube-apiserver"), in("shop")
	for name, c := range map[string]struct {
		certs []inspect.StoredCert
		want  *pki.Cert
	}{
		"it alone":                      {[]inspect.StoredCert{known(real)}, real},
		"beside a tenant's older one":   {[]inspect.StoredCert{tenant(&older), known(real)}, real},
		"beside a tenant's younger one": {[]inspect.StoredCert{tenant(&younger), known(real)}, real},
		"two that are the platform's":   {[]inspect.StoredCert{known(real), known(&older)}, &older},
		"tenants' alone":                {[]inspect.StoredCert{tenant(real), tenant(&older)}, &older},
		"none":                          {nil, nil},
	} {
		j := newJudge(&inspect.Facts{Certs: c.certs})
		for range 2 { // it is remembered
			if got := j.issuer(&Claim{Chain: []*pki.Cert{leaf}}); got != c.want {
				t.Errorf("%s: %v", name, got)
			}
		}
	}

	// Of tenants' CAs of that name, no more are tried.
	many := make([]inspect.StoredCert, 0, mostIssuers+1)
	for range mostIssuers {
		other := *one(pkitest.NewCA("lb", from, from.AddDate(1, 0, 0), pkitest.KeyName("other")).CertPEM)
		many = append(many, tenant(&other))
	}
	if got := newJudge(&inspect.Facts{Certs: append(many, tenant(real))}).issuer(&Claim{Chain: []*pki.Cert{leaf}}); got != nil {
		t.Errorf("more than %d are tried", mostIssuers)
	}
}

// TestAWorkersTwinIsNotTheIssuer: root on a node writes any file, also a CA of another one's name and
// key. What is stored elsewhere counts before it, and it before tenants' CAs.
func TestAWorkersTwinIsNotTheIssuer(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("lb", from, from.AddDate(1, 0, 0), pkitest.KeyName("lb"))
	leaf := pki.NewScanner().Scan(ca.Issue("api-int", from, from.AddDate(1, 0, 0)).CertPEM)[0].Content.Certs[0]
	twin := func(months int) *pki.Content { // with a date of its own, and so a fingerprint
		return pki.NewScanner().Scan(pkitest.NewCA("lb", from.AddDate(0, -months, 0), from.AddDate(1, 0, 0), pkitest.KeyName("lb")).CertPEM)[0].Content
	}
	file := func(node string, months int) inspect.Bundle {
		return inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node, Path: "/etc/kubernetes/x-ca.crt"}, Content: twin(months)}
	}
	object := func(namespace string, months int) inspect.Bundle {
		at := pki.Location{Kind: catalog.ConfigMap, Namespace: namespace, Name: "ca", Key: "ca.crt"}
		return inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: namespace, Name: at.Name}, Content: twin(months)}
	}
	for name, c := range map[string]struct {
		read []inspect.Bundle
		want int // months before the leaf
		node string
	}{
		"beside the platform's":             {[]inspect.Bundle{file("worker-0", 2), object("openshift-config", 1)}, 1, ""},
		"beside a control plane node's":     {[]inspect.Bundle{file("worker-0", 2), file("master-0", 1)}, 1, ""},
		"beside a tenant's":                 {[]inspect.Bundle{file("worker-0", 1), object("team", 2)}, 1, ""},
		"alone":                             {[]inspect.Bundle{file("worker-0", 2)}, 2, ""},
		"a control plane node's, and older": {[]inspect.Bundle{file("master-0", 2), object("openshift-config", 1)}, 2, ""},
		"on the claim's own node":           {[]inspect.Bundle{file("worker-0", 3), file("worker-1", 2)}, 2, "worker-1"},
		"on its node, and older":            {[]inspect.Bundle{file("worker-0", 1), file("worker-1", 2)}, 2, "worker-1"},
		"on two other nodes, the younger":   {[]inspect.Bundle{file("worker-0", 3), file("worker-1", 2)}, 2, "worker-2"},
	} {
		s := inspect.Snapshot{Bundles: c.read, Nodes: []inspect.Node{{Name: "master-0", Role: catalog.RoleMaster}, {Name: "worker-0", Role: "worker"}}}
		s.Sort()
		j := newJudge(inspect.NewFacts(s, from, 0))
		j.issuer(&Claim{Node: "worker-0", Chain: []*pki.Cert{leaf}}) // of another node's claim nothing is remembered
		got := j.issuer(&Claim{Node: c.node, Chain: []*pki.Cert{leaf}})
		if got == nil || !got.NotBefore.Equal(from.AddDate(0, -c.want, 0)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestTryingIssuersCostsWhatIsBounded: a tenant makes any number of certificates, and for each of them
// CAs of its issuer's name with the largest keys.
func TestTryingIssuersCostsWhatIsBounded(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := func(raw []byte) *pki.Cert { return pki.NewScanner().Scan(raw)[0].Content.Certs[0] }
	ca := pkitest.NewCA("lb", from, from.AddDate(1, 0, 0))
	leaf, real := one(ca.Issue("api-int", from, from.AddDate(1, 0, 0)).CertPEM), one(ca.CertPEM)
	in := func(namespace string, c *pki.Cert) inspect.StoredCert {
		at := pki.Location{Kind: "Secret", Namespace: namespace, Name: "s", Key: "tls.crt"}
		return inspect.StoredCert{Cert: c, Entries: []*inspect.Entry{{Bundle: &inspect.Bundle{At: at}}}}
	}
	decoy := *one(pkitest.NewCA("lb", from, from.AddDate(1, 0, 0), pkitest.KeyName("other")).CertPEM)
	decoy.PublicKey = "RSA 16384" // a key that is only said to be large costs nothing here
	var decoys []inspect.StoredCert
	for i := range mostIssuers - 1 {
		d := decoy
		d.Fingerprint = pki.FingerprintOf([]byte{byte(i)})
		decoys = append(decoys, in("team", &d))
	}
	each := (mostIssuers-1)*pki.Cost([]*pki.Cert{leaf}, []*pki.Cert{&decoy}) + pki.Cost([]*pki.Cert{leaf}, []*pki.Cert{real})
	claim := func(namespace string) *Claim {
		top := *leaf
		c := &Claim{Chain: []*pki.Cert{&top}, Presented: pki.Location{Kind: "Secret", Namespace: namespace, Name: "s", Key: "tls.crt"}}
		return c
	}
	found := func(j *judge, namespace string) (n int) {
		for range 200 {
			if j.issuer(claim(namespace)) == real {
				n++
			}
		}
		return n
	}

	j := newJudge(&inspect.Facts{Certs: append(slices.Clone(decoys), in("team", real))})
	for _, namespace := range []string{"team", "openshift-ingress"} {
		most := j.decoys / each
		if namespace == "team" {
			most = j.costs / each
		}
		if got := found(j, namespace); got == 0 || got > most {
			t.Errorf("of certificates in %s, the issuers of %d are looked for; the budget is for %d", namespace, got, most)
		}
	}

	// The platform's own issuer costs nothing, and what a tenant could not afford is not remembered.
	j = newJudge(&inspect.Facts{Certs: append(slices.Clone(decoys), in("openshift-ingress-operator", real))})
	j.costs, j.decoys = 0, 0
	spent := claim("team")
	if got := j.issuer(spent); got != nil {
		t.Errorf("%s is found beyond the budget", got.Subject)
	}
	spent.Presented.Namespace = "openshift-ingress"
	if got := j.issuer(spent); got != real {
		t.Errorf("the platform's issuer is %v", got)
	}
}

// TestATenantsBundleKnowsNoIssuerOfThePlatforms: its kube-root-ca.crt may hold any CA, and hundreds of
// one name.
func TestATenantsBundleKnowsNoIssuerOfThePlatforms(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("ca", from, from.AddDate(1, 0, 0))
	chain := pki.NewScanner().Scan(ca.Issue("kubernetes", from, from.AddDate(1, 0, 0)).CertPEM)[0].Content.Certs
	root, other := pki.NewScanner().Scan(ca.CertPEM)[0].Content, pki.NewScanner().Scan(pkitest.NewCA("other", from, from.AddDate(1, 0, 0)).CertPEM)[0].Content
	in := func(namespace string, content *pki.Content) inspect.Bundle {
		at := pki.Location{Kind: catalog.ConfigMap, Namespace: namespace, Name: "kube-root-ca.crt", Key: "ca.crt"}
		return inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: namespace, Name: at.Name}, Content: content}
	}
	var presented []catalog.Ref
	for _, e := range catalog.Edges() {
		if e.Trust.Name == "kube-root-ca.crt" && e.Trust.Namespace == "*" {
			presented = append(presented, e.Presented)
		}
	}
	for namespace, want := range map[string]bool{"team": false, "openshift-console": true} {
		f := inspect.NewFacts(inspect.Snapshot{Bundles: []inspect.Bundle{in("kube-system", other), in(namespace, root)}}, from, 0)
		for _, at := range presented {
			if got := newJudge(f).knownIssuer(chain, at); got != want {
				t.Errorf("of %s, by a bundle in namespace %s: %t", at, namespace, got)
			}
		}
	}
}

// TestSkippedCertificatesThatCostTooMuchAreUnknown: whether one of them would do was not tried.
func TestSkippedCertificatesThatCostTooMuchAreUnknown(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := func(raw []byte) *pki.Cert { return pki.NewScanner().Scan(raw)[0].Content.Certs[0] }
	ca, other := pkitest.NewCA("ca", from, from.AddDate(1, 0, 0)), pkitest.NewCA("ca", from, from.AddDate(1, 0, 0), pkitest.KeyName("other"))
	leaf, real := one(ca.Issue("svc", from, from.AddDate(1, 0, 0)).CertPEM), *one(ca.CertPEM)
	real.PublicKey = "RSA 16384"
	for costs, want := range map[int]string{0: "too many to try", 1_000_000: "some readers skip it"} {
		j := newJudge(&inspect.Facts{})
		j.costs = costs
		c := Claim{Edge: catalog.Edge{Reader: pki.ReaderUnknown}, Tenant: "team", Roots: []*pki.Cert{one(other.CertPEM)}, Skipped: []pki.Skipped{{Cert: &real}}, Chain: []*pki.Cert{leaf}}
		if j.decide(&c); c.Status != assess.Unknown || !strings.Contains(c.Reason, want) {
			t.Errorf("with %d units: %s: %s", costs, c.Status, c.Reason)
		}
	}
}

// TestTheLifetimeOfACertificateIsLookedForOnce: it may be in each of thousands of places, which have
// a claim each.
func TestTheLifetimeOfACertificateIsLookedForOnce(t *testing.T) { // not in parallel: it counts allocations
	leaf := &pki.Cert{Fingerprint: pki.FingerprintOf([]byte("leaf"))}
	j := newJudge(&inspect.Facts{})
	j.index.leaves = map[pki.Fingerprint][]*inspect.Entry{}
	for i := range 1000 {
		at := pki.Location{Kind: "Secret", Namespace: fmt.Sprint("team-", i), Name: "s"}
		j.index.leaves[leaf.Fingerprint] = append(j.index.leaves[leaf.Fingerprint], &inspect.Entry{Bundle: &inspect.Bundle{At: at}})
	}
	if n := testing.AllocsPerRun(10, func() { j.lifetimeOf(leaf) }); n > 0 {
		t.Errorf("it allocates %.0f times", n)
	}
}

// TestTheLifetimeByWhatIsKnownOfSeveralPlaces: of a certificate in several places, who renews it goes
// first; and that a row may hold, in a version that is unknown, is not lost over a place without one.
func TestTheLifetimeByWhatIsKnownOfSeveralPlaces(t *testing.T) {
	t.Parallel()
	row := func(lifetimes ...catalog.Lifetime) *inspect.Entry {
		return &inspect.Entry{Row: &catalog.Place{Lifetimes: lifetimes}}
	}
	fixed, renewed := row(catalog.Lifetime{Doc: "fixed"}), row(catalog.Lifetime{Doc: "renewed", Renewer: "an operator"})
	unknown, without, elsewhere := row(catalog.Lifetime{Doc: "unknown", In: catalog.Range{Component: "kube-apiserver"}}), row(), &inspect.Entry{}
	for _, c := range []struct {
		name   string
		copies []*inspect.Entry
		doc    string
		want   catalog.Tristate
	}{
		{"renewed in the second place", []*inspect.Entry{fixed, renewed}, "renewed", catalog.Yes},
		{"the second place is in no row", []*inspect.Entry{fixed, elsewhere}, "fixed", catalog.Yes},
		{"the second row may hold", []*inspect.Entry{fixed, unknown}, "fixed", catalog.Yes},
		{"the first row may hold", []*inspect.Entry{unknown, fixed}, "fixed", catalog.Yes},
		{"the first row may hold, the second has no lifetime", []*inspect.Entry{unknown, without}, "", catalog.Unknown},
		{"none has a lifetime", []*inspect.Entry{without, elsewhere}, "", catalog.No},
	} {
		if life, known := newJudge(&inspect.Facts{}).lifetimeAmong(c.copies); life.Doc != c.doc || known != c.want {
			t.Errorf("%s: %q, %s", c.name, life.Doc, known)
		}
	}
}
