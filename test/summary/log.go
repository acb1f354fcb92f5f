package main

import (
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
	"time"
)

// runLine is what -log appends, one line of JSON a run.
type runLine struct {
	Commit  string    `json:"commit"`
	Start   time.Time `json:"start"` // RFC 3339
	Seed    uint64    `json:"seed,omitempty"`
	Busy    int       `json:"busy,omitempty"` // cores that something else kept busy
	Seconds float64   `json:"seconds"`
	Passed  int       `json:"passed"`
	Failed  int       `json:"failed"`
	Skipped int       `json:"skipped"`
	Failing []string  `json:"failing,omitempty"` // names of tests
}

func appendLog(path string, line runLine, took time.Duration, steps []Step) error {
	line.Seconds = took.Seconds()
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
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a report, for everybody
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
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
