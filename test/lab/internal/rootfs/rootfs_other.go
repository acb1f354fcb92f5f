//go:build !linux

package rootfs

import (
	"context"
	"errors"
)

// Set is empty here: elsewhere than on Linux there is no lab. What asks for one
// has to compile all the same.
type Set struct{}

// Prerequisites says that there are none to be had.
func Prerequisites() error { return errors.New("nodes need Linux") }

// Lookup finds nothing.
func Lookup() (set Set, built bool, err error) { return Set{}, false, Prerequisites() }

// Tree is nowhere.
func (s Set) Tree() string { return "" }

// WriteMultusImage does nothing but say so.
func (s Set) WriteMultusImage(context.Context, string, string, []string) error {
	return Prerequisites()
}
