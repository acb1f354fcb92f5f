package csr

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestRequestsOfOtherNodesAreNotReadWhole: root on worker-9 makes requests of almost 64 KiB, which are looked at for
// each other node, and with each list. Names that lead to other nodes are of no help to it.
func TestRequestsOfOtherNodesAreNotReadWhole(t *testing.T) { //nolint:paralleltest // it counts allocations
	n := RequestedNode{Name: "worker-0", object: remediatetest.WorkerZero(), Versions: catalog.Versions{Cluster: "4.15.0"}, kubeletState: &kubeletState{}}
	const other = "system:node:worker-9"
	for what, c := range map[string]struct {
		user, subject, unit string
		most                float64 // allocations
		about               bool
	}{
		"another node's":              {other, other, "", 100, false},
		"the node's name in its unit": {other, other, "system:node:worker-0", 100, false},
		"in the node's name":          {other, "system:node:worker-0", "", 1e6, true},
		"by the node":                 {"system:node:worker-0", other, "", 1e6, true},
	} {
		s := remediatetest.ServingAsking(t)
		s.CSR.Spec.Username, s.Asks.Subject.CommonName, s.Asks.DNSNames = c.user, c.subject, []string{"system:node:worker-0"}
		if c.unit != "" {
			s.Asks.Subject.OrganizationalUnit = []string{c.unit}
		}
		for range 11_900 {
			s.Asks.DNSNames = append(s.Asks.DNSNames, "a")
		}
		made := s.Made(t)
		if got := n.judge(made); (got != nil) != c.about {
			t.Errorf("%s: %+v", what, got)
		}
		if took := testing.AllocsPerRun(3, func() { n.judge(made); n.asked(made) }); took > c.most {
			t.Errorf("%s: %.0f allocations for a request of %d bytes", what, took, len(made.Spec.Request))
		}
	}
}
