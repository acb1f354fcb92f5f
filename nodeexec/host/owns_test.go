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
	entries, err := p.run.Backups(t.Context(), n)
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

// TestARunThatCouldNotTakeAFileAwayDoesNotOwnIt: a file that it could not remove is not put back by it.
func TestARunThatCouldNotTakeAFileAwayDoesNotOwnIt(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		link := filepath.Join(p.dir, "current")
		if err := os.Symlink(p.file, link); err != nil {
			t.Fatal(err)
		}
		lift := immutable(t, p.dir)
		_, err := p.run.RemoveFile(t.Context(), n, p.file, sha256.Sum256([]byte(content)))
		p.untouched(t, err, "Operation not permitted")
		if _, err = p.run.RemoveLink(t.Context(), n, link, p.file); !errors.Is(err, ErrNothingChanged) {
			t.Error(err)
		}
		lift()
		p.owns(t, n, 0)
		second := p.another("run-2")
		if _, err := second.run.RemoveFile(t.Context(), n, p.file, sha256.Sum256([]byte(content))); err != nil {
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
		from, by := everyStep(0)
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
		_, err2 := p.run.RemoveFile(t.Context(), n, gone, sha256.Sum256([]byte(content)))
		_, err3 := p.run.RemoveLink(t.Context(), n, link, p.file)
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
			if entries, err := p.run.Backups(t.Context(), n); err != nil || len(entries) != 3 {
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
		// The bytes from before the second one is there, and it is the third one's: nothing is noted.
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

// TestPuttingBackInterruptedAnywhere kills it at each of its steps. The run owns the file, or
// nothing: once it is back, and undo was run again, what is written later is not the run's.
func TestPuttingBackInterruptedAnywhere(t *testing.T) {
	for i, how := range []string{"killed before a tool runs", "killed after a tool has", "a tool fails"} {
		t.Run(how, func(t *testing.T) {
			inEveryShell(t, func(t *testing.T, w world) {
				real := w.faked(t, nil).node(t)
				mortal, count := w.mortal(t, how)
				from, by := everyStep(i)
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
