package apply_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// changes is a step on a node that is never as it was read.
type changes struct{ looking }

func (changes) Apply(context.Context, *remediate.Env, *remediate.Change) error {
	return remediate.ErrChanged
}

// TestAWorkerThatChangesEachTimeIsLeftOut of a repair, once no plan is made again: its root rewrites its kubeconfig
// after each reading. The others are repaired, and the end names it, and how to go on. A control plane node stops all.
func TestAWorkerThatChangesEachTimeIsLeftOut(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ca := pkitest.NewCA("any", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	for role, leftOut := range map[string]bool{catalog.RoleWorker: true, catalog.RoleMaster: false} {
		var nodes []plugintest.LiveNode
		for _, name := range []string{"node-0", "node-1"} {
			n := plugintest.NewLiveNode(t, name)
			n.Kubelet(t, ca.CertPEM, "https://127.0.0.1:1", ca)
			nodes = append(nodes, n)
		}
		var out plugintest.Transcript
		w := applytest.OnNodes(nil, &out, nodes...)
		plans, done := 0, 0
		a := &apply.Execution{
			Options: apply.Options{App: w.App, Yes: true}, Session: w, Command: "fix-api-int", RunID: remediate.NewRun(time.Now()), PrintBasis: func(io.Writer, *remediate.Plan) {},
			Lines: apply.Lines{Resume: "certrot fix-api-int --via ssh"},
		}
		a.Plan = func(context.Context) (*remediate.Plan, error) {
			plans++
			p := stepsOn(changes{looking{on: "node-0"}}, looking{"node-1", func() { done++ }})
			for i := range p.Basis.Nodes {
				p.Basis.Nodes[i].Role = role
			}
			p.RunID = a.RunID
			return p, nil
		}
		err := a.Execute(t.Context())
		if err != nil {
			cli.PrintError(w.App.Streams, err)
		}
		said, want := out.String(), cli.ExitStopped
		if leftOut {
			want = cli.ExitIncomplete
		}
		if cli.CodeOf(err) != want || plans != 3 || done > 0 != leftOut {
			t.Errorf("role %s: exit code %d, %d plans, done %d:\n%s", role, cli.CodeOf(err), plans, done, said)
		}
		if !leftOut {
			continue
		}
		for _, want := range []string{"? node-0  left out: changed-since: look at node-0: it changed after it was read, each time", "Done. Left out: node-0.", "everything else was done; left out while it ran: changed-since on node-0", "look what changes it there", "certrot fix-api-int --via ssh"} {
			if !strings.Contains(said, want) {
				t.Errorf("does not say %q:\n%s", want, said)
			}
		}
	}
}
