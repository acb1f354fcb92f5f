package sample

import "testing"

func TestSame(t *testing.T) {
	if !same(1, 1) || same(1, 2) {
		t.Error("same")
	}
	_, _ = untested(1, 2), used(1)
}
