package fixapiintcmd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// TestHowFarARepairIs judges plans whose nodes stand here and there.
func TestHowFarARepairIs(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	change := &remediate.Change{Summary: "restart kubelet.service"}
	todo := remediate.Step{Action: action.NewRestartKubelet("n"), Change: change}
	wait := func(n string) remediate.Step {
		return remediate.Step{Action: action.AwaitNode{NodeName: n}, Change: &remediate.Change{Summary: "wait"}}
	}
	alive := inspect.Lease{Advanced: true}
	plan := func(ready string, steps ...remediate.Step) *remediate.Plan {
		return &remediate.Plan{
			Now: now, Basis: inspect.Snapshot{Nodes: []inspect.Node{{Name: "m", Role: catalog.RoleMaster, Ready: ready, Lease: alive}, {Name: "w", Role: catalog.RoleWorker, Ready: "True", Lease: alive}}},
			Waves: []remediate.Wave{{Name: remediate.WaveMasters, Nodes: []remediate.NodePlan{{Name: "m", Steps: steps}}}, {Name: remediate.WaveWorkers, Nodes: []remediate.NodePlan{{Name: "w"}}}},
		}
	}
	unread := func(node string) []*remediate.Refusal {
		return []*remediate.Refusal{{Name: "node-read", Node: node, Reason: "port 22 is closed", Next: "open it"}}
	}
	lost := plan("True")
	lost.Unknown = unread("w9")
	master := plan("True", todo)
	master.Unknown = unread("m")
	silent, unasked := plan("True"), plan("True")
	silent.Basis.Nodes[0].Heartbeat, silent.Basis.Nodes[0].Lease = now.Add(-14*time.Minute), inspect.Lease{Asked: now}
	unasked.Basis.Nodes[0].Lease = inspect.Lease{Unread: "forbidden"}
	for _, c := range []struct {
		name   string
		plan   *remediate.Plan
		states []string // the whole, then its waves
		next   string
	}{
		{"all is right", plan("True"), []string{standsDone, standsDone, standsDone}, ""},
		{"a master is to be done", plan("True", todo, wait("m")), []string{standsPending, standsPending, standsDone}, "certrot fix-api-int"},
		{"nothing but waiting for a master that is Ready", plan("True", wait("m")), []string{standsDone, standsDone, standsDone}, ""},
		{"a master is right, and not Ready", plan("False", wait("m")), []string{standsFailed, standsFailed, standsDone}, "m: kubectl describe node m"},
		{"a master is right, and Ready without a heartbeat", silent, []string{standsFailed, standsFailed, standsDone}, "m: kubectl describe node m"},
		{"a master is right, and its Lease was not read", unasked, []string{standsUnknown, standsUnknown, standsDone}, "m: kubectl get lease -n kube-node-lease m"},
		{"a worker was not read", lost, []string{standsUnknown, standsDone, standsUnknown}, "w9: open it"},
		{"a master was not read", master, []string{standsPending, standsPending, standsDone}, "m: open it"},
	} {
		o := &statusOptions{lines: commandLines{resume: "certrot fix-api-int", allWaves: "certrot fix-api-int"}}
		d := o.judge(c.plan, nil)
		got := []string{d.State}
		for _, w := range d.Waves {
			got = append(got, w.State)
		}
		if of := strings.HasPrefix(d.Next, "m: "); of != (d.PastMasters == "certrot fix-api-int --only workers --accept-risk=masters-first") || !of && d.PastMasters != "" {
			t.Errorf("%s: past masters by %q", c.name, d.PastMasters)
		}
		if !slices.Equal(got, c.states) || !strings.HasPrefix(d.Next, c.next) || (c.next == "") != (d.Next == "") {
			t.Errorf("%s: %q, next %q", c.name, got, d.Next)
		}
	}
}
