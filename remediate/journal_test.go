package remediate

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

// keep writes a journal with these records.
func keep(t *testing.T, js Journals, h Header, records ...Record) {
	t.Helper()
	j, err := js.Begin(h, atNoon)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := j.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestJournalTellsWhatWasWritten(t *testing.T) {
	t.Parallel()
	js := Journals{Folder: t.TempDir() + "/state/runs"}
	before := pki.FingerprintOf([]byte("before"))
	h := Header{Run: "20260601-120000-aaaaaa", Command: "fix-api-int", Server: "https://api:6443", Nodes: []string{"a", "b"}, Started: noon, Certrot: "v1"}
	records := []Record{
		{Event: Begun, Action: "replace a:/x", Node: "a", Path: "/x", Before: &before},
		{Event: Done, Action: "replace a:/x", Node: "a", Path: "/x", Before: &before},
		{Event: Failed, Action: "restart a:kubelet.service", Node: "a", Error: "no\nluck"},
	}
	keep(t, js, h, records...)
	for path, want := range map[string]string{js.Folder: "drwx------", js.path(h.Run): "-rw-------"} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().String() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	s, err := js.Read(h.Run)
	if err != nil {
		t.Fatal(err)
	}
	h.APIVersion, h.Kind = journalAPIVersion, journalKind
	for i := range records {
		records[i].Time = noon
	}
	if !reflect.DeepEqual(s, RunRecord{h, records}) {
		t.Errorf("%+v", s)
	}

	if _, err := js.Begin(h, atNoon); !errors.Is(err, os.ErrExist) {
		t.Errorf("the same run twice: %v", err)
	}
	if again, err := js.Read(h.Run); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("the second run wrote into the journal of the first: %v", err)
	}
	if err := errors.Join(js.Remove(h.Run), js.Remove(h.Run)); err != nil {
		t.Error(err)
	}
	if _, err := js.Read(h.Run); !errors.Is(err, errNoJournal) {
		t.Errorf("removed: %v", err)
	}
}

func TestJournalsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	js := Journals{Folder: t.TempDir()}
	const run = "20260601-120000-aaaaaa"
	keep(t, js, Header{Run: run}, Record{Event: Begun, Action: "first", Node: "a", Path: "/x"}, Record{Event: Done, Action: "first", Node: "a", Path: "/x"})
	whole, err := os.ReadFile(js.path(run))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	lines[2] += "\n"
	for _, c := range []struct {
		name, text string
		records    int
		fails      string
	}{
		{"cut off in the last line", lines[0] + lines[1] + lines[2][:20], 1, ""},
		{"cut off before its newline", strings.TrimSuffix(string(whole), "\n"), 2, ""},
		{"cut off by a power cut", lines[0] + lines[1] + strings.Repeat("\x00", 512), 1, ""},
		{"cut off in the middle", lines[0] + lines[1][:20] + "\n" + lines[2], 0, "line 2"},
		{"without a header", lines[1] + lines[2], 0, "line 1"},
		{"cut off in the header", lines[0][:20], 0, "line 1"},
		{"empty", "", 0, "is empty"},
		{"of another version", strings.Replace(string(whole), "certrot/v1alpha1", "certrot/v9", 1), 0, "certrot/v9"},
		{"of another kind", strings.Replace(string(whole), `"kind":"Run"`, `"kind":"Walk"`, 1), 0, "Walk"},
		{"of another run", strings.Replace(string(whole), run, "20260601-120000-bbbbbb", 1), 0, "bbbbbb"},
	} {
		if err := os.WriteFile(js.path(run), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := js.Read(run)
		switch {
		case c.fails == "" && (err != nil || len(s.Records) != c.records):
			t.Errorf("%s: %v, %d records", c.name, err, len(s.Records))
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, id := range []string{"", "../x", "A", "a/b", strings.Repeat("a", 65)} {
		if _, err := js.Read(id); err == nil || errors.Is(err, errNoJournal) {
			t.Errorf("run %q: %v", id, err)
		}
		if err := js.Remove(id); err == nil {
			t.Errorf("run %q was removed", id)
		}
	}
}

func TestJournalWithoutAPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{file, file + "/runs", "/proc/certrot"} { // as a folder without rights is for other users than root
		if _, err := (Journals{Folder: folder}).Begin(Header{Run: "a"}, atNoon); err == nil || !strings.HasPrefix(err.Error(), "journal: ") {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if os.Geteuid() != 0 {
		closed := t.TempDir()
		if err := os.Chmod(closed, 0o500); err != nil {
			t.Fatal(err)
		}
		if _, err := (Journals{Folder: closed}).Begin(Header{Run: "a"}, atNoon); !errors.Is(err, os.ErrPermission) {
			t.Errorf("read-only: %v", err)
		}
	}
}

func TestJournalsInTheirOrder(t *testing.T) {
	t.Parallel()
	js := Journals{Folder: t.TempDir()}
	if all, err := (Journals{Folder: js.Folder + "/none"}).List(); err != nil || len(all) > 0 {
		t.Errorf("no folder: %v, %v", all, err)
	}
	for run, at := range map[string]time.Time{"c": noon, "b": noon.Add(time.Hour), "a": noon.Add(2 * time.Hour), "d": noon} {
		keep(t, js, Header{Run: run, Started: at})
	}
	for name, text := range map[string]string{"broken.jsonl": "{", "NotMine.jsonl": "{", "note.txt": "{"} {
		if err := os.WriteFile(filepath.Join(js.Folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := js.List()
	var runs []string
	for _, s := range all {
		runs = append(runs, s.Run)
	}
	if !slices.Equal(runs, []string{"c", "d", "b", "a"}) {
		t.Errorf("order %q", runs)
	}
	if err == nil || !strings.Contains(err.Error(), "broken.jsonl") || strings.Contains(err.Error(), "otMine") || strings.Contains(err.Error(), "note.txt") {
		t.Errorf("%v", err)
	}
}

func TestStories(t *testing.T) {
	t.Parallel()
	write := Record{Event: Begun, Action: "replace a:/x", Node: "a", Path: "/x"}
	for _, c := range []struct {
		name, outcome string
		changed       map[string][]string
		records       []Record
	}{
		{"nothing", "nothing was done", map[string][]string{}, nil},
		{"killed in a write", "interrupted in: replace a:/x", map[string][]string{"a": {"/x"}}, []Record{write}},
		{"killed after it", "interrupted after: replace a:/x", map[string][]string{"a": {"/x"}}, []Record{write, {Event: Done, Action: write.Action, Node: "a", Path: "/x"}}},
		{"failed before it was begun", "failed: replace a:/x", map[string][]string{}, []Record{{Event: Failed, Action: write.Action, Node: "a", Path: "/x"}}},
		{"put back", "undone: replace a:/x", map[string][]string{"a": {"/x"}}, []Record{write, {Event: Undone, Action: write.Action, Node: "a", Path: "/x"}}},
		{"finished", "finished", map[string][]string{"a": {"/x"}, "b": {"/y", "/x"}}, []Record{
			write, {Event: Begun, Node: "b", Path: "/y"}, {Event: Begun, Node: "b", Path: "/x"}, {Event: Begun, Node: "b", Path: "/y"}, {Event: Begun, Action: "restart", Node: "c"}, {Event: Finished},
		}},
	} {
		s := RunRecord{Records: c.records}
		if s.Outcome() != c.outcome || !reflect.DeepEqual(s.Changed(), c.changed) {
			t.Errorf("%s: %q, %v", c.name, s.Outcome(), s.Changed())
		}
	}
}

func TestRunsHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	a, b := NewRun(noon), NewRun(noon)
	if a == b || !ValidRun(a) || !strings.HasPrefix(a, "20260601-120000-") {
		t.Errorf("%s, %s", a, b)
	}
}

// TestRunsOfAnotherClusterAreNotOfThisRepair: by a tunnel, several clusters have one URL.
func TestRunsOfAnotherClusterAreNotOfThisRepair(t *testing.T) {
	t.Parallel()
	js := Journals{Folder: t.TempDir()}
	const this, same, other, unknown, command = "20260601-120000-aaaaaa", "20260601-120000-bbbbbb", "20260601-120000-cccccc", "20260601-120000-dddddd", "20260601-120000-eeeeee"
	h := Header{Run: this, Command: "fix-api-int", Server: "https://localhost:6443", Cluster: "one", Started: noon}
	for run, change := range map[string]func(*Header){
		this: func(*Header) {}, same: func(*Header) {}, other: func(h *Header) { h.Cluster = "two" }, unknown: func(h *Header) { h.Cluster = "" }, command: func(h *Header) { h.Command = "pretrust" },
	} {
		of := h
		of.Run = run
		change(&of)
		keep(t, js, of, Record{Event: Begun, Action: "first", Node: "a", Path: "/x"}, Record{Event: Done, Action: "first", Node: "a", Path: "/x"})
	}
	if got := js.NotUndone(h, noon.Add(-time.Hour)); !slices.Equal(got, []string{unknown, same, this}) {
		t.Errorf("%v", got)
	}
}

// TestAJournalGoesOnBehindItsWholeLines: a disk that was full for a moment leaves half of one.
func TestAJournalGoesOnBehindItsWholeLines(t *testing.T) {
	t.Parallel()
	js := Journals{Folder: t.TempDir()}
	j, err := js.Begin(Header{Run: "20260131-120000-1a2b3c", Command: "fix-api-int", Nodes: []string{"worker-0"}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	add := func(r Record) {
		t.Helper()
		if err := j.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	add(Record{Event: Begun, Action: "a", Node: "worker-0"})
	if _, err := j.file.WriteAt([]byte(`{"time":"2026-11-27T23:00:00Z","event":"done","error":"`+strings.Repeat("x", 500)), j.size); err != nil {
		t.Fatal(err)
	}
	add(Record{Event: Done, Action: "a", Node: "worker-0"})
	add(Record{Event: Finished})
	if record, err := js.Read("20260131-120000-1a2b3c"); err != nil || len(record.Records) != 3 || record.Outcome() != "finished" {
		t.Errorf("%+v, %v", record, err)
	}
}
