package catalog

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatNoReleaseHasDecidesNothing: it is documented, claims no version, and no code asks
// for it.
func TestWhatNoReleaseHasDecidesNothing(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "catalog.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range requestApprovers() {
		var row string
		for line := range strings.Lines(string(doc)) {
			if strings.Contains(line, a.Toggle.String()) {
				row = line
			}
		}
		if a.Mark == Unverified && !strings.Contains(row, "| announced: in no release | U: ") {
			t.Errorf("%s claims versions:\n%s", a.Toggle, row)
		}
	}
	err = filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // a source file of this repository
		if err == nil && strings.Contains(string(text), "RequestApprovers(") && filepath.Base(path) != "csr.go" {
			t.Errorf("%s asks for what is only announced", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
