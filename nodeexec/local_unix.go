//go:build unix

package nodeexec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownGroup gives a command a process group, so that its children end with it,
// and a root folder other than ours if that is asked for.
func ownGroup(cmd *exec.Cmd, root string) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Chroot: root}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

func canChroot(root string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("only root may chroot; run certrot as root, or read the files without chroot")
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "sh")); err != nil {
		return fmt.Errorf("there is no shell, so it is no node's file system: %w", err)
	}
	return nil
}

// signalOf is the signal that ended a process, as SSH names it; "" if none did.
func signalOf(state *os.ProcessState) string {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return ""
	}
	switch s := ws.Signal(); s {
	case syscall.SIGABRT:
		return "ABRT"
	case syscall.SIGFPE:
		return "FPE"
	case syscall.SIGHUP:
		return "HUP"
	case syscall.SIGILL:
		return "ILL"
	case syscall.SIGINT:
		return "INT"
	case syscall.SIGKILL:
		return "KILL"
	case syscall.SIGPIPE:
		return "PIPE"
	case syscall.SIGQUIT:
		return "QUIT"
	case syscall.SIGSEGV:
		return "SEGV"
	case syscall.SIGTERM:
		return "TERM"
	default:
		return strconv.Itoa(int(s))
	}
}
