package remediatetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// console is a node at which a person runs a script.
type console struct {
	*Machine
	step int // of the tools that count, at which all ends; 0: none
}

// The shells and tools that a node may have.
const (
	busyboxAlone = "busybox alone"
	dashCore     = "dash with coreutils"
	bashCore     = "bash with coreutils"
)

// newConsole is a node with this shell, which has openssl.
func newConsole(t *testing.T, shell string) *console {
	t.Helper()
	return consoleOf(t, NewWorld(t).Machines["worker-0"], shell)
}

// consoleOf is that of a node.
func consoleOf(t *testing.T, m *Machine, shell string) *console {
	t.Helper()
	c := &console{Machine: m}
	for _, name := range []string{"base64", "fold", "grep", "env"} {
		if err := os.Symlink("/bin/busybox", c.At("/bin/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	core := []string{"base64", "cat", "chmod", "chown", "cp", "cut", "date", "env", "fold", "head", "id", "mkdir", "mktemp", "mv", "od", "rm", "rmdir", "sha256sum", "sleep", "stat", "sync", "tail", "timeout", "touch", "tr", "uname", "wc", "grep"}
	switch shell {
	case dashCore:
		c.install(t, "dash", "/bin/sh")
	case bashCore:
		c.install(t, "bash", "/bin/sh")
	}
	if shell != busyboxAlone {
		for _, name := range core {
			c.install(t, name, "/bin/"+name)
		}
	}
	c.install(t, "openssl", "/usr/bin/openssl")
	for minor, device := range map[int]string{3: "/dev/null", 5: "/dev/zero"} {
		_ = os.Remove(c.At(device))
		if err := syscall.Mknod(c.At(device), syscall.S_IFCHR|0o666, 1<<8|minor); err != nil {
			t.Skipf("make %s: %v", device, err)
		}
	}
	// Processes of the node are those of this machine.
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	c.Write(t, "/proc/sys/kernel/random/boot_id", boot)
	processes, err2 := os.Readlink("/proc/self/ns/pid")
	if err := firstOf(err, err2, os.MkdirAll(c.At("/proc/self/ns"), 0o755), os.Symlink(processes, c.At("/proc/self/ns/pid"))); err != nil {
		t.Fatal(err)
	}
	p := c.Old.Issue("system:node:worker-0", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c.Write(t, inspect.KubeletClient, pkitest.Bundle(p.KeyPEM, p.CertPEM, c.Old.CertPEM))
	// By its own clock, a second after it was told to.
	restart := strings.Replace(fakeRestart, "$((epoch + 20 * $(wc -l </fake/restarts) - 10))", "$(($(date +%s) + 1))", 1)
	c.Write(t, "/fake/restart", []byte(restart))
	return c
}

// install puts a program of this machine into the node, with the libraries that it
// loads. Nodes share copies, by links.
func (c *console) install(t *testing.T, name, at string) {
	t.Helper()
	bin, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed")
	}
	installed.Lock()
	defer installed.Unlock()
	libraries, known := installed.libraries[bin]
	if !known {
		out, _ := exec.Command("ldd", bin).Output() // none where it is static
		for word := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(word, "/") {
				libraries = append(libraries, word)
			}
		}
		installed.libraries[bin] = libraries
	}
	files := map[string]string{at: bin}
	for _, path := range libraries {
		files[path] = path
	}
	for to, from := range files {
		shared := installed.copies[from]
		if shared == "" {
			shared = fmt.Sprintf("%s/installed-%d", template().dir, len(installed.copies))
			data, err := os.ReadFile(from)
			if err := firstOf(err, os.WriteFile(shared, data, 0o755)); err != nil {
				t.Fatal(err)
			}
			installed.copies[from] = shared
		}
		_ = os.Remove(c.At(to))
		if err := firstOf(os.MkdirAll(filepath.Dir(c.At(to)), 0o755), os.Link(shared, c.At(to))); err != nil {
			t.Fatal(err)
		}
	}
}

// installed are the programs that consoles have: asking for a program's libraries, and
// copying them, would take longer than the scripts do.
var installed = struct {
	sync.Mutex
	libraries map[string][]string // by the program's path: of files
	copies    map[string]string   // by a file's path: where nodes link to
}{libraries: map[string][]string{}, copies: map[string]string{}}

// quick takes the pauses out of scripts, in shells that have no tools of their own.
func (c *console) quick(t *testing.T) {
	t.Helper()
	_ = os.Remove(c.At("/bin/sleep"))
	c.Write(t, "/bin/sleep", []byte("#!/bin/sh\nexit 0\n"))
	if err := os.Chmod(c.At("/bin/sleep"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// script is the one for the node, as it is written when the node was not read.
func (c *console) script() apiint.Script {
	return apiint.Script{Node: "worker-0", Run: "run-1", Setup: catalog.KubeletSetups(catalog.Versions{})[0], SHA256: make([]pki.Fingerprint, 2), CA: c.ConfigMap, From: "a test", Created: time.Now()}
}

// run runs the script; code is -1 where it was killed.
func (c *console) run(t *testing.T, s apiint.Script, args ...string) (out string, code int) {
	t.Helper()
	c.Write(t, "/root/fix.sh", s.Text("v0"))
	return c.shell(t, "/root/fix.sh", args...)
}

// shell runs a script that is on the node; code is -1 where it was killed.
func (c *console) shell(t *testing.T, path string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // of a machine that has other things to do
	defer cancel()
	cmd := exec.CommandContext(ctx, "chroot", append([]string{c.root, "/bin/sh", path}, args...)...)
	cmd.Env = []string{"PATH=/usr/local/bin:/bin:/usr/bin", "HOME=/root", "LANG=C.UTF-8", "TZ=Asia/Tokyo", fmt.Sprintf("CERTROT_STEP=%d", c.step)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	out = both.String()
	c.secret(t, "the output", out)
	if strings.Contains(out, "PRIVATE KEY") {
		t.Errorf("a key is shown:\n%s", out)
	}
	return out, cmd.ProcessState.ExitCode()
}

// want runs the script and fails the test unless it ends so, and says so.
func (c *console) want(t *testing.T, s apiint.Script, code int, says string, args ...string) string {
	t.Helper()
	out, got := c.run(t, s, args...)
	if got != code || !strings.Contains(out, says) {
		t.Fatalf("%q: exit code %d, want %d and %q:\n%s", args, got, code, says, out)
	}
	return out
}

func inConsoles(t *testing.T, test func(t *testing.T, c *console)) {
	t.Helper()
	for _, shell := range []string{busyboxAlone, dashCore, bashCore} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			test(t, newConsole(t, shell))
		})
	}
}

// tool makes a program do something before it does what it does.
func (c *console) tool(t *testing.T, at, first string) {
	t.Helper()
	name := "/usr/local/bin/" + filepath.Base(at)
	c.Write(t, name, []byte("#!/bin/sh\n"+first+"\nexec "+at+` "$@"`+"\n"))
	if err := os.Chmod(c.At(name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// undoneByCertrot puts back what a script changed.
func (c *console) undoneByCertrot(t *testing.T) {
	t.Helper()
	n, err := c.env(t, "run-1", nil).Connect(t.Context(), "worker-0")
	if err != nil {
		t.Fatal(err)
	}
	r := host.RunFolder{ID: "run-1"}
	entries, err := r.Backups(t.Context(), n)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%+v, %v", entries, err)
	}
	for _, e := range entries {
		if _, err := r.Restore(t.Context(), n, e.Before.Path); err != nil {
			t.Error(err)
		}
	}
	c.original(t)
}

func (c *console) remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.Remove(c.At(p)); err != nil {
			t.Fatal(err)
		}
	}
}
