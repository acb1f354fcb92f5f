package inspecttest

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// Grows fails where eight times the input takes work that is far from eight times as much, as
// work in the square of it does (64 times). prepare makes an input of a size, which is not
// measured, and returns the work. What counts is the processor's time of this process, the least
// of several runs: no other test may run beside it, and other processes may.
func Grows(t *testing.T, size int, prepare func(size int) (work func())) {
	t.Helper()
	const (
		factor, most, runs = 8, 30, 5
		negligible         = 5 * time.Millisecond   // what is as short tells nothing
		short              = 300 * time.Millisecond // the collector of garbage may take a part of it: more is measured
	)
	// The collector of garbage runs between the measurements, unless there is much.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	least := func(before time.Duration, work func()) time.Duration {
		runtime.GC()
		start := spent(t)
		work()
		if took := max(spent(t)-start, time.Microsecond); before == 0 || took < before {
			return took
		}
		return before
	}
	measure := func(size int) (little, much time.Duration) {
		small, large := prepare(size), prepare(factor*size)
		for range runs {
			if little, much = least(little, small), least(much, large); much < negligible {
				break
			}
		}
		return little, much
	}
	little, much := measure(size)
	if much > most*little && much < short {
		size *= 4
		little, much = measure(size)
	}
	if much > most*little && much >= negligible {
		t.Errorf("%d take %s, %d times as many %s: %.0f times as long", size, little, factor, much, float64(much)/float64(little))
	}
}
