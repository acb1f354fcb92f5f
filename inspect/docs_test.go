package inspect

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
	b.WriteString("<!-- generated from inspect/checks.go: UPDATE=1 go test ./inspect -->\n# Checks\n\nEach check is a claim about the cluster. `certrot inspect` prints a finding where it does not hold.\n" +
		"Severities: **critical**: broken or about to be; **warning**: somebody must act in time; **info**: worth knowing.\n")
	for _, c := range Checks() {
		fmt.Fprintf(&b, "\n## %s\n\n*Claim: %s.*\n\n%s\n", c.ID, c.Title, c.Doc)
	}
	const path = "../docs/checks.md"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	current, err := os.ReadFile(path)
	if err != nil || string(current) != b.String() {
		t.Errorf("docs/checks.md is not current (%v): UPDATE=1 go test ./inspect", err)
	}
}

// TestOutputDocumentNamesEveryField: the fields of a certificate are the columns
// and the orders that users may name.
func TestOutputDocumentNamesEveryField(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	_, certificates, _ := strings.Cut(string(doc), "\ncertificates:")
	certificates, _, _ = strings.Cut(certificates, "\nbundles:")
	for _, field := range CertificateFields() {
		if !strings.Contains(certificates, " "+field+":") {
			t.Errorf("docs/output.md does not name certificates[].%s", field)
		}
	}
}
