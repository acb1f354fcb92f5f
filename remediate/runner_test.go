package remediate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

// TestRepairAndBack is all as it should be: the repair, the second time at which
// there is nothing to do, and the way back.
func TestRepairAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "worker-0", "worker-1")
	p := w.repair(t, "run-1")
	w.unspoken(t, p)
	if ids := stepsOf(p); !slices.Equal(ids, []string{
		"replace worker-0:" + bootstrapFile, "replace worker-0:" + kubeletFile, "restart worker-0:kubelet.service", "await worker-0",
		"replace worker-1:" + bootstrapFile, "replace worker-1:" + kubeletFile, "restart worker-1:kubelet.service", "await worker-1",
	}) {
		t.Errorf("steps %q", ids)
	}
	story, err := w.run(t.Context(), t, w.env(t, "run-1", nil), p)
	if err != nil || story.Outcome() != "finished" || len(story.Records) != 2*8+1 {
		t.Errorf("%v, %+v", err, story)
	}
	for _, m := range w.machines {
		m.mended(t)
		if n := m.restarts(t); n != 1 {
			t.Errorf("%s was restarted %d times", m.name, n)
		}
	}
	if again := w.repair(t, "run-2"); !again.Empty() {
		t.Errorf("still to do: %q", stepsOf(again))
	}

	u := w.undoing(t, "run-1")
	_, err = u.Plan("run-1", w.facts(t, host.DefaultFolder+"/run-1"), w.now())
	var r *Refusal
	if !errors.As(err, &r) || r.Name != BreaksTrust || !r.Risk {
		t.Fatalf("it puts back what does not trust the API server: %v", err)
	}
	w.putBack(t, "run-1")
}

// TestUndoOfWhatIsTrusted needs no word of consent: the server shows again what it
// showed before.
func TestUndoOfWhatIsTrusted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), w.repair(t, "run-1")); err != nil {
		t.Fatal(err)
	}
	w.api.show(t, w.old)
	p, err := w.undoing(t, "run-1").Plan("run-1", w.facts(t, host.DefaultFolder+"/run-1"), w.now())
	if err != nil {
		t.Fatal(err)
	}
	w.unspoken(t, p)
	if ids := stepsOf(p); !slices.Equal(ids, []string{"restore worker-0:" + kubeletFile, "restore worker-0:" + bootstrapFile, "restart worker-0:kubelet.service", "await worker-0"}) {
		t.Errorf("steps %q", ids)
	}
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil, host.DefaultFolder+"/run-1"), p); err != nil {
		t.Fatal(err)
	}
	m := w.machines["worker-0"]
	m.original(t)
	if h, _ := m.heartbeat(t.Context(), ""); h.Ready != "True" {
		t.Errorf("heartbeat %+v", h)
	}
}

// stepsOf are the IDs of what is to be done.
func stepsOf(p *Plan) (ids []string) {
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if s.Change != nil {
				ids = append(ids, s.Action.ID())
			}
		}
	}
	return ids
}

// unspoken fails the test if the token is in what a plan holds.
func (w *world) unspoken(t *testing.T, p *Plan) {
	t.Helper()
	w.secret(t, "the plan", fmt.Sprintf("%+v", p))
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if s.Change == nil || s.Change.File == nil {
				continue
			}
			f := s.Change.File
			w.secret(t, "the change of "+f.Path, fmt.Sprintf("%+v", s), string(f.Before), string(f.After), string(f.Edit.Insert))
			if f.Path == bootstrapFile && !strings.Contains(string(f.After), "token: "+strings.Repeat("x", len(w.token))+"\n") {
				t.Errorf("the text has no token of that length:\n%s", f.After)
			}
		}
	}
	for _, k := range p.Basis.Nodes {
		w.secret(t, "the facts", fmt.Sprintf("%+v", k))
		for _, k := range k.Kubeconfigs {
			w.secret(t, "the facts", string(k.Text))
		}
	}
}

// mended fails the test unless a node is repaired and reports.
func (m *machine) mended(t *testing.T) {
	t.Helper()
	for _, path := range catalog.KubeletKubeconfigs() {
		if !m.repaired(t, path) {
			t.Errorf("%s is not repaired", path)
		}
	}
	m.dressed(t)
	if h, err := m.heartbeat(t.Context(), m.name); h.Ready != "True" {
		t.Errorf("its kubelet has not read it: %+v, %v", h, err)
	}
}

// undoing is what puts a run back, by what nodes keep of it.
func (w *world) undoing(t *testing.T, run string) Undo {
	t.Helper()
	u := Undo{API: true}
	env := w.env(t, run, nil)
	for _, name := range w.names {
		n, err := env.onto(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := host.Run{ID: run}.Entries(t.Context(), n)
		if err != nil && !errors.Is(err, host.ErrNoRun) {
			t.Fatal(err)
		}
		u.Nodes = append(u.Nodes, Kept{Node: name, Entries: entries})
	}
	return u
}

// putBack puts a run back, whatever that breaks, and looks at what came of it.
func (w *world) putBack(t *testing.T, run string) {
	t.Helper()
	u := w.undoing(t, run)
	u.AcceptBreaksTrust = true
	folder := host.DefaultFolder + "/" + run
	p, err := u.Plan(run, w.facts(t, folder), w.now())
	if err != nil {
		t.Errorf("plan to put it back: %v", err)
		return
	}
	w.unspoken(t, p)
	if _, err := w.run(t.Context(), t, w.env(t, run, nil, folder), p); err != nil {
		t.Errorf("put it back: %v", err)
	}
	for _, m := range w.machines {
		m.original(t)
		if left := m.leftovers(t); len(left) > 0 && len(p.Nodes()[0].Steps) > 0 && p.Nodes()[0].Steps[0].Change != nil {
			t.Errorf("left behind: %q", left)
		}
	}
	if p, err = u.Plan(run, w.facts(t, folder), w.now()); err != nil || !p.Empty() {
		t.Errorf("still to put back: %v", err)
	}
}

// onceMore repairs the world as if nothing had been before, and looks whether that
// is the end of it.
func (w *world) onceMore(t *testing.T, run string) {
	t.Helper()
	p := w.repair(t, run)
	if _, err := w.run(t.Context(), t, w.env(t, run, nil), p); err != nil {
		t.Errorf("once more: %v", err)
	}
	for _, m := range w.machines {
		m.mended(t)
	}
	if p := w.repair(t, run+"-third"); !p.Empty() {
		t.Errorf("still to do: %q", stepsOf(p))
	}
}

// honest fails the test unless a node is in one of the states that a plan's steps
// lead through, and the journal tells which.
func (m *machine) honest(t *testing.T, story Story, err error) {
	t.Helper()
	bootstrap, own := m.repaired(t, bootstrapFile), m.repaired(t, kubeletFile)
	asked := m.asked(t) > 0
	m.dressed(t)
	if own && !bootstrap || asked && !own {
		t.Errorf("out of order: %s changed: %v, %s: %v, restart: %v", bootstrapFile, bootstrap, kubeletFile, own, asked)
	}
	said := story.Changed()[m.name]
	for path, changed := range map[string]bool{bootstrapFile: bootstrap, kubeletFile: own} {
		if changed && !slices.Contains(said, path) {
			t.Errorf("%s was changed, and the journal says %q", path, said)
		}
	}
	finished := false
	for _, r := range story.Records {
		switch {
		case r.Event == Finished:
			finished = true
		case r.Node != m.name:
		case r.Event == Done && r.Path != "" && !m.repaired(t, r.Path), r.Event == Undone && m.repaired(t, r.Path),
			r.Event == Done && strings.HasPrefix(r.Action, "restart") && m.restarts(t) == 0:
			t.Errorf("the journal says %+v", r)
		}
	}
	if asked && !slices.ContainsFunc(story.Records, func(r Record) bool { return r.Event == Begun && strings.HasPrefix(r.Action, "restart") }) {
		t.Error("the journal does not say that a restart was begun")
	}
	var s *Stopped
	if finished != (err == nil) || err != nil && !errors.As(err, &s) {
		t.Errorf("%v, and the journal says %+v", err, story.Records)
	}
	if err == nil {
		m.mended(t)
	}
}

// left is in what state a run left a node, for those that differ.
func (m *machine) left(t *testing.T) string {
	t.Helper()
	var left []string
	for _, l := range m.leftovers(t) {
		left = append(left, l[:len(l)-min(6, len(l))])
	}
	_, kept := m.entries(t)
	return fmt.Sprint(m.repaired(t, bootstrapFile), m.repaired(t, kubeletFile), m.asked(t), m.restarts(t), left, kept)
}

func (m *machine) entries(t *testing.T) (entries []host.Entry, names string) {
	t.Helper()
	for _, k := range m.world.undoing(t, "run-1").Nodes {
		if k.Node == m.name {
			entries = k.Entries
		}
	}
	for _, e := range entries {
		names += " " + e.Before.Path
	}
	return entries, names
}

// seen are the states that runs left nodes in. What comes after is the same for the
// same state, and tried once, whichever test comes there first.
var seen sync.Map

// goOn tries both ways on from where a run left the world.
func (w *world) goOn(t *testing.T) {
	t.Helper()
	m := w.machines[w.names[0]]
	state := m.left(t)
	if _, known := seen.LoadOrStore(state, true); known {
		return
	}
	t.Logf("left as %s", state)
	w.clone(t).onceMore(t, "run-2")
	w.clone(t).putBack(t, "run-1")
	pruned := w.clone(t)
	n, err := pruned.env(t, "run-1", nil).onto(t.Context(), m.name)
	if err == nil {
		err = host.Run{ID: "run-1"}.Remove(t.Context(), n)
	}
	if left := pruned.machines[m.name].leftovers(t); err != nil || len(left) > 0 {
		t.Errorf("removed, and left behind: %q, %v", left, err)
	}
	if t.Failed() {
		t.Fatalf("after %s", state)
	}
}

// everything says to try all that there is, which takes some minutes, and not a
// part of it that finds most.
func everything() bool { return os.Getenv("CERTROT_EVERY_STEP") == "1" }

// thorough ends a test of many runs where only the quick ones are wanted.
func thorough(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("many runs, which -short leaves out")
	}
}

// TestFaultsAnywhere lets something go wrong with each call to the node in turn.
func TestFaultsAnywhere(t *testing.T) {
	thorough(t)
	t.Parallel()
	base := newWorld(t)
	p := base.repair(t, "run-1")
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
				w.machines["worker-0"].honest(t, story, err)
				if again := slices.Contains([]operation{"gather", "look", "entries"}, op); again && how != cut && err != nil {
					t.Errorf("reading again would do: %v", err)
				}
				if how == cut && err == nil && i < len(all.calls)-1 {
					t.Error("with no way onto the node, all went well")
				}
				w.goOn(t)
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
	base := newWorld(t)
	if _, err := base.run(t.Context(), t, base.env(t, "run-1", nil), base.repair(t, "run-1")); err != nil {
		t.Fatal(err)
	}
	u := base.undoing(t, "run-1")
	u.AcceptBreaksTrust = true
	folder := host.DefaultFolder + "/run-1"
	p, err := u.Plan("run-1", base.facts(t, folder), base.now())
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
			m := w.machines["worker-0"]
			story, err := w.run(t.Context(), t, w.env(t, "run-1", &faults{how: how, at: i + 1}, folder), p)
			own, bootstrap := !m.repaired(t, kubeletFile), !m.repaired(t, bootstrapFile)
			m.dressed(t)
			if bootstrap && !own || m.asked(t) > 1 && !bootstrap {
				t.Errorf("out of order: %v, %v, asked %d times to restart", own, bootstrap, m.asked(t))
			}
			for _, r := range story.Records {
				if r.Event == Done && r.Path != "" && m.repaired(t, r.Path) {
					t.Errorf("the journal says %+v", r)
				}
			}
			if state := "undo: " + m.left(t); err != nil {
				if _, known := seen.LoadOrStore(state, true); !known {
					w.putBack(t, "run-1")
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
	base := newWorld(t)
	p := base.repair(t, "run-1")
	for _, op := range []operation{"replace", "restart"} {
		more := 5 * time.Millisecond
		if !everything() {
			more = 40 * time.Millisecond
		}
		for delay := 4 * time.Millisecond; delay < 140*time.Millisecond; delay += delay/4 + more {
			w := base.clone(t)
			f := &faults{how: killed, op: op, delay: delay}
			story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
			w.machines["worker-0"].honest(t, story, err)
			w.goOn(t)
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
	base := newWorld(t)
	p := base.repair(t, "run-1")
	for at := 1; ; at++ {
		w := base.clone(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := 0 // steps, when it was interrupted
		var js Journals
		f := &faults{}
		f.before = func(n int) {
			if n == at {
				begun = strings.Count(string(js.raw(t)), `"event":"begun"`)
				cancel(errInterrupted)
			}
		}
		env := w.env(t, "run-1", f)
		js = Journals{Folder: t.TempDir()}
		story, err := w.runIn(ctx, t, js, env, p)
		if len(f.calls) < at {
			break
		}
		m := w.machines["worker-0"]
		m.honest(t, story, err)
		events := map[Event]int{}
		for _, r := range story.Records {
			events[r.Event]++
			if r.Event == Begun && r.Path != "" && !slices.ContainsFunc(story.Records, func(x Record) bool { return x.Action == r.Action && x.Event == Done }) {
				t.Errorf("%s was begun, and not done to its end", r.Action)
			}
		}
		if events[Begun] > begun {
			t.Errorf("%d steps were begun after it was interrupted", events[Begun]-begun)
		}
		if err != nil && !errors.Is(err, errInterrupted) && !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if stopped := (*Stopped)(nil); errors.As(err, &stopped) && !stopped.Interrupted {
			t.Errorf("it does not say that it was interrupted: %v", err)
		}
		w.goOn(t)
		if t.Failed() {
			t.Fatalf("interrupted at call %d, %s: %v\n%+v", at, f.calls[at-1], err, story.Records)
		}
		if !everything() {
			at += 5
		}
	}
}

var errInterrupted = errors.New("interrupted")

// TestOfWhatChangedNothingIsWritten changes the node between the plan and the
// step, and between the step's own look and its write.
func TestOfWhatChangedNothingIsWritten(t *testing.T) {
	t.Parallel()
	base := newWorld(t)
	p := base.repair(t, "run-1")
	for name, change := range map[string]func(t *testing.T, m *machine){
		"somebody else wrote it": func(t *testing.T, m *machine) {
			m.write(t, bootstrapFile, append([]byte("# mine\n"), m.files[bootstrapFile]...))
		},
		"it is gone": func(t *testing.T, m *machine) {
			if err := os.Remove(m.at(bootstrapFile)); err != nil {
				t.Fatal(err)
			}
		},
		"it is a link now": func(t *testing.T, m *machine) {
			if err := firstOf(os.Rename(m.at(bootstrapFile), m.at(bootstrapFile+"-1")), os.Symlink("kubeconfig-1", m.at(bootstrapFile))); err != nil {
				t.Fatal(err)
			}
		},
		"it has a second name": func(t *testing.T, m *machine) {
			if err := os.Link(m.at(bootstrapFile), m.at(bootstrapFile+"-1")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for when, at := range map[string]int{"before the step": 1, "before the write": 3} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				w := base.clone(t)
				m := w.machines["worker-0"]
				var before string
				f := &faults{before: func(n int) {
					if n == at {
						change(t, m)
						before = m.disk(t)
					}
				}}
				story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
				var s *Stopped
				if !errors.As(err, &s) || s.Undone || m.asked(t) > 0 {
					t.Errorf("%v", err)
				}
				if linked := name == "it has a second name" || name == "it is a link now" && at == 3; !linked && !errors.Is(err, ErrChanged) {
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

// disk is what is in the node's folders with kubeconfigs.
func (m *machine) disk(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{"/etc", "/var/lib/kubelet"} {
		_ = filepath.WalkDir(m.at(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				t.Error(err)
				return nil
			}
			info, err := d.Info()
			if err == nil && !d.IsDir() {
				data, _ := os.ReadFile(path)
				fmt.Fprintf(&b, "%s %s %d %x\n", path[len(m.root):], info.Mode(), info.Sys().(*syscall.Stat_t).Ino, sha256.Sum256(data))
			}
			return err
		})
	}
	return b.String()
}

// TestChainThatNeitherFileTrusts has the server show another chain as soon as the
// new file is there: the one from before would be no better, and nothing is put
// back.
func TestChainThatNeitherFileTrusts(t *testing.T) {
	t.Parallel()
	other := pkitest.NewCA("of-nobody", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	w := newWorld(t)
	m := w.machines["worker-0"]
	p := w.repair(t, "run-1")
	f := &faults{how: refused, after: func(op operation) {
		if op == "replace" {
			w.api.show(t, other)
		}
	}}
	story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
	m.honest(t, story, err)
	var s *Stopped
	var bad *BadEffect
	if !errors.As(err, &s) || s.Undone || errors.As(err, &bad) || !strings.Contains(err.Error(), "the file from before does not trust it either") {
		t.Fatalf("%v", err)
	}
	if !m.repaired(t, bootstrapFile) || m.repaired(t, kubeletFile) || m.asked(t) > 0 {
		t.Errorf("%+v", story.Records)
	}
	w.api.show(t, w.young)
	w.goOn(t)
}

// TestOfFilesThatFailTheirCheck has somebody make the new file readable for all as
// soon as it is there: it is put back.
func TestOfFilesThatFailTheirCheck(t *testing.T) {
	thorough(t)
	t.Parallel()
	base := newWorld(t)
	p := base.repair(t, "run-1")
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
			m := w.machines["worker-0"]
			f := &faults{how: c.how, op: c.op, after: func(op operation) {
				if op != "replace" {
					return
				}
				if err := os.Chmod(m.at(bootstrapFile), 0o644); err != nil {
					t.Error(err)
				}
			}}
			story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
			if !c.undone {
				if err := os.Chmod(m.at(bootstrapFile), 0o640); err != nil {
					t.Error(err)
				}
			}
			m.honest(t, story, err)
			var s *Stopped
			var bad *BadEffect
			if !errors.As(err, &s) || !errors.As(err, &bad) || s.Undone != c.undone || (s.UndoFailed == nil) != c.undone {
				t.Fatalf("%v", err)
			}
			last := story.Records[len(story.Records)-1]
			if c.undone {
				m.original(t)
				if last.Event != Undone || story.Outcome() != "undone: replace worker-0:"+bootstrapFile {
					t.Errorf("the journal says %+v", last)
				}
			} else if last.Event != Failed || !m.repaired(t, bootstrapFile) {
				t.Errorf("the journal says %+v", last)
			}
			if m.repaired(t, kubeletFile) || m.asked(t) > 0 {
				t.Error("it went on")
			}
			w.goOn(t)
		})
	}
}

// TestEffectsThatDoNotShow leaves alone what is right, however its effect is.
func TestEffectsThatDoNotShow(t *testing.T) {
	t.Parallel()
	base := newWorld(t, "worker-0", "worker-1")
	p := base.repair(t, "run-1")
	one := *p
	one.Waves = []Wave{{Nodes: p.Nodes()[:1]}}
	for _, c := range []struct {
		name    string
		plan    *Plan
		mode    string // of the fake kubelet
		change  func(e *Env)
		stopped string // the ID of the action
		says    string
		asked   int // restarts of worker-0
		is      func(err error) bool
	}{
		{"it never restarts", p, "never", nil, "restart worker-0:kubelet.service", "was not restarted", 1, nil},
		{"it comes up failed", p, "fails", nil, "restart worker-0:kubelet.service", "does not come up: failed (failed), exit-code", 1, nil},
		{"it comes up, and ends again", p, "ends", nil, "restart worker-0:kubelet.service", "does not come up: activating (auto-restart), exit-code", 1, nil},
		{"it is late", p, "late", nil, "await worker-0", "its last heartbeat is from", 1, func(err error) bool { var l *Late; return errors.As(err, &l) }},
		{"no API, and one node", &one, "normal", func(e *Env) { e.Heartbeat = nil }, "await worker-0", "no API server could be asked", 1, isUnknown},
		{"no API, and two nodes", p, "normal", func(e *Env) { e.Heartbeat = nil }, "await worker-0", "no API server could be asked", 1, isUnknown},
		{"an API that gives no answer", p, "normal", func(e *Env) {
			e.Heartbeat = func(context.Context, string) (collect.Heartbeat, error) { return collect.Heartbeat{}, errFault }
		}, "await worker-0", "is not known", 1, isUnknown},
		{"it reports, and is not Ready", p, "normal", func(e *Env) {
			e.Heartbeat = func(context.Context, string) (collect.Heartbeat, error) {
				return collect.Heartbeat{At: time.Now().Add(time.Hour), Ready: "False"}, nil
			}
		}, "await worker-0", `Ready is False`, 1, func(err error) bool { var l *Late; return errors.As(err, &l) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := base.clone(t)
			m := w.machines["worker-0"]
			m.mode(t, c.mode)
			env := w.env(t, "run-1", nil)
			env.Patience = 6 * time.Second
			if c.change != nil {
				c.change(env)
			}
			story, err := w.run(t.Context(), t, env, c.plan)
			m.honest(t, story, err)
			var s *Stopped
			if !errors.As(err, &s) || s.Action.ID() != c.stopped || s.Undone || !strings.Contains(err.Error(), c.says) || c.is != nil && !c.is(err) {
				t.Errorf("%v", err)
			}
			if strings.Count(err.Error(), c.stopped) != 1 {
				t.Errorf("it says twice what was stopped: %v", err)
			}
			if !m.repaired(t, bootstrapFile) || !m.repaired(t, kubeletFile) || m.asked(t) != c.asked {
				t.Errorf("put back, or not done; asked %d times to restart", m.asked(t))
			}
			w.machines["worker-1"].original(t)
		})
	}
}

func isUnknown(err error) bool { var u *Unknown; return errors.As(err, &u) }

// TestServerGoneAtTheCheck can't tell whether the new file is right, so nothing is
// put back.
func TestServerGoneAtTheCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machines["worker-0"]
	p := w.repair(t, "run-1")
	f := &faults{after: func(op operation) {
		if op == "replace" {
			_ = w.api.Close()
		}
	}}
	story, err := w.run(t.Context(), t, w.env(t, "run-1", f), p)
	m.honest(t, story, err)
	var s *Stopped
	if !errors.As(err, &s) || s.Undone || s.UndoFailed != nil || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("%v", err)
	}
	if !m.repaired(t, bootstrapFile) || m.repaired(t, kubeletFile) {
		t.Error("it was put back, or it went on")
	}
}

// TestTwoAtOnce has another certrot hold the node's lock.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("flock is not installed")
	}
	w := newWorld(t)
	m := w.machines["worker-0"]
	p := w.repair(t, "run-1")
	if err := os.MkdirAll(m.at(host.DefaultFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(m.at(host.DefaultFolder+"/.lock"), os.O_CREATE|os.O_RDWR, 0o600)
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
	w.onceMore(t, "run-2")
}

// TestKubeletWithoutAKubeconfig gets one from the bootstrap file.
func TestKubeletWithoutAKubeconfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machines["worker-0"]
	if err := os.Remove(m.at(kubeletFile)); err != nil {
		t.Fatal(err)
	}
	p := w.repair(t, "run-1")
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), p); err != nil {
		t.Fatal(err)
	}
	m.mended(t)
	if again := w.repair(t, "run-2"); !again.Empty() {
		t.Errorf("still to do: %q, %q, %+v", stepsOf(again), again.Notes, again.Basis.Nodes)
	}
}

// TestJournalThatCantBeKept stops before what it could not announce.
func TestJournalThatCantBeKept(t *testing.T) {
	t.Parallel()
	base := newWorld(t)
	p := base.repair(t, "run-1")
	for at, want := range []string{"begin of the first", "end of the first", "begin of the second", "end of the second"} {
		w := base.clone(t)
		m := w.machines["worker-0"]
		var j *Journal
		lines := 0
		js := Journals{Folder: t.TempDir()}
		j, err := js.Begin(Header{Run: "run-1"}, func() time.Time {
			if lines++; lines == at+1 {
				_ = j.Close()
			}
			return w.now()
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := (Runner{Env: w.env(t, "run-1", nil), Journal: j}).Run(t.Context(), p); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", want, err)
		}
		story, err := js.Read("run-1")
		if err != nil || len(story.Records) != at {
			t.Errorf("%s: %v, %+v", want, err, story)
		}
		if m.repaired(t, bootstrapFile) != (at >= 1) || m.repaired(t, kubeletFile) != (at >= 3) || m.asked(t) > 0 {
			t.Errorf("%s: it went on without a journal", want)
		}
		for path := range m.files {
			if m.repaired(t, path) && !slices.Contains(story.Changed()["worker-0"], path) {
				t.Errorf("%s: the journal does not know of %s", want, path)
			}
		}
	}
}
