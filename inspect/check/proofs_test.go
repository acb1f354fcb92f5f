package check

import (
	"crypto/elliptic"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

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

	p := &proofs{map[[2]*pki.Cert]bool{}, costOf(signer) + costOf(large)}
	for range 3 { // each is computed once
		if ok, told := p.signed(leaf, signer); !ok || !told {
			t.Fatalf("its own: %t, %t", ok, told)
		}
		if ok, told := p.signed(leaf, large); ok || !told {
			t.Fatalf("another one: %t, %t", ok, told)
		}
	}
	if p.left != 0 {
		t.Errorf("%d are left", p.left)
	}
	if _, told := p.signed(large, signer); told {
		t.Error("it goes on beyond what may be computed")
	}

	// What is too costly to tell is no finding.
	ix := issuers{byName: map[string][]issuer{leaf.Issuer: {{Cert: large}, {Cert: signer}}}, byKey: map[[2]string][]issuer{}, proofs: &proofs{map[[2]*pki.Cert]bool{}, 0}}
	bare := *leaf
	bare.IssuerKey = ""
	if _, found := trustedRoot(ix, &bare); !found {
		t.Error("an issuer that was not looked for is said to be in no bundle")
	}
	bare.NotAfter = bare.NotAfter.AddDate(1, 0, 0)
	if got := lastIssuer(ix, ix.byName[leaf.Issuer], inspect.StoredCert{Cert: &bare}); got != nil {
		t.Errorf("%s is said to have issued it", got.Subject)
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
	if n := testing.AllocsPerRun(10, func() { _, few = ix.of(c) }); n > 0 || few {
		t.Errorf("%.0f allocations, few: %t", n, few)
	}
	ix.byKey[key("")] = make([]issuer, inspect.MaxSameName-2)
	if cas, few := ix.of(c); len(cas) != inspect.MaxSameName || !few {
		t.Errorf("%d, few: %t", len(cas), few)
	}
}
