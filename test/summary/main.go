// Command summary runs the steps of `make test`, each a target of the Makefile,
// counts the Go tests they ran and ends with one line: N passed, M failed, K
// skipped. Only what failed is shown in full.
//
// Steps named by -beside begin at once and run beside the others, which take turns:
// they mostly wait. It knows nothing of what a step does. Lines that `go test -json` writes are
// counted; of a step without any, the step itself counts as one.
//
// With CERTROT_REQUIRE_LAB set, a test that was skipped for a reason that
// allowed.go doesn't list has failed.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

func main() {
	makeProgram := flag.String("make", "make", "the make program")
	beside := flag.String("beside", "", "steps that run beside the others, separated by commas")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: summary [-make=make] [-beside=STEP,...] STEP...")
		os.Exit(2)
	}
	strict := os.Getenv("CERTROT_REQUIRE_LAB") != ""
	out := os.Stdout
	all := runAll(out, *makeProgram, flag.Args(), strings.Split(*beside, ","), strict)
	if !printSummary(out, all) {
		os.Exit(1)
	}
}

// runAll runs the steps, and prints a line for each in their order, with what failed.
func runAll(w io.Writer, makeProgram string, steps, beside []string, strict bool) (all []Result) {
	begun := map[string]<-chan ended{}
	for _, step := range steps {
		if slices.Contains(beside, step) {
			begun[step] = begin(makeProgram, step)
		}
	}
	for _, step := range steps {
		fmt.Fprintf(w, "%-12s ", step)
		if begun[step] == nil {
			begun[step] = begin(makeProgram, step)
		}
		end := <-begun[step]
		if strict {
			end.results = refuseSkips(end.results)
		}
		passed, failed, skipped := count(end.results)
		fmt.Fprintf(w, "%4d passed %3d failed %3d skipped %7.1fs\n", passed, failed, skipped, end.took.Seconds())
		printFailures(w, end.results, end.failure)
		all = append(all, end.results...)
	}
	return all
}

// ended is a step that ran.
type ended struct {
	results []Result
	failure string
	took    time.Duration
}

// begin makes one step, and says once how it ended.
func begin(makeProgram, step string) <-chan ended {
	end := make(chan ended, 1)
	start := time.Now()
	go func() {
		results, failure := run(makeProgram, step)
		end <- ended{results, failure, time.Since(start)}
	}()
	return end
}

// run makes one step. The text is what to show besides the output of tests
// that failed.
func run(makeProgram, step string) (results []Result, failure string) {
	cmd := exec.Command(makeProgram, "-s", "--no-print-directory", step, "TESTFLAGS=-json")
	r, w, err := os.Pipe()
	if err != nil {
		return []Result{{Step: step, State: Failed}}, err.Error()
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		return []Result{{Step: step, State: Failed}}, errors.Join(err, w.Close(), r.Close()).Error()
	}
	// The child's copy keeps the pipe open until it and all it started ended.
	closeErr := w.Close()
	tests, text, readErr := Read(step, r)
	err = errors.Join(cmd.Wait(), closeErr, readErr, r.Close())
	return judge(step, tests, text, err)
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

func printFailures(w io.Writer, results []Result, failure string) {
	for _, r := range results {
		if r.State != Failed || r.Output == "" {
			continue
		}
		fmt.Fprintf(w, "\n--- %s\n%s", r.Name(), indent(r.Output))
	}
	if text := indent(strings.TrimSpace(failure)); text != "" {
		fmt.Fprintf(w, "\n%s\n", text)
	}
}

// printSummary reports whether nothing failed.
func printSummary(w io.Writer, results []Result) bool {
	passed, failed, skipped := count(results)
	if skipped > 0 {
		fmt.Fprintln(w, "\nSkipped:")
		for _, r := range results {
			if r.State == Skipped {
				fmt.Fprintf(w, "  %s: %s\n", r.Name(), r.Reason)
			}
		}
	}
	if failed > 0 {
		fmt.Fprintln(w, "\nFailed:")
		for _, r := range results {
			if r.State == Failed {
				fmt.Fprintf(w, "  %s\n", r.Name())
			}
		}
	}
	verdict := "nothing failed"
	if failed > 0 {
		verdict = fmt.Sprintf("%d failed", failed)
	}
	fmt.Fprintf(w, "\n%d proven, %d skipped (not proven here), %s.\n", passed, skipped, verdict)
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0
}

func indent(s string) string {
	var b bytes.Buffer
	lines := bufio.NewScanner(strings.NewReader(s))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		line := lines.Text()
		if noise(line) {
			continue
		}
		fmt.Fprintf(&b, "    %s\n", line)
	}
	return b.String()
}

// noise is what says nothing that the summary doesn't.
func noise(line string) bool {
	for _, prefix := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "make: *** [", "make[1]: *** ["} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
