package inspect_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// TestTheMostUrgentNodeIsFirst: commands name nodes in the order in which a plan of all nodes takes
// them, and no node where all are meant.
func TestTheMostUrgentNodeIsFirst(t *testing.T) {
	now := time.Date(2024, 2, 10, 6, 30, 0, 0, time.UTC)
	s := inspect.Snapshot{Taken: now, Nodes: []inspect.Node{
		{Name: "worker-1", Ready: "True", Heartbeat: now}, {Name: "worker-2", Ready: "Unknown", Heartbeat: now.Add(-5 * time.Hour)},
	}, OtherNodes: []inspect.Node{{Name: "master-0", Role: catalog.RoleMaster, Ready: "True", Heartbeat: now}}}
	order := s.RepairOrder()
	if want := []string{"master-0", "worker-2", "worker-1"}; !slices.Equal(order, want) {
		t.Fatalf("%q, want %q", order, want)
	}
	for _, c := range []struct {
		names, want []string
		all         bool
	}{
		{[]string{"worker-1", "worker-2"}, []string{"worker-2", "worker-1"}, false},
		{[]string{"worker-1", "master-0", "worker-2"}, order, true},
		{[]string{"worker-1"}, []string{"worker-1"}, false},
		{[]string{"gone", "worker-1"}, []string{"worker-1", "gone"}, false},
	} {
		if got, all := inspect.InOrder(c.names, order); !slices.Equal(got, c.want) || all != c.all {
			t.Errorf("%q: %q, all %t", c.names, got, all)
		}
	}
}
