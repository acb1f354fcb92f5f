package host

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

func TestTwoAtOnce(t *testing.T) {
	without := map[string]string{"flock": ""}
	inEveryShell(t, func(t *testing.T, w world) {
		for name, w := range map[string]world{"with flock": w, "without flock": w.faked(t, without)} {
			t.Run(name, func(t *testing.T) {
				if w.tool("flock") == "" {
					name = "without flock" // as a busybox may be
				}
				n := w.node(t)
				p := newPlace(t, content)
				var wait sync.WaitGroup
				errs := make([]error, 4)
				for i := range errs {
					wait.Go(func() {
						_, errs[i] = p.run.Replace(t.Context(), n, p.edit(content, 0, 1, fmt.Sprint(i)))
					})
				}
				wait.Wait()
				done := 0
				for i, err := range errs {
					switch {
					case err == nil:
						done++
						if name == "with flock" {
							has(t, p.file, fmt.Sprint(i)+content[1:])
						}
					case errors.Is(err, nodeexec.ErrUnknownOutcome), name == "with flock" && !errors.Is(err, ErrChanged) && !errors.Is(err, ErrBusy):
						t.Error(err)
					}
				}
				// Without a lock, two may look at the same moment.
				if name == "with flock" && done != 1 {
					t.Errorf("%d of %d came through", done, len(errs))
				}
				if got := read(t, p.file); got[1:] != content[1:] {
					t.Errorf("the file is %q", got)
				}
			})
		}
	})
}

func TestBusy(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		flock, err := exec.LookPath("flock")
		if err != nil && w.tool("flock") == "" {
			t.Skip("flock is not installed")
		} else if w.tool("flock") == "" { // a busybox may be without
			w = w.faked(t, map[string]string{"flock": "exec " + flock + ` "$@"`})
		}
		n := w.node(t)
		p := newPlace(t, content)
		if _, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x")); err != nil {
			t.Fatal(err)
		}
		lock, err := os.Open(filepath.Join(p.run.Folder, ".lock"))
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		now := "x" + content[1:]
		_, err1 := p.run.Replace(t.Context(), n, p.edit(now, 0, 1, "y"))
		_, err2 := (RunFolder{ID: "other", Folder: p.run.Folder}).Replace(t.Context(), n, p.edit(now, 0, 1, "y"))
		_, err3 := p.run.Restore(t.Context(), n, p.file)
		err4 := p.run.Remove(t.Context(), n)
		for _, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
		}
		has(t, p.file, now)
		if _, err := p.run.Backups(t.Context(), n); err != nil {
			t.Error(err)
		}
	})
}

func TestAWriterInBetween(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		p := newPlace(t, content)
		// The entry is written last before the file; so is what another writer does.
		mv := w.tool("mv")
		sly := w.faked(t, map[string]string{"mv": fmt.Sprintf("case $3 in */file-*) echo other >%s ;; esac\nexec %s \"$@\"\n", p.file, mv)})
		now, err := p.run.Replace(t.Context(), sly.node(t), p.edit(content, 0, 1, "x"))
		p.untouched(t, err, "just now")
		if !errors.Is(err, ErrChanged) || now.SHA256 != sha256.Sum256([]byte("other\n")) {
			t.Errorf("%v %+v", err, now)
		}
		has(t, p.file, "other\n")
	})
}
