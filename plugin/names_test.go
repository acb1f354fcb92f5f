package plugin_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// TestExplainKnowsEveryName: each name by which a change is refused, in the code, and each one that the
// tables of checks in docs have.
func TestExplainKnowsEveryName(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	var out bytes.Buffer
	if code := plugin.Main(t.Context(), "test", []string{"kubectl-certrot", "explain", "--no-headers"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}); code != 0 {
		t.Fatal(code)
	}
	for line := range strings.Lines(out.String()) {
		name, _, _ := strings.Cut(line, " ")
		known[name] = true
	}
	printed := refusalNames(t)
	if len(printed) < 40 {
		t.Errorf("only %d names were found in the code", len(printed))
	}
	rows := regexp.MustCompile("(?m)^\\| ((?:`[a-z][a-z-]+`(?:, )?)+) \\|")
	for _, page := range []string{"fix-api-int.md", "pretrust.md", "rotate.md"} {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows.FindAllStringSubmatch(string(text), -1) {
			for name := range strings.SplitSeq(row[1], ", ") {
				printed[strings.Trim(name, "`")] = page
			}
		}
	}
	for name, where := range printed {
		if !known[name] {
			t.Errorf("%s: explain does not know %q", where, name)
		}
	}
}

// refusalNames are the names of refusals in the code, with where each is.
func refusalNames(t *testing.T) map[string]string {
	t.Helper()
	set, constants, named := token.NewFileSet(), map[string]string{}, map[string]ast.Expr{}
	for _, root := range []string{"../remediate", "."} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") {
				return err
			}
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for i, name := range n.Names {
						if i < len(n.Values) {
							if text, ok := literal(n.Values[i]); ok {
								constants[name.Name] = text
							}
						}
					}
				case *ast.CompositeLit:
					if nameOf(n.Type) != "Refusal" {
						break
					}
					for _, e := range n.Elts {
						if pair, ok := e.(*ast.KeyValueExpr); ok && nameOf(pair.Key) == "Name" {
							named[set.Position(n.Pos()).String()] = pair.Value
						}
					}
				case *ast.CallExpr:
					if nameOf(n.Fun) == "refuse" && len(n.Args) > 2 && regexp.MustCompile("apiint|oldtrust").MatchString(path) {
						named[set.Position(n.Pos()).String()] = n.Args[0]
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]string{}
	for where, value := range named {
		text, ok := literal(value)
		if !ok {
			text = constants[nameOf(value)]
		}
		if regexp.MustCompile("^[a-z]+(-[a-z]+)*$").MatchString(text) {
			out[text] = where
		}
	}
	return out
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// nameOf is the last part of a name; empty: it is none.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
