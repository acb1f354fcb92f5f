//go:build unix

package nodeexec

import (
	"errors"
	"syscall"
)

// isAlive says whether there is a process of that number; in doubt, there is.
func isAlive(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
