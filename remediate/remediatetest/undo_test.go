package remediatetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/undo"
)

// TestUndoOfWhatIsTrusted needs no word of consent: the server presents again what it
// showed before.
func TestUndoOfWhatIsTrusted(t *testing.T) {
	thorough(t)
	t.Parallel()
	w := NewWorld(t)
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), repair(w, t, "run-1")); err != nil {
		t.Fatal(err)
	}
	w.api.show(t, w.Old)
	p, err := undoing(w, t, "run-1").Plan("run-1", w.snapshot(t, host.DefaultFolder+"/run-1"), w.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.unspoken(t, p)
	if ids := StepsOf(p); !slices.Equal(ids, []string{"restore worker-0:" + KubeletFile, "restore worker-0:" + BootstrapFile, "restart worker-0:kubelet.service", "await worker-0"}) {
		t.Errorf("steps %q", ids)
	}
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil, host.DefaultFolder+"/run-1"), p); err != nil {
		t.Fatal(err)
	}
	m := w.Machines["worker-0"]
	m.original(t)
	if h, _ := m.heartbeat(t.Context(), ""); h.Ready != "True" {
		t.Errorf("heartbeat %+v", h)
	}
}

// undoing is what puts a run back, by what nodes keep of it.
func undoing(w *World, t *testing.T, run string) undo.Undo {
	t.Helper()
	u := undo.Undo{API: true}
	env := w.env(t, run, nil)
	for _, name := range w.names {
		n, err := env.Connect(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := host.RunFolder{ID: run}.Backups(t.Context(), n)
		if err != nil && !errors.Is(err, host.ErrNoRun) {
			t.Fatal(err)
		}
		u.Nodes = append(u.Nodes, undo.NodeBackups{Node: name, Backups: entries})
	}
	return u
}

// putBackRun puts a run back, whatever that breaks, and looks at what came of it.
func putBackRun(w *World, t *testing.T, run string) {
	t.Helper()
	u := undoing(w, t, run)
	u.AcceptBreaksTrust = true
	folder := host.DefaultFolder + "/" + run
	p, err := u.Plan(run, w.snapshot(t, folder), w.Now())
	if err != nil {
		t.Errorf("plan to put it back: %v", err)
		return
	}
	w.unspoken(t, p)
	if _, err := w.run(t.Context(), t, w.env(t, run, nil, folder), p); err != nil {
		t.Errorf("put it back: %v", err)
	}
	for _, m := range w.Machines {
		m.original(t)
		if left := m.leftovers(t); len(left) > 0 && len(p.Nodes()[0].Steps) > 0 && p.Nodes()[0].Steps[0].Change != nil {
			t.Errorf("left behind: %q", left)
		}
	}
	if p, err = u.Plan(run, w.snapshot(t, folder), w.Now()); err != nil || !p.Empty() {
		t.Errorf("still to put back: %v", err)
	}
}

// onceMore repairs the world as if nothing had been before, and looks whether that
// is the end of it.
func onceMore(w *World, t *testing.T, run string) {
	t.Helper()
	p := repair(w, t, run)
	if _, err := w.run(t.Context(), t, w.env(t, run, nil), p); err != nil {
		t.Errorf("once more: %v", err)
	}
	for _, m := range w.Machines {
		m.repaired(t)
	}
	if p := repair(w, t, run+"-third"); !p.Empty() {
		t.Errorf("still to do: %q", StepsOf(p))
	}
}

// leftOn is in what state a run left a node, for those that differ.
func leftOn(m *Machine, t *testing.T) string {
	t.Helper()
	var left []string
	for _, l := range m.leftovers(t) {
		left = append(left, l[:len(l)-min(6, len(l))])
	}
	_, kept := entriesOn(m, t)
	return fmt.Sprint(m.fileRepaired(t, BootstrapFile), m.fileRepaired(t, KubeletFile), m.asked(t), m.restarts(t), left, kept)
}

func entriesOn(m *Machine, t *testing.T) (entries []host.Backup, names string) {
	t.Helper()
	for _, k := range undoing(m.World, t, "run-1").Nodes {
		if k.Node == m.name {
			entries = k.Backups
		}
	}
	for _, e := range entries {
		names += " " + e.Before.Path
	}
	return entries, names
}
