package check

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// Tests of this file hold work to what grows with what was read: a tenant's value of some
// kilobytes unpacks to hundreds of thousands of blocks.

// numbered is a fingerprint that no other number has.
func numbered(n int) (fp pki.Fingerprint) {
	binary.BigEndian.PutUint64(fp[:], uint64(n)+1)
	return fp
}

//nolint:paralleltest // it measures
func TestManyKeysOfOneValue(t *testing.T) {
	for name, key := range map[string]func(n int) pki.Key{
		"unreadable": func(int) pki.Key { return pki.Key{Algorithm: "PRIVATE KEY"} },
		"distinct":   func(n int) pki.Key { return pki.Key{Algorithm: "RSA", SPKI: numbered(n)} },
	} {
		t.Run(name, func(t *testing.T) {
			inspecttest.Grows(t, 500, func(size int) func() {
				c := &pki.Content{}
				for n := range size {
					c.Keys = append(c.Keys, key(n))
				}
				f := inspect.NewFacts(inspect.Snapshot{Bundles: []inspect.Bundle{{At: pki.Location{Kind: "ConfigMap", Namespace: "team", Name: "c", Key: "k"}, Content: c}}}, inspecttest.Noon, 0)
				return func() {
					if got := keyInPlace(f); len(got) != 1 {
						t.Errorf("%d findings", len(got))
					}
				}
			})
		})
	}
}

// places are places of one content, in two tenants' namespaces by turns.
func places(size int, key string, c func(n int) *pki.Content, namespaces ...string) []inspect.Bundle {
	out := make([]inspect.Bundle, size)
	for n := range out {
		at := pki.Location{Kind: "ConfigMap", Namespace: namespaces[n*len(namespaces)/size], Name: fmt.Sprintf("c%06d", n), Key: key}
		out[n] = inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: c(n)}
	}
	return out
}

// same is one content for all places.
func same(certs ...*pki.Cert) func(int) *pki.Content {
	c := &pki.Content{Certs: certs}
	return func(int) *pki.Content { return c }
}

// factsOf prepares bundles for judging.
func factsOf(bundles ...inspect.Bundle) *inspect.Facts {
	s := inspect.Snapshot{Bundles: bundles}
	s.Sort()
	return inspect.NewFacts(s, inspecttest.Noon, 30*inspecttest.Day)
}

//nolint:paralleltest // it measures
func TestManyPlacesOfAnIssuer(t *testing.T) {
	from, until := inspecttest.Noon.AddDate(0, -1, 0), inspecttest.Noon.AddDate(1, 0, 0)
	authority := pkitest.NewCA("ca", from, until)
	scan := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	ca, leaf := scan(authority.CertPEM), scan(authority.Issue("leaf", from, until.AddDate(1, 0, 0)).CertPEM)
	inspecttest.Grows(t, 500, func(size int) func() {
		f := factsOf(append(places(size, "tls.crt", same(leaf), "a"), places(size, "ca.crt", same(ca), "b")...)...)
		return func() {
			if got := outlivesIssuer(f); len(got) != 1 || len(got[0].At) != size {
				t.Errorf("%d findings", len(got))
			}
		}
	})
}

//nolint:paralleltest // it measures
func TestManyCertificatesOfOneBundleTwice(t *testing.T) {
	inspecttest.Grows(t, 2000, func(size int) func() {
		var certs []*pki.Cert
		for n := range size {
			c := &pki.Cert{Fingerprint: numbered(n), Subject: "CN=ca", IsCA: true}
			certs = append(certs, c, c)
		}
		f := factsOf(places(1, "ca.crt", same(certs...), "a")...)
		return func() {
			if got := bundleDuplicate(f); len(got) != 1 || len(got[0].Certs) != size {
				t.Errorf("%d findings", len(got))
			}
		}
	})
}
