package check

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Not in parallel: it measures.
func TestManyKeysInManyPlaces(t *testing.T) {
	cert := &pki.Cert{Fingerprint: numbered(0), SPKI: numbered(0), Subject: "CN=leaf"}
	key := func(n int) pki.Key { return pki.Key{Algorithm: "RSA", SPKI: numbered(n + 1)} }
	for name, of := range map[string]func(size int) []inspect.Bundle{
		"a value that places share": func(size int) []inspect.Bundle {
			c := &pki.Content{Certs: []*pki.Cert{cert}}
			for n := range size {
				c.Keys = append(c.Keys, key(n))
			}
			return places(size, "tls.crt", func(int) *pki.Content { return c }, "a")
		},
		"an object that a file has many times": func(size int) []inspect.Bundle {
			one := func(key string, c func(int) *pki.Content) []inspect.Bundle {
				out := places(size, key, c, "a")
				for i := range out {
					out[i].At.Name = "c"
				}
				return out
			}
			return append(one("tls.crt", same(cert)), one("tls.key", func(n int) *pki.Content { return &pki.Content{Keys: []pki.Key{key(n)}} })...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inspecttest.Grows(t, 500, func(size int) func() {
				f := factsOf(of(size)...)
				return func() {
					if got := keyMismatch(f); len(got) != size {
						t.Errorf("%d findings", len(got))
					}
				}
			})
		})
	}
}

// TestKeysOfAnObjectThatAFileHasTwice belong to either copy, and stay those of the place they are at.
func TestKeysOfAnObjectThatAFileHasTwice(t *testing.T) {
	t.Parallel()
	cert := &pki.Cert{Fingerprint: numbered(0), SPKI: numbered(0), Subject: "CN=leaf"}
	key := func(n int) *pki.Content { return &pki.Content{Keys: []pki.Key{{Algorithm: "RSA", SPKI: numbered(n)}}} }
	at := func(name, key string, c *pki.Content) inspect.Bundle {
		return inspect.Bundle{At: pki.Location{Kind: "Secret", Namespace: "a", Name: name, Key: key}, Content: c}
	}
	shared, crt := key(1), &pki.Content{Certs: []*pki.Cert{cert}}
	got := keyMismatch(factsOf(
		at("both", "tls.crt", crt), at("both", "tls.key", shared), at("both", "tls.key", key(0)),
		at("other", "tls.crt", crt), at("other", "tls.key", shared),
	))
	if len(got) != 1 || got[0].At[0].Name != "other" {
		t.Errorf("%v", got)
	}
}
