package nodeexec_test

import (
	"runtime"
	"testing"
	"time"
)

// await waits until something is so, for five seconds, and tells whether it is.
func await(so func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); ; {
		if so() {
			return true
		}
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
}

// noLeaks fails a test that leaves goroutines behind.
func noLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if await(func() bool { return runtime.NumGoroutine() <= before }) {
			return
		}
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
	})
}
