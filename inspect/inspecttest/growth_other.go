//go:build !unix

package inspecttest

import (
	"testing"
	"time"
)

func spent(t *testing.T) time.Duration {
	t.Helper()
	t.Skip("the processor's time of a process is read on Unix only")
	return 0
}
