package cause

import (
	"fmt"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestFoldGrowsWithItsFindings, and with the places of one.
func TestFoldGrowsWithItsFindings(t *testing.T) { // not parallel: see Grows
	for name, of := range map[string]func(size int) []Finding{
		"a finding of many nodes": func(size int) []Finding {
			var at []pki.Location
			for i := range 4 * size {
				at = append(at, file(fmt.Sprintf("node-%d", i), kubeconfig))
			}
			return []Finding{finding("node-file-current", assess.Critical, at...), finding("clock-skew", assess.Critical, at...)}
		},
		"a finding of many objects": func(size int) []Finding {
			var at []pki.Location
			for i := range 4 * size {
				at = append(at, secret("a", fmt.Sprint(i)))
			}
			return []Finding{finding("certificate-expiring", assess.Critical, at...)}
		},
		"findings of nodes of their own": func(size int) (out []Finding) {
			for i := range 2 * size {
				out = append(out, finding("node-file-current", assess.Critical, file(fmt.Sprintf("node-%d", i), kubeconfig)))
			}
			return out
		},
		"findings that say different things": func(size int) (out []Finding) {
			for i := range 2 * size {
				f := finding("certificate-expiring", assess.Critical, secret("a", fmt.Sprint(i)))
				f.Impact = fmt.Sprintf("impact-%d", i)
				out = append(out, f)
			}
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			inspecttest.Grows(t, 1000, func(size int) func() {
				findings := of(size)
				return func() { Fold(inspect.Hints{}, findings) }
			})
		})
	}
}
