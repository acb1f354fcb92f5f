package check

import (
	"encoding/binary"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
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
