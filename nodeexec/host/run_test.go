package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

func splice(text string, offset, length int64, insert string) string {
	return text[:offset] + insert + text[offset+length:]
}

func TestAnEditAndBack(t *testing.T) {
	big := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MB
	edits := []struct {
		name           string
		text           string
		offset, length int64
		insert         string
	}{
		{"in the middle", content, 10, 20, "other"},
		{"at the start", content, 0, 3, "x\n\n"},
		{"before the start", content, 0, 0, "new"},
		{"at the end", content, int64(len(content)) - 4, 4, "\n"},
		{"behind the end", content, int64(len(content)), 0, "more\n\n\n"},
		{"only deletes", content, 5, 7, ""},
		{"deletes all", content, 0, int64(len(content)), ""},
		{"into an empty file", "", 0, 0, "first"},
		{"1 MB", content, 10, 1, big},
		{"within 1 MB", big, 600_000, 100, "short"},
		{"bytes that are no text", "\x00\x01\xff\n\n\x00", 1, 2, "\x00\x80\x81'\"$(id)`\\"},
	}
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		for _, e := range edits {
			t.Run(e.name, func(t *testing.T) {
				p := newPlace(t, e.text)
				want := splice(e.text, e.offset, e.length, e.insert)
				was, err := Look(t.Context(), n, p.file)
				if err != nil {
					t.Fatal(err)
				}
				now, err := p.run.Replace(t.Context(), n, p.edit(e.text, e.offset, e.length, e.insert))
				if err != nil {
					t.Fatal(err)
				}
				has(t, p.file, want)
				p.dressed(t)
				p.tidied(t)
				if looked, err := Look(t.Context(), n, p.file); err != nil || looked[0] != now {
					t.Errorf("Replace says %+v, Look %+v, %v", now, looked, err)
				}
				if now.SHA256 != sha256.Sum256([]byte(want)) || now.Size != int64(len(want)) || now.Mode != 0o640 {
					t.Errorf("now %+v", now)
				}
				entries, err := p.run.Entries(t.Context(), n)
				if err != nil || len(entries) != 1 || entries[0].Before != was[0] || !slices.Equal(entries[0].Wrote, [][32]byte{now.SHA256}) {
					t.Errorf("entries %+v, %v", entries, err)
				}
				for range 2 { // the second time, it is so already
					back, err := p.run.Restore(t.Context(), n, p.file)
					if err != nil || back != was[0] {
						t.Fatalf("back is %+v, %v; was %+v", back, err, was[0])
					}
					has(t, p.file, e.text)
					p.dressed(t)
					p.tidied(t)
				}
			})
		}
	})
}

func TestRandomEdits(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		random := rand.New(rand.NewPCG(1, 2))
		some := func(most int) string {
			b := make([]byte, random.IntN(most+1))
			for i := range b {
				b[i] = byte(random.IntN(256))
			}
			return string(b)
		}
		p := newPlace(t, "")
		first := some(3000)
		text := first
		write(t, p.file, first)
		var wrote [][32]byte
		for i := range 15 {
			offset := random.Int64N(int64(len(text)) + 1)
			length := random.Int64N(int64(len(text)) - offset + 1)
			insert := some(500)
			want := splice(text, offset, length, insert)
			if _, err := p.run.Replace(t.Context(), n, p.edit(text, offset, length, insert)); err != nil {
				t.Fatalf("edit %d: %v", i, err)
			}
			has(t, p.file, want)
			if want != text {
				wrote = append(wrote, sha256.Sum256([]byte(want)))
			}
			text = want
		}
		if entries, err := p.run.Entries(t.Context(), n); err != nil || len(entries) != 1 || !slices.Equal(entries[0].Wrote, wrote) {
			t.Errorf("%v, entries %+v", err, entries)
		}
		if _, err := p.run.Restore(t.Context(), n, p.file); err != nil {
			t.Fatal(err)
		}
		has(t, p.file, first)
		p.dressed(t)
	})
}

func TestWhatIsSoAlreadyIsNotWritten(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		before, _ := os.Stat(p.file)
		for _, e := range []Edit{p.edit(content, 10, 5, content[10:15]), p.edit(content, 3, 0, "")} {
			now, err := p.run.Replace(t.Context(), n, e)
			if err != nil || now.SHA256 != e.Before {
				t.Fatalf("%+v, %v", now, err)
			}
		}
		after, _ := os.Stat(p.file)
		if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
			t.Error("the file was written")
		}
		if _, err := os.Stat(p.run.Folder); !os.IsNotExist(err) {
			t.Errorf("the folder: %v", err)
		}
	})
}

// TestLeftoversOfAnotherRun finds what a run left that was killed and never went
// on: the next one, whatever its ID, removes it, since it may hold a token.
func TestLeftoversOfAnotherRun(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		p := newPlace(t, content)
		dead := filepath.Join(p.run.Folder, "run-0")
		if err := os.MkdirAll(dead, 0o700); err != nil {
			t.Fatal(err)
		}
		left := []string{filepath.Join(p.dir, ".certrot-run-0-abcdef"), filepath.Join(dead, "pending"), filepath.Join(dead, "tmp-abcdef")}
		write(t, left[0], content)
		write(t, left[1], p.file+"\n")
		write(t, left[2], content)
		others := []string{filepath.Join(p.dir, ".certrot-run-2-abcdef"), filepath.Join(dead, "before-"+strings.Repeat("0", 64))}
		for _, o := range others {
			write(t, o, content)
		}
		if _, err := p.run.Replace(t.Context(), w.node(t), p.edit(content, 0, 1, "x")); err != nil {
			t.Fatal(err)
		}
		locks := w.tool("flock") != ""
		for _, l := range left {
			if _, err := os.Stat(l); locks != os.IsNotExist(err) {
				t.Errorf("%s: %v, with locks: %v", l, err, locks)
			}
		}
		for _, o := range others {
			if _, err := os.Stat(o); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestNamesOfAllKinds(t *testing.T) {
	var every []byte
	for b := 1; b < 256; b++ {
		if b != '\n' && b != '/' {
			every = append(every, byte(b))
		}
	}
	names := []string{"two words", " trailing ", `quote's "both" \`, "*", "[a-z]?", "-rf", "$(id)", "`id`", "a;b&c|d", "end", ".hidden", string(every[:200]), string(every[100:])}
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		run := p.run
		run.Folder = filepath.Join(p.dir, "a 'folder' with $(id) * and \\")
		var paths []string
		for _, name := range names {
			sub := filepath.Join(p.dir, name)
			if err := os.Mkdir(sub, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(sub, name)
			paths = append(paths, path)
			write(t, path, content)
			e := p.edit(content, 0, 1, "X")
			e.Path = path
			now, err := run.Replace(t.Context(), n, e)
			if err != nil || now.Path != path {
				t.Fatalf("%q: %v", name, err)
			}
			has(t, path, "X"+content[1:])
		}
		entries, err := run.Entries(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Before.Path)
		}
		slices.Sort(paths)
		if !slices.Equal(got, paths) {
			t.Errorf("entries %q, want %q", got, paths)
		}
		for _, path := range paths {
			if _, err := run.Restore(t.Context(), n, path); err != nil {
				t.Errorf("%q: %v", path, err)
			}
			has(t, path, content)
			if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
				t.Errorf("left: %v", left)
			}
		}
		if err := run.Remove(t.Context(), n); err != nil {
			t.Error(err)
		}
	})
}

func TestPathsThatAreRefused(t *testing.T) {
	n := world{sh: []string{"false"}}.node(t) // nothing runs
	for _, path := range []string{"", "/", "etc/x", "/etc/../x", "/etc//x", "/etc/x/", "/a\nb", "/a\x00b", "./x"} {
		if _, err := Look(t.Context(), n, "/fine", path); err == nil || !strings.Contains(err.Error(), "path") {
			t.Errorf("Look at %q: %v", path, err)
		}
		r := Run{ID: "a"}
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
		if _, err := (Run{ID: id}).Entries(t.Context(), n); err == nil || !strings.Contains(err.Error(), "ID") {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, e := range []Edit{{Path: "/x", Offset: -1}, {Path: "/x", Length: -1}, {Path: "/x", Offset: 1 << 62, Length: 1 << 62}} {
		if _, err := (Run{ID: "a"}).Replace(t.Context(), n, e); err == nil || !strings.Contains(err.Error(), "range") {
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
	inEveryShell(t, func(t *testing.T, w world) {
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

func TestASecondEditKeepsWhatWasFirst(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		replace := func(before, insert string) error {
			_, err := p.run.Replace(t.Context(), n, p.edit(before, 0, int64(len(before)), insert))
			return err
		}
		if err := errors.Join(replace(content, "one"), replace("one", "two"), replace("two", "one"), replace("one", "three")); err != nil {
			t.Fatal(err)
		}
		has(t, p.file, "three")
		entries, err := p.run.Entries(t.Context(), n)
		if err != nil || len(entries) != 1 || entries[0].Before.SHA256 != sha256.Sum256([]byte(content)) {
			t.Fatalf("%+v, %v", entries, err)
		}
		want := [][32]byte{sha256.Sum256([]byte("two")), sha256.Sum256([]byte("one")), sha256.Sum256([]byte("three"))}
		if !slices.Equal(entries[0].Wrote, want) {
			t.Errorf("wrote %x", entries[0].Wrote)
		}

		write(t, p.file, "somebody else")
		err = replace("somebody else", "four")
		p.untouched(t, err, "new run")
		if !errors.Is(err, ErrChanged) {
			t.Error(err)
		}
		now, err := p.run.Restore(t.Context(), n, p.file)
		p.untouched(t, err, "before-")
		if !errors.Is(err, ErrChanged) || now.SHA256 != sha256.Sum256([]byte("somebody else")) {
			t.Errorf("%v %+v", err, now)
		}
		has(t, p.file, "somebody else")

		write(t, p.file, "two") // as an interrupted edit may leave it
		if _, err := p.run.Restore(t.Context(), n, p.file); err != nil {
			t.Fatal(err)
		}
		has(t, p.file, content)
		if err := replace(content, "five"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.run.Restore(t.Context(), n, p.file); err != nil {
			t.Fatal(err)
		}
		has(t, p.file, content)
		p.dressed(t)
	})
}

func TestRestoreBringsBackModeAndOwner(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		if _, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x")); err != nil {
			t.Fatal(err)
		}
		err := os.Chmod(p.file, 0o604)
		if os.Geteuid() == 0 {
			err = errors.Join(err, os.Chown(p.file, 70, 80))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.run.Restore(t.Context(), n, p.file); err != nil {
			t.Fatal(err)
		}
		has(t, p.file, content)
		p.dressed(t)
	})
}

func TestADamagedBackupIsNotPutBack(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		if _, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x")); err != nil {
			t.Fatal(err)
		}
		backup := filepath.Join(p.kept(), fmt.Sprintf("before-%x", sha256.Sum256([]byte(content))))
		has(t, backup, content)
		if info, err := os.Stat(backup); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		now := "x" + content[1:]
		for _, damage := range []func(){func() { write(t, backup, content[1:]) }, func() { _ = os.Remove(backup) }} {
			damage()
			_, err := p.run.Restore(t.Context(), n, p.file)
			p.untouched(t, err, "not in")
			_, err = p.run.Replace(t.Context(), n, p.edit(now, 0, 1, "y"))
			p.untouched(t, err, "not in")
			has(t, p.file, now)
		}
		entries, _ := filepath.Glob(filepath.Join(p.kept(), "file-*"))
		for _, text := range []string{"", "certrot-file 1\n", read(t, entries[0])[:100], "nonsense\n" + read(t, entries[0])} {
			write(t, entries[0], text)
			if _, err := p.run.Entries(t.Context(), n); err == nil || errors.Is(err, ErrNoRun) {
				t.Errorf("%q is an entry: %v", text, err)
			}
			_, err := p.run.Restore(t.Context(), n, p.file)
			p.untouched(t, err, "entry")
		}
	})
}

func TestRunsOnANode(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		list := func() []Summary {
			t.Helper()
			runs, err := Runs(t.Context(), n, p.run.Folder)
			if err != nil {
				t.Fatal(err)
			}
			return runs
		}
		if runs := list(); len(runs) != 0 {
			t.Errorf("%+v", runs)
		}
		if _, err := p.run.Entries(t.Context(), n); !errors.Is(err, ErrNoRun) {
			t.Error(err)
		}
		if _, err := p.run.Restore(t.Context(), n, p.file); !errors.Is(err, ErrNoRun) {
			t.Error(err)
		}
		if err := p.run.Remove(t.Context(), n); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.run.Folder); !os.IsNotExist(err) {
			t.Errorf("asking made the folder: %v", err)
		}
		other := filepath.Join(p.dir, "other")
		write(t, other, content)
		e := p.edit(content, 0, 1, "x")
		e.Path = other
		for _, e := range []Edit{p.edit(content, 0, 1, "x"), e} { // the same bytes
			if _, err := p.run.Replace(t.Context(), n, e); err != nil {
				t.Fatal(err)
			}
		}
		second := Run{ID: "run-0", Folder: p.run.Folder}
		if _, err := second.Replace(t.Context(), n, p.edit("x"+content[1:], 0, 1, "y")); err != nil {
			t.Fatal(err)
		}
		runs := list()
		if len(runs) != 2 || runs[0].ID != "run-0" || runs[0].Files != 1 || runs[1].ID != "run-1" || runs[1].Files != 2 {
			t.Errorf("%+v", runs)
		}
		if age := time.Since(runs[1].Began); age < -time.Minute || age > time.Minute {
			t.Errorf("changed %s ago", age)
		}
		if _, err := second.Restore(t.Context(), n, other); !errors.Is(err, ErrNoRun) {
			t.Error(err)
		}
		for _, dir := range []string{p.run.Folder, p.kept()} {
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		}

		for _, odd := range []string{"notes", ".hidden", "file-x", "before-" + strings.Repeat("z", 64)} {
			write(t, filepath.Join(p.kept(), odd), "")
			if err := p.run.Remove(t.Context(), n); err == nil || !strings.Contains(err.Error(), odd) {
				t.Errorf("%s: %v", odd, err)
			}
			_ = os.Remove(filepath.Join(p.kept(), odd))
		}
		link := filepath.Join(p.kept(), "tmp-abcdef")
		if err := os.Symlink(p.file, link); err != nil {
			t.Fatal(err)
		}
		if err := p.run.Remove(t.Context(), n); err == nil || !strings.Contains(err.Error(), link) {
			t.Error(err)
		}
		_ = os.Remove(link)
		if entries, err := p.run.Entries(t.Context(), n); err != nil || len(entries) != 2 {
			t.Errorf("%+v, %v", entries, err)
		}
		for range 2 {
			if err := p.run.Remove(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			if runs := list(); len(runs) != 1 || runs[0].ID != "run-0" {
				t.Errorf("%+v", runs)
			}
		}
	})
}

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
		_, err2 := (Run{ID: "other", Folder: p.run.Folder}).Replace(t.Context(), n, p.edit(now, 0, 1, "y"))
		_, err3 := p.run.Restore(t.Context(), n, p.file)
		err4 := p.run.Remove(t.Context(), n)
		for _, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
		}
		has(t, p.file, now)
		if _, err := p.run.Entries(t.Context(), n); err != nil {
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

func TestTheWayBackIsOnTheDiskFirst(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		p := newPlace(t, content)
		log := filepath.Join(newFolder(t), "log")
		fakes := map[string]string{}
		for _, name := range []string{"sync", "mv"} {
			fakes[name] = fmt.Sprintf("echo \"%s $*\" >>%s\nexec %s \"$@\"\n", name, log, w.tool(name))
		}
		if _, err := p.run.Replace(t.Context(), w.faked(t, fakes).node(t), p.edit(content, 0, 1, "x")); err != nil {
			t.Fatal(err)
		}
		text := read(t, log)
		for _, name := range []string{p.run.Folder + "/run-1/tmp-", p.dir + "/.certrot-run-1-"} { // random ends
			for {
				_, after, ok := strings.Cut(text, name)
				if !ok || len(after) < 6 {
					break
				}
				text = strings.ReplaceAll(text, name+after[:6], "NEW")
			}
		}
		text = strings.ReplaceAll(text, p.kept(), "RUN")
		text = strings.ReplaceAll(text, p.dir, "ETC")
		backup := fmt.Sprintf("before-%x", sha256.Sum256([]byte(content)))
		entry := fmt.Sprintf("file-%x", sha256.Sum256([]byte(p.file)))
		settled := func(name string) string { return "sync NEW\nmv -f NEW RUN/" + name + "\nsync RUN\n" }
		want := settled(backup) + settled("pending") + "sync NEW\n" + settled("undo") + settled(entry) + "mv -f NEW ETC/kubeconfig\nsync ETC/\n"
		if _, got, _ := strings.Cut(text, "sync "+p.run.Folder+"/\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func (n *testNode) undo(t *testing.T, p place) (string, error) {
	t.Helper()
	argv := n.command([]string{"sh", filepath.Join(p.kept(), "undo")})
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	return string(out), err
}

func TestUndo(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		other := filepath.Join(p.dir, "other file")
		write(t, other, "abc")
		e := Edit{Path: other, Before: sha256.Sum256([]byte("abc")), Offset: 3, Insert: []byte("def")}
		for _, e := range []Edit{e, p.edit(content, 0, 1, "x")} {
			if _, err := p.run.Replace(t.Context(), n, e); err != nil {
				t.Fatal(err)
			}
		}
		write(t, other, "somebody else")
		out, err := n.undo(t, p)
		if err == nil || !strings.Contains(out, other+": NOT put back: it is neither") || !strings.Contains(out, p.file+": put back\n") || !strings.Contains(out, "systemctl restart UNIT") {
			t.Errorf("%v\n%s", err, out)
		}
		has(t, other, "somebody else")
		has(t, p.file, content)
		p.dressed(t)
		write(t, other, "abcdef")
		write(t, filepath.Join(p.kept(), "restarted-kubelet.service"), "")
		out, err = n.undo(t, p)
		if err != nil || !strings.Contains(out, other+": put back\n") || !strings.Contains(out, p.file+": already as it was\n") || !strings.Contains(out, "systemctl restart kubelet.service") {
			t.Errorf("%v\n%s", err, out)
		}
		has(t, other, "abc")
		p.tidied(t)

		// As a person would: from within the folder, or as a program.
		for _, argv := range [][]string{{"sh", "undo"}, {"./undo"}} {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir = p.kept()
			if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "already as it was") != 2 {
				t.Errorf("%v\n%s", err, out)
			}
		}
		if err := p.run.Remove(t.Context(), n); err != nil {
			t.Error(err)
		}
	})
}

func TestAnotherUser(t *testing.T) {
	onlyRoot(t)
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		n.user = "65534:65534"
		p := newPlace(t, content)
		if _, err := Look(t.Context(), n, p.file); err == nil || !strings.Contains(err.Error(), "Permission denied") {
			t.Errorf("Look: %v", err)
		}
		_, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x"))
		p.untouched(t, err, "Permission denied")

		// It may read it, but not write beside it.
		mine := filepath.Join(filepath.Dir(p.dir), "mine")
		if err := errors.Join(os.Chmod(p.file, 0o644), os.Mkdir(mine, 0o755), os.Chown(mine, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		run := Run{ID: "a", Folder: filepath.Join(mine, "certrot")}
		_, err = run.Replace(t.Context(), n, p.edit(content, 0, 1, "x"))
		p.untouched(t, err, "Permission denied")
		has(t, p.file, content)

		// What belongs to somebody else would not any more.
		if err := os.Chown(p.dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		_, err = run.Replace(t.Context(), n, p.edit(content, 0, 1, "x"))
		p.untouched(t, err, "new file")
		has(t, p.file, content)

		if err := os.Chown(p.file, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err = run.Replace(t.Context(), n, p.edit(content, 0, 1, "x")); err != nil {
			t.Fatal(err)
		}
		has(t, p.file, "x"+content[1:])
		if _, err = run.Restore(t.Context(), n, p.file); err != nil {
			t.Fatal(err)
		}
		has(t, p.file, content)
	})
}

// answering is a node that gives an answer of its own.
type answering struct {
	nodeexec.Node
	out string
	err error
}

func (a answering) Name() string       { return "worker-3" }
func (a answering) Path(string) string { return "/" }
func (a answering) Run(context.Context, io.Reader, ...string) ([]byte, error) {
	return []byte(a.out), a.err
}

// tells reports whether an error tells what another one does: of a command that was
// run all but its text, which is the script's.
func tells(got, err error) bool {
	var was, is *nodeexec.RunError
	if !errors.As(err, &was) {
		return errors.Is(got, err)
	}
	return errors.As(got, &is) && is.Code == was.Code && is.Signal == was.Signal && errors.Is(is.Inner, was.Inner) && !strings.Contains(got.Error(), "umask")
}

func TestWhatIsNotKnown(t *testing.T) {
	r := Run{ID: "a"}
	e := Edit{Path: "/etc/x"}
	good := "certrot-host 1\nfile regular " + strings.Repeat("0", 64) + " 3 4755 1 2 a:b c\ndone changed\nend\n"
	now, err := r.Replace(t.Context(), answering{out: good}, e)
	if err != nil || now != (File{Path: "/etc/x", Kind: Regular, Size: 3, Mode: 0o755 | os.ModeSetuid, UID: 1, GID: 2, Label: "a:b c"}) {
		t.Errorf("%+v, %v", now, err)
	}
	for i := range len(good) {
		if _, err := r.Replace(t.Context(), answering{out: good[:i]}, e); !errors.Is(err, nodeexec.ErrUnknownOutcome) {
			t.Fatalf("%q: %v", good[:i], err)
		}
	}
	for _, out := range []string{good + good, "x" + good, strings.Replace(good, "done changed\n", "", 1), strings.Replace(good, "regular", "odd", 1), strings.Replace(good, " 3 ", " -3 ", 1),
		strings.Replace(good, " 4755 ", " 999 ", 1), strings.Replace(good, "00", "0g", 1), strings.Replace(good, "done changed", "done", 1), "certrot-host 1\nfail unknown x\nend\n"} {
		if _, err := r.Replace(t.Context(), answering{out: out}, e); !errors.Is(err, nodeexec.ErrUnknownOutcome) {
			t.Errorf("%q: %v", out, err)
		}
	}
	lost := fmt.Errorf("the line is cut: %w", nodeexec.ErrUnknownOutcome)
	for err, unknown := range map[error]bool{
		lost:                                         true,
		&nodeexec.RunError{Code: 127}:                false,
		&nodeexec.RunError{Code: 125}:                false,
		&nodeexec.RunError{Code: 2}:                  true,
		&nodeexec.RunError{Code: 137}:                true,
		errors.New("nothing was sent"):               false,
		&nodeexec.RunError{Code: -1, Signal: "KILL"}: true,
		&nodeexec.RunError{Code: -1, Inner: lost}:    true,
		&nodeexec.RunError{Code: -1, Inner: errors.New("not connected")}: false,
	} {
		_, got1 := r.Replace(t.Context(), answering{err: err}, e)
		got2 := r.Restart(t.Context(), answering{err: err}, "a.service")
		for _, got := range []error{got1, got2} {
			if !tells(got, err) || errors.Is(got, nodeexec.ErrUnknownOutcome) != unknown {
				t.Errorf("%v becomes %v", err, got)
			}
		}
		if _, got := Look(t.Context(), answering{err: err}, "/x"); !tells(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	_, err = r.Replace(t.Context(), answering{out: "certrot-host 1\nfail failed \x1b[2Jred\xff\nend\n"}, e)
	if err == nil || strings.Contains(err.Error(), "\x1b") || !utf8.ValidString(err.Error()) {
		t.Errorf("%q", err)
	}
}

func TestNoBytesOfAFileLeaveTheNode(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		p := newPlace(t, content)
		spy := &listening{testNode: w.node(t)}
		for range 2 {
			_, _ = p.run.Replace(t.Context(), spy, p.edit(content, 0, 1, "x"))
			_, _ = p.run.Replace(t.Context(), spy, p.edit(content, 0, 99999, "x"))
			_, _ = p.run.Entries(t.Context(), spy)
			_, _ = p.run.Restore(t.Context(), spy, p.file)
			_, _ = Look(t.Context(), spy, p.file)
			_ = os.Chmod(p.file, 0)
		}
		if len(spy.heard) == 0 || bytes.Contains(spy.heard, []byte("secret-token")) {
			t.Errorf("heard %q", spy.heard)
		}
	})
}

type listening struct {
	*testNode
	heard []byte
}

func (l *listening) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	out, err := l.testNode.Run(ctx, stdin, argv...)
	l.heard = append(l.heard, out...)
	if err != nil {
		l.heard = append(l.heard, err.Error()...)
	}
	return out, err
}

func TestShellcheck(t *testing.T) {
	bin, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	if out, err := exec.Command(bin, "-s", "sh", "host.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func FuzzAnswers(f *testing.F) {
	zeros := strings.Repeat("0", 64)
	f.Add("file regular " + zeros + " 3 644 1 2 ?\ndone same")
	f.Add("entry " + zeros + " 3 644 1 2 ?\npath /etc/x y \nafter " + zeros + " " + zeros + "\ndone same")
	f.Add("run a 17 3\ndone same")
	f.Add("now 17.5\nId=a\nLoadState=loaded\nActiveState=a\nSubState=b\nMainPID=1\nNeedDaemonReload=no\nActiveEnterTimestamp=Fri 2026-11-20 10:00:00 UTC\ndone same")
	f.Fuzz(func(_ *testing.T, text string) {
		a, err := parseAnswer("certrot-host 1\n" + text + "\nend\n")
		if err != nil {
			return
		}
		_ = a.failure()
		_, _ = parseEntries(a.lines)
		_, _ = parseRuns(a.lines)
		_, _ = parseUnit(a.lines)
		for _, line := range a.lines {
			_, _ = parseFile("/x", line)
		}
	})
}
