package remediatetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestFaultsAnywhere lets something go wrong with each call to the node in turn.
func TestFaultsAnywhere(t *testing.T) {
	thorough(t)
	t.Parallel()
	base := NewWorld(t)
	p := repair(base, t, "run-1")
	all := &faults{}
	sound := base.clone(t)
	if _, err := sound.run(t.Context(), t, sound.env(t, "run-1", all), p); err != nil {
		t.Fatal(err)
	}
	for name, how := range everyFault() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tried := 0
			for i, op := range all.calls {
				reads := !slices.Contains([]operation{"replace", "restart"}, op)
				if reads && (how != broken && how != cut || i%6 != 0) && !everything() {
					continue // what only reads is called again whatever the error was
				}
				w := base.clone(t)
				f := &faults{how: how, at: i + 1}
				story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
				// How often it looks while it waits depends on the machine's load: what
				// counts is to which call it happened.
				if op = f.hit(); op == "" {
					continue
				}
				tried++
				w.Machines["worker-0"].honest(t, story, err)
				if again := slices.Contains([]operation{"gather", "look", "entries"}, op); again && how != cut && err != nil {
					t.Errorf("reading again would do: %v", err)
				}
				if how == cut && err == nil && i < len(all.calls)-1 {
					t.Error("with no way onto the node, all went well")
				}
				goOn(w, t)
				if t.Failed() {
					t.Fatalf("call %d, %s: %v\n%+v", i+1, op, err, story.Records)
				}
			}
			if tried < 3 {
				t.Errorf("calls %q: where is the rest?", all.calls)
			}
		})
	}
}

// TestFaultsOnTheWayBack lets something go wrong with each call that puts back.
func TestFaultsOnTheWayBack(t *testing.T) {
	thorough(t)
	t.Parallel()
	base := NewWorld(t)
	if _, err := base.run(t.Context(), t, base.env(t, "run-1", nil), repair(base, t, "run-1")); err != nil {
		t.Fatal(err)
	}
	u := undoing(base, t, "run-1")
	u.AcceptBreaksTrust = true
	folder := host.DefaultFolder + "/run-1"
	p, err := u.Plan("run-1", base.snapshot(t, folder), base.Now())
	if err != nil {
		t.Fatal(err)
	}
	all := &faults{}
	sound := base.clone(t)
	if _, err := sound.run(t.Context(), t, sound.env(t, "run-1", all, folder), p); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for i, op := range all.calls {
		if op != "restore" && op != "restart" {
			continue
		}
		for name, how := range everyFault() {
			if (how == refused || how == broken) && !everything() {
				continue // nothing runs, and that is known: as where the plan is made
			}
			tried++
			w := base.clone(t)
			m := w.Machines["worker-0"]
			story, err := w.run(t.Context(), t, w.env(t, "run-1", &faults{how: how, at: i + 1}, folder), p)
			own, bootstrap := !m.fileRepaired(t, KubeletFile), !m.fileRepaired(t, BootstrapFile)
			m.dressed(t)
			if bootstrap && !own || m.asked(t) > 1 && !bootstrap {
				t.Errorf("out of order: %v, %v, asked %d times to restart", own, bootstrap, m.asked(t))
			}
			for _, r := range story.Records {
				if r.Event == remediate.Done && r.Path != "" && m.fileRepaired(t, r.Path) {
					t.Errorf("the journal says %+v", r)
				}
			}
			if state := "undo: " + leftOn(m, t); err != nil {
				if _, known := seen.LoadOrStore(state, true); !known {
					putBackRun(w, t, "run-1")
				}
			} else {
				m.original(t)
			}
			if t.Failed() {
				t.Fatalf("call %d, %s, %s: %v\n%+v", i+1, op, name, err, story.Records)
			}
		}
	}
	if tried < 3*4 {
		t.Errorf("calls %q: where is the rest?", all.calls)
	}
}

// TestKilledAtAnyMoment kills what writes at moments of all kinds. That each file
// is whole even then is host's to prove; here it is that what comes after gets
// along with whatever is left.
func TestKilledAtAnyMoment(t *testing.T) {
	thorough(t)
	t.Parallel()
	base := NewWorld(t)
	p := repair(base, t, "run-1")
	for _, op := range []operation{"replace", "restart"} {
		more := 5 * time.Millisecond
		if !everything() {
			more = 40 * time.Millisecond
		}
		for delay := 4 * time.Millisecond; delay < 140*time.Millisecond; delay += delay/4 + more {
			w := base.clone(t)
			f := &faults{how: killed, op: op, delay: delay}
			story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
			w.Machines["worker-0"].honest(t, story, err)
			goOn(w, t)
			if t.Failed() {
				t.Fatalf("%s killed after %s: %v\n%+v", op, delay, err, story.Records)
			}
		}
	}
}

// TestInterruptedAnywhere ends the run's context at each call to the node in turn:
// a step that was begun is done to its end, and no other one is begun.
func TestInterruptedAnywhere(t *testing.T) {
	thorough(t)
	t.Parallel()
	base := NewWorld(t)
	p := repair(base, t, "run-1")
	for at := 1; ; at++ {
		w := base.clone(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := 0 // steps, when it was interrupted
		var js remediate.Journals
		f := &faults{}
		f.before = func(n int) {
			if n == at {
				begun = strings.Count(string(rawJournal(js, t)), `"event":"begun"`)
				cancel(errInterrupted)
			}
		}
		env := w.env(t, "run-1", f)
		js = remediate.Journals{Folder: t.TempDir()}
		story, err := w.runIn(ctx, t, js, env, p)
		if len(f.calls) < at {
			break
		}
		m := w.Machines["worker-0"]
		m.honest(t, story, err)
		events := map[remediate.Event]int{}
		for _, r := range story.Records {
			events[r.Event]++
			if r.Event == remediate.Begun && r.Path != "" && !slices.ContainsFunc(story.Records, func(x remediate.Record) bool { return x.Action == r.Action && x.Event == remediate.Done }) {
				t.Errorf("%s was begun, and not done to its end", r.Action)
			}
		}
		if events[remediate.Begun] > begun {
			t.Errorf("%d steps were begun after it was interrupted", events[remediate.Begun]-begun)
		}
		if err != nil && !errors.Is(err, errInterrupted) && !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if stopped := (*remediate.Stopped)(nil); errors.As(err, &stopped) && !stopped.Interrupted {
			t.Errorf("it does not say that it was interrupted: %v", err)
		}
		goOn(w, t)
		if t.Failed() {
			t.Fatalf("interrupted at call %d, %s: %v\n%+v", at, f.calls[at-1], err, story.Records)
		}
		if !everything() {
			at += 5
		}
	}
}

var errInterrupted = errors.New("interrupted")

// seen are the states that runs left nodes in. What comes after is the same for the
// same state, and tried once, whichever test comes there first.
var seen sync.Map

// goOn tries both ways on from where a run left the world.
func goOn(w *World, t *testing.T) {
	t.Helper()
	m := w.Machines[w.names[0]]
	state := leftOn(m, t)
	if _, known := seen.LoadOrStore(state, true); known {
		return
	}
	t.Logf("left as %s", state)
	onceMore(w.clone(t), t, "run-2")
	putBackRun(w.clone(t), t, "run-1")
	pruned := w.clone(t)
	n, err := pruned.env(t, "run-1", nil).Connect(t.Context(), m.name)
	if err == nil {
		err = host.RunFolder{ID: "run-1"}.Remove(t.Context(), n)
	}
	if left := pruned.Machines[m.name].leftovers(t); err != nil || len(left) > 0 {
		t.Errorf("removed, and left behind: %q, %v", left, err)
	}
	if t.Failed() {
		t.Fatalf("after %s", state)
	}
}
