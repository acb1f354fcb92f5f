package main

import (
	"encoding/json"
	"os"
	"time"
)

// document is what -o writes. Times are seconds; start is RFC 3339.
type document struct {
	Commit  string         `json:"commit,omitempty"`
	Start   time.Time      `json:"start"`
	Seconds float64        `json:"seconds"`
	Passed  int            `json:"passed"`
	Failed  int            `json:"failed"`
	Skipped int            `json:"skipped"`
	Steps   []documentStep `json:"steps"`
}

type documentStep struct {
	Name       string         `json:"name"`
	Seconds    float64        `json:"seconds"`
	CPUSeconds float64        `json:"cpuSeconds"`
	Passed     int            `json:"passed"`
	Failed     int            `json:"failed"`
	Skipped    int            `json:"skipped"`
	Tests      []documentTest `json:"tests,omitempty"`
}

type documentTest struct {
	Package string  `json:"package,omitempty"`
	Test    string  `json:"test,omitempty"`
	State   State   `json:"state"`
	Seconds float64 `json:"seconds"`
	Reason  string  `json:"reason,omitempty"` // of a skip
}

// writeFile writes the run for programs. Outputs of tests are not in it.
func writeFile(path, commit string, start time.Time, took time.Duration, steps []Step) error {
	d := document{Commit: commit, Start: start.UTC().Truncate(time.Second), Seconds: took.Seconds()}
	d.Passed, d.Failed, d.Skipped = count(all(steps))
	for _, s := range steps {
		step := documentStep{Name: s.Name, Seconds: s.Took.Seconds(), CPUSeconds: s.CPU.Seconds()}
		step.Passed, step.Failed, step.Skipped = count(s.Results)
		for _, r := range s.Results {
			step.Tests = append(step.Tests, documentTest{r.Package, r.Test, r.State, r.Seconds, r.Reason})
		}
		d.Steps = append(d.Steps, step)
	}
	out, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(out, '\n'), 0o644) //nolint:gosec // a report, for all users
}
