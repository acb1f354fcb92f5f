//go:build !linux

// Package flock locks files between processes, on Linux. Elsewhere there is no
// lab to lock; what asks for one has to compile all the same.
package flock

import (
	"errors"
	"os"
)

// Try has no answer here.
func Try(*os.File) (locked bool, err error) {
	return false, errors.New("lock a file: the lab needs Linux")
}
