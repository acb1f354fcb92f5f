package inspecttest

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// MostInObjects is the most memory, in MB, that objects took while something was done, more than before it: no
// other test may run beside it. Garbage is collected early, so that it hardly counts.
func MostInObjects(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	debug.FreeOSMemory()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	most := before
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	do()
	close(stop)
	<-done
	return (most - before) / 1e6
}
