package host

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

func TestPathsThatAreRefused(t *testing.T) {
	n := world{sh: []string{"false"}}.node(t) // nothing runs
	for _, path := range []string{"", "/", "etc/x", "/etc/../x", "/etc//x", "/etc/x/", "/a\nb", "/a\x00b", "./x"} {
		if _, err := Look(t.Context(), n, "/fine", path); err == nil || !strings.Contains(err.Error(), "path") {
			t.Errorf("Look at %q: %v", path, err)
		}
		r := RunFolder{ID: "a"}
		if _, err := r.Replace(t.Context(), n, Edit{Path: path}); err == nil || !strings.Contains(err.Error(), "path") {
			t.Errorf("Replace %q: %v", path, err)
		}
		if _, err := r.Restore(t.Context(), n, path); err == nil || !strings.Contains(err.Error(), "path") {
			t.Errorf("Restore %q: %v", path, err)
		}
		if path != "" {
			r.Folder = path
			if err := r.Remove(t.Context(), n); err == nil || !strings.Contains(err.Error(), "path") {
				t.Errorf("Remove in %q: %v", path, err)
			}
		}
	}
	for _, id := range []string{"", ".", "..", "a/b", "A", "a b", "é", strings.Repeat("a", 65)} {
		if _, err := (RunFolder{ID: id}).Backups(t.Context(), n); err == nil || !strings.Contains(err.Error(), "ID") {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, e := range []Edit{{Path: "/x", Offset: -1}, {Path: "/x", Length: -1}, {Path: "/x", Offset: 1 << 62, Length: 1 << 62}} {
		if _, err := (RunFolder{ID: "a"}).Replace(t.Context(), n, e); err == nil || !strings.Contains(err.Error(), "range") {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// untouched fails the test if there is no error, or anything in the world has
// changed because of what was tried.
func (p place) untouched(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), "nothing was changed") || errors.Is(err, nodeexec.ErrUnknownOutcome) {
		t.Errorf("want an error that says %q, and that nothing was changed: %v", words, err)
	}
	p.tidied(t)
}

func TestWhatIsRefused(t *testing.T) {
	inBothShells(t, func(t *testing.T, w world) {
		n := w.node(t)
		t.Run("another content", func(t *testing.T) {
			p := newPlace(t, content)
			now, err := p.run.Replace(t.Context(), n, p.edit("what was shown", 0, 1, "x"))
			p.untouched(t, err, "not as expected")
			if !errors.Is(err, ErrChanged) || now.SHA256 != sha256.Sum256([]byte(content)) {
				t.Errorf("%v, %+v", err, now)
			}
			has(t, p.file, content)
		})
		t.Run("gone", func(t *testing.T) {
			p := newPlace(t, content)
			e := p.edit(content, 0, 1, "x")
			e.Path += "/below/a/file"
			now, err := p.run.Replace(t.Context(), n, e)
			p.untouched(t, err, "gone")
			if !errors.Is(err, ErrChanged) || now.Kind != Absent {
				t.Errorf("%v, %+v", err, now)
			}
		})
		t.Run("beyond the end", func(t *testing.T) {
			p := newPlace(t, content)
			_, err := p.run.Replace(t.Context(), n, p.edit(content, int64(len(content)), 1, "x"))
			p.untouched(t, err, "bytes")
			has(t, p.file, content)
		})
		t.Run("what is no plain file", func(t *testing.T) {
			p := newPlace(t, content)
			link, hard, pipe := filepath.Join(p.dir, "link"), filepath.Join(p.dir, "hard"), filepath.Join(p.dir, "pipe")
			if err := errors.Join(os.Symlink(p.file, link), os.Link(p.file, hard), syscall.Mkfifo(pipe, 0o600)); err != nil {
				t.Fatal(err)
			}
			for path, words := range map[string]string{link: "symbolic link", hard: "hard links", p.file: "hard links", pipe: "no regular file", p.dir: "directory"} {
				e := p.edit(content, 0, 1, "x")
				e.Path = path
				_, err := p.run.Replace(t.Context(), n, e)
				p.untouched(t, err, words)
			}
			has(t, hard, content)
			files, err := Look(t.Context(), n, link, pipe, p.dir, p.file, p.file+"x")
			var kinds []Kind
			for _, f := range files {
				kinds = append(kinds, f.Kind)
			}
			if err != nil || !slices.Equal(kinds, []Kind{Link, Other, Directory, Regular, Absent}) {
				t.Errorf("%v, %v", kinds, err)
			}
		})
		t.Run("stdin that ends early", func(t *testing.T) {
			p := newPlace(t, content)
			n := w.node(t)
			for _, arrive := range []int64{0, 1, 999} {
				n.stdin = func(r io.Reader) io.Reader { return io.LimitReader(r, arrive) }
				_, err := p.run.Replace(t.Context(), n, p.edit(content, 10, 5, strings.Repeat("x", 1000)))
				p.untouched(t, err, "did not arrive whole")
				has(t, p.file, content)
			}
			n.stdin = func(r io.Reader) io.Reader { return io.MultiReader(strings.NewReader("y"), r) }
			_, err := p.run.Replace(t.Context(), n, p.edit(content, 10, 5, strings.Repeat("x", 1000)))
			p.untouched(t, err, "did not arrive whole")
			has(t, p.file, content)
		})
		t.Run("a folder of a run that is not ours alone", func(t *testing.T) {
			for _, which := range []string{"folder", "run"} {
				for _, how := range []string{"link", "file", "mode", "owner"} {
					if how == "owner" && os.Geteuid() != 0 {
						continue
					}
					p := newPlace(t, content)
					dir := p.run.Folder
					if which == "run" {
						dir = p.kept()
					}
					elsewhere := filepath.Join(p.dir, "elsewhere")
					err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.Mkdir(elsewhere, 0o700))
					words := "folder"
					switch how {
					case "link":
						err = errors.Join(err, os.Symlink(elsewhere, dir))
					case "file":
						err = errors.Join(err, os.WriteFile(dir, nil, 0o600))
					case "mode":
						err = errors.Join(err, os.Mkdir(dir, 0o700), os.Chmod(dir, 0o720))
						words = "others may write"
					case "owner":
						err = errors.Join(err, os.Mkdir(dir, 0o700), os.Chown(dir, 7, 7))
						words = "belongs to user 7"
					}
					if err != nil {
						t.Fatal(err)
					}
					_, err = p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x"))
					p.untouched(t, err, words)
					has(t, p.file, content)
					if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
						t.Errorf("written into %v", left)
					}
				}
			}
		})
	})
}
