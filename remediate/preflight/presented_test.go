package preflight

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestWhatOneWorkerIsPresentedStopsNoOther: it may have another server in its kubeconfig or its hosts
// file. What a control plane node is presented, or all workers are, stops everything, with its name.
func TestWhatOneWorkerIsPresentedStopsNoOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role string
		all  bool
		want assess.Status
	}{
		"a worker":                            {catalog.RoleWorker, false, assess.Pass},
		"the only one that was presented any": {catalog.RoleWorker, true, assess.Fail},
		"a control plane node":                {catalog.RoleMaster, false, assess.Fail},
		"a node whose role is unknown":        {"", false, assess.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := quiet("worker-0")
			if c.all {
				p.Snapshot.Served = nil
			}
			shows("", "")(p)
			for i := range p.Snapshot.Nodes {
				if p.Snapshot.Nodes[i].Name == "worker-0" {
					p.Snapshot.Nodes[i].Role = c.role
				}
			}
			for _, v := range p.Check() {
				if v.ID != ServerSide && v.ID != "named-certificate" {
					continue
				}
				if v.Status != c.want || !strings.Contains(v.Reason, "worker-0") {
					t.Errorf("%s: %s, want %s with worker-0: %s", v.ID, v.Status, c.want, v.Reason)
				}
			}
		})
	}
	plain := Preflight{Snapshot: remediatetest.NewFixture("worker-0").Snapshot, Now: remediatetest.TestNow}
	if plain.onWorker("worker-9") {
		t.Error("a node of which nothing was read is no worker")
	}
}
