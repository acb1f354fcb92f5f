package apply

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// TestWhatAnUndoLeftOutIsNamed at its end, be it by the plan or while it ran, with the line that takes it again; where it
// stopped at a worker, with the line that leaves that one out.
func TestWhatAnUndoLeftOutIsNamed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const line = "certrot undo run-1 --via ssh"
	pending := func(node string) *remediate.Refusal {
		return &remediate.Refusal{Name: "requests-pending", Node: node, Risk: true, Reason: "its kubelet may wait", Next: "deny it; or: --accept-risk=requests-pending"}
	}
	planned := pending("worker-1")
	planned.Next += "; then: " + line + " --nodes worker-1"
	stopped := func(node string, inner error) error {
		return &remediate.Stopped{Action: action.AwaitNode{NodeName: node}, Inner: inner, NotStarted: []string{"worker-3"}}
	}
	for name, c := range map[string]struct {
		plan, ran []*remediate.Refusal
		end       error
		changed   bool
		code      int
		says      []string
		never     string
	}{
		"by the plan":               {[]*remediate.Refusal{planned}, nil, nil, true, cli.ExitIncomplete, []string{"run run-1. Left out: worker-1.", "everything else was put back; left out: requests-pending on worker-1: its kubelet may wait", line + " --nodes worker-1"}, "could not be judged"},
		"while it ran":              {nil, []*remediate.Refusal{pending("worker-2")}, nil, true, cli.ExitIncomplete, []string{"Left out: worker-2.", "deny it", line + " --nodes worker-2"}, ""},
		"both":                      {[]*remediate.Refusal{planned}, []*remediate.Refusal{pending("worker-2")}, nil, true, cli.ExitIncomplete, []string{"Left out: worker-1, worker-2.", line + " --nodes worker-1,worker-2"}, ""},
		"none":                      {nil, nil, nil, true, cli.ExitFine, []string{"before run run-1."}, "Left out"},
		"a worker failed":           {nil, nil, stopped("worker-2", errors.New("a disk is full")), true, cli.ExitStopped, []string{"to leave worker-2 out: " + line + " --nodes master-0,worker-3"}, ""},
		"a control plane node":      {nil, nil, stopped("master-0", errors.New("a disk is full")), true, cli.ExitStopped, []string{"a disk is full"}, "to leave"},
		"refused before any change": {nil, nil, stopped("master-0", pending("master-0")), false, cli.ExitRefused, []string{"requests-pending on master-0", "deny it; or: --accept-risk=requests-pending"}, "accept the risk"},
	} {
		var out strings.Builder
		a := &Execution{Lines: Lines{NamedNodes: line}, Options: Options{App: cli.App{ProgramName: "certrot", Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}}, RunID: "run-2", Undoes: "run-1", leftOut: c.ran}
		if c.changed {
			a.Changed = []journaledStep{{run: "run-2", step: "any", undoable: true}}
		}
		p := &remediate.Plan{Unknown: c.plan, Waves: []remediate.Wave{{}}}
		for _, node := range []string{"master-0", "worker-2", "worker-3"} {
			role := catalog.RoleWorker
			if strings.HasPrefix(node, "master") {
				role = catalog.RoleMaster
			}
			p.Basis.Nodes = append(p.Basis.Nodes, inspect.Node{Name: node, Role: role})
			p.Waves[0].Nodes = append(p.Waves[0].Nodes, remediate.NodePlan{Name: node, Steps: []remediate.Step{{Action: action.AwaitNode{NodeName: node}, Change: &remediate.Change{}}}})
		}
		err := a.ended(p, c.end)
		if err == nil {
			err = a.open(p)
		}
		if err != nil {
			cli.PrintError(a.App.Streams, err)
		}
		if cli.CodeOf(err) != c.code {
			t.Errorf("%s: exit code %d: %v", name, cli.CodeOf(err), err)
		}
		said := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: does not say %q:\n%s", name, want, said)
			}
		}
		if c.never != "" && strings.Contains(said, c.never) {
			t.Errorf("%s: says %q:\n%s", name, c.never, said)
		}
	}
}
