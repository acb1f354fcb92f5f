package pki_test

import (
	"crypto/x509"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestChainsCostWhatTheirSignaturesDo: a tenant makes CAs of one name with the largest keys.
func TestChainsCostWhatTheirSignaturesDo(t *testing.T) {
	t.Parallel()
	many := func(n int, key string) (out []*pki.Cert) {
		for i := range n {
			out = append(out, &pki.Cert{Subject: "CN=ca", Issuer: "CN=root", PublicKey: key, Fingerprint: pki.FingerprintOf([]byte(fmt.Sprint(key, i)))})
		}
		return out
	}
	issued := func(issuer string, certs []*pki.Cert) []*pki.Cert {
		for _, c := range certs {
			c.Issuer = issuer
		}
		return certs
	}
	leaf := &pki.Cert{Subject: "CN=leaf", Issuer: "CN=ca", PublicKey: "RSA 2048"}
	for name, c := range map[string]struct {
		chain, roots []*pki.Cert
		from, to     int
	}{
		"an ordinary chain":              {append([]*pki.Cert{leaf}, many(1, "RSA 2048")...), many(2, "RSA 2048"), 25, pki.CostOrdinary},
		"CAs of other names":             {[]*pki.Cert{leaf}, []*pki.Cert{{Subject: "CN=other", PublicKey: "RSA 16384"}}, 0, 0},
		"a hundred small keys":           {[]*pki.Cert{leaf}, many(100, "ECDSA P-256"), 1000, 1000},
		"a hundred large keys":           {[]*pki.Cert{leaf}, many(100, "RSA 8192"), 30_000, 50_000},
		"thousands of them":              {[]*pki.Cert{leaf}, many(5000, "RSA 8192"), 30_000, 50_000},
		"thousands in the chain":         {append([]*pki.Cert{leaf}, many(5000, "RSA 8192")...), nil, 30_000, 50_000},
		"a large curve":                  {[]*pki.Cert{leaf}, many(1, "ECDSA P-521"), 450, 450},
		"a root among the intermediates": {append([]*pki.Cert{leaf}, issued("CN=ca", many(1, "RSA 2048"))...), many(1, "RSA 2048"), 50, pki.CostOrdinary},
		"small keys before large ones":   {append([]*pki.Cert{leaf}, many(99, "ECDSA P-256")...), many(99, "RSA 8192"), 30_000, 50_000},
		"large ones behind small ones": {
			append([]*pki.Cert{leaf}, issued("CN=top", many(99, "ECDSA P-256"))...),
			[]*pki.Cert{{Subject: "CN=top", Issuer: "CN=top", PublicKey: "RSA 8192"}}, 30_000, 50_000,
		},
		"names in a circle":       {append([]*pki.Cert{leaf}, issued("CN=ca", many(3, "RSA 8192"))...), nil, 3000, 50_000},
		"an unknown kind of keys": {[]*pki.Cert{leaf}, many(1, "GOST"), 10, 10},
	} {
		if got := pki.Cost(c.chain, c.roots); got < c.from || got > c.to {
			t.Errorf("%s: %d, want %d to %d", name, got, c.from, c.to)
		}
	}
}

// TestChainsCostWhatTheirExtensionsDo: crypto/x509 looks at names, constraints and policies in each
// chain that it makes, and tenants choose how many that are. What it took here is the least that
// they are to cost.
func TestChainsCostWhatTheirExtensionsDo(t *testing.T) {
	t.Parallel()
	from, to := time.Unix(1<<30, 0), time.Unix(1<<31, 0)
	scan := func(pem []byte) []*pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs }
	some := func(n int, end string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%05d%s", i*7919%100_000, end))
		}
		return out
	}
	var policies []x509.OID
	for i := range 5000 {
		policy, err := x509.OIDFromInts([]uint64{1, 2, uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, policy)
	}
	none := func(*x509.Certificate) {}
	for name, c := range map[string]struct {
		depth, roots int
		ca, leaf     func(*x509.Certificate)
		from, to     int // beside the signatures, which cost 10 each
	}{
		"an ordinary chain": {1, 1, none, func(c *x509.Certificate) { c.DNSNames = some(100, ".apps.cluster.example.com") }, 0, 0},
		"constraints of a company's CA": {1, 1, func(c *x509.Certificate) { c.PermittedDNSDomains = some(10, ".example.com") },
			func(c *x509.Certificate) { c.DNSNames = some(100, ".apps.cluster.example.com") }, 1, 40},
		"names without constraints": {1, 20, none, func(c *x509.Certificate) { c.DNSNames = some(20_000, "") }, 2000, 2500}, // parsing them
		"constraints without names": {1, 20, func(c *x509.Certificate) { c.ExcludedDNSDomains = some(5000, "") }, none, 3000, 20_000},
		"names below constraints": {1, 20, func(c *x509.Certificate) { c.ExcludedDNSDomains = []string{"z"} },
			func(c *x509.Certificate) { c.EmailAddresses = slices.Repeat([]string{"a@b"}, 20_000) }, 6400, 30_000},
		"names below many CAs with constraints": {20, 20, func(c *x509.Certificate) { c.ExcludedEmailAddresses = []string{"x@y"} },
			func(c *x509.Certificate) { c.EmailAddresses = slices.Repeat([]string{"a@b"}, 20_000) }, 23_500, 100_000},
		"policies": {2, 20, func(c *x509.Certificate) { c.Policies = policies },
			func(c *x509.Certificate) { c.Policies = policies }, 75_000, 200_000},
	} {
		var roots []byte
		var ca *pkitest.Authority
		for i := range c.roots {
			ca = pkitest.NewCA("root", from, to, pkitest.KeyName("root"), pkitest.Serial(int64(i+1)))
			roots = append(roots, ca.CertPEM...)
		}
		var above []byte
		for i := range c.depth {
			ca = ca.CA(fmt.Sprint("ca-", i), from, to, pkitest.Template(c.ca))
			above = append(above, ca.CertPEM...)
		}
		chain := scan(pkitest.Bundle(ca.Issue("leaf", from, to, pkitest.Template(c.leaf)).CertPEM, above))
		if got := pki.Cost(chain, scan(roots)) - 10*(c.depth+c.roots); got < c.from || got > c.to {
			t.Errorf("%s: %d beside the signatures, want %d to %d", name, got, c.from, c.to)
		}
	}
}

// TestChainsCostWhatTheirLengthDoes: each certificate of a chain, and each anchor with its issuer's
// name, is parsed for each of its verifications.
func TestChainsCostWhatTheirLengthDoes(t *testing.T) {
	t.Parallel()
	long := func(n, bytes int, subject, issuer string) (out []*pki.Cert) {
		for i := range n {
			out = append(out, &pki.Cert{DER: make([]byte, bytes), Subject: subject, Issuer: issuer, PublicKey: "ECDSA P-256", Fingerprint: pki.FingerprintOf([]byte(fmt.Sprint(subject, i)))})
		}
		return out
	}
	leaf := long(1, 1000, "CN=leaf", "CN=ca")
	for name, c := range map[string]struct {
		chain, roots []*pki.Cert
		from, to     int // ten anchors, or ten of a chain, cost 100 for their keys
	}{
		"ordinary":                        {leaf, long(10, 1200, "CN=ca", "CN=ca"), 100, pki.CostOrdinary},
		"large anchors":                   {leaf, long(10, 100_000, "CN=ca", "CN=ca"), 15_000, 16_000},
		"large anchors of another name":   {leaf, long(10, 100_000, "CN=other", "CN=other"), 0, 0},
		"a large chain that goes nowhere": {slices.Concat(leaf, long(10, 100_000, "CN=x", "CN=y")), nil, 15_000, 16_000},
	} {
		if got := pki.Cost(c.chain, c.roots); got < c.from || got > c.to {
			t.Errorf("%s: %d, want %d to %d", name, got, c.from, c.to)
		}
	}
}
