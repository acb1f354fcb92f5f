package apply

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestWhatARunLeftOutIsNamed while it goes on, and where it ends: with the reason, what to wait for, and the command
// that repairs that node.
func TestWhatARunLeftOutIsNamed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const reason = "machine-config-daemon is at work on worker-1"
	busy := &remediate.Refusal{Name: preflight.PoolsSettled, Node: "worker-1", Reason: reason, Next: "wait until it is done: oc get node worker-1"}
	restart := func(node string) remediate.NodePlan {
		return remediate.NodePlan{Name: node, Steps: []remediate.Step{{Action: action.AwaitNode{NodeName: node}, Change: &remediate.Change{Summary: "wait"}}}}
	}
	unread := []*remediate.Refusal{{Name: "node-read", Node: "worker-9", Reason: "no way", Next: "try ssh"}}
	for _, c := range []struct {
		name string
		end  error
		plan *remediate.Plan
		code int
		says []string
	}{
		{"all others were done", nil, &remediate.Plan{}, cli.ExitIncomplete, []string{"Done. Left out: worker-1.", "everything else was done", reason, "oc get node worker-1", "certrot fix-api-int --via ssh"}},
		{"and one could not be judged", nil, &remediate.Plan{Unknown: unread}, cli.ExitIncomplete, []string{reason, "1 node could not be judged: worker-9", "try ssh"}},
		{"another failed", &remediate.Stopped{Action: action.AwaitNode{NodeName: "worker-2"}, Inner: errors.New("a disk is full")}, &remediate.Plan{}, cli.ExitStopped, []string{"a disk is full", "Left out while it ran: " + preflight.PoolsSettled + " on worker-1: " + reason}},
		{"whether another reports is unknown", &remediate.Stopped{Action: action.AwaitNode{NodeName: "worker-2"}, Inner: &remediate.UnknownEffectError{Reason: "no server to ask"}}, &remediate.Plan{}, cli.ExitIncomplete, []string{"everything else was done, and", reason}},
	} {
		var out strings.Builder
		a := &Execution{Lines: Lines{Resume: "certrot fix-api-int --via ssh"}, Options: Options{App: cli.App{ProgramName: "certrot", Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}}, RunID: "run-9"}
		p := c.plan
		p.Waves = []remediate.Wave{{Name: remediate.WaveWorkers, Nodes: []remediate.NodePlan{restart("worker-1"), restart("worker-2")}}, {Name: remediate.WaveNetwork, Nodes: []remediate.NodePlan{restart("worker-1"), restart("worker-2")}}}
		f := newFollower(a, p, ui.NewBoard(&out, nil))
		f.observe(p.Waves[0].Nodes[0].Steps[0].Action, remediate.LeftOut, nil, busy)
		if f.nodes != 1 || f.dueIn(remediate.WaveNetwork) != 1 || len(f.under) > 0 || !strings.Contains(out.String(), "? worker-1  left out: "+preflight.PoolsSettled+": "+reason) {
			t.Errorf("%s: of %d nodes, %d later, under way %q:\n%s", c.name, f.nodes, f.dueIn(remediate.WaveNetwork), f.under, &out)
		}
		err := a.ended(p, c.end)
		if err == nil {
			err = a.open(p)
		}
		cli.PrintError(a.App.Streams, err)
		if cli.CodeOf(err) != c.code {
			t.Errorf("%s: exit code %d: %v", c.name, cli.CodeOf(err), err)
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: does not say %q:\n%s", c.name, want, &out)
			}
		}
	}
}

// TestAWorkerThatStaysAsItIsIsNotAskedAbout: neither its clock nor what it says of itself stops what is done to others.
func TestAWorkerThatStaysAsItIsIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	p := &remediate.Plan{Basis: inspect.Snapshot{Nodes: []inspect.Node{
		{Name: "master-0", Role: catalog.RoleMaster}, {Name: "unknown", Role: ""}, {Name: "worker-0", Role: catalog.RoleWorker}, {Name: "worker-1", Role: catalog.RoleWorker}, {Name: "worker-2", Role: catalog.RoleWorker},
	}}}
	does := []remediate.Step{{Action: action.AwaitNode{}, Change: &remediate.Change{}}}
	p.Waves = []remediate.Wave{
		{Nodes: []remediate.NodePlan{{Name: "master-0"}, {Name: "unknown"}, {Name: "worker-0", Steps: does}, {Name: "worker-1"}, {Name: "worker-2"}}},
		{Nodes: []remediate.NodePlan{{Name: "worker-2", Steps: does}}},
	}
	if got := strings.Join(askedAbout(p), " "); got != "master-0 unknown worker-0 worker-2" {
		t.Errorf("%q", got)
	}
}

// TestAWorkerWhoseNetworkDidNotComeBackIsNamed with why, where to look, and the line that takes it again. What changed
// there after it was read is read again at once, as elsewhere.
func TestAWorkerWhoseNetworkDidNotComeBackIsNamed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const reason = "restart worker-0:openshift-multus/multus: not within 5m0s: pod openshift-multus/multus-1 on worker-0 is not ready"
	var out strings.Builder
	a := &Execution{Lines: Lines{Resume: "certrot fix-api-int --via ssh"}, Options: Options{App: cli.App{ProgramName: "certrot", Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}}, RunID: "run-9"}
	late := &remediate.Refusal{Name: remediate.NetworkBack, Node: "worker-0", Reason: reason, Next: "kubectl describe node worker-0", Cause: errors.New("late")}
	a.leftOut = []*remediate.Refusal{late}
	p := &remediate.Plan{}
	err := a.ended(p, nil)
	if err == nil {
		err = a.open(p)
	}
	cli.PrintError(a.App.Streams, err)
	if cli.CodeOf(err) != cli.ExitIncomplete || len(changedOn(a.leftOut)) > 0 {
		t.Errorf("exit code %d, changed %q", cli.CodeOf(err), changedOn(a.leftOut))
	}
	for _, want := range []string{"Done. Left out: worker-0.", "everything else was done", "network-back on worker-0: " + reason, "kubectl describe node worker-0", "then:\n", "certrot fix-api-int --via ssh"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("does not say %q:\n%s", want, &out)
		}
	}
	a.leftOut = append(a.leftOut, &remediate.Refusal{Name: remediate.NetworkBack, Node: "worker-1", Reason: "another pod", Cause: remediate.ErrChanged})
	if got := changedOn(a.leftOut); len(got) != 1 || !strings.Contains(got[0], "worker-1: another pod") {
		t.Errorf("to be read again: %q", got)
	}
}
