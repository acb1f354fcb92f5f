package remediatetest

import (
	"errors"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestUndoOfARunThatChangedNothing: a kubeconfig is immutable, and the first run fails with
// nothing changed. The second one repairs the node. Undo of the first leaves it alone, and
// its kubelet, whatever was accepted.
func TestUndoOfARunThatChangedNothing(t *testing.T) {
	thorough(t)
	t.Parallel()
	w := NewWorld(t)
	m := w.Machines["worker-0"]
	lift := m.immutable(t, BootstrapFile)
	story, err := w.run(t.Context(), t, w.env(t, "run-1", nil), repair(w, t, "run-1"))
	var unmade *remediate.NotAppliedError
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
	if _, err := w.run(t.Context(), t, w.env(t, "run-2", nil), repair(w, t, "run-2")); err != nil {
		t.Fatal(err)
	}
	u := undoing(w, t, "run-1")
	u.AcceptBreaksTrust = true
	p, err := u.Plan("run-1", w.snapshot(t, host.DefaultFolder+"/run-1"), w.Now())
	if err != nil || !p.Empty() {
		t.Errorf("undo of run-1: %v, %q", err, StepsOf(p))
	}
	m.repaired(t)
	putBackRun(w, t, "run-2")
}

// TestUndoNamesTheRunThatOwnsAFile where both runs have an entry with the same bytes, as
// older binaries left them.
func TestUndoNamesTheRunThatOwnsAFile(t *testing.T) {
	thorough(t)
	t.Parallel()
	w := NewWorld(t)
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), repair(w, t, "run-1")); err != nil {
		t.Fatal(err)
	}
	m := w.Machines["worker-0"]
	if out, err := exec.Command("cp", "-r", m.At(host.DefaultFolder+"/run-1"), m.At(host.DefaultFolder+"/run-2")).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	u := undoing(w, t, "run-1")
	u.AcceptBreaksTrust = true
	_, err := u.Plan("run-1", w.snapshot(t, host.DefaultFolder+"/run-1"), w.Now())
	var r *remediate.Refusal
	if !errors.As(err, &r) || r.Name != "changed-since" || !strings.Contains(r.Reason, "run-2") || !strings.Contains(r.Next, "certrot undo run-2") {
		t.Errorf("%+v, %v", r, err)
	}
	putBackRun(w, t, "run-2")
}

// TestWhatARunChanged is by its journal, also by one of an older binary.
func TestWhatARunChanged(t *testing.T) {
	t.Parallel()
	const unknown = "change a:/x: the end of the command was not seen: gone"
	record := func(e remediate.Event, text string) remediate.Record {
		return remediate.Record{Event: e, Action: "replace a:/x", Node: "a", Path: "/x", Error: text}
	}
	unmade := record(remediate.Failed, "change a:/x: nothing was changed: no")
	unmade.Unchanged = true
	yes, no := map[string][]string{"a": {"/x"}}, map[string][]string{}
	for _, c := range []struct {
		name    string
		changed map[string][]string
		records []remediate.Record
	}{
		{"it failed before it changed anything", no, []remediate.Record{record(remediate.Begun, ""), unmade}},
		{"the same of an older binary", no, []remediate.Record{record(remediate.Begun, ""), record(remediate.Failed, "change a:/x: nothing was changed: Operation not permitted")}},
		{"an older binary that found it changed", no, []remediate.Record{record(remediate.Begun, ""), record(remediate.Failed, remediate.ErrChanged.Error()+": change a:/x: nothing was changed: it is not what was shown")}},
		{"its end was not seen, and the second try failed", yes, []remediate.Record{record(remediate.Begun, ""), record(remediate.Failed, unknown+"; and once more: change a:/x: nothing was changed: busy")}},
		{"its end was not seen", yes, []remediate.Record{record(remediate.Begun, ""), record(remediate.Failed, unknown)}},
		{"changed, and its check failed, and it could not be put back", yes, []remediate.Record{record(remediate.Begun, ""), record(remediate.Failed, "bad\nput back a:/x: nothing was changed: no")}},
		{"another file's failure", yes, []remediate.Record{record(remediate.Begun, ""), record(remediate.Failed, "change a:/xy: nothing was changed: no")}},
		{"changed before, and failed later", yes, []remediate.Record{record(remediate.Begun, ""), record(remediate.Done, ""), record(remediate.Begun, ""), unmade}},
		{"failed, and changed later", yes, []remediate.Record{record(remediate.Begun, ""), unmade, record(remediate.Begun, ""), record(remediate.Done, "")}},
		{"failed, and killed later", yes, []remediate.Record{record(remediate.Begun, ""), unmade, record(remediate.Begun, "")}},
	} {
		s := remediate.RunRecord{Records: c.records}
		if got := s.Changed(); !reflect.DeepEqual(got, c.changed) {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := s.Touched(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s: touched %q", c.name, got)
		}
	}
}
