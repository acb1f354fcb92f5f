package check

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestChecksDocument verifies that docs/checks.md says what the checks say;
// UPDATE=1 writes it.
func TestChecksDocument(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("<!-- generated from inspect/check/checks.go: UPDATE=1 go test ./inspect/check -->\n# Checks\n\nEach check is a claim about the cluster. `certrot inspect` prints a finding where it fails.\n" +
		"Severities: **critical**: broken or about to be; **warning**: act in time; **info**: worth knowing.\n")
	for _, c := range Checks() {
		fmt.Fprintf(&b, "\n## %s\n\n*Claim: %s.*\n", c.ID, c.Title)
		for paragraph := range strings.SplitSeq(c.Doc, "\n") {
			b.WriteString("\n" + wrapped(paragraph))
		}
	}
	const path = "../../docs/checks.md"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	current, err := os.ReadFile(path)
	if err != nil || string(current) != b.String() {
		t.Errorf("docs/checks.md is not current (%v): UPDATE=1 go test ./inspect/check", err)
	}
}

// wrapped breaks a paragraph at blanks into lines of at most 126 columns, as the other pages
// are: a line is what a diff prints.
func wrapped(paragraph string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(paragraph) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width+1+n > 126:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String() + "\n"
}
