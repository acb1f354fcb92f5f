package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
)

// State is how a test ended.
type State string

// The states, as `go test -json` names them.
const (
	Passed  State = "pass"
	Failed  State = "fail"
	Skipped State = "skip"
)

// Result is one test that ended, or a package or step that failed outside of
// any test.
type Result struct {
	Step, Package, Test string // Test is empty for a package, Package for a step
	State               State
	Seconds             float64 // how long it ran; zero for a package or step
	Reason              string  // of a skip
	Output              string  // of a failure
}

// Name is how the summary calls it.
func (r Result) Name() string {
	switch {
	case r.Package == "":
		return "make " + r.Step
	case r.Test == "":
		return r.Package
	}
	return r.Package + " " + r.Test
}

// event is one line of `go test -json`; see `go doc test2json` and
// `go help buildjson`.
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64 // seconds; a parallel test's time without its wait for a turn
	FailedBuild string  // of a package whose build failed: the ImportPath below
	ImportPath  string  // of build-output
}

type key struct{ pkg, test string }

// reader gathers what the events say until all are read.
type reader struct {
	step    string
	order   []key // in which tests ended
	state   map[key]State
	seconds map[key]float64
	output  map[key]*strings.Builder
	started map[key]bool
	build   map[string]*strings.Builder // compiler output by import path
	failed  map[string]string           // packages that failed, with FailedBuild
	text    strings.Builder             // lines that are no events
}

// Read takes a step's output apart: the tests that ended, and all other text. It
// calls ended for each test that ends, while the step runs.
func Read(step string, in io.Reader, ended func()) (results []Result, text string, err error) {
	r := &reader{
		step:    step,
		state:   map[key]State{},
		seconds: map[key]float64{},
		output:  map[key]*strings.Builder{},
		started: map[key]bool{},
		build:   map[string]*strings.Builder{},
		failed:  map[string]string{},
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.line(line, ended)
		}
		if errors.Is(err, io.EOF) {
			return r.results(), r.text.String(), nil
		}
		if err != nil {
			return r.results(), r.text.String(), err
		}
	}
}

func (r *reader) line(line string, ended func()) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		r.text.WriteString(line)
		return
	}
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		appendTo(r.build, e.ImportPath, e.Output)
	case "output":
		appendTo(r.output, k, e.Output)
	case "run":
		r.started[k] = true
	case "pass", "fail", "skip":
		if e.Test != "" {
			if _, seen := r.state[k]; !seen {
				r.order = append(r.order, k)
			}
			r.state[k] = State(e.Action)
			r.seconds[k] = e.Elapsed
			ended()
		} else if e.Action == "fail" {
			r.failed[e.Package] = e.FailedBuild
			r.order = append(r.order, k)
		}
	}
}

func appendTo[K comparable](m map[K]*strings.Builder, k K, s string) {
	if m[k] == nil {
		m[k] = &strings.Builder{}
	}
	m[k].WriteString(s)
}

func (r *reader) results() []Result {
	// parents have subtests, which say more; a fuzz target's seeds are one test.
	parents := map[key]bool{}
	failedBelow := map[key]bool{}
	for k, s := range r.state {
		for p := parent(k); p.test != ""; p = parent(p) {
			parents[p] = true
			if s == Failed {
				failedBelow[p] = true
			}
		}
		if s == Failed {
			failedBelow[key{k.pkg, ""}] = true
		}
	}
	var results []Result
	for _, k := range r.order {
		switch {
		case k.test == "":
			// A package that fails without a failed test did not build, or its
			// process ended: what it was running then is lost as well.
			if !failedBelow[k] {
				results = append(results, Result{Step: r.step, Package: k.pkg, State: Failed, Output: r.packageOutput(k.pkg)})
			}
		case strings.HasPrefix(k.test, "Fuzz") && parent(k).test != "":
			// counted as its target
		case parents[k] && !strings.HasPrefix(k.test, "Fuzz"):
			if r.state[k] == Failed && !failedBelow[k] || r.state[k] == Skipped {
				results = append(results, r.result(k))
			}
		default:
			results = append(results, r.result(k))
		}
	}
	return results
}

func (r *reader) result(k key) Result {
	res := Result{Step: r.step, Package: k.pkg, Test: k.test, State: r.state[k], Seconds: r.seconds[k]}
	switch res.State {
	case Failed:
		res.Output = r.outputOf(k)
		if strings.HasPrefix(k.test, "Fuzz") {
			// The seed that failed has the words.
			for _, seed := range r.order {
				if parent(seed) == k && r.state[seed] == Failed {
					res.Output += r.outputOf(seed)
				}
			}
		}
	case Skipped:
		res.Reason = reason(r.outputOf(k))
	case Passed:
	}
	return res
}

func (r *reader) outputOf(k key) string {
	if b := r.output[k]; b != nil {
		return b.String()
	}
	return ""
}

// packageOutput is the compiler's output, else the package's own and that of
// the tests that never ended.
func (r *reader) packageOutput(pkg string) string {
	if b := r.build[r.failed[pkg]]; b != nil {
		return b.String()
	}
	out := r.outputOf(key{pkg, ""})
	for k := range r.started {
		if _, ended := r.state[k]; k.pkg == pkg && !ended {
			out += r.outputOf(k)
		}
	}
	return out
}

func parent(k key) key {
	i := strings.LastIndexByte(k.test, '/')
	if i < 0 {
		return key{k.pkg, ""}
	}
	return key{k.pkg, k.test[:i]}
}

var logLine = regexp.MustCompile(`^\s+[\w.-]+\.go:\d+: (.*)$`)

// reason is what t.Skip was told: the last thing the test logged, which may be
// several lines.
func reason(output string) string {
	var words []string
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if m := logLine.FindStringSubmatch(line); m != nil {
			words = []string{m[1]}
		} else if t := strings.TrimSpace(line); len(words) > 0 && t != "" && !strings.HasPrefix(t, "--- SKIP") {
			words = append(words, t)
		}
	}
	if len(words) == 0 {
		return "no reason given"
	}
	return strings.Join(words, " ")
}
