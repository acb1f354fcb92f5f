package pki_test

import (
	"fmt"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
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
