package remediatetest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

// TestScriptOnBadDisks: where something can't be written, each file is what it was, and
// what is cut short is not written.
func TestScriptOnBadDisks(t *testing.T) {
	thorough(t)
	t.Parallel()
	c := newConsole(t, dashCore)
	c.quick(t)
	if err := os.MkdirAll(c.At(host.DefaultFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	mount := func(at, kind, data string, flags uintptr) func() {
		t.Helper()
		if err := syscall.Mount(c.At(at), c.At(at), kind, flags, data); err != nil {
			t.Skipf("mount %s: %v", at, err) // a container without the right to
		}
		return func() { _ = syscall.Unmount(c.At(at), syscall.MNT_DETACH) }
	}
	readOnly := func(at string) func() {
		undo := mount(at, "", "", syscall.MS_BIND)
		if err := syscall.Mount("", c.At(at), "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Error(err)
		}
		return undo
	}
	cut := func() func() {
		const name = "/usr/local/bin/base64"
		c.Write(t, name, []byte("#!/bin/sh\ncase $* in -d) exec /bin/base64 -d ;; esac\n/bin/base64 | head -c 1000\n"))
		if err := os.Chmod(c.At(name), 0o755); err != nil {
			t.Fatal(err)
		}
		return func() { c.remove(t, name) }
	}
	for _, k := range []struct {
		name string
		make func() func()
		code int
		says string
	}{
		{"no room for temporary files", func() func() { return mount("/tmp", "tmpfs", "size=4m", 0) }, 5, "there are no 8 MiB for temporary files"},
		{"temporary files that can't be written", func() func() { return readOnly("/tmp") }, 5, "no folder for temporary files could be made"},
		{"a value that was cut short", cut, 5, "what would be written can't be made in"},
		{"a full disk of the node", func() func() { return mount(host.DefaultFolder, "tmpfs", "size=4k,nr_inodes=1,mode=700", 0) }, 5, "others can't be kept off this node"},
		{"a read-only disk of the node", func() func() { return readOnly(host.DefaultFolder) }, 5, "others can't be kept off this node"},
		{"a read-only /etc", func() func() { return readOnly("/etc/kubernetes") }, 4, "was not changed: make the new file beside it"},
	} {
		undo := k.make()
		out, code := c.run(t, c.script(), "--yes")
		undo()
		if code != k.code || !strings.Contains(out, k.says) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", k.name, code, k.code, k.says, out)
		}
		c.original(t)
		if left, _ := filepath.Glob(c.At("/tmp/*")); len(left) > 0 {
			t.Errorf("%s: left behind: %q", k.name, left)
		}
	}
	if n := c.asked(t); n > 0 {
		t.Errorf("the kubelet was restarted %d times", n)
	}
	c.want(t, c.script(), 0, "Done", "--yes")
	c.repaired(t)
}
