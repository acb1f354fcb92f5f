package remediatetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// workingAfter is a cluster in which a node says, from the question of this number on, that machine-config-daemon
// is at work on it.
func workingAfter(questions int, names []string, node string) func(context.Context) *inspect.ControlPlaneStatus {
	asked := 0
	return func(context.Context) *inspect.ControlPlaneStatus {
		m := Settled()
		m.Nodes = m.Nodes[:3] // the control plane nodes
		asked++
		for _, name := range names {
			state := inspect.NodeState{Name: name, Ready: "True", Config: m.Nodes[0].Config}
			m.Nodes = append(m.Nodes, state)
		}
		for i := range m.Nodes {
			if n := &m.Nodes[i]; n.Name == node && asked > questions {
				n.Ready, n.Config.State, n.Config.Desired = "True", "Working", "rendered-2"
			}
		}
		return m
	}
}

// TestAWorkerAtWorkStopsNoOther: what its Node says after the plan was made leaves it out of the run, and the
// others are repaired. The next run takes it up, and an undo has nothing to do there.
func TestAWorkerAtWorkStopsNoOther(t *testing.T) {
	t.Parallel()
	workers := []string{"worker-0", "worker-1", "worker-2"}
	w := NewWorld(t, workers...)
	p := repair(w, t, "run-1")
	for i := range p.Basis.Nodes {
		p.Basis.Nodes[i].Role = catalog.RoleWorker
	}
	js := remediate.Journals{Folder: t.TempDir()}
	j, err := js.Begin(remediate.Header{Run: "run-1", Nodes: workers}, w.Now)
	if err != nil {
		t.Fatal(err)
	}
	gate := &preflight.RecheckGate{Snapshot: p.Basis, ControlPlane: workingAfter(0, workers, "worker-1")}
	before := w.Now()
	if err := (remediate.Runner{Env: w.env(t, "run-1", nil), Journal: j, Gate: gate}).Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	if waited := w.Now().Sub(before); waited.Minutes() > 10 {
		t.Errorf("it was waited for: %s", waited)
	}
	w.Machines["worker-0"].repaired(t)
	w.Machines["worker-1"].original(t)
	w.Machines["worker-2"].repaired(t)
	record, err := js.Read("run-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range record.Records {
		if r.Node == "worker-1" && (r.Event != remediate.LeftOut || !strings.Contains(r.Error, "machine-config-daemon is at work")) {
			t.Errorf("the journal of what was left out: %+v", r)
		}
	}
	if got := record.Outcome(); got != "finished; left out: worker-1" {
		t.Errorf("outcome %q", got)
	}
	if slices.Contains(record.Touched(), "worker-1") || record.Changed()["worker-1"] != nil {
		t.Errorf("changed %q", record.Changed())
	}
	// The same command takes it up, and nothing else.
	again := repair(w, t, "run-2")
	if steps := StepsOf(again); len(steps) == 0 || slices.ContainsFunc(steps, func(s string) bool { return !strings.Contains(s, "worker-1") }) {
		t.Errorf("still to do: %q", steps)
	}
	// An undo finds nothing there.
	w.api.show(t, w.Old)
	folder := host.DefaultFolder + "/run-1"
	undo, err := undoing(w, t, "run-1").Plan("run-1", w.snapshot(t, folder), w.Now())
	if err != nil {
		t.Fatal(err)
	}
	if steps := StepsOf(undo); len(steps) == 0 || slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "worker-1") }) {
		t.Errorf("undo: %q", steps)
	}
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil, folder), undo); err != nil {
		t.Error(err)
	}
	for _, name := range workers {
		w.Machines[name].original(t)
	}
}

// leavesOut is a gate that leaves nodes out: some when their wave is asked about, others when they are next.
type leavesOut struct{ wave, node []string }

func named(nodes []remediate.NodePlan, among []string) (out []*remediate.Refusal) {
	for _, n := range nodes {
		if slices.Contains(among, n.Name) {
			out = append(out, &remediate.Refusal{Name: "test", Node: n.Name, Reason: "it says so"})
		}
	}
	return out
}

func (g leavesOut) Wave(_ context.Context, _ *remediate.Env, nodes []remediate.NodePlan) ([]*remediate.Refusal, error) {
	return named(nodes, g.wave), nil
}

func (g leavesOut) Node(_ context.Context, _ *remediate.Env, _ *remediate.Plan, n remediate.NodePlan) ([]*remediate.Refusal, error) {
	return named([]remediate.NodePlan{n}, g.node), nil
}

// TestNodesThatTheGateLeavesOut are begun in no wave. Others go on; one of them proves the repair first, where the one
// that was to do so is left out.
func TestNodesThatTheGateLeavesOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gate    leavesOut
		fails   string // this action
		begun   string
		left    []string // NotStarted
		outcome string
	}{
		"none":                         {leavesOut{}, "", "w1a w1b w2a w2b w3a w3b w2a w2b", nil, "finished"},
		"one when its wave is asked":   {leavesOut{wave: []string{"w2"}}, "", "w1a w1b w3a w3b", nil, "finished; left out: w2"},
		"one when it is next":          {leavesOut{node: []string{"w3"}}, "", "w1a w1b w2a w2b w2a w2b", nil, "finished; left out: w3"},
		"the first one":                {leavesOut{wave: []string{"w1"}}, "", "w2a w2b w3a w3b w2a w2b", nil, "finished; left out: w1"},
		"the first one, and the next":  {leavesOut{wave: []string{"w1", "w2"}}, "", "w3a w3b", nil, "finished; left out: w1, w2"},
		"all":                          {leavesOut{wave: []string{"w1", "w2", "w3"}}, "", "", nil, "finished; left out: w1, w2, w3"},
		"the first one, and one fails": {leavesOut{wave: []string{"w1"}}, "w2a", "w2a", []string{"w3", "w2 (wave network)"}, "failed: w2a; left out: w1"},
		"one, and another fails":       {leavesOut{wave: []string{"w2"}}, "w3a", "w1a w1b w3a", nil, "failed: w3a; left out: w2"},
	} {
		s := &Stage{Gate: c.gate, Apply: func(id string) error {
			if id == c.fails {
				return errors.New("a disk is full")
			}
			return nil
		}}
		first, rest, network := s.Wave(1, "w1"), s.Wave(1, "w2", "w3"), s.Wave(1, "w2")
		first.Name, rest.Name, network.Name = remediate.WaveFirst, remediate.WaveWorkers, remediate.WaveNetwork
		record, err := s.Run(t.Context(), t, s.Plan(first, rest, network))
		var stopped *remediate.Stopped
		if errors.As(err, &stopped) != (c.fails != "") || stopped != nil && !slices.Equal(stopped.NotStarted, c.left) {
			t.Errorf("%s: %v: %+v", name, err, stopped)
		}
		if got := strings.Join(s.Began, " "); got != c.begun {
			t.Errorf("%s: begun %q, want %q", name, got, c.begun)
		}
		if got := record.Outcome(); got != c.outcome {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestOneWorkerProvesTheRepair also where the one that was to do so is left out: no other is begun meanwhile.
func TestOneWorkerProvesTheRepair(t *testing.T) {
	t.Parallel()
	s := &Stage{Gate: leavesOut{wave: []string{"w1"}}, Apply: func(string) error { return errors.New("a disk is full") }}
	first, rest := s.Wave(1, "w1"), s.Wave(3, "w2", "w3", "w4")
	first.Name, rest.Name = remediate.WaveFirst, remediate.WaveWorkers
	_, err := s.Run(t.Context(), t, s.Plan(first, rest))
	var stopped *remediate.Stopped
	if !errors.As(err, &stopped) || !slices.Equal(s.Began, []string{"w2a"}) || !slices.Equal(stopped.NotStarted, []string{"w3", "w4"}) {
		t.Errorf("begun %q, %v: %+v", s.Began, err, stopped)
	}
}

// TestAWorkerThatIsHeldStopsNoOther: root on it can write that another run is at work there, and it may be so. It is
// not touched. A control plane node that is held, and a node of which the role is unknown, stop all.
func TestAWorkerThatIsHeldStopsNoOther(t *testing.T) {
	t.Parallel()
	const other = "root@laptop2 (pid 7 of another machine), run run-0"
	for role, leftOut := range map[string]bool{catalog.RoleWorker: true, catalog.RoleMaster: false, "": false} {
		w := NewWorld(t, "node-0", "node-1", "node-2")
		env := w.env(t, "run-1", nil)
		env.Holder = "admin@laptop, run run-1"
		n, err := env.Connect(t.Context(), "node-0")
		if err != nil {
			t.Fatal(err)
		}
		if err := (host.RunFolder{ID: "run-0"}).Hold(t.Context(), n, other, ""); err != nil {
			t.Fatal(err)
		}
		p := repair(w, t, "run-1")
		for i := range p.Basis.Nodes {
			p.Basis.Nodes[i].Role = role
		}
		record, err := w.run(t.Context(), t, env, p)
		w.Machines["node-0"].original(t)
		again, noWay := env.Connect(t.Context(), "node-0") // the first way may be closed
		if noWay != nil {
			t.Fatal(noWay)
		}
		if err := (host.RunFolder{ID: "run-1"}).Hold(t.Context(), again, "another", ""); err == nil || !strings.Contains(err.Error(), other) {
			t.Errorf("role %q: the other run does not hold it any more: %v", role, err)
		}
		if !leftOut {
			var stopped *remediate.Stopped
			if !errors.As(err, &stopped) || !slices.Equal(stopped.NotStarted, []string{"node-1", "node-2"}) || !errors.Is(err, host.ErrBusy) {
				t.Errorf("role %q: %v", role, err)
			}
			w.Machines["node-1"].original(t)
			continue
		}
		w.Machines["node-1"].repaired(t)
		w.Machines["node-2"].repaired(t)
		if got := record.Outcome(); err != nil || got != "finished; left out: node-0" {
			t.Errorf("role %q: %v, %q", role, err, got)
		}
		for _, r := range record.Records {
			if r.Node == "node-0" && (r.Event != remediate.LeftOut || !strings.Contains(r.Error, other+" is changing this node")) {
				t.Errorf("the journal of what was left out: %+v", r)
			}
		}
	}
}
