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

// slowestShown is how many tests the end of a run names as slow.
const slowestShown = 10

// Of what a failed test said, so much is told once more: pieces, and bytes of each.
const (
	lastWordsShown  = 3
	lastWordsLength = 300
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
	if slow := slowest(results, slowestShown); len(slow) > 0 {
		fmt.Fprintln(w, "\nSlowest:")
		for _, r := range slow {
			fmt.Fprintf(w, "  %6.1fs %s\n", r.Seconds, r.Name())
		}
	}
	if failed > 0 {
		fmt.Fprintln(w, "\nFailed:")
		for _, r := range results {
			if r.State == Failed {
				fmt.Fprintf(w, "  %s\n%s", r.Name(), indent(lastWords(r.Output)))
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
var placed = regexp.MustCompile(`(?m)^ *\w+_test\.go:\d+: `)

// commandRan is what test/e2e logs of each command that it runs.
var commandRan = regexp.MustCompile(`: ended with -?\d+ after `)

// lastWords is the last of what a test said, cut: where only the end of a run is kept, that
// tells why it failed. go test does not tell errors from other words.
func lastWords(output string) string {
	var said []string
	at := placed.FindAllStringIndex(output, -1)
	for i, from := range at {
		to := len(output)
		if i+1 < len(at) {
			to = at[i+1][0]
		}
		words, _, _ := strings.Cut(strings.TrimSpace(output[from[0]:to]), "\n--- ")
		if line, _, _ := strings.Cut(words, "\n"); commandRan.MatchString(line) {
			continue
		}
		if len(words) > lastWordsLength {
			words = words[:lastWordsLength] + " …"
		}
		said = append(said, strings.ToValidUTF8(words, ""))
	}
	return strings.Join(said[max(0, len(said)-lastWordsShown):], "\n")
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
