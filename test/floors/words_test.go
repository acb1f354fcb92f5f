package floors

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// wordExceptions are texts in which a word of docs/glossary.md's last column stays, each with
// its reason: a quotation, or an English word that means something else there.
var wordExceptions = []struct{ text, why string }{
	{"take-away ", "an action's id in journals and scripts, which earlier releases wrote"},
	{"leaf-young", "a check's name in journals, documents and --accept-risk"},
	{"lease-held", "a refusal's name, which scripts read"},
	{"-shows-secret", "claims' ids in documents, which scripts read: api-int-shows-secret, access-shows-secret"},
	{"name or service not known", "what a node's resolver says, read in its words"},
	{"/.held", "a file on nodes, which earlier releases read and write"},
	{`"comeback"`, "a key of the snapshot's format"},
	{`"shows"`, "a key of the snapshot's format"},
	{`"lost"`, "a line of the gather script's output"},
	{"what [-A-Za-z0-9.:]+ shows|", "a sentence in snapshots of earlier releases"},
}

// wordFolders are those whose texts and names TestWords reads.
var wordFolders = []string{"cmd", "completions", "foreign", "inspect", "nodeexec", "plugin", "remediate", "test"}

// TestWords holds the words that docs/glossary.md replaces out of identifiers, JSON keys, texts
// that the program and its scripts print, and headings of pages.
func TestWords(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	glossary, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	terms := replacedWords(string(glossary))
	if len(terms) < 30 {
		t.Fatalf("docs/glossary.md replaces only %d words: its table is not read", len(terms))
	}
	if len(wordExceptions) > 40 {
		t.Errorf("%d exceptions: at most 40", len(wordExceptions))
	}
	used := map[string]bool{}
	check := func(at, text string, identifier bool) {
		rest := text
		if !identifier {
			rest = `"` + text + `"` // an exception may be a whole text
		}
		if terms.in(text) != "" {
			for _, e := range wordExceptions {
				if strings.Contains(rest, e.text) {
					used[e.text], rest = true, strings.ReplaceAll(rest, e.text, "…")
				}
			}
		}
		if term := terms.in(rest); term != "" {
			t.Errorf("%s: %q says %q: see docs/glossary.md", at, text, term)
		}
	}
	files, seen := token.NewFileSet(), 0
	for _, dir := range wordFolders {
		walk(t, filepath.Join(root, dir), ".go", func(path string) {
			if strings.HasSuffix(path, "_test.go") || isTestHelper(filepath.ToSlash(filepath.Dir(path))) {
				return
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			wordsOf(file, func(pos token.Pos, text string, identifier bool) {
				check(strings.TrimPrefix(files.Position(pos).String(), root+"/"), text, identifier)
			})
		})
	}
	if seen < 400 {
		t.Errorf("only %d files were read", seen)
	}
	scripts := 0
	for _, dir := range wordFolders {
		for _, ending := range []string{".sh", ".bash", ".awk"} {
			walk(t, filepath.Join(root, dir), ending, func(path string) {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for line, quoted := range scriptTexts(string(text)) {
					scripts++
					check(fmt.Sprintf("%s:%d", strings.TrimPrefix(path, root+"/"), line), quoted, false)
				}
			})
		}
	}
	if scripts < 1000 {
		t.Errorf("only %d texts of scripts were read", scripts)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("only %d pages in docs: %v", len(pages), err)
	}
	tasks, err := filepath.Glob(filepath.Join(root, "docs", "tasks", "*.md"))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("no pages in docs/tasks: %v", err)
	}
	for _, page := range slices.Concat(pages, tasks, []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line, heading := range headings(string(text)) {
			check(fmt.Sprintf("%s:%d", strings.TrimPrefix(page, root+"/"), line), heading, false)
		}
	}
	for _, e := range wordExceptions {
		if !used[e.text] {
			t.Errorf("the exception %q is not needed", e.text)
		}
	}
}

// TestWordsAreSeen holds the scan to what it is to find.
func TestWordsAreSeen(t *testing.T) {
	t.Parallel()
	terms := replacedWords("| word | means | do not write |\n|---|---|---|\n| presents | x | `shown`, `is so already`, anything |\n")
	for text, want := range map[string]string{
		"what is shown":      "shown",
		"Shown by it":        "shown",
		"notShownYet":        "shown",
		"it is so already":   "is so already",
		"ItIsSoAlready":      "is so already",
		"showing, reshownly": "",
		"anything":           "",
	} {
		if got := terms.in(text); got != want {
			t.Errorf("%q says %q, want %q", text, got, want)
		}
	}
	src := "package p\ntype lostNode struct {\n\tA int `json:\"heldBy,omitempty\"`\n}\nfunc f(shownAt int) { g(\"text %s\") }\nconst c = `raw`\n"
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	wordsOf(file, func(_ token.Pos, text string, _ bool) { got = append(got, text) })
	for _, want := range []string{"lostNode", "heldBy", "shownAt", "text %s", "raw"} {
		if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+want+" ") {
			t.Errorf("%q is not read: %q", want, got)
		}
	}
}

// TestScriptTextsAreSeen holds the scan of scripts to what they print.
func TestScriptTextsAreSeen(t *testing.T) {
	t.Parallel()
	var got []string
	for line, text := range scriptTexts("# a \"comment\"\nsay \"one\" 'no' \"two \\\"2\\\"\" # later\n\n\tfail \"$x\"\n") {
		got = append(got, fmt.Sprint(line, " ", text))
	}
	if want := []string{"2 one", `2 two \"2\"`, "4 $x"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// scriptTexts gives what stands in double quotes in a script, each with its line.
func scriptTexts(script string) iter.Seq2[int, string] {
	quoted := regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	return func(yield func(int, string) bool) {
		number := 0
		for line := range strings.Lines(script) {
			if number++; strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				if !yield(number, m[1]) {
					return
				}
			}
		}
	}
}

// TestHeadingsAreSeen holds the scan of pages to headings: what stands in a code block is a
// comment of a shell.
func TestHeadingsAreSeen(t *testing.T) {
	t.Parallel()
	page := "# One\ntext #no\n```\n# comment\n```\n  ```sh\n## comment\n~~~\n  ```\n### Two words ###\n#hashtag\n~~~~\n# comment\n~~~\n# comment\n~~~~\n#\tThree\n"
	got := map[int]string{}
	for line, heading := range headings(page) {
		got[line] = heading
	}
	if want := map[int]string{1: "One", 10: "Two words", 17: "Three"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// headings gives the headings of a page of Markdown that begin with #, each with its line.
func headings(page string) iter.Seq2[int, string] {
	fence := regexp.MustCompile("^ {0,3}(```+|~~~+)(.*)")
	return func(yield func(int, string) bool) {
		open, number := "", 0
		for line := range strings.Lines(page) {
			number++
			line = strings.TrimRight(line, "\r\n")
			if m := fence.FindStringSubmatch(line); m != nil {
				switch {
				case open == "":
					open = m[1]
				case strings.HasPrefix(m[1], open) && strings.TrimSpace(m[2]) == "":
					open = ""
				}
				continue
			}
			text := strings.TrimLeft(line, "#")
			if open != "" || text == line || strings.TrimSpace(text) == "" || text[0] != ' ' && text[0] != '\t' {
				continue
			}
			if !yield(number, strings.TrimSpace(strings.TrimRight(text, "# "))) {
				return
			}
		}
	}
}

// words are terms, each with what finds it.
type words map[string]*regexp.Regexp

// replacedWords reads the last column of the glossary's table: what stands in backquotes is
// replaced everywhere.
func replacedWords(glossary string) words {
	out := words{}
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(glossary) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			out[m[1]] = regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(m[1]) + `\b`)
		}
	}
	return out
}

// in is the first term that a text or an identifier says; empty: none.
func (w words) in(text string) string {
	spaced := text + "\n" + spaced(text)
	for term, re := range w {
		if re.MatchString(spaced) {
			return term
		}
	}
	return ""
}

// spaced cuts identifiers into their words.
func spaced(text string) string {
	var b strings.Builder
	last := ' '
	for _, r := range text {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// wordsOf gives each name that a file declares, each key of JSON, and each text.
func wordsOf(file *ast.File, found func(pos token.Pos, text string, identifier bool)) {
	imports := map[ast.Node]bool{}
	for _, i := range file.Imports {
		imports[i.Path] = true
	}
	tags := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				tags[n.Tag] = true
				raw, _ := strconv.Unquote(n.Tag.Value)
				name, _, _ := strings.Cut(reflect.StructTag(raw).Get("json"), ",")
				found(n.Tag.Pos(), name, false)
			}
			for _, name := range n.Names {
				found(name.Pos(), name.Name, true)
			}
		case *ast.TypeSpec:
			found(n.Name.Pos(), n.Name.Name, true)
		case *ast.FuncDecl:
			found(n.Name.Pos(), n.Name.Name, true)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				found(name.Pos(), name.Name, true)
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if name, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					found(name.Pos(), name.Name, true)
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if name, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					found(name.Pos(), name.Name, true)
				}
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && !imports[n] && !tags[n] {
				if text, err := strconv.Unquote(n.Value); err == nil {
					found(n.Pos(), text, false)
				}
			}
		}
		return true
	})
}

// walk gives each file below a folder, or the file itself, that has this ending.
func walk(t *testing.T, dir, ending string, each func(path string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if !d.IsDir() && strings.HasSuffix(path, ending) {
			each(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
