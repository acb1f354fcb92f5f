package host

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
			if entries, err := first.run.Backups(t.Context(), n); err != nil || len(entries) != 1 || entries[0].Later != "run-1" {
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
// that two runs removed.
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
				_, err := p.run.RemoveFile(t.Context(), n, p.file, sha256.Sum256([]byte(text)))
				_, err2 := p.run.RemoveLink(t.Context(), n, link, p.run.ID)
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
			run  RunFolder
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

// TestALaterRunKeepsWhatIsBeneathIt: the second run wrote the bytes from before the first one, and
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
				if _, err := p.run.RemoveFile(t.Context(), n, p.file, sha256.Sum256([]byte(content+strings.Repeat("b", i)))); err != nil {
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
