package host

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// absent fails the test if anything has a name.
func absent(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(name); !os.IsNotExist(err) {
		t.Fatalf("%s: %v, and nothing is to be there", name, err)
	}
}

func leadsTo(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.Readlink(name); err != nil || got != want {
		t.Fatalf("%s leads to %q, %v; want %q", name, got, err, want)
	}
}

func TestTakenAwayAndBack(t *testing.T) {
	inBothShells(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		was, err := Look(t.Context(), n, p.file)
		if err != nil {
			t.Fatal(err)
		}
		shown := sha256.Sum256([]byte(content))
		if _, err := p.run.RemoveFile(t.Context(), n, p.file, sha256.Sum256([]byte("other"))); !errors.Is(err, ErrChanged) {
			t.Errorf("another file than was shown: %v", err)
		}
		has(t, p.file, content)
		for range 2 { // the second time, it is already up to date
			if now, err := p.run.RemoveFile(t.Context(), n, p.file, shown); err != nil || now.Kind != Absent {
				t.Fatalf("it is %+v, %v", now, err)
			}
			absent(t, p.file)
			p.tidied(t)
		}
		entries, err := p.run.Backups(t.Context(), n)
		if err != nil || len(entries) != 1 || entries[0].Before != was[0] || !entries[0].Removed || len(entries[0].Wrote) > 0 {
			t.Errorf("entries %+v, %v", entries, err)
		}
		for range 2 {
			if now, err := p.run.Restore(t.Context(), n, p.file); err != nil || now != was[0] {
				t.Fatalf("back it is %+v, %v; was %+v", now, err, was[0])
			}
			has(t, p.file, content)
			p.dressed(t)
			p.tidied(t)
		}

		// Removed away again, and another one is made in its place.
		if _, err := p.run.RemoveFile(t.Context(), n, p.file, shown); err != nil {
			t.Fatal(err)
		}
		write(t, p.file, "made anew")
		if _, err := p.run.RemoveFile(t.Context(), n, p.file, shown); !errors.Is(err, ErrChanged) {
			t.Errorf("the new one is taken for the old one: %v", err)
		}
		if _, err := p.run.Restore(t.Context(), n, p.file); !errors.Is(err, ErrChanged) {
			t.Errorf("what nobody was shown is written over: %v", err)
		}
		if out, err := n.undo(t, p); err == nil || !strings.Contains(out, "NOTHING was put back: "+p.file+" was created again after this run removed it") || !strings.Contains(out, "certrot undo "+p.run.ID+" --from-nodes") {
			t.Errorf("%v\n%s", err, out)
		}
		has(t, p.file, "made anew")
		if now, err := p.run.RestoreOver(t.Context(), n, p.file, sha256.Sum256([]byte("made anew"))); err != nil || now != was[0] {
			t.Fatalf("back it is %+v, %v; was %+v", now, err, was[0])
		}
		has(t, p.file, content)
		p.dressed(t)
		if err := p.run.Remove(t.Context(), n); err != nil {
			t.Error(err)
		}
	})
}

func TestALinkTakenAwayAndBack(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		link := filepath.Join(p.dir, "current")
		lead := func(to string) {
			t.Helper()
			if err := errors.Join(os.RemoveAll(link), os.Symlink(to, link)); err != nil {
				t.Fatal(err)
			}
		}
		lead(p.file)
		if _, err := p.run.RemoveLink(t.Context(), n, link, "/other"); !errors.Is(err, ErrChanged) {
			t.Errorf("another link than was shown: %v", err)
		}
		if _, err := p.run.RemoveLink(t.Context(), n, p.file, p.file); !errors.Is(err, ErrChanged) {
			t.Errorf("a file: %v", err)
		}
		for range 2 {
			if now, err := p.run.RemoveLink(t.Context(), n, link, p.file); err != nil || now.Kind != Absent {
				t.Fatalf("it is %+v, %v", now, err)
			}
			absent(t, link)
			p.tidied(t)
		}
		has(t, p.file, content)
		want := Backup{Before: File{Path: link, Kind: Link}, Removed: true, Target: p.file}
		entries, err := p.run.Backups(t.Context(), n)
		if err != nil || len(entries) != 1 || entries[0].Before != want.Before || entries[0].Target != want.Target || !entries[0].Removed {
			t.Errorf("entries %+v, %v", entries, err)
		}
		if runs, err := Runs(t.Context(), n, p.run.Folder); err != nil || len(runs) != 1 || runs[0].Files != 1 {
			t.Errorf("runs %+v, %v", runs, err)
		}
		for range 2 {
			if _, err := p.run.RestoreLink(t.Context(), n, link, ""); err != nil {
				t.Fatal(err)
			}
			leadsTo(t, link, p.file)
			p.tidied(t)
		}
		// Removed away again, and another one is made in its place.
		if _, err := p.run.RemoveLink(t.Context(), n, link, p.file); err != nil {
			t.Fatal(err)
		}
		lead("/new one")
		if _, err := p.run.RestoreLink(t.Context(), n, link, "/old one"); !errors.Is(err, ErrChanged) {
			t.Errorf("what nobody was shown is written over: %v", err)
		}
		if out, err := n.undo(t, p); err == nil || !strings.Contains(out, link+": NOT put back: it leads to /new one now") {
			t.Errorf("%v\n%s", err, out)
		}
		if _, err := p.run.RestoreLink(t.Context(), n, link, "/new one"); err != nil {
			t.Fatal(err)
		}
		leadsTo(t, link, p.file)
		if _, err := p.run.RemoveLink(t.Context(), n, link, p.file); err != nil {
			t.Fatal(err)
		}
		if out, err := n.undo(t, p); err != nil || !strings.Contains(out, link+": put back") {
			t.Errorf("%v\n%s", err, out)
		}
		leadsTo(t, link, p.file)
		if err := p.run.Remove(t.Context(), n); err != nil {
			t.Error(err)
		}
	})
}

// TestTakingInterruptedAnywhere wants the file, or its bytes in the run's folder and the
// backup, at each moment.
func TestTakingInterruptedAnywhere(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		real := w.faked(t, nil).node(t)
		mortal, count := w.mortal(t, "killed after a tool has")
		from, by := everyStep(1)
		for step := from; ; step += by {
			p := newPlace(t, content)
			link := filepath.Join(p.dir, "current")
			if err := os.Symlink(p.file, link); err != nil {
				t.Fatal(err)
			}
			n := mortal.onStep(t, count, step)
			_, linkErr := p.run.RemoveLink(t.Context(), n, link, p.file)
			_, err := p.run.RemoveFile(t.Context(), n, p.file, sha256.Sum256([]byte(content)))
			if !reached(t, count, step) {
				if err := errors.Join(linkErr, err); err != nil {
					t.Errorf("step %d: %v", step, err)
				}
				break
			}
			for _, err := range []error{linkErr, err} {
				if err != nil && !errors.Is(err, nodeexec.ErrUnknownOutcome) && !strings.Contains(err.Error(), "nothing was changed") {
					t.Errorf("step %d: %v", step, err)
				}
			}
			if _, err := p.run.RestoreLink(t.Context(), real, link, ""); err != nil && !errors.Is(err, ErrNoRun) {
				t.Fatalf("step %d: %v", step, err)
			}
			leadsTo(t, link, p.file)
			if _, err := p.run.Restore(t.Context(), real, p.file); err != nil && !errors.Is(err, ErrNoRun) {
				t.Fatalf("step %d: %v", step, err)
			}
			has(t, p.file, content)
			p.dressed(t)
			p.tidied(t)
		}
	})
}
