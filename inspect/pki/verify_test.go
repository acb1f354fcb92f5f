package pki_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestVerifyingParsesNoOtherCA: a tenant's bundle has thousands of CAs, and is compared with
// what many servers present.
func TestVerifyingParsesNoOtherCA(t *testing.T) { // not in parallel: it counts allocations
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cert := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	ca := pkitest.NewCA("ca", now.AddDate(0, -1, 0), now.AddDate(1, 0, 0))
	leaf, root := cert(ca.Issue("leaf", now.AddDate(0, -1, 0), now.AddDate(1, 0, 0), pkitest.DNS("a.b")).CertPEM), cert(ca.CertPEM)
	other := cert(pkitest.NewCA("other", now.AddDate(0, -1, 0), now.AddDate(1, 0, 0)).CertPEM)
	chain := []*pki.Cert{leaf}
	alone := testing.AllocsPerRun(5, func() {
		if err := pki.Verify(chain, []*pki.Cert{root}, "a.b", now); err != nil {
			t.Error(err)
		}
	})
	roots := []*pki.Cert{root}
	for n := range 100 {
		one := *other
		one.Fingerprint[0], one.Fingerprint[1] = byte(n), byte(n)+1
		roots = append(roots, &one)
	}
	among := testing.AllocsPerRun(5, func() {
		if err := pki.Verify(chain, roots, "a.b", now); err != nil {
			t.Error(err)
		}
	})
	if among > alone+10 {
		t.Errorf("with 100 other CAs verifying allocates %.0f times, without them %.0f times", among, alone)
	}
	if err := pki.Verify(chain, roots[1:], "a.b", now); err == nil {
		t.Error("it is trusted without its CA")
	}
	if err := pki.Verify(chain, chain, "a.b", now); err != nil {
		t.Errorf("a certificate is not trusted where it stands itself among those that are: %v", err)
	}
}

// TestFewSkippedCertificatesAreTried: those of other names make no difference, and of one name a
// tenant makes as many as fit.
func TestFewSkippedCertificatesAreTried(t *testing.T) {
	t.Parallel()
	var namesakes, others []pki.Skipped
	for n := range 1000 {
		namesakes = append(namesakes, pki.Skipped{Cert: &pki.Cert{Subject: "CN=ca", Serial: fmt.Sprint(n)}})
		others = append(others, pki.Skipped{Cert: &pki.Cert{Subject: fmt.Sprint("CN=", n), Fingerprint: pki.Fingerprint{1}}})
	}
	of := []*pki.Cert{{Subject: "CN=leaf", Issuer: "CN=ca", Fingerprint: pki.Fingerprint{2}}}
	for name, c := range map[string]struct {
		skipped []pki.Skipped
		tries   int
		all     bool
	}{"of other names": {others, 0, true}, "of the issuer's name": {namesakes, 20, false}, "both": {append(others, namesakes[:7]...), 7, true}} {
		tries := 0
		needed, all := pki.Needed(c.skipped, of, func(*pki.Cert) bool { tries++; return false })
		if needed != nil || tries != c.tries || all != c.all {
			t.Errorf("%s: %d tried, all: %t", name, tries, all)
		}
	}
	if needed, _ := pki.Needed(append(others, namesakes[0]), of, func(*pki.Cert) bool { return true }); needed == nil || needed.Cert != namesakes[0].Cert {
		t.Errorf("%v is needed", needed)
	}
}

// TestVerifyingTriesAsManyAsGoDoes: a tenant makes any number of CAs of one name. Those that are
// likeliest to have issued a certificate are looked at, wherever they stand.
func TestVerifyingTriesAsManyAsGoDoes(t *testing.T) { // not in parallel: it counts allocations
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cert := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	root := pkitest.NewCA("root", now.AddDate(0, -1, 0), now.AddDate(1, 0, 0))
	middle := root.CA("ca", now.AddDate(0, -1, 0), now.AddDate(1, 0, 0), pkitest.KeyName("middle"))
	leaf := cert(middle.Issue("leaf", now.AddDate(0, -1, 0), now.AddDate(1, 0, 0), pkitest.DNS("a.b")).CertPEM)
	other := cert(pkitest.NewCA("ca", now.AddDate(0, -1, 0), now.AddDate(1, 0, 0), pkitest.KeyName("other")).CertPEM)
	namesakes := func(n int) (out []*pki.Cert) {
		for i := range n {
			one := *other
			one.Fingerprint[0], one.Fingerprint[1], one.Fingerprint[2] = byte(i), byte(i>>8), 1
			out = append(out, &one)
		}
		return out
	}
	allocs := func(n int) float64 {
		roots, chain := append(namesakes(n), cert(root.CertPEM)), append(append([]*pki.Cert{leaf}, namesakes(n)...), cert(middle.CertPEM))
		return testing.AllocsPerRun(2, func() {
			if err := pki.Verify(chain, roots, "a.b", now); err != nil {
				t.Errorf("among %d of its name: %v", n, err)
			}
			if err := pki.Verify(chain[:1], roots, "a.b", now); err == nil {
				t.Errorf("among %d of its name, it is trusted without what issued it", n)
			}
		})
	}
	if few, many := allocs(500), allocs(5000); many > 2*few {
		t.Errorf("among 5000 CAs of one name verifying allocates %.0f times, among 500 %.0f times", many, few)
	}
}
