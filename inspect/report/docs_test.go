package report

import (
	"os"
	"strings"
	"testing"
)

// TestOutputDocumentNamesEveryField: the fields of a certificate are the columns
// and the orders that users may name.
func TestOutputDocumentNamesEveryField(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/output.md")
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
