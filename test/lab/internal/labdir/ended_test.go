//go:build linux

package labdir

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestAnEndingPIDNamespaceHasNotEnded: the first process of a PID namespace, killed, has lost its
// program while the kernel still waits for another process of the namespace. Here that one is a
// zombie whose parent, outside of the namespace, is stopped.
func TestAnEndingPIDNamespaceHasNotEnded(t *testing.T) {
	nsenter, err := exec.LookPath("nsenter")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs root and nsenter(1), for a PID namespace")
	}
	dir := Dir(t.TempDir())
	if err := os.MkdirAll(dir.Bin(""), 0o755); err != nil {
		t.Fatal(err)
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Bin("lab"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	first := exec.Command(dir.Bin("lab"), "600")
	first.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	outside := exec.Command(nsenter, "-t", strconv.Itoa(first.Process.Pid), "-p", "sh", "-c", "echo inside; exec sleep 600")
	said, err := outside.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // nsenter ends as its child did
		_ = outside.Process.Signal(syscall.SIGCONT)
		_ = first.Process.Kill()
		_ = outside.Wait()
		_ = first.Wait()
	})
	line := make([]byte, len("inside"))
	if _, err := said.Read(line); err != nil || string(line) != "inside" {
		t.Fatalf("the process inside said %q, %v", line, err)
	}
	p, err := Identify(first.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if p.Ended() {
		t.Error("has ended before it was killed")
	}
	if err := outside.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped, err := Identify(outside.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "nsenter is stopped", func() bool { return stateOf(t, stopped) == "T" })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "its program is gone", func() bool { return !dir.Alive(p) })
	if p.Ended() {
		t.Error("has ended while a process of its namespace is left")
	}
	if err := outside.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, "the namespace has ended", p.Ended)
}

func stateOf(t *testing.T, p Process) string {
	t.Helper()
	fields, err := stat(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	return fields[stateField]
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s still not: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
