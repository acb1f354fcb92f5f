package check

import (
	"context"
	"crypto/elliptic"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestAPairThatIsCheapToVerifyPaysForItsParsing: a small key costs little, and a certificate full of the shortest
// names 2 ms to parse. A unit is 15 µs.
func TestAPairThatIsCheapToVerifyPaysForItsParsing(t *testing.T) {
	t.Parallel()
	leaf, ca := &pki.Cert{DER: make([]byte, 8<<10)}, &pki.Cert{DER: make([]byte, 8<<10), PublicKey: "RSA 1016"}
	p := &proofs{map[[2]*pki.Cert]bool{}, budgetOf(150)}
	if _, told := p.signed("", leaf, ca); told {
		t.Error("150 units are enough")
	}
	if small := (&pki.Cert{PublicKey: "RSA 1016"}); costOf(small) < 10 {
		t.Errorf("a small key costs %d", costOf(small))
	}
}

// TestSignaturesCostWhatIsBounded: tenants choose names and keys, so that each certificate may
// be signed by many CAs.
func TestSignaturesCostWhatIsBounded(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	scan := func(raw []byte) *pki.Cert { return pki.NewScanner().Scan(raw)[0].Content.Certs[0] }
	ca := pkitest.NewCA("ca", from, from.AddDate(1, 0, 0))
	leaf, signer := scan(ca.Issue("leaf", from, from.AddDate(1, 0, 0)).CertPEM), scan(ca.CertPEM)
	largePEM, _ := pkitest.Oversized("ca", 16384, from, from.AddDate(1, 0, 0))
	large := scan(largePEM)
	if got := costOf(large); got < 20*costOf(signer) {
		t.Errorf("a key of 16384 bits costs %d, the usual one %d", got, costOf(signer))
	}

	p := &proofs{map[[2]*pki.Cert]bool{}, budgetOf(costOf(signer) + costOf(large) + pki.CostParsing(ordinaryPair, []*pki.Cert{leaf, large}))}
	for range 3 { // each is computed once
		if ok, told := p.signed("", leaf, signer); !ok || !told {
			t.Fatalf("its own: %t, %t", ok, told)
		}
		if ok, told := p.signed("", leaf, large); ok || !told {
			t.Fatalf("another one: %t, %t", ok, told)
		}
	}
	if p.budget.Pay("", 1) {
		t.Error("some is left")
	}
	if _, told := p.signed("", large, signer); told {
		t.Error("it goes on beyond what may be computed")
	}

	// What is too costly to tell is unknown.
	ix := issuers{byName: map[string][]issuer{leaf.Issuer: {{Cert: large}, {Cert: signer}}}, byKey: map[[2]string][]issuer{}, proofs: &proofs{map[[2]*pki.Cert]bool{}, budgetOf(0)}}
	bare := *leaf
	bare.IssuerKey = ""
	if _, found := trustedRoot(ix, inspect.StoredCert{Cert: &bare}); found != catalog.Unknown {
		t.Errorf("whether an issuer that was not looked for is in a bundle: %v", found)
	}
	bare.NotAfter = bare.NotAfter.AddDate(1, 0, 0)
	if got, told := lastIssuer(ix, inspect.StoredCert{Cert: &bare}); got != nil || told {
		t.Errorf("%v is said to have issued it, told: %t", got, told)
	}
}

// TestWhatIsNotPaidForIsNotParsed, however often it is asked for.
func TestWhatIsNotPaidForIsNotParsed(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	authority := pkitest.NewCA("ca", from, from.AddDate(1, 0, 0))
	scan := func(raw []byte) *pki.Cert { return pki.NewScanner().Scan(raw)[0].Content.Certs[0] }
	leaf, ca := scan(authority.Issue("leaf", from, from.AddDate(1, 0, 0)).CertPEM), scan(authority.CertPEM)
	p := &proofs{map[[2]*pki.Cert]bool{}, budgetOf(0)}
	if n := testing.AllocsPerRun(10, func() { p.signed("", leaf, ca) }); n > 1 {
		t.Errorf("%.0f allocations", n)
	}
}

// budgetOf is one of which the platform has spent all but so much.
func budgetOf(left int) *inspect.Budget {
	all := 0
	for b := inspect.NewBudget(0); b.Pay("", 1); {
		all++
	}
	b := inspect.NewBudget(0)
	b.Pay("", all-left)
	return b
}

// drained are places of a tenant's that are the costliest to tell: leaves, and CAs of their issuer's
// name with keys of 16384 bits, none of which is theirs; and cheap ones, which cost what those leave.
func drained(t *testing.T, leaves int) []inspect.Bundle {
	t.Helper()
	from, soon, later := inspecttest.Noon.AddDate(0, -1, 0), inspecttest.DaysFromNoon(10), inspecttest.Noon.AddDate(1, 0, 0)
	scan := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	var cas, certs []*pki.Cert
	text, _ := pkitest.Oversized("a", 16384, from, soon)
	ca := scan(text)
	for i := range inspect.MaxSameName {
		one := *ca
		one.Fingerprint = numbered(10_000 + i)
		cas = append(cas, &one)
	}
	cheap := scan(pkitest.NewCA("b", from, soon, pkitest.KeyName("other")).CertPEM)
	for i := range inspect.MaxSameName {
		one := *cheap
		one.Fingerprint = numbered(20_000 + i)
		cas = append(cas, &one)
	}
	for i, name := range []string{"a", "b"} {
		leaf := scan(pkitest.NewCA(name, from, later).Issue(name, from, later).CertPEM)
		for n := range leaves {
			one := *leaf
			one.Fingerprint, one.IssuerKey = numbered(1000*i+n), ""
			certs = append(certs, &one)
		}
	}
	return append(places(len(cas), "ca.crt", func(n int) *pki.Content { return &pki.Content{Certs: cas[n : n+1 : n+1]} }, "a-team"),
		places(len(certs), "tls.crt", func(n int) *pki.Content { return &pki.Content{Certs: certs[n : n+1 : n+1]} }, "a-team")...)
}

// onWorker are the same as files of a worker.
func onWorker(bundles []inspect.Bundle) []inspect.Bundle {
	for i := range bundles {
		bundles[i].At = pki.Location{Kind: pki.KindFile, Node: "w1", Path: fmt.Sprintf("/etc/kubernetes/static-pod-resources/x/%d-%s", i, bundles[i].At.Key)}
		bundles[i].Object = nil
	}
	return bundles
}

// TestDecoysHideNothing: what they cost is the tenant's or the worker's, and of what is not told a
// finding says so.
func TestDecoysHideNothing(t *testing.T) {
	t.Parallel()
	from, soon, later := inspecttest.Noon.AddDate(0, -1, 0), inspecttest.DaysFromNoon(10), inspecttest.Noon.AddDate(1, 0, 0)
	scan := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	bare := func(c *pki.Cert) *pki.Cert { c.IssuerKey = ""; return c }
	for namespace, name := range map[string]string{"openshift-x": "the platform's", "b-team": "another tenant's"} {
		ca := pkitest.NewCA(name, from, soon)
		leaf := bare(scan(ca.Issue(name, from, later).CertPEM))
		for _, by := range []string{"a tenant's", "a worker's"} {
			for _, leaves := range []int{0, 40} {
				for id, c := range map[string]struct {
					run    func(*inspect.Facts) []assess.Finding
					caIn   string
					says   string
					untold string
				}{
					"certificate-outlives-ca": {outlivesIssuer, "ca.crt", "CA “" + name + "”", "whether the CA that issued"},
					"issuer-seen":             {issuerSeen, "tls.crt", name, "whether the issuer of"},
				} {
					decoys, of := drained(t, leaves), pki.Location{Namespace: "a-team"}
					if by == "a worker's" {
						decoys, of = onWorker(decoys), pki.Location{Node: "w1"}
					}
					f := factsOf(slices.Concat(decoys, places(1, "tls.crt", same(leaf), namespace), places(1, c.caIn, same(scan(ca.CertPEM)), namespace+"-2"))...)
					f.Snapshot.Reads = []inspect.Read{{What: "secrets"}, {What: "configmaps"}}
					said, untold := 0, 0
					for _, got := range c.run(f) {
						switch {
						case strings.HasPrefix(got.Evidence, c.untold) && len(got.At) > 0 && len(got.At) < 2*leaves && got.At[0].Namespace == of.Namespace && got.At[0].Node == of.Node:
							untold++
						case got.At[0].Namespace == namespace:
							said++
						}
					}
					if said != 1 || untold != min(leaves, 1) {
						t.Errorf("%s, %s beside %d of %s: %d findings, and %d of what is unknown", id, name, leaves, by, said, untold)
					}
				}
			}
		}
	}
}

// TestCAFilesOfTenantsCostTheTenant: chains of CAs of one name with large keys leave the Secrets of
// others compared.
func TestCAFilesOfTenantsCostTheTenant(t *testing.T) {
	t.Parallel()
	from, later := inspecttest.Noon.AddDate(0, -1, 0), inspecttest.Noon.AddDate(1, 0, 0)
	scan := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	ca, other := pkitest.NewCA("ca", from, later), scan(pkitest.NewCA("ca", from, later, pkitest.KeyName("other")).CertPEM)
	leaf := func(n int) *pki.Cert {
		one := *scan(ca.Issue("leaf", from, later).CertPEM)
		one.Fingerprint = numbered(n)
		return &one
	}
	secret := func(namespace, name string, tls, cas []*pki.Cert) []inspect.Bundle {
		o := &inspect.Object{Kind: "Secret", Namespace: namespace, Name: name}
		at := pki.Location{Kind: o.Kind, Namespace: namespace, Name: name}
		with := func(key string, certs []*pki.Cert) inspect.Bundle {
			at.Key = key
			return inspect.Bundle{At: at, Object: o, Content: &pki.Content{Certs: certs}}
		}
		return []inspect.Bundle{with("ca.crt", cas), with("tls.crt", tls)}
	}
	var many []*pki.Cert
	for i := range 100 { // keys that are only said to be large cost nothing here
		one := *other
		one.Fingerprint, one.PublicKey = numbered(1000+i), "RSA 16384"
		many = append(many, &one)
	}
	var bundles []inspect.Bundle
	const secrets = 40
	for i := range secrets {
		bundles = append(bundles, secret("a-team", fmt.Sprintf("s%02d", i), []*pki.Cert{leaf(i)}, many)...)
	}
	for i, namespace := range []string{"b-team", "openshift-x"} {
		bundles = append(bundles, secret(namespace, "tls", []*pki.Cert{leaf(secrets + i)}, []*pki.Cert{other})...)
	}
	told, untold := map[string]int{}, map[string]int{}
	for _, got := range secretCA(factsOf(bundles...)) {
		if strings.HasSuffix(got.Reason, " is unknown") {
			untold[got.At[0].Namespace]++
		} else {
			told[got.At[0].Namespace]++
		}
	}
	if told["openshift-x"] != 1 || told["b-team"] != 1 || told["a-team"] > 5 || told["a-team"]+untold["a-team"] != secrets || len(untold) != 1 {
		t.Errorf("told: %v, unknown: %v", told, untold)
	}
}

// TestCostlyContentOfATenantIsComparedForOthers: who cannot pay for a Secret leaves its copies to
// those that can.
func TestCostlyContentOfATenantIsComparedForOthers(t *testing.T) {
	t.Parallel()
	from, later := inspecttest.Noon.AddDate(0, -1, 0), inspecttest.Noon.AddDate(1, 0, 0)
	scan := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	ca := pkitest.NewCA("ca", from, later)
	leaf, large := scan(ca.Issue("leaf", from, later).CertPEM), *scan(pkitest.NewCA("ca", from, later, pkitest.KeyName("other")).CertPEM)
	large.PublicKey = "RSA 150000" // beyond a tenant's share, and not the platform's
	content := map[string]*pki.Content{"ca.crt": {Certs: []*pki.Cert{&large}}, "tls.crt": {Certs: []*pki.Cert{leaf}}}
	var bundles []inspect.Bundle
	for _, namespace := range []string{"a-team", "openshift-x"} {
		o := &inspect.Object{Kind: "Secret", Namespace: namespace, Name: "tls"}
		for key, c := range content {
			bundles = append(bundles, inspect.Bundle{At: pki.Location{Kind: o.Kind, Namespace: namespace, Name: o.Name, Key: key}, Object: o, Content: c})
		}
	}
	f := factsOf(bundles...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := secretCA(f.Within(ctx)); len(got) > 0 {
		t.Errorf("verified after the context had ended: %+v", got)
	}
	got := secretCA(f)
	if len(got) != 2 || got[0].At[0].Namespace != "a-team" || !strings.HasSuffix(got[0].Reason, " is unknown") || strings.HasSuffix(got[1].Reason, " is unknown") {
		t.Errorf("%+v", got)
	}
}

// TestClientsOfACACostWhatIsBounded: a ca.crt that verifies no serving certificate may verify
// clients, which tenants make, too.
func TestClientsOfACACostWhatIsBounded(t *testing.T) {
	t.Parallel()
	from, later := inspecttest.Noon.AddDate(0, -1, 0), inspecttest.Noon.AddDate(1, 0, 0)
	scan := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	ca := pkitest.NewCA("ca", from, later)
	signer := scan(ca.CertPEM)
	client := scan(ca.Issue("client", from, later, pkitest.Usages(x509.ExtKeyUsageClientAuth)).CertPEM)
	var others []*pki.Cert
	for i := range 10 {
		other := *client
		other.Fingerprint, other.IssuerKey = numbered(i), fmt.Sprint("ab", i)
		others = append(others, &other)
	}
	f := factsOf(places(11, "tls.crt", func(n int) *pki.Content { return &pki.Content{Certs: append(others, client)[n : n+1 : n+1]} }, "a-team")...)
	all := clientsOf(f)
	if got := all.issuedBy([]*pki.Cert{signer}, "", newProofs(f)); got != client {
		t.Errorf("among clients of other keys: %v", got)
	}
	spent := &proofs{map[[2]*pki.Cert]bool{}, budgetOf(0)}
	if got := all.issuedBy([]*pki.Cert{signer}, "", spent); got != nil || len(spent.known) > 0 {
		t.Errorf("%v is verified beyond the budget", got)
	}
}

// TestCostsOfKeys are measured: 15 µs a unit. P-521 takes 6.7 ms where RSA of 2048 bits takes
// 77 µs.
func TestCostsOfKeys(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cost := func(o ...pkitest.Option) int {
		return costOf(pki.NewScanner().Scan(pkitest.NewCA("ca", from, from.AddDate(1, 0, 0), o...).CertPEM)[0].Content.Certs[0])
	}
	rsa, p256, p384, p521 := cost(pkitest.RSA(2048)), cost(pkitest.Curve(elliptic.P256())), cost(pkitest.Curve(elliptic.P384())), cost(pkitest.Curve(elliptic.P521()))
	if rsa > p256*3 || p256 > p384/5 || p384 > p521/3 {
		t.Errorf("RSA %d, P-256 %d, P-384 %d, P-521 %d", rsa, p256, p384, p521)
	}
}

// TestManyCAsOfOneNameAreNotCopied: there may be tens of thousands, for each certificate.
func TestManyCAsOfOneNameAreNotCopied(t *testing.T) {
	key := func(id string) [2]string { return [2]string{"CN=ca", id} }
	ix := issuers{byKey: map[[2]string][]issuer{key("a"): make([]issuer, 2), key(""): make([]issuer, 10_000)}}
	c := &pki.Cert{Issuer: "CN=ca", IssuerKey: "a"}
	var few bool
	if n := testing.AllocsPerRun(10, func() { _, few = ix.candidates(c) }); n > 0 || few {
		t.Errorf("%.0f allocations, few: %t", n, few)
	}
	ix.byKey[key("")] = make([]issuer, inspect.MaxSameName-2)
	if cas, few := ix.candidates(c); len(cas) != inspect.MaxSameName || !few {
		t.Errorf("%d, few: %t", len(cas), few)
	}
}
