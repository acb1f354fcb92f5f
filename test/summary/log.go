package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"
)

// runLine is what -log appends, one line of JSON a run.
type runLine struct {
	Commit  string    `json:"commit"`
	Start   time.Time `json:"start"` // RFC 3339
	Seed    uint64    `json:"seed,omitempty"`
	Busy    int       `json:"busy,omitempty"` // cores that -busy kept busy
	Load    float64   `json:"load,omitempty"` // the machine's load while it ran: mean of its load averages of a minute; 0: not read
	Seconds float64   `json:"seconds"`
	Passed  int       `json:"passed"`
	Failed  int       `json:"failed"`
	Skipped int       `json:"skipped"`
	Failing []string  `json:"failing,omitempty"` // names of tests
}

func appendLog(path string, line runLine, took time.Duration, steps []Step) error {
	line.Seconds = took.Seconds()
	line.Load = math.Round(line.Load*10) / 10
	results := all(steps)
	line.Passed, line.Failed, line.Skipped = count(results)
	for _, r := range results {
		if r.State == Failed {
			line.Failing = append(line.Failing, r.Name())
		}
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a report, for all users
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// measureLoad reads a load average, such as /proc/loadavg, at each interval, until what it returns
// is called: the mean of what was read.
func measureLoad(path string, every time.Duration) (mean func() float64) {
	stop, result := make(chan struct{}), make(chan float64)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		var sum float64
		n := 0
		for {
			if text, err := os.ReadFile(path); err == nil { //nolint:gosec // a file of the system's
				var load float64
				if _, err := fmt.Sscan(string(text), &load); err == nil {
					sum += load
					n++
				}
			}
			select {
			case <-tick.C:
			case <-stop:
				result <- sum / float64(max(n, 1))
				return
			}
		}
	}()
	return func() float64 { close(stop); return <-result }
}

// keepBusy keeps n cores busy until what it returns is called.
func keepBusy(n int) (rest func()) {
	var over atomic.Bool
	for range n {
		go func() {
			for !over.Load() { // this is the load
			}
		}()
	}
	return func() { over.Store(true) }
}
