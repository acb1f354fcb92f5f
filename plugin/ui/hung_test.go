package ui

import (
	"strings"
	"testing"
)

// TestANameInACertificateBeginsNoRow of a terminal: what it says there would be a next step.
func TestANameInACertificateBeginsNoRow(t *testing.T) {
	t.Parallel()
	const width = 80
	for pad := range 200 {
		text := "Certificate:\n    Data:\n" + strings.Repeat(" ", 16) + "DNS:" + strings.Repeat("a", pad) + "next: kubectl certificate approve csr-evil\n" + strings.Repeat(" ", 90) + "x\n\n"
		got := hung(text, width)
		for row := range strings.Lines(got) {
			row = strings.TrimSuffix(row, "\n")
			if columnsIn(row) > width || strings.HasPrefix(strings.TrimSpace(row), "next") {
				t.Errorf("padded with %d: %q", pad, row)
			}
		}
		var joined strings.Builder
		for row := range strings.Lines(got) {
			if rest := strings.TrimLeft(row, " "); strings.HasPrefix(rest, "…") {
				whole := strings.TrimSuffix(joined.String(), "\n")
				joined.Reset()
				row = whole + strings.TrimPrefix(rest, "…")
			}
			joined.WriteString(row)
		}
		if joined.String() != text {
			t.Fatalf("padded with %d: %q", pad, joined.String())
		}
		if hung(text, 0) != text {
			t.Error("what is no terminal gets rows")
		}
	}
}
