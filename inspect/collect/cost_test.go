package collect

import (
	"fmt"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestManyKeystoresOfOneObject: each is small, and each value may be the password of each.
//
// Not in parallel: it measures.
func TestManyKeystoresOfOneObject(t *testing.T) {
	inspecttest.Grows(t, 300, func(size int) func() {
		values := map[string][]byte{}
		for n := range size {
			values[fmt.Sprintf("store-%d.bks", n)] = fmt.Appendf([]byte("\x00\x00\x00\x02\x00\x00\x00\x14"), "%024d", n)
		}
		return func() {
			if found := bundlesOf(pki.NewScanner(), &inspect.Object{Kind: "Secret"}, values, true); len(found) != size || len(found[0].Content.Locked) != 1 {
				t.Errorf("of %d %d are locked", size, len(found))
			}
		}
	})
}
