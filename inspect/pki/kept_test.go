package pki

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// distinct are values, each with one certificate of its own.
func distinct(n int) (values [][]byte) {
	for i := range n {
		ca := pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0), pkitest.Serial(int64(i+1)), pkitest.Ed25519())
		values = append(values, ca.CertPEM)
	}
	return values
}

// TestCertificatesOfOneNamespaceAreBounded: though no value of it is compressed. What is beyond its share is said
// with its name, and leaves those of others readable.
func TestCertificatesOfOneNamespaceAreBounded(t *testing.T) {
	t.Parallel()
	s, values := NewScanner(), distinct(4)
	shop := s.Apart("shop")
	if left := shop.small.kept.left.Load(); left != 100_000 {
		t.Errorf("a namespace may hold %d", left)
	}
	shop.small.kept.left.Store(2)
	for range 2 { // another place of a value takes nothing
		for i, v := range values[:3] {
			f := shop.Scan(v)
			if len(f) != 1 || len(f[0].Content.Certs) != min(1, 2-min(i, 2)) {
				t.Fatalf("value %d: %+v", i, f)
			}
			if why := f[0].Content.CutShort(); (i == 2) != strings.HasPrefix(why, "the limit of certificates in values of namespace shop was reached before it") {
				t.Errorf("value %d: %q", i, why)
			}
		}
	}
	all := bytes.Join(values, nil)
	for name, other := range map[string]*Scanner{"the platform's": s, "another tenant's": s.Apart("web"), "administrators'": s.ApartWhole("default"), "a node's": s.Alone()} {
		if f := other.Scan(all); len(f) != 1 || len(f[0].Content.Certs) != 4 || f[0].Content.CutShort() != "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := shop.Scan(values[2]); len(f) != 1 || len(f[0].Content.Certs)+len(f[0].Content.Bad) != 1 {
		t.Errorf("again: %+v", f)
	}
}

// TestCertificatesOfAllTenantsAreBounded: the one with most is named.
func TestCertificatesOfAllTenantsAreBounded(t *testing.T) {
	t.Parallel()
	s, values := NewScanner(), distinct(4)
	s.tenants.kept.left.Store(3)
	for i, namespace := range []string{"a", "b", "b", "c"} {
		f := s.Apart(namespace).Scan(values[i])
		if why := f[0].Content.CutShort(); (i == 3) != strings.HasPrefix(why, "the limit of certificates in values of tenants (most: namespace b) was reached before it") {
			t.Errorf("value %d: %q", i, why)
		}
	}
	for _, whole := range []*Scanner{s, s.ApartWhole("default")} {
		if f := whole.Scan(values[3]); f[0].Content.CutShort() != "" {
			t.Errorf("%+v", f)
		}
	}
}
