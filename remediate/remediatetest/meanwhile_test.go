package remediatetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestWhatBeginsMeanwhile stops a run before the next master, and before a wave.
func TestWhatBeginsMeanwhile(t *testing.T) {
	t.Parallel()
	base := NewWorld(t, "master-0", "master-1", "worker-0")
	p := repair(base, t, "run-1")
	for i := range p.Basis.Nodes {
		p.Basis.Nodes[i].Role = catalog.RoleMaster
		if p.Basis.Nodes[i].Name == "worker-0" {
			p.Basis.Nodes[i].Role = catalog.RoleWorker
		}
	}
	for name, c := range map[string]struct {
		after  int // questions
		done   []string
		before string
		left   []string
	}{
		"nothing begins":            {3, base.names, "", nil},
		"after the first master":    {1, base.names[:1], "master-1", []string{"worker-0"}},
		"before anything was begun": {0, nil, "master-0", base.names},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := base.clone(t)
			asked := 0
			again := &preflight.RecheckGate{ControlPlane: func(context.Context) *inspect.ControlPlaneStatus {
				m := Settled()
				if asked++; asked > c.after {
					BegunUpgrade(m)
				}
				return m
			}}
			j, err := remediate.Journals{Folder: t.TempDir()}.Begin(remediate.Header{Run: "run-1"}, w.Now)
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			err = remediate.Runner{Env: w.env(t, "run-1", nil), Journal: j, Gate: again}.Run(t.Context(), p)
			var s *remediate.Stopped
			switch {
			case c.before == "" && (err != nil || asked != 2):
				t.Errorf("asked %d times, and not for the wave and before the other master: %v", asked, err)
			case c.before != "" && (!errors.As(err, &s) || !strings.Contains(err.Error(), "upgrade-running") || s.Action.Node() != c.before || !slices.Equal(s.NotStarted, c.left)):
				t.Errorf("%v: %+v", err, s)
			}
			for _, n := range w.names {
				if slices.Contains(c.done, n) {
					w.Machines[n].repaired(t)
				} else {
					w.Machines[n].original(t)
				}
			}
		})
	}
}

// TestSeveralNodesWithoutAnAPI goes on where the node itself is answered, and no further.
func TestSeveralNodesWithoutAnAPI(t *testing.T) {
	t.Parallel()
	base := NewWorld(t, "worker-0", "worker-1")
	p := repair(base, t, "run-1")
	own := func(answer inspect.ProbeAnswer) *inspect.RestartProbe {
		answer.Question, answer.Server = inspect.AskNode, "api-int:6443"
		return &inspect.RestartProbe{Kubeconfig: inspect.ProbedKubeconfig{Path: KubeletFile, Answers: []inspect.ProbeAnswer{answer}}}
	}
	for _, c := range []struct {
		name   string
		answer *inspect.RestartProbe
		err    error
		says   []string
		goesOn bool
	}{
		{"it is accepted", own(inspect.ProbeAnswer{Code: 200}), nil, []string{"worker-0", "worker-1", "is unknown", "answers its kubelet's own credentials"}, true},
		{"it is refused", own(inspect.ProbeAnswer{Code: 401, Reason: "Unauthorized"}), nil, []string{"worker-0", "401 Unauthorized"}, false},
		{"it can't be asked", nil, errFault, []string{errFault.Error()}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := base.clone(t)
			env := w.env(t, "run-1", nil)
			env.Heartbeat = nil
			env.RestartProbe = func(context.Context, nodeexec.Node) (*inspect.RestartProbe, error) { return c.answer, c.err }
			_, err := w.run(t.Context(), t, env, p)
			var s *remediate.Stopped
			if !errors.As(err, &s) || !IsUnknown(err) || len(s.OtherFailures) > 0 || slices.Equal(s.NotStarted, []string{"worker-1"}) == c.goesOn {
				t.Fatalf("%v: %+v", err, s)
			}
			for _, word := range c.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("does not say %q: %v", word, err)
				}
			}
			w.Machines["worker-0"].repaired(t)
			if c.goesOn {
				w.Machines["worker-1"].repaired(t)
			} else {
				w.Machines["worker-1"].original(t)
			}
		})
	}
}

// TestAKubeletThatNeedsNoCertificateIsNotWaitedFor.
func TestAKubeletThatNeedsNoCertificateIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	api := &RequestsAPI{}
	env, told := Approvals(t, w, api)
	fix := worldFix(w)
	fix.ApproveCSRs = true
	p, err := fix.Plan("run-1", w.snapshot(t), w.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.run(t.Context(), t, env, p); err != nil || told.Len() > 0 || len(api.Log) > 0 {
		t.Fatalf("%v, told %q, approved %q", err, told, api.Log)
	}
	again, err := fix.Plan("run-2", w.snapshot(t), w.Now())
	if err != nil || !again.Empty() {
		t.Errorf("%v, still to do: %q", err, StepsOf(again))
	}
}

// TestUndoStopsOnceMore calls an undo again while the first node is still away.
func TestUndoStopsOnceMore(t *testing.T) {
	thorough(t)
	t.Parallel()
	w := NewWorld(t, "worker-0", "worker-1")
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), repair(w, t, "run-1")); err != nil {
		t.Fatal(err)
	}
	w.api.show(t, w.Old)
	first, second := w.Machines["worker-0"], w.Machines["worker-1"]
	undo := func() error {
		folder := host.DefaultFolder + "/run-1"
		p, err := undoing(w, t, "run-1").Plan("run-1", w.snapshot(t, folder), w.Now())
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.run(t.Context(), t, w.env(t, "run-1", nil, folder), p)
		return err
	}
	first.mode(t, "late")
	for range 2 {
		var late *remediate.LateEffectError
		if err := undo(); !errors.As(err, &late) || first.restarts(t) != 2 || second.restarts(t) != 1 {
			t.Fatalf("%v; restarts %d, %d", err, first.restarts(t), second.restarts(t))
		}
	}
	first.mode(t, "normal")
	if err := undo(); err != nil || first.restarts(t) != 2 {
		t.Errorf("%v; restarts %d", err, first.restarts(t))
	}
	first.original(t)
	second.original(t)
}
