package floors

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// commentPaths are the folders, with all below them, whose comments TestCommentWords reads.
var commentPaths = []string{"cmd", "completions", "foreign", "inspect", "nodeexec", "plugin", "remediate", "test"}

// plainWords are those of docs/glossary.md's last column that are good English in a comment: a
// connection is lost, a context ends.
var plainWords = []string{"away", "broken", "ends", "held", "lost"}

// TestCommentWords holds the words that docs/glossary.md replaces out of comments, tests' too.
func TestCommentWords(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	glossary, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	terms := replacedWords(string(glossary))
	for _, plain := range plainWords {
		if terms[plain] == nil {
			t.Errorf("docs/glossary.md does not replace %q", plain)
		}
		delete(terms, plain)
	}
	comments := 0
	check := func(at, text string) {
		comments++
		if term := terms.written(text); term != "" {
			t.Errorf("%s: %q says %q: see docs/glossary.md", strings.TrimPrefix(at, root+"/"), text, term)
		}
	}
	for _, pattern := range commentPaths {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("there is no %s: %v", pattern, err)
		}
		for _, path := range paths {
			walk(t, path, ".go", func(file string) {
				files := token.NewFileSet()
				f, err := parser.ParseFile(files, file, nil, parser.ParseComments|parser.SkipObjectResolution)
				if err != nil {
					t.Fatal(err)
				}
				for pos, text := range commentsOf(f) {
					check(files.Position(pos).String(), text)
				}
			})
			for _, ending := range []string{".sh", ".bash", ".awk"} {
				walk(t, path, ending, func(file string) {
					script, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if strings.HasPrefix(pattern, "completions") { // cobra's
						return
					}
					for line, text := range scriptComments(string(script)) {
						check(fmt.Sprintf("%s:%d", file, line), text)
					}
				})
			}
		}
	}
	if comments < 4000 {
		t.Errorf("only %d comments were read", comments)
	}
}

// TestCommentsAreSeen holds the scan to comments, whole and without the names that they explain.
func TestCommentsAreSeen(t *testing.T) {
	t.Parallel()
	src := "package p\n\n// shown is what\n// was read.\nfunc shown() { f(\"text\") //nolint:x // why\n}\n\n/* a block\nof two */\n"
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, text := range commentsOf(file) {
		got = append(got, text)
	}
	if want := "is what was read.|nolint:x // why|a block of two"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
	comments := maps.Collect(scriptComments("#!/bin/sh\n# one\n# two\nx=\"#no\" # three\n\t# four\n"))
	if want := "map[1:!/bin/sh one two 4:three 5:four]"; fmt.Sprint(comments) != want {
		t.Errorf("%v, want %s", comments, want)
	}
	terms := replacedWords("| word | means | do not write |\n|---|---|---|\n| presents | x | `shown`, `not known` |\n")
	for text, want := range map[string]string{"is Shown.": "shown", "notShown": "", "what is not known": "not known"} {
		if got := terms.written(text); got != want {
			t.Errorf("%q says %q, want %q", text, got, want)
		}
	}
}

// written is the first term that a text says, identifiers in it apart; empty: none.
func (w words) written(text string) string {
	for term, re := range w {
		if re.MatchString(text) {
			return term
		}
	}
	return ""
}

// commentsOf gives each comment of a file on one line, without a name of the file's at its beginning.
func commentsOf(file *ast.File) iter.Seq2[token.Pos, string] {
	declared := map[string]bool{}
	wordsOf(file, func(_ token.Pos, name string, _ bool) { declared[name] = true })
	return func(yield func(token.Pos, string) bool) {
		for _, group := range file.Comments {
			var parts []string
			for _, c := range group.List {
				text, line := strings.CutPrefix(c.Text, "//")
				if !line {
					text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
				}
				parts = append(parts, strings.Fields(text)...)
			}
			if len(parts) > 0 && declared[parts[0]] {
				parts = parts[1:]
			}
			if !yield(group.Pos(), strings.Join(parts, " ")) {
				return
			}
		}
	}
}

// scriptComments gives the comments of a script, each with its first line: those of lines that
// follow one another are one.
func scriptComments(script string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number, first, text := 0, 0, ""
		for line := range strings.Lines(script + "\n") {
			number++
			line, whole := strings.CutPrefix(strings.TrimSpace(line), "#")
			if whole && text != "" {
				text += " " + strings.TrimSpace(line)
				continue
			}
			if text != "" && !yield(first, text) {
				return
			}
			if first, text = number, ""; whole {
				text = strings.TrimSpace(line)
			} else if _, comment, ok := strings.Cut(line, " # "); ok && !yield(number, comment) {
				return
			}
		}
		if text != "" {
			yield(first, text)
		}
	}
}
