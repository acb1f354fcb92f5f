package host

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestASecondEditKeepsWhatWasFirst(t *testing.T) {
	inBothShells(t, func(t *testing.T, w world) {
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
		entries, err := p.run.Backups(t.Context(), n)
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
			if _, err := p.run.Backups(t.Context(), n); err == nil || errors.Is(err, ErrNoRun) {
				t.Errorf("%q is an entry: %v", text, err)
			}
			_, err := p.run.Restore(t.Context(), n, p.file)
			p.untouched(t, err, "entry")
		}
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
