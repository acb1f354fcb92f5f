package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// tableTests is how many tests the table of a run names.
const tableTests = 30

// printTable prints of a file that -o wrote what docs/testing.md has: the steps, and the
// slowest tests without those that are a part of one named already.
func printTable(w io.Writer, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(w, "| step | seconds | of processors | passed | skipped |\n|---|---|---|---|---|\n")
	var tests []documentTest
	for _, s := range d.Steps {
		fmt.Fprintf(w, "| %s | %.0f | %.0f | %d | %d |\n", s.Name, s.Seconds, s.CPUSeconds, s.Passed, s.Skipped)
		tests = append(tests, s.Tests...)
	}
	fmt.Fprintf(w, "| all | %.0f | | %d | %d |\n", d.Seconds, d.Passed, d.Skipped)
	slices.SortStableFunc(tests, func(a, b documentTest) int { return cmp.Compare(b.Seconds, a.Seconds) })
	fmt.Fprintf(w, "\n| seconds | package | test |\n|---|---|---|\n")
	var named []documentTest
	for _, t := range tests {
		if len(named) == tableTests || t.Seconds == 0 {
			break
		}
		if slices.ContainsFunc(named, func(n documentTest) bool {
			return n.Package == t.Package && strings.HasPrefix(t.Test, n.Test+"/")
		}) {
			continue
		}
		named = append(named, t)
		_, folder, _ := strings.Cut(t.Package, "kubectl-certrot/kubectl-certrot/")
		fmt.Fprintf(w, "| %.0f | %s | %s |\n", t.Seconds, cmp.Or(folder, t.Package), t.Test)
	}
	return nil
}
