// Package flock locks files between processes; a lock ends with the process that
// has it.
package flock

import (
	"errors"
	"os"
	"syscall"
)

// Try locks f, unless another process has it. Closing f unlocks it.
func Try(f *os.File) (locked bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
