package plugin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// TestLineThatGoesOn has the flags that were given, and neither secrets nor consent
// that was not.
func TestLineThatGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want string }{
		{"fix-api-int", "oc certrot fix-api-int"},
		{"fix-api-int --via ssh --only masters,workers --max-unavailable 10%", "oc certrot fix-api-int --max-unavailable 10% --only masters,workers --via ssh"},
		{"fix-api-int --nodes a,b --ssh-key k1 --ssh-key k2 --accept-risk masters-first", "oc certrot fix-api-int --accept-risk masters-first --nodes a,b --ssh-key k1 --ssh-key k2"},
		{"fix-api-int -y --token sesame", "oc certrot fix-api-int --token SECRET --yes"},
		{"fix-api-int --yes=false --local", "oc certrot fix-api-int --local --yes=false"},
	} {
		root := NewCommand(App{Called: "oc certrot", Streams: genericiooptions.NewTestIOStreamsDiscard()})
		got := ""
		cmd, _, err := root.Find([]string{"fix-api-int"})
		if err != nil {
			t.Fatal(err)
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { got = commandLine(cmd); return nil }
		root.SetArgs(strings.Fields(c.given))
		if err := root.ExecuteContext(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.given, got, err, c.want)
		}
	}
}

// TestHowFarARepairIs judges plans whose nodes stand here and there.
func TestHowFarARepairIs(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	change := &remediate.Change{Summary: "restart kubelet.service"}
	todo := remediate.Step{Action: action.NewRestartUnit("n"), Change: change}
	wait := func(n string) remediate.Step {
		return remediate.Step{Action: action.Await{On: n}, Change: &remediate.Change{Summary: "wait"}}
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
		f := &fixStatusFlags{fixFlags: fixFlags{resume: "certrot fix-api-int", line: "certrot fix-api-int"}}
		d := f.judge(c.plan)
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
