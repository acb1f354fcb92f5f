package remediate

import (
	"errors"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

// immutable keeps a node's file from being replaced, as chattr +i does. lift ends that.
func (m *machine) immutable(t *testing.T, path string) (lift func()) {
	t.Helper()
	if out, err := exec.Command("chattr", "+i", m.at(path)).CombinedOutput(); err != nil {
		t.Skipf("chattr +i: %v %s", err, out)
	}
	lift = func() { _ = exec.Command("chattr", "-i", m.at(path)).Run() }
	t.Cleanup(lift)
	return lift
}

// TestUndoOfARunThatChangedNothing: a kubeconfig is immutable, and the first run fails with
// nothing changed. The second one mends the node. Undo of the first leaves it alone, and
// its kubelet, whatever was accepted.
func TestUndoOfARunThatChangedNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machines["worker-0"]
	lift := m.immutable(t, bootstrapFile)
	story, err := w.run(t.Context(), t, w.env(t, "run-1", nil), w.repair(t, "run-1"))
	var unmade *Unmade
	if !errors.As(err, &unmade) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("it is not told that nothing was changed: %v", err)
	}
	if got := story.Changed(); len(got) > 0 {
		t.Errorf("the journal says that it changed %q", got)
	}
	if got := story.Touched(); !slices.Equal(got, []string{"worker-0"}) {
		t.Errorf("nodes that may keep something of it: %q", got)
	}
	lift()
	if _, err := w.run(t.Context(), t, w.env(t, "run-2", nil), w.repair(t, "run-2")); err != nil {
		t.Fatal(err)
	}
	u := w.undoing(t, "run-1")
	u.AcceptBreaksTrust = true
	p, err := u.Plan("run-1", w.facts(t, host.DefaultFolder+"/run-1"), w.now())
	if err != nil || !p.Empty() {
		t.Errorf("undo of run-1: %v, %q", err, stepsOf(p))
	}
	m.mended(t)
	w.putBack(t, "run-2")
}

// TestUndoNamesTheRunThatOwnsAFile where both runs have an entry with the same bytes, as
// older binaries left them.
func TestUndoNamesTheRunThatOwnsAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), w.repair(t, "run-1")); err != nil {
		t.Fatal(err)
	}
	m := w.machines["worker-0"]
	if out, err := exec.Command("cp", "-r", m.at(host.DefaultFolder+"/run-1"), m.at(host.DefaultFolder+"/run-2")).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	u := w.undoing(t, "run-1")
	u.AcceptBreaksTrust = true
	_, err := u.Plan("run-1", w.facts(t, host.DefaultFolder+"/run-1"), w.now())
	var r *Refusal
	if !errors.As(err, &r) || r.Name != "changed-since" || !strings.Contains(r.Reason, "run-2") || !strings.Contains(r.Next, "certrot undo run-2") {
		t.Errorf("%+v, %v", r, err)
	}
	w.putBack(t, "run-2")
}

// TestWhatARunChanged is by its journal, also by one of an older binary.
func TestWhatARunChanged(t *testing.T) {
	t.Parallel()
	const unknown = "change a:/x: the end of the command was not seen: gone"
	record := func(e Event, text string) Record {
		return Record{Event: e, Action: "replace a:/x", Node: "a", Path: "/x", Error: text}
	}
	unmade := record(Failed, "change a:/x: nothing was changed: no")
	unmade.Unchanged = true
	yes, no := map[string][]string{"a": {"/x"}}, map[string][]string{}
	for _, c := range []struct {
		name    string
		changed map[string][]string
		records []Record
	}{
		{"it failed before it changed anything", no, []Record{record(Begun, ""), unmade}},
		{"the same of an older binary", no, []Record{record(Begun, ""), record(Failed, "change a:/x: nothing was changed: Operation not permitted")}},
		{"an older binary that found it changed", no, []Record{record(Begun, ""), record(Failed, ErrChanged.Error()+": change a:/x: nothing was changed: it is not what was shown")}},
		{"its end was not seen, and the second try failed", yes, []Record{record(Begun, ""), record(Failed, unknown+"; and once more: change a:/x: nothing was changed: busy")}},
		{"its end was not seen", yes, []Record{record(Begun, ""), record(Failed, unknown)}},
		{"changed, and its check failed, and it could not be put back", yes, []Record{record(Begun, ""), record(Failed, "bad\nput back a:/x: nothing was changed: no")}},
		{"another file's failure", yes, []Record{record(Begun, ""), record(Failed, "change a:/xy: nothing was changed: no")}},
		{"changed before, and failed later", yes, []Record{record(Begun, ""), record(Done, ""), record(Begun, ""), unmade}},
		{"failed, and changed later", yes, []Record{record(Begun, ""), unmade, record(Begun, ""), record(Done, "")}},
		{"failed, and killed later", yes, []Record{record(Begun, ""), unmade, record(Begun, "")}},
	} {
		s := Story{Records: c.records}
		if got := s.Changed(); !reflect.DeepEqual(got, c.changed) {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := s.Touched(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s: touched %q", c.name, got)
		}
	}
}
