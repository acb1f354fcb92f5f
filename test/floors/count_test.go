package floors

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxWords are those that README, CONTRIBUTING and docs may have together: who looks for
// something reads a page and not a book.
const maxWords = 45_000

// generatedPages are not counted, each with what writes it: a row of the code more is a row of
// the page more.
var generatedPages = map[string]string{
	"docs/catalog.md": "the rows of inspect/catalog: UPDATE=1 go test ./inspect/catalog",
	"docs/checks.md":  "the checks of inspect/check: UPDATE=1 go test ./inspect/check",
}

// generatedPart begins and ends the tables that a program writes: those of docs/performance.md, by
// UPDATE=1 make bench, and of docs/testing.md, by make mutate and bin/summary -table.
const (
	generatedPart    = "<!-- measured: "
	generatedPartEnd = "<!-- end -->"
)

// TestPagesAreShort: a page that grows takes its words from another one, or from itself.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	sum, pages, left := 0, 0, map[string]bool{}
	count := func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		if _, ok := generatedPages[name]; ok {
			left[name] = true
			return
		}
		pages++
		sum += len(strings.Fields(written(string(text))))
	}
	top, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range top {
		if name := filepath.Base(file); name == "CHANGELOG.md" || name == "CODE_OF_CONDUCT.md" { // it grows with releases; it is a standard's
			continue
		}
		count(file)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(file, ".md") {
			count(file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 40 {
		t.Errorf("only %d pages were counted", pages)
	}
	for name, by := range generatedPages {
		if !left[name] {
			t.Errorf("%s (%s) is no page: take it off the list", name, by)
		}
	}
	if sum > maxWords {
		t.Errorf("README, CONTRIBUTING and docs have %d words, and may have %d: say each fact once, on the page where its reader looks", sum, maxWords)
	}
	t.Logf("%d words on %d pages", sum, pages)
}

// written is a page without those tables.
func written(page string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(page, generatedPart)
		out.WriteString(before)
		_, after, ended := strings.Cut(rest, generatedPartEnd)
		if !found || !ended {
			out.WriteString(rest)
			return out.String()
		}
		page = after
	}
}

func TestGeneratedPartsAreNotCounted(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]int{
		"one two": 2,
		"one <!-- measured: small -->\n| a | b |\n<!-- end -->\ntwo <!-- measured: large --> x <!-- end --> three": 3,
		"one <!-- measured: small --> x y": 5, // no end: all of it counts
	} {
		if got := len(strings.Fields(written(page))); got != want {
			t.Errorf("%q has %d words, want %d", page, got, want)
		}
	}
}
