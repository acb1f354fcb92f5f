package remediatetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestRepairAndBack is all as it should be: the repair, the second time at which
// there is nothing to do, and the undo.
func TestRepairAndBack(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, "worker-0", "worker-1")
	p := repair(w, t, "run-1")
	w.unspoken(t, p)
	if ids := StepsOf(p); !slices.Equal(ids, []string{
		"replace worker-0:" + BootstrapFile, "replace worker-0:" + KubeletFile, "restart worker-0:kubelet.service", "await worker-0",
		"replace worker-1:" + BootstrapFile, "replace worker-1:" + KubeletFile, "restart worker-1:kubelet.service", "await worker-1",
	}) {
		t.Errorf("steps %q", ids)
	}
	story, err := w.run(t.Context(), t, w.env(t, "run-1", nil), p)
	if err != nil || story.Outcome() != "finished" || len(story.Records) != 2*8+1 {
		t.Errorf("%v, %+v", err, story)
	}
	for _, m := range w.Machines {
		m.repaired(t)
		if n := m.restarts(t); n != 1 {
			t.Errorf("%s was restarted %d times", m.name, n)
		}
	}
	if again := repair(w, t, "run-2"); !again.Empty() {
		t.Errorf("still to do: %q", StepsOf(again))
	}

	u := undoing(w, t, "run-1")
	_, err = u.Plan("run-1", w.snapshot(t, host.DefaultFolder+"/run-1"), w.Now())
	var r *remediate.Refusal
	if !errors.As(err, &r) || r.Name != remediate.BreaksTrust || !r.Risk {
		t.Fatalf("it puts back what does not trust the API server: %v", err)
	}
	putBackRun(w, t, "run-1")
}

// TestOfWhatChangedNothingIsWritten changes the node between the plan and the
// step, and between the step's own look and its write.
func TestOfWhatChangedNothingIsWritten(t *testing.T) {
	t.Parallel()
	base := NewWorld(t)
	p := repair(base, t, "run-1")
	for name, change := range map[string]func(t *testing.T, m *Machine){
		"somebody else wrote it": func(t *testing.T, m *Machine) {
			m.Write(t, BootstrapFile, append([]byte("# mine\n"), m.files[BootstrapFile]...))
		},
		"it is gone": func(t *testing.T, m *Machine) {
			if err := os.Remove(m.At(BootstrapFile)); err != nil {
				t.Fatal(err)
			}
		},
		"it is a link now": func(t *testing.T, m *Machine) {
			if err := firstOf(os.Rename(m.At(BootstrapFile), m.At(BootstrapFile+"-1")), os.Symlink("kubeconfig-1", m.At(BootstrapFile))); err != nil {
				t.Fatal(err)
			}
		},
		"it has a second name": func(t *testing.T, m *Machine) {
			if err := os.Link(m.At(BootstrapFile), m.At(BootstrapFile+"-1")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for when, at := range map[string]int{"before the step": 1, "before the write": 3} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				w := base.clone(t)
				m := w.Machines["worker-0"]
				var before string
				f := &faults{before: func(n int) {
					if n == at {
						change(t, m)
						before = m.disk(t)
					}
				}}
				story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
				var s *remediate.Stopped
				if !errors.As(err, &s) || s.Undone || m.asked(t) > 0 {
					t.Errorf("%v", err)
				}
				if linked := name == "it has a second name" || name == "it is a link now" && at == 3; !linked && !errors.Is(err, remediate.ErrChanged) {
					t.Errorf("not ErrChanged: %v", err)
				}
				if now := m.disk(t); now != before {
					t.Errorf("something was written:\n%s\nbefore:\n%s", now, before)
				}
				if at == 1 && len(story.Changed()) > 0 && name != "it has a second name" { // of which facts do not tell
					t.Errorf("the journal says that it was begun: %+v", story.Records)
				}
			})
		}
	}
}

// TestChainThatNeitherFileTrusts has the server show another chain as soon as the
// new file is there: the one from before would be no better, and nothing is put
// back.
func TestChainThatNeitherFileTrusts(t *testing.T) {
	thorough(t)
	t.Parallel()
	other := pkitest.NewCA("of-nobody", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	w := NewWorld(t)
	m := w.Machines["worker-0"]
	p := repair(w, t, "run-1")
	f := &faults{how: refused, after: func(op operation) {
		if op == "replace" {
			w.api.show(t, other)
		}
	}}
	story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
	m.honest(t, story, err)
	var s *remediate.Stopped
	var bad *remediate.BadEffectError
	if !errors.As(err, &s) || s.Undone || errors.As(err, &bad) || !strings.Contains(err.Error(), "the file from before does not trust it either") {
		t.Fatalf("%v", err)
	}
	if !m.fileRepaired(t, BootstrapFile) || m.fileRepaired(t, KubeletFile) || m.asked(t) > 0 {
		t.Errorf("%+v", story.Records)
	}
	w.api.show(t, w.Young)
	goOn(w, t)
}

// TestOfFilesThatFailTheirCheck has someone make the new file readable for all as
// soon as it is there: it is put back.
func TestOfFilesThatFailTheirCheck(t *testing.T) {
	thorough(t)
	t.Parallel()
	base := NewWorld(t)
	p := repair(base, t, "run-1")
	for name, c := range map[string]struct {
		how    fault
		op     operation
		undone bool
	}{
		"and it is put back":                   {refused, "", true},
		"and putting back is not seen":         {unended, "restore", true},
		"and putting back does not run":        {unrun, "restore", false},
		"and putting back is refused":          {refused, "restore", false},
		"and the way dies":                     {cut, "restore", false},
		"and the way dies, and is found again": {broken, "restore", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := base.clone(t)
			m := w.Machines["worker-0"]
			f := &faults{how: c.how, op: c.op, after: func(op operation) {
				if op != "replace" {
					return
				}
				if err := os.Chmod(m.At(BootstrapFile), 0o644); err != nil {
					t.Error(err)
				}
			}}
			story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
			if !c.undone {
				if err := os.Chmod(m.At(BootstrapFile), 0o640); err != nil {
					t.Error(err)
				}
			}
			m.honest(t, story, err)
			var s *remediate.Stopped
			var bad *remediate.BadEffectError
			if !errors.As(err, &s) || !errors.As(err, &bad) || s.Undone != c.undone || (s.UndoFailed == nil) != c.undone {
				t.Fatalf("%v", err)
			}
			last := story.Records[len(story.Records)-1]
			if c.undone {
				m.original(t)
				if last.Event != remediate.Undone || story.Outcome() != "undone: replace worker-0:"+BootstrapFile {
					t.Errorf("the journal says %+v", last)
				}
			} else if last.Event != remediate.Failed || !m.fileRepaired(t, BootstrapFile) {
				t.Errorf("the journal says %+v", last)
			}
			if m.fileRepaired(t, KubeletFile) || m.asked(t) > 0 {
				t.Error("it went on")
			}
			goOn(w, t)
		})
	}
}

// TestEffectsThatDoNotShow leaves alone what is right, however its effect is.
func TestEffectsThatDoNotShow(t *testing.T) {
	t.Parallel()
	base := NewWorld(t, "worker-0", "worker-1")
	p := repair(base, t, "run-1")
	one := *p
	one.Waves = []remediate.Wave{{Nodes: p.Nodes()[:1]}}
	for _, c := range []struct {
		name    string
		plan    *remediate.Plan
		mode    string // of the fake kubelet
		change  func(e *remediate.Env)
		stopped string // the ID of the action
		says    string
		asked   int // restarts of worker-0
		is      func(err error) bool
	}{
		{"it never restarts", p, "never", nil, "restart worker-0:kubelet.service", "was not restarted", 1, nil},
		{"it comes up failed", p, "fails", nil, "restart worker-0:kubelet.service", "does not come up: failed (failed), exit-code", 1, nil},
		{"it comes up, and ends again", p, "ends", nil, "restart worker-0:kubelet.service", "does not come up: activating (auto-restart), exit-code", 1, nil},
		{"it is late", p, "late", nil, "await worker-0", "its last heartbeat is from", 1, func(err error) bool { var l *remediate.LateEffectError; return errors.As(err, &l) }},
		{"no API, and one node", &one, "normal", func(e *remediate.Env) { e.Heartbeat = nil }, "await worker-0", "no API server could be asked", 1, IsUnknown},
		{"no API, and two nodes", p, "normal", func(e *remediate.Env) { e.Heartbeat = nil }, "await worker-0", "no API server could be asked", 1, IsUnknown},
		{"an API that gives no answer", p, "normal", func(e *remediate.Env) {
			e.Heartbeat = func(context.Context, string) (collect.Heartbeat, error) { return collect.Heartbeat{}, errFault }
		}, "await worker-0", "is unknown", 1, IsUnknown},
		{"it reports, and is not Ready", p, "normal", func(e *remediate.Env) {
			e.Heartbeat = func(context.Context, string) (collect.Heartbeat, error) {
				return collect.Heartbeat{At: time.Now().Add(time.Hour), Ready: "False"}, nil
			}
		}, "await worker-0", `Ready is False`, 1, func(err error) bool { var l *remediate.LateEffectError; return errors.As(err, &l) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := base.clone(t)
			m := w.Machines["worker-0"]
			m.mode(t, c.mode)
			env := w.env(t, "run-1", nil)
			env.EffectTimeout = 6 * time.Second
			if c.change != nil {
				c.change(env)
			}
			story, err := w.run(t.Context(), t, env, c.plan)
			m.honest(t, story, err)
			var s *remediate.Stopped
			if !errors.As(err, &s) || s.Action.ID() != c.stopped || s.Undone || !strings.Contains(err.Error(), c.says) || c.is != nil && !c.is(err) {
				t.Errorf("%v", err)
			}
			if strings.Count(err.Error(), c.stopped) != 1 {
				t.Errorf("it says twice what was stopped: %v", err)
			}
			if !m.fileRepaired(t, BootstrapFile) || !m.fileRepaired(t, KubeletFile) || m.asked(t) != c.asked {
				t.Errorf("put back, or not done; asked %d times to restart", m.asked(t))
			}
			w.Machines["worker-1"].original(t)
		})
	}
}

// TestServerGoneAtTheCheck can't tell whether the new file is right, so nothing is
// put back.
func TestServerGoneAtTheCheck(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	m := w.Machines["worker-0"]
	p := repair(w, t, "run-1")
	f := &faults{after: func(op operation) {
		if op == "replace" {
			_ = w.api.Close()
		}
	}}
	story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
	m.honest(t, story, err)
	var s *remediate.Stopped
	if !errors.As(err, &s) || s.Undone || s.UndoFailed != nil || !strings.Contains(err.Error(), "is unknown") {
		t.Errorf("%v", err)
	}
	if !m.fileRepaired(t, BootstrapFile) || m.fileRepaired(t, KubeletFile) {
		t.Error("it was put back, or it went on")
	}
}

// TestTwoAtOnce has another certrot hold the node's lock.
func TestTwoAtOnce(t *testing.T) {
	thorough(t)
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("flock is not installed")
	}
	w := NewWorld(t)
	m := w.Machines["worker-0"]
	p := repair(w, t, "run-1")
	if err := os.MkdirAll(m.At(host.DefaultFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(m.At(host.DefaultFolder+"/.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	story, err := w.run(t.Context(), t, w.env(t, "run-1", nil), p)
	m.honest(t, story, err)
	if !errors.Is(err, host.ErrBusy) {
		t.Errorf("%v", err)
	}
	m.original(t)
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	onceMore(w, t, "run-2")
}

// TestKubeletWithoutAKubeconfig gets one from the bootstrap file.
func TestKubeletWithoutAKubeconfig(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	m := w.Machines["worker-0"]
	if err := os.Remove(m.At(KubeletFile)); err != nil {
		t.Fatal(err)
	}
	p := repair(w, t, "run-1")
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), p); err != nil {
		t.Fatal(err)
	}
	m.repaired(t)
	if again := repair(w, t, "run-2"); !again.Empty() {
		t.Errorf("still to do: %q, %q, %+v", StepsOf(again), again.Notes.Texts(), again.Basis.Nodes)
	}
}

// TestJournalThatCantBeKept stops before what it could not announce.
func TestJournalThatCantBeKept(t *testing.T) {
	t.Parallel()
	base := NewWorld(t)
	p := repair(base, t, "run-1")
	for at, want := range []string{"begin of the first", "end of the first", "begin of the second", "end of the second"} {
		w := base.clone(t)
		m := w.Machines["worker-0"]
		var j *remediate.Journal
		lines := 0
		js := remediate.Journals{Folder: t.TempDir()}
		j, err := js.Begin(remediate.Header{Run: "run-1"}, func() time.Time {
			if lines++; lines == at+1 {
				_ = j.Close()
			}
			return w.Now()
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := (remediate.Runner{Env: w.env(t, "run-1", nil), Journal: j}).Run(t.Context(), p); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", want, err)
		}
		story, err := js.Read("run-1")
		if err != nil || len(story.Records) != at {
			t.Errorf("%s: %v, %+v", want, err, story)
		}
		if m.fileRepaired(t, BootstrapFile) != (at >= 1) || m.fileRepaired(t, KubeletFile) != (at >= 3) || m.asked(t) > 0 {
			t.Errorf("%s: it went on without a journal", want)
		}
		for path := range m.files {
			if m.fileRepaired(t, path) && !slices.Contains(story.Changed()["worker-0"], path) {
				t.Errorf("%s: the journal does not know of %s", want, path)
			}
		}
	}
}
