package inspecttest

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// MostInObjects is the most memory, in MB, that objects took while something was done: no other test may run
// beside it.
func MostInObjects(do func()) (most uint64) {
	debug.FreeOSMemory()
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
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
	return most / 1e6
}
