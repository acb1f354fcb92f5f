package catalog

import (
	"strings"
	"testing"
)

// TestOpenShiftsApproverHasALimit: with any requester, too many requests are why none is approved.
func TestOpenShiftsApproverHasALimit(t *testing.T) {
	t.Parallel()
	for _, r := range KubeletRequesters() {
		approves := r.In.Component == "machine-config" || r.Signer == KubeletServingSigner
		if said := strings.Contains(r.Doc, "over 100 more than Machines or Nodes"); said != approves {
			t.Errorf("%s, by %s: %s", r.Signer, r.User, r.Doc)
		}
	}
}
