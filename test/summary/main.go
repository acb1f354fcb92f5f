// Command summary runs the steps of `make test`, each a target of the Makefile,
// counts the Go tests they ran and ends with one line: N passed, M failed, K
// skipped. Only what failed is printed in full. While steps run it prints once a minute
// which ones, for how long and how many tests are done; at the end the slowest tests,
// and with -o a file with all of it for programs (see file.go).
//
// Steps named by -beside run beside the others, which take turns: they mostly wait. The
// others are nice to them, so that time limits hold on a busy machine. They begin with the
// step that -beside-from names: what comes before it has the machine to itself. It knows nothing of what a step does. Lines that `go test -json` writes are
// counted; of a step without any, the step itself counts as one.
//
// Steps named by -long are those that a change needs beside the others. They begin only before
// the time of -long-before is over, and are skipped after it: a CI machine has an end. One that
// still runs after -long-until is stopped; what it had tested by then counts.
//
// For runs under load, -busy keeps cores busy, -shuffle gives tests an order by a seed, and
// -log appends a line of JSON about the run to a file (see log.go).
//
// With CERTROT_REQUIRE_LAB set, a test that was skipped for a reason that
// allowed.go doesn't list has failed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

func main() {
	makeProgram := flag.String("make", "make", "the make program")
	beside := flag.String("beside", "", "steps that run beside the others, separated by commas")
	besideFrom := flag.String("beside-from", "", "the step with which those begin; empty, or none of the steps: the first")
	long := flag.String("long", "", "steps that are too long for each run, separated by spaces")
	longBefore := flag.Duration("long-before", 0, "begin those only before this time is over; 0: always")
	longUntil := flag.Duration("long-until", 0, "stop those when this time is over; 0: never")
	file := flag.String("o", "", "write a summary as JSON to this file")
	log := flag.String("log", "", "append a line about the run to this file")
	busy := flag.Int("busy", 0, "how many cores something else keeps busy meanwhile")
	shuffle := flag.Uint64("shuffle", 0, "a seed for the order of tests; 0: as they stand in the files")
	table := flag.String("table", "", "run nothing, and print tables in Markdown of a file that -o wrote")
	flag.Parse()
	if *table != "" {
		if err := printTable(os.Stdout, *table); err != nil {
			fmt.Fprintln(os.Stderr, "summary:", err)
			os.Exit(1)
		}
		return
	}
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: summary [-make=make] [-beside=STEP,...] [-beside-from=STEP] [-o FILE] [-log FILE] [-busy N] [-shuffle SEED] STEP...")
		os.Exit(2)
	}
	r := runner{
		out: os.Stdout, makeProgram: *makeProgram, beside: strings.FieldsFunc(*beside, func(r rune) bool { return r == ',' }), besideFrom: *besideFrom,
		strict: os.Getenv("CERTROT_REQUIRE_LAB") != "", every: time.Minute, flags: "-json",
		long: strings.Fields(*long), longBefore: *longBefore, longUntil: *longUntil,
	}
	if *shuffle > 0 {
		r.flags += fmt.Sprintf(" -shuffle=%d", *shuffle)
	}
	start := time.Now()
	rest, load := keepBusy(*busy), measureLoad("/proc/loadavg", 10*time.Second)
	steps := r.run(flag.Args())
	rest()
	meanLoad := load()
	took := time.Since(start)
	fine := printSummary(os.Stdout, steps, took)
	if *log != "" {
		if err := appendLog(*log, runLine{Commit: commit(), Start: start.UTC().Truncate(time.Second), Seed: *shuffle, Busy: *busy, Load: meanLoad}, took, steps); err != nil {
			fmt.Fprintln(os.Stderr, "summary:", err)
			os.Exit(1)
		}
	}
	if *file != "" {
		if err := writeFile(*file, commit(), start, took, steps); err != nil {
			fmt.Fprintln(os.Stderr, "summary:", err)
			os.Exit(1)
		}
	}
	if !fine {
		os.Exit(1)
	}
}

// commit is what is tested; empty where git doesn't say.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// Step is a step that ran.
type Step struct {
	Name    string
	Results []Result
	Failure string        // what to print besides the output of tests that failed
	Took    time.Duration // by the clock
	CPU     time.Duration // of all its processes that ended, user and system
}

// runner runs steps.
type runner struct {
	out         io.Writer
	makeProgram string
	beside      []string
	besideFrom  string        // the step with which they begin; none of the steps: the first
	strict      bool          // a skip whose reason is not allowed is a failure
	every       time.Duration // between two lines of progress
	flags       string        // for go test
	long        []string      // steps that begin only before longBefore is over
	longBefore  time.Duration // 0: they always begin
	longUntil   time.Duration // 0: they are never stopped
	start       time.Time     // of the run
}

// running is a step that has begun.
type running struct {
	name  string
	since time.Time
	tests atomic.Int64 // that are done
	done  chan Step    // gets the one value
}

// run runs the steps, and prints a line for each in their order, with what failed.
func (r *runner) run(names []string) (steps []Step) {
	var begun []*running
	from := max(slices.Index(names, r.besideFrom), 0)
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	r.start = time.Now()
	for i, name := range names {
		if i == from {
			begun = append(begun, r.beginBeside(names)...)
		}
		if r.longBefore > 0 && slices.Contains(r.long, name) && time.Since(r.start) > r.longBefore {
			fmt.Fprintf(r.out, "%-12s is skipped: %s\n", name, noTimeLeft)
			steps = append(steps, Step{Name: name, Results: []Result{{Step: name, State: Skipped, Reason: noTimeLeft + fmt.Sprintf("it begins only within %s; make %s runs it", r.longBefore, name)}}})
			continue
		}
		at := slices.IndexFunc(begun, func(b *running) bool { return b.name == name })
		if at < 0 {
			at, begun = 0, slices.Insert(begun, 0, r.begin(name))
		}
		step := r.wait(begun, at, tick.C)
		begun = slices.Delete(begun, at, at+1)
		if r.strict {
			step.Results = refuseSkips(step.Results)
		}
		passed, failed, skipped := count(step.Results)
		fmt.Fprintf(r.out, "%-12s %5d passed %3d failed %3d skipped %7.1fs, %7.1fs of processors\n", name, passed, failed, skipped, step.Took.Seconds(), step.CPU.Seconds())
		printFailures(r.out, step.Results, step.Failure)
		steps = append(steps, step)
	}
	return steps
}

// wait waits for the i-th of the steps, and prints how all of them do.
func (r *runner) wait(begun []*running, i int, tick <-chan time.Time) Step {
	for {
		select {
		case step := <-begun[i].done:
			return step
		case now := <-tick:
			var parts []string
			for _, b := range begun {
				parts = append(parts, fmt.Sprintf("%s %s, %d tests", b.name, now.Sub(b.since).Round(time.Second), b.tests.Load()))
			}
			fmt.Fprintf(r.out, "  %s: %s\n", now.Sub(r.start).Round(time.Second), strings.Join(parts, "; "))
		}
	}
}

// beginBeside begins those of the steps that run beside the others.
func (r *runner) beginBeside(names []string) (begun []*running) {
	for _, name := range names {
		if slices.Contains(r.beside, name) {
			begun = append(begun, r.begin(name))
		}
	}
	return begun
}

// begin makes one step, and says once how it ended.
func (r *runner) begin(name string) *running {
	b := &running{name: name, since: time.Now(), done: make(chan Step, 1)}
	go func() {
		step := Step{Name: name}
		step.Results, step.Failure, step.CPU = runStep(r.command(name), name, func() { b.tests.Add(1) })
		step.Took = time.Since(b.since)
		b.done <- step
	}()
	return b
}

// command makes one step. What takes turns gives way to what runs beside it.
func (r *runner) command(step string) *exec.Cmd {
	line := []string{r.makeProgram, "-s", "--no-print-directory", step, "TESTFLAGS=" + r.flags}
	if len(r.beside) > 0 && !slices.Contains(r.beside, step) {
		if program, err := exec.LookPath("nice"); err == nil {
			line = append([]string{program, "-n", "5"}, line...)
		}
	}
	if r.longUntil > 0 && slices.Contains(r.long, step) {
		if program, err := exec.LookPath("timeout"); err == nil {
			left := max(time.Second, time.Until(r.start.Add(r.longUntil)))
			line = append([]string{program, "--kill-after=30s", fmt.Sprintf("%.0fs", left.Seconds())}, line...)
		}
	}
	return exec.Command(line[0], line[1:]...)
}

// stopped reports whether the time of a long step was over before it ended: timeout's exit codes.
func stopped(cmd *exec.Cmd) bool {
	code := cmd.ProcessState.ExitCode()
	return filepath.Base(cmd.Args[0]) == "timeout" && (code == 124 || code == 137)
}

// runStep runs the command of one step. The text is what to show besides the output of
// tests that failed.
func runStep(cmd *exec.Cmd, step string, ended func()) (results []Result, failure string, cpu time.Duration) {
	r, w, err := os.Pipe()
	if err != nil {
		return []Result{{Step: step, State: Failed}}, err.Error(), 0
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		return []Result{{Step: step, State: Failed}}, errors.Join(err, w.Close(), r.Close()).Error(), 0
	}
	// The child's copy keeps the pipe open until it and all it started ended.
	closeErr := w.Close()
	tests, text, readErr := Read(step, r, ended)
	err = errors.Join(cmd.Wait(), closeErr, readErr, r.Close())
	if s := cmd.ProcessState; s != nil {
		cpu = s.UserTime() + s.SystemTime()
		if stopped(cmd) {
			return append(tests, Result{Step: step, State: Skipped, Reason: noTimeLeft + "it was stopped; make " + step + " runs all of it"}), "", cpu
		}
	}
	results, failure = judge(step, tests, text, err)
	return results, failure, cpu
}

// judge adds the step itself to its tests where they don't say it all.
func judge(step string, tests []Result, text string, err error) ([]Result, string) {
	_, failed, _ := count(tests)
	switch {
	case err != nil && failed == 0:
		text = strings.TrimRight(text, "\n") + "\n" + err.Error()
		return append(tests, Result{Step: step, State: Failed}), text
	case err != nil:
		return tests, text
	case len(tests) == 0:
		return []Result{{Step: step, State: Passed}}, ""
	}
	return tests, ""
}

func refuseSkips(results []Result) []Result {
	for i := range results {
		r := &results[i]
		if r.State == Skipped && !allowed(r.Reason) {
			r.State = Failed
			r.Output += "this machine must run every test (CERTROT_REQUIRE_LAB is set), and this reason to skip is not on the list in test/summary/allowed.go\n"
		}
	}
	return results
}

func count(results []Result) (passed, failed, skipped int) {
	for _, r := range results {
		switch r.State {
		case Passed:
			passed++
		case Failed:
			failed++
		case Skipped:
			skipped++
		}
	}
	return passed, failed, skipped
}
