package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// slowestPrinted is how many tests the end of a run names as slow.
const slowestPrinted = 10

// Of why a test failed, so much is said once more at the end: errors, and bytes of each.
const (
	errorsPrinted = 3
	errorLength   = 300
)

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

// printSummary prints the end of a run: what was skipped and why, the slowest tests, what
// failed, and the counts. It reports whether nothing failed.
func printSummary(w io.Writer, steps []Step, took time.Duration) bool {
	results := all(steps)
	passed, failed, skipped := count(results)
	if skipped > 0 {
		fmt.Fprintln(w, "\nSkipped:")
		for _, r := range results {
			if r.State == Skipped {
				fmt.Fprintf(w, "  %s: %s\n", r.Name(), r.Reason)
			}
		}
	}
	if slow := slowest(results, slowestPrinted); len(slow) > 0 {
		fmt.Fprintln(w, "\nSlowest:")
		for _, r := range slow {
			fmt.Fprintf(w, "  %6.1fs %s\n", r.Seconds, r.Name())
		}
	}
	if failed > 0 {
		fmt.Fprintln(w, "\nFailed:")
		for _, r := range results {
			if r.State == Failed {
				fmt.Fprintf(w, "  %s\n%s", r.Name(), indent(whyFailed(r.Output)))
			}
		}
	}
	verdict := "nothing failed"
	if failed > 0 {
		verdict = fmt.Sprintf("%d failed", failed)
	}
	fmt.Fprintf(w, "\n%d proven, %d skipped (not proven here), %s, in %s.\n", passed, skipped, verdict, took.Round(time.Second))
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0
}

// placed is how go test begins what a test says: its file and line.
var placed = regexp.MustCompile(`(?m)^ *\w+\.go:\d+: `)

// note begins what the lab's tests log. go test does not tell logs from errors.
const note = "note: "

// whyFailed are a failed test's first errors and its last one, cut: where only the end of a
// run is kept, that says why it failed.
func whyFailed(output string) string {
	var errors []string
	at := placed.FindAllStringIndex(output, -1)
	for i, from := range at {
		to := len(output)
		if i+1 < len(at) {
			to = at[i+1][0]
		}
		if strings.HasPrefix(output[from[1]:], note) {
			continue
		}
		words, _, _ := strings.Cut(strings.TrimSpace(output[from[0]:to]), "\n--- ")
		if len(words) > errorLength {
			words = words[:errorLength] + " …"
		}
		errors = append(errors, strings.ToValidUTF8(words, ""))
	}
	if len(errors) > errorsPrinted {
		errors = append(errors[:errorsPrinted-1], errors[len(errors)-1])
	}
	return strings.Join(errors, "\n")
}

func all(steps []Step) (results []Result) {
	for _, s := range steps {
		results = append(results, s.Results...)
	}
	return results
}

// slowest are the n tests that ran longest, the longest first.
func slowest(results []Result, n int) []Result {
	slow := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Seconds == 0 })
	slices.SortStableFunc(slow, func(a, b Result) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return slow[:min(n, len(slow))]
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
