//go:build !unix

package nodeexec

import (
	"errors"
	"os"
	"os/exec"
)

// ownGroup does nothing here: no node runs this system, so Local is of no use on
// it; the program is, for it reaches nodes in other ways.
func ownGroup(*exec.Cmd, string) {}

func canChroot(string) error { return errors.New("this system has no chroot") }

func signalOf(*os.ProcessState) string { return "" }
