package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// mounted mounts something for one test, or skips the test.
func mounted(t *testing.T, source, at, kind string, flags uintptr, data string) {
	t.Helper()
	onlyRoot(t)
	if err := syscall.Mount(source, at, kind, flags, data); err != nil {
		t.Skipf("mount %s: %v", at, err) // a container without the right to
	}
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
}

func TestAFullDisk(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		root := filepath.Dir(p.dir)
		mounted(t, "tmpfs", root, "tmpfs", 0, "size=512k,mode=755")
		text := strings.Repeat("0123456789abcde\n", 4000)
		p.fresh(t, text)
		p.run.Folder = filepath.Join(root, "certrot")
		full, failures := filepath.Join(root, "full"), 0
		for room := 0; ; room += 20 << 10 {
			_ = os.RemoveAll(p.run.Folder)
			fill(t, full, root, room)
			_, err := p.run.Replace(t.Context(), n, p.edit(text, 20, 0, "more"))
			if err == nil {
				break
			}
			failures++
			p.untouched(t, err, "No space left on device")
			has(t, p.file, text)
		}
		if failures < 5 {
			t.Errorf("%d failures", failures)
		}
		has(t, p.file, splice(text, 20, 0, "more"))
		for room := 0; ; room += 20 << 10 {
			fill(t, full, root, room)
			_, err := p.run.Restore(t.Context(), n, p.file)
			if err == nil {
				break
			}
			p.untouched(t, err, "No space left on device")
			has(t, p.file, splice(text, 20, 0, "more"))
		}
		has(t, p.file, text)
		p.dressed(t)
	})
}

// fresh makes the file again, where something was mounted over it.
func (p place) fresh(t *testing.T, text string) {
	t.Helper()
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, p.file, text)
	if err := errors.Join(os.Chmod(p.file, 0o640), os.Chown(p.file, 7, 8)); err != nil {
		t.Fatal(err)
	}
}

// fill fills a file system but for some bytes.
func fill(t *testing.T, name, root string, room int) {
	t.Helper()
	_ = os.Remove(name)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(root, &fs); err != nil {
		t.Fatal(err)
	}
	left := int(fs.Bavail)*int(fs.Bsize) - room
	if err := os.WriteFile(name, make([]byte, max(left, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAReadOnlyDisk(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		for _, what := range []string{"the file's", "the run's"} {
			p := newPlace(t, content)
			if err := os.MkdirAll(p.run.Folder, 0o700); err != nil {
				t.Fatal(err)
			}
			at := p.dir
			if what == "the run's" {
				at = p.run.Folder
			}
			mounted(t, at, at, "", syscall.MS_BIND, "")
			if err := syscall.Mount("", at, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
				t.Skipf("remount %s: %v", at, err)
			}
			_, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x"))
			p.untouched(t, err, "Read-only file system")
			has(t, p.file, content)
			if files, err := Look(t.Context(), n, p.file); err != nil || files[0].Kind != Regular {
				t.Errorf("%+v, %v", files, err)
			}
		}
	})
}

// TestAFileThatIsMounted is one that can't be renamed over, as those in a pod.
func TestAFileThatIsMounted(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		mounted(t, p.file, p.file, "", syscall.MS_BIND, "")
		_, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x"))
		p.untouched(t, err, "busy")
		has(t, p.file, content)
	})
}

func TestAnImmutableFile(t *testing.T) {
	onlyRoot(t)
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		for _, what := range []string{"file", "folder"} {
			p := newPlace(t, content)
			name, words := p.file, "Operation not permitted"
			if what == "folder" {
				name = p.dir
			}
			if out, err := exec.Command("chattr", "+i", name).CombinedOutput(); err != nil {
				t.Skipf("chattr +i: %v %s", err, out)
			}
			defer func() { _ = exec.Command("chattr", "-i", name).Run() }()
			_, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x"))
			p.untouched(t, err, words)
			has(t, p.file, content)
		}
	})
}

const (
	label      = "security.selinux"
	labelValue = "system_u:object_r:kubernetes_file_t:s0:c1,c2"
)

// attributes gives a file an ACL, a label and an attribute of a user, or skips
// the test.
func attributes(t *testing.T, file string) map[string]string {
	t.Helper()
	onlyRoot(t)
	acl := "\x02\x00\x00\x00"
	for _, e := range []struct {
		tag, perm uint16
		id        int32
	}{{1, 6, -1}, {2, 4, 1234}, {4, 4, -1}, {0x10, 4, -1}, {0x20, 0, -1}} {
		u := uint32(e.id)
		acl += string([]byte{byte(e.tag), 0, byte(e.perm), 0, byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)})
	}
	all := map[string]string{"system.posix_acl_access": acl, "user.note": "kept", label: labelValue + "\x00"}
	for name, value := range all {
		if err := syscall.Setxattr(file, name, []byte(value), 0); err != nil {
			t.Skipf("this file system takes no %s: %v", name, err)
		}
	}
	return all
}

func xattr(t *testing.T, file, name string) string {
	t.Helper()
	value := make([]byte, 1000)
	n, err := syscall.Getxattr(file, name, value)
	if err != nil {
		return err.Error()
	}
	return string(value[:n])
}

func TestAttributesStay(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		if strings.HasPrefix(w.name, "busybox") {
			return // its tools know of none
		}
		n := w.node(t)
		p := newPlace(t, content)
		all := attributes(t, p.file)
		p.dressed(t) // with mode 640 and this ACL
		same := func() {
			t.Helper()
			for name, value := range all {
				if got := xattr(t, p.file, name); got != value {
					t.Errorf("%s is %q, want %q", name, got, value)
				}
			}
			p.dressed(t)
		}
		now, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x"))
		if err != nil || now.Label != labelValue {
			t.Fatalf("%+v, %v", now, err)
		}
		has(t, p.file, "x"+content[1:])
		same()
		if err := syscall.Setxattr(p.file, label, []byte("a:b:c:s0\x00"), 0); err != nil {
			t.Fatal(err)
		}
		now, err = p.run.Restore(t.Context(), n, p.file)
		if err != nil || now.Label != labelValue {
			t.Fatalf("%+v, %v", now, err)
		}
		has(t, p.file, content)
		same()
	})
}

func TestALabelThatCanNotBeKept(t *testing.T) {
	w := shell("dash", "dash")
	if w.skip != "" {
		t.Skip(w.skip)
	}
	forgets := `for to; do from=$last last=$to; done; cat <"$from" >"$to"; chmod 640 "$to"; chown 7:8 "$to"`
	for how, fakes := range map[string]map[string]string{
		"chcon":     {"cp": forgets, "chcon": "echo no such label >&2; exit 1"},
		"the label": {"cp": forgets, "chcon": "exit 0"},
	} {
		p := newPlace(t, content)
		attributes(t, p.file)
		_, err := p.run.Replace(t.Context(), w.faked(t, fakes).node(t), p.edit(content, 0, 1, "x"))
		p.untouched(t, err, "label")
		has(t, p.file, content)
		if how == "chcon" && !strings.Contains(err.Error(), "no such label") {
			t.Error(err)
		}
	}
	p := newPlace(t, content)
	attributes(t, p.file)
	if _, err := p.run.Replace(t.Context(), w.faked(t, map[string]string{"cp": forgets}).node(t), p.edit(content, 0, 1, "x")); err != nil {
		t.Fatal(err)
	}
	if got := xattr(t, p.file, label); strings.Trim(got, "\x00") != labelValue {
		t.Errorf("the label is %q", got)
	}
}

// TestANodeSeenFromAPod has the node's root below a folder.
func TestANodeSeenFromAPod(t *testing.T) {
	root := newFolder(t)
	mounted(t, "/", root, "", syscall.MS_BIND, "")
	n, err := nodeexec.Local{Node: "worker-3", Root: root}.Dial(t.Context(), "worker-3")
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	p := newPlace(t, content)
	if _, err := os.Stat(filepath.Join(root, p.file)); err != nil {
		t.Skipf("the folder of temporary files is mounted: %v", err)
	}
	link := filepath.Join(p.dir, "link") // the node's, not the pod's
	if err := os.Symlink(p.dir, link); err != nil {
		t.Fatal(err)
	}
	e := p.edit(content, 0, 1, "x")
	e.Path = filepath.Join(link, "kubeconfig")
	if _, err := p.run.Replace(t.Context(), n, e); err != nil {
		t.Fatal(err)
	}
	has(t, p.file, "x"+content[1:])
	if runs, err := Runs(t.Context(), n, p.run.Folder); err != nil || len(runs) != 1 || runs[0].ID != "run-1" {
		t.Errorf("%+v, %v", runs, err)
	}
	if _, err := p.run.Restore(t.Context(), n, e.Path); err != nil {
		t.Fatal(err)
	}
	has(t, p.file, content)
}
