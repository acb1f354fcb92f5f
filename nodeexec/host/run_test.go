package host

import (
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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
	inBothShells(t, func(t *testing.T, w world) {
		n := w.node(t)
		for i, e := range edits {
			if i%4 != 0 && !strings.HasPrefix(w.name, "busybox") && os.Getenv("CERTROT_EVERY_STEP") != "1" {
				continue
			}
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
				entries, err := p.run.Backups(t.Context(), n)
				if err != nil || len(entries) != 1 || entries[0].Before != was[0] || !slices.Equal(entries[0].Wrote, [][32]byte{now.SHA256}) {
					t.Errorf("entries %+v, %v", entries, err)
				}
				for range 2 { // the second time, it is already up to date
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
		if entries, err := p.run.Backups(t.Context(), n); err != nil || len(entries) != 1 || !slices.Equal(entries[0].Wrote, wrote) {
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
	inBothShells(t, func(t *testing.T, w world) {
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
		entries, err := run.Backups(t.Context(), n)
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
		if _, err := p.run.Backups(t.Context(), n); !errors.Is(err, ErrNoRun) {
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
		second := RunFolder{ID: "run-0", Folder: p.run.Folder}
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
		if entries, err := p.run.Backups(t.Context(), n); err != nil || len(entries) != 2 {
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
		run := RunFolder{ID: "a", Folder: filepath.Join(mine, "certrot")}
		_, err = run.Replace(t.Context(), n, p.edit(content, 0, 1, "x"))
		p.untouched(t, err, "Permission denied")
		has(t, p.file, content)

		// What belongs to someone else would not any more.
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

func TestShellcheck(t *testing.T) {
	bin, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	if out, err := exec.Command(bin, "-s", "sh", "host.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
