package host

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// after is what the edits of these tests make of content.
const after = "x\nlusters:\n- cluster:\n    certificate-authority-data: QUJD\nusers: secret-token\n"

// another is the same file for another run.
func (p place) another(id string) place {
	p.run.ID = id
	return p
}

// immutable keeps a file from being replaced, as chattr +i does. lift ends that.
func immutable(t *testing.T, file string) (lift func()) {
	t.Helper()
	onlyRoot(t)
	if out, err := exec.Command("chattr", "+i", file).CombinedOutput(); err != nil {
		t.Skipf("chattr +i: %v %s", err, out)
	}
	lift = func() { _ = exec.Command("chattr", "-i", file).Run() }
	t.Cleanup(lift)
	return lift
}

// owns fails the test unless this is how many files of a run are to be put back.
func (p place) owns(t *testing.T, n nodeexec.Node, files int) {
	t.Helper()
	entries, err := p.run.Entries(t.Context(), n)
	if err != nil && !errors.Is(err, ErrNoRun) || len(entries) != files {
		t.Errorf("run %s has the entries %+v, %v; want %d", p.run.ID, entries, err, files)
	}
	runs, err := Runs(t.Context(), n, p.run.Folder)
	for _, r := range runs {
		if r.ID == p.run.ID && r.Files != files {
			t.Errorf("%+v, want %d files", r, files)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// TestARunThatFailedDoesNotOwnTheFile: the file is immutable, so the first run changes
// nothing. The second one writes the same bytes, and only that one puts them back.
func TestARunThatFailedDoesNotOwnTheFile(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		first := newPlace(t, content)
		second := first.another("run-2")
		edit := first.edit(content, 0, 1, "x\n")
		lift := immutable(t, first.file)
		_, err := first.run.Replace(t.Context(), n, edit)
		first.untouched(t, err, "Operation not permitted")
		if !errors.Is(err, ErrNothingChanged) {
			t.Errorf("it is not told that nothing was changed: %v", err)
		}
		first.owns(t, n, 0)
		lift()
		if _, err := second.run.Replace(t.Context(), n, edit); err != nil {
			t.Fatal(err)
		}
		if _, err := first.run.Restore(t.Context(), n, first.file); !errors.Is(err, ErrNoRun) {
			t.Errorf("run-1 puts back: %v", err)
		}
		if out, err := n.undo(t, first); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		has(t, first.file, after)
		second.owns(t, n, 1)
		if _, err := second.run.Restore(t.Context(), n, second.file); err != nil {
			t.Error(err)
		}
		has(t, first.file, content)
	})
}

// TestARunThatCouldNotTakeAFileAwayDoesNotOwnIt is the same for what is taken away.
func TestARunThatCouldNotTakeAFileAwayDoesNotOwnIt(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		link := filepath.Join(p.dir, "current")
		if err := os.Symlink(p.file, link); err != nil {
			t.Fatal(err)
		}
		lift := immutable(t, p.dir)
		_, err := p.run.Take(t.Context(), n, p.file, sha256.Sum256([]byte(content)))
		p.untouched(t, err, "Operation not permitted")
		if _, err = p.run.TakeLink(t.Context(), n, link, p.file); !errors.Is(err, ErrNothingChanged) {
			t.Error(err)
		}
		lift()
		p.owns(t, n, 0)
		second := p.another("run-2")
		if _, err := second.run.Take(t.Context(), n, p.file, sha256.Sum256([]byte(content))); err != nil {
			t.Fatal(err)
		}
		if _, err := p.run.Restore(t.Context(), n, p.file); !errors.Is(err, ErrNoRun) {
			t.Errorf("run-1 puts back: %v", err)
		}
		absent(t, p.file)
	})
}

// TestARunThatWasKilledDoesNotOwnWhatALaterOneWrote kills the first run at each of its
// steps. Where it had not changed the file, the second run writes the same bytes, and undo
// of the first leaves them alone.
func TestARunThatWasKilledDoesNotOwnWhatALaterOneWrote(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		real := w.faked(t, nil).node(t)
		mortal, count := w.mortal(t, "killed before a tool runs")
		from, by := everyStep(0, w)
		entered := 0
		for step := from; ; step += by {
			first := newPlace(t, content)
			second := first.another("run-2")
			edit := first.edit(content, 0, 1, "x\n")
			_, _ = first.run.Replace(t.Context(), mortal.onStep(t, count, step), edit) // killed on its way
			if !reached(t, count, step) {
				break
			}
			if read(t, first.file) == after {
				continue // it owns the file
			}
			if names, _ := filepath.Glob(first.kept() + "/file-*"); len(names) > 0 {
				entered++
				if runs, err := Runs(t.Context(), real, first.run.Folder); err != nil || len(runs) != 1 || runs[0].Files != 0 {
					t.Errorf("step %d: %+v, %v: interrupted before the change is before", step, runs, err)
				}
			}
			if _, err := second.run.Replace(t.Context(), real, edit); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			if _, err := first.run.Restore(t.Context(), real, first.file); !errors.Is(err, ErrNoRun) && !(w.tool("flock") == "" && errors.Is(err, ErrChanged)) {
				t.Errorf("step %d: run-1 puts back: %v", step, err)
			}
			has(t, first.file, after)
		}
		if w.name[:4] == "dash" && os.Getenv("CERTROT_EVERY_STEP") == "1" && entered == 0 {
			t.Error("at no step was there an entry and no change")
		}
	})
}

// TestARunThatWasPutBackDoesNotOwnWhatALaterOneWrote: it did change the file, and was
// undone since.
func TestARunThatWasPutBackDoesNotOwnWhatALaterOneWrote(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		first := newPlace(t, content)
		second := first.another("run-2")
		edit := first.edit(content, 0, 1, "x\n")
		if _, err := first.run.Replace(t.Context(), n, edit); err != nil {
			t.Fatal(err)
		}
		first.owns(t, n, 1)
		if _, err := first.run.Restore(t.Context(), n, first.file); err != nil {
			t.Fatal(err)
		}
		if _, err := second.run.Replace(t.Context(), n, edit); err != nil {
			t.Fatal(err)
		}
		if _, err := first.run.Restore(t.Context(), n, first.file); !errors.Is(err, ErrNoRun) && !errors.Is(err, ErrChanged) {
			t.Errorf("run-1 puts back: %v", err)
		}
		has(t, first.file, after)
	})
}

// TestFoldersOfOlderBinaries: both runs have an entry with the same bytes. The later one
// owns the file, and the earlier one names it.
func TestFoldersOfOlderBinaries(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		for _, c := range []struct {
			name          string
			first, second int // minutes ago
			wrote         string
		}{
			{"one after the other", 60, 30, fmt.Sprintf("%x", sha256.Sum256([]byte(after)))},
			{"at the same second", 30, 30, fmt.Sprintf("%x", sha256.Sum256([]byte(after)))},
			{"taken away twice", 60, 30, "-"},
		} {
			first := newPlace(t, content)
			second := first.another("run-2")
			edit := first.edit(content, 0, 1, "x\n")
			if _, err := first.run.Replace(t.Context(), n, edit); err != nil {
				t.Fatal(err)
			}
			var entry string
			for _, path := range globbed(t, first.kept()+"/*") {
				text := read(t, path)
				if strings.HasPrefix(filepath.Base(path), "file-") {
					head, _, _ := strings.Cut(text, "\nafter ")
					entry, text = path, head+"\nafter "+c.wrote+"\nend\n"
					write(t, path, text)
				}
				if err := os.MkdirAll(second.kept(), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(second.kept(), filepath.Base(path)), text)
			}
			for file, minutes := range map[string]int{entry: c.first, filepath.Join(second.kept(), filepath.Base(entry)): c.second} {
				at := time.Now().Add(-time.Duration(minutes) * time.Minute).Truncate(time.Second)
				if err := os.Chtimes(file, at, at); err != nil {
					t.Fatal(err)
				}
			}
			if c.wrote == "-" {
				if err := os.Remove(first.file); err != nil {
					t.Fatal(err)
				}
			}
			entries, err := first.run.Entries(t.Context(), n)
			if err != nil || len(entries) != 1 || entries[0].Later != "run-2" {
				t.Errorf("%s: entries of run-1 %+v, %v", c.name, entries, err)
			}
			entries, err = second.run.Entries(t.Context(), n)
			if err != nil || len(entries) != 1 || entries[0].Later != "" {
				t.Errorf("%s: entries of run-2 %+v, %v", c.name, entries, err)
			}
			if _, err := first.run.Restore(t.Context(), n, first.file); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "run-2") {
				t.Errorf("%s: run-1 puts back: %v", c.name, err)
			}
			if out, err := n.undo(t, first); err == nil || !strings.Contains(out, "run-2") {
				t.Errorf("%s: %v\n%s", c.name, err, out)
			}
			if _, err := second.run.Restore(t.Context(), n, second.file); err != nil {
				t.Errorf("%s: run-2 does not put back: %v", c.name, err)
			}
			has(t, first.file, content)
		}
	})
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	return names
}

// dated gives what two runs noted of their changes the times of a node's clock.
func dated(t *testing.T, first, second place, ago [2]time.Duration) {
	t.Helper()
	for i, p := range []place{first, second} {
		at := time.Now().Add(-ago[i]).Truncate(time.Second)
		for _, kind := range []string{"file", "link"} {
			names, err := filepath.Glob(filepath.Join(p.kept(), kind+"-*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if err := os.Chtimes(name, at, at); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// clocks are what a node's clock may say of two changes, the second one after the first.
func clocks() map[string][2]time.Duration {
	return map[string][2]time.Duration{
		"the clock was set back": {0, time.Hour},
		"in the same second":     {time.Minute, time.Minute},
		"an hour later":          {time.Hour, 0},
	}
}

// TestUndoKnowsTheLaterRunWhateverTheClockSays has two runs write the same bytes, with
// another content between them: what is there is the second one's, also where its ID
// comes first.
func TestUndoKnowsTheLaterRunWhateverTheClockSays(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		for name, ago := range clocks() {
			first := newPlace(t, content).another("run-2")
			second := first.another("run-1")
			between := "y\n" + content[1:]
			if _, err := first.run.Replace(t.Context(), n, first.edit(content, 0, 1, "x\n")); err != nil {
				t.Fatal(err)
			}
			write(t, first.file, between)
			if _, err := second.run.Replace(t.Context(), n, second.edit(between, 0, 2, "x\n")); err != nil {
				t.Fatal(err)
			}
			dated(t, first, second, ago)
			if entries, err := first.run.Entries(t.Context(), n); err != nil || len(entries) != 1 || entries[0].Later != "run-1" {
				t.Errorf("%s: entries of the first run %+v, %v", name, entries, err)
			}
			if _, err := first.run.Restore(t.Context(), n, first.file); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "run-1") {
				t.Errorf("%s: the first run puts back: %v", name, err)
			}
			if out, err := n.undo(t, first); err == nil || !strings.Contains(out, "run-1") {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
			has(t, first.file, after)
			if _, err := second.run.Restore(t.Context(), n, second.file); err != nil {
				t.Errorf("%s: the second run does not put back: %v", name, err)
			}
			has(t, first.file, between)
		}
	})
}

// TestUndoKnowsWhoTookItAwayLastWhateverTheClockSays is the same for files and links
// that two runs took away.
func TestUndoKnowsWhoTookItAwayLastWhateverTheClockSays(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		for name, ago := range clocks() {
			first := newPlace(t, content).another("run-2")
			second := first.another("run-1")
			link := filepath.Join(first.dir, "current")
			for _, p := range []place{first, second} {
				text := content + p.run.ID
				write(t, p.file, text)
				if err := os.Symlink(p.run.ID, link); err != nil {
					t.Fatal(err)
				}
				_, err := p.run.Take(t.Context(), n, p.file, sha256.Sum256([]byte(text)))
				_, err2 := p.run.TakeLink(t.Context(), n, link, p.run.ID)
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
			}
			dated(t, first, second, ago)
			_, err := first.run.Restore(t.Context(), n, first.file)
			_, err2 := first.run.RestoreLink(t.Context(), n, link, "")
			for _, err := range []error{err, err2} {
				if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "run-1") {
					t.Errorf("%s: the first run puts back: %v", name, err)
				}
			}
			absent(t, first.file)
			_, err = second.run.Restore(t.Context(), n, second.file)
			_, err2 = second.run.RestoreLink(t.Context(), n, link, "")
			if err != nil || err2 != nil {
				t.Errorf("%s: the second run does not put back: %v, %v", name, err, err2)
			}
			has(t, first.file, content+"run-1")
		}
	})
}

// TestARunThatFailedToChangeItAgainIsNotTheLaterOne: the first run goes on after the
// second one, and changes nothing. What is there is still the second one's.
func TestARunThatFailedToChangeItAgainIsNotTheLaterOne(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		first := newPlace(t, content)
		second := first.another("run-2")
		further := "z\n" + after[2:]
		for _, step := range []struct {
			run  Run
			from string
			to   string
		}{{first.run, content, "x\n"}, {first.run, after, "z\n"}, {second.run, further, "x\n"}} {
			length := int64(1)
			if step.from != content {
				length = 2
			}
			if _, err := step.run.Replace(t.Context(), n, first.edit(step.from, 0, length, step.to)); err != nil {
				t.Fatal(err)
			}
		}
		lift := immutable(t, first.file)
		if _, err := first.run.Replace(t.Context(), n, first.edit(after, 0, 2, "q\n")); !errors.Is(err, ErrNothingChanged) {
			t.Fatal(err)
		}
		lift()
		if _, err := first.run.Restore(t.Context(), n, first.file); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "run-2") {
			t.Errorf("run-1 puts back: %v", err)
		}
		has(t, first.file, after)
		if _, err := second.run.Restore(t.Context(), n, second.file); err != nil {
			t.Error(err)
		}
		has(t, first.file, further)
	})
}

// TestAChangeWithoutANumberComesBeforeOneWithIt: an older certrot wrote the first run's
// folder, and the clock was set back since.
func TestAChangeWithoutANumberComesBeforeOneWithIt(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		first := newPlace(t, content).another("run-2")
		second := first.another("run-1")
		between := "y\n" + content[1:]
		if _, err := first.run.Replace(t.Context(), n, first.edit(content, 0, 1, "x\n")); err != nil {
			t.Fatal(err)
		}
		entry := globbed(t, first.kept()+"/file-*")[0]
		head, _, numbered := strings.Cut(read(t, entry), "\norder 1\n")
		if !numbered {
			t.Fatalf("%s has no number: %s", entry, read(t, entry))
		}
		write(t, entry, head+"\nend\n")
		write(t, first.file, between)
		if _, err := second.run.Replace(t.Context(), n, second.edit(between, 0, 2, "x\n")); err != nil {
			t.Fatal(err)
		}
		dated(t, first, second, [2]time.Duration{0, time.Hour})
		if _, err := first.run.Restore(t.Context(), n, first.file); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "run-1") {
			t.Errorf("the first run puts back: %v", err)
		}
		has(t, first.file, after)
		for _, order := range []string{"1 2", "08", "-1", "1 x"} {
			write(t, entry, head+"\norder "+order+"\nend\n")
			if _, err := second.run.Restore(t.Context(), n, second.file); err == nil || !strings.Contains(err.Error(), "can't be read as an entry") {
				t.Errorf("order %s: %v", order, err)
			}
		}
		has(t, first.file, after)
	})
}

// TestUndoTwiceLeavesAloneWhatWasWrittenSince: the run was put back, and then the same bytes
// were written without certrot; a file and a link were taken away without it.
func TestUndoTwiceLeavesAloneWhatWasWrittenSince(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		gone, link := filepath.Join(p.dir, "gone"), filepath.Join(p.dir, "current")
		write(t, gone, content)
		if err := os.Symlink(p.file, link); err != nil {
			t.Fatal(err)
		}
		_, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x\n"))
		_, err2 := p.run.Take(t.Context(), n, gone, sha256.Sum256([]byte(content)))
		_, err3 := p.run.TakeLink(t.Context(), n, link, p.file)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		back := func() error {
			_, err := p.run.Restore(t.Context(), n, p.file)
			_, err2 := p.run.Restore(t.Context(), n, gone)
			_, err3 := p.run.RestoreLink(t.Context(), n, link, "")
			return errors.Join(err, err2, err3)
		}
		for range 2 { // the second time, there is nothing to do
			if err := back(); err != nil {
				t.Fatal(err)
			}
			if out, err := n.undo(t, p); err != nil || strings.Count(out, "already as it was") != 3 {
				t.Fatalf("%v\n%s", err, out)
			}
			if entries, err := p.run.Entries(t.Context(), n); err != nil || len(entries) != 3 {
				t.Errorf("entries %+v, %v", entries, err)
			}
		}
		write(t, p.file, after)
		if err := errors.Join(os.Remove(gone), os.Remove(link)); err != nil {
			t.Fatal(err)
		}
		p.owns(t, n, 0)
		_, err = p.run.Restore(t.Context(), n, p.file)
		_, err2 = p.run.Restore(t.Context(), n, gone)
		_, err3 = p.run.RestoreLink(t.Context(), n, link, "")
		for _, err := range []error{err, err2, err3} {
			if !errors.Is(err, ErrNoRun) || !strings.Contains(fmt.Sprint(err), "put it back already") {
				t.Errorf("it is put back once more: %v", err)
			}
		}
		if out, err := n.undo(t, p); err == nil || strings.Count(out, "NOT put back: run run-1 put it back already") != 3 {
			t.Errorf("%v\n%s", err, out)
		}
		has(t, p.file, after)
		absent(t, gone)
		absent(t, link)
		if err := p.run.Remove(t.Context(), n); err != nil {
			t.Error(err)
		}
		absent(t, p.kept())
	})
}

// TestARunIsUndoneOnceThoseAboveItAre: the third one wrote the first one's bytes.
func TestARunIsUndoneOnceThoseAboveItAre(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		first := newPlace(t, content)
		second, third := first.another("run-2"), first.another("run-3")
		further := "y\n" + after[2:]
		_, err := first.run.Replace(t.Context(), n, first.edit(content, 0, 1, "x\n"))
		_, err2 := second.run.Replace(t.Context(), n, second.edit(after, 0, 2, "y\n"))
		_, err3 := third.run.Replace(t.Context(), n, third.edit(further, 0, 2, "x\n"))
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		// What was before the second one is there, and it is the third one's: nothing is noted.
		if _, err := second.run.Restore(t.Context(), n, first.file); err != nil {
			t.Error(err)
		}
		for _, c := range []struct {
			place
			makes string
		}{{third, further}, {second, after}, {first, content}} {
			if _, err := c.run.Restore(t.Context(), n, first.file); err != nil {
				t.Errorf("%s: %v", c.run.ID, err)
			}
			has(t, first.file, c.makes)
		}
	})
}

// TestALaterRunKeepsWhatIsBeneathIt: the second run wrote what was before the first one, and
// a third one went on from there. All three are put back, the last one first.
func TestALaterRunKeepsWhatIsBeneathIt(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		first := newPlace(t, content)
		second, third := first.another("run-2"), first.another("run-3")
		_, err := first.run.Replace(t.Context(), n, first.edit(content, 0, 1, "x\n"))
		_, err2 := second.run.Replace(t.Context(), n, second.edit(after, 0, 2, content[:1]))
		_, err3 := third.run.Replace(t.Context(), n, third.edit(content, 0, 1, "z\n"))
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			place
			makes string
		}{{third, content}, {second, after}, {first, content}} {
			if _, err := c.run.Restore(t.Context(), n, first.file); err != nil {
				t.Errorf("%s: %v", c.run.ID, err)
			}
			has(t, first.file, c.makes)
		}
	})
}

// TestRemoveOfALaterRunGivesItsChangeToNoOther: both wrote the same bytes, or took the same
// away. Of the earlier one's folder there is nothing to hand over.
func TestRemoveOfALaterRunGivesItsChangeToNoOther(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		for name, ago := range clocks() {
			first := newPlace(t, content).another("run-2")
			second := first.another("run-1")
			between := "y\n" + content[1:]
			if _, err := first.run.Replace(t.Context(), n, first.edit(content, 0, 1, "x\n")); err != nil {
				t.Fatal(err)
			}
			write(t, first.file, between)
			if _, err := second.run.Replace(t.Context(), n, second.edit(between, 0, 2, "x\n")); err != nil {
				t.Fatal(err)
			}
			dated(t, first, second, ago)
			if err := second.run.Remove(t.Context(), n); err == nil || !strings.Contains(err.Error(), "remove run run-2 first") {
				t.Errorf("%s: the later run is removed: %v", name, err)
			}
			if _, err := first.run.Restore(t.Context(), n, first.file); !errors.Is(err, ErrChanged) {
				t.Errorf("%s: the first run puts back: %v", name, err)
			}
			has(t, first.file, after)
			if err := first.run.Remove(t.Context(), n); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			second.owns(t, n, 1)
			if err := second.run.Remove(t.Context(), n); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			has(t, first.file, after)
		}
		for _, undone := range []int{0, 1} { // one that was put back claims nothing, and keeps nothing
			both := [2]place{newPlace(t, content)}
			both[1] = both[0].another("run-2")
			for i, p := range both {
				if _, err := p.run.Take(t.Context(), n, p.file, sha256.Sum256([]byte(content+strings.Repeat("b", i)))); err != nil {
					t.Fatal(err)
				}
				if undone == i {
					if _, err := p.run.Restore(t.Context(), n, p.file); err != nil {
						t.Fatal(err)
					}
				}
				if i == 0 {
					write(t, p.file, content+"b")
				}
			}
			if err := both[1].run.Remove(t.Context(), n); err != nil {
				t.Errorf("run %d was put back: %v", undone+1, err)
			}
		}
	})
}

// TestPuttingBackInterruptedAnywhere kills it at each of its steps. The run owns the file, or
// nothing: once it is back, and undo was run again, what is written later is not the run's.
func TestPuttingBackInterruptedAnywhere(t *testing.T) {
	for i, how := range []string{"killed before a tool runs", "killed after a tool has", "a tool fails"} {
		t.Run(how, func(t *testing.T) {
			inEveryShell(t, func(t *testing.T, w world) {
				real := w.faked(t, nil).node(t)
				mortal, count := w.mortal(t, how)
				from, by := everyStep(i, w)
				for step := from; ; step += by {
					p := newPlace(t, content)
					if _, err := p.run.Replace(t.Context(), real, p.edit(content, 0, 1, "x\n")); err != nil {
						t.Fatal(err)
					}
					_, err := p.run.Restore(t.Context(), mortal.onStep(t, count, step), p.file)
					if !reached(t, count, step) {
						break
					}
					p.between(t, step, err, how == "a tool fails", content, after)
					if marked, _ := filepath.Glob(p.kept() + "/back-file-*"); len(marked) > 0 {
						has(t, p.file, content) // never before it is back
					}
					if _, err := p.run.Restore(t.Context(), real, p.file); err != nil {
						t.Fatalf("step %d: %v", step, err)
					}
					has(t, p.file, content)
					write(t, p.file, after)
					if _, err := p.run.Restore(t.Context(), real, p.file); !errors.Is(err, ErrNoRun) {
						t.Errorf("step %d: it is put back once more: %v", step, err)
					}
					has(t, p.file, after)
				}
			})
		})
	}
}
