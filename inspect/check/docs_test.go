package check

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestChecksDocument verifies that docs/checks.md says what the checks say;
// UPDATE=1 writes it.
func TestChecksDocument(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("<!-- generated from inspect/check/checks.go: UPDATE=1 go test ./inspect/check -->\n# Checks\n\nEach check is a claim about the cluster. `certrot inspect` prints a finding where it fails.\n" +
		"Severities: **critical**: broken or about to be; **warning**: act in time; **info**: worth knowing.\n")
	for _, c := range Checks() {
		fmt.Fprintf(&b, "\n## %s\n\n*Claim: %s.*\n\n%s\n", c.ID, c.Title, c.Doc)
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
