package floors

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExitCodesAreMadeInOnePlace: commands return what happened, and plugin/cli alone knows its number.
func TestExitCodesAreMadeInOnePlace(t *testing.T) {
	t.Parallel()
	read, allowed := 0, 0
	for _, p := range list(t, "../..") {
		dir, own := relative(p.ImportPath)
		if !own || dir == "plugin/cli" || strings.HasPrefix(dir, "test/") {
			continue
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			read++
			for _, use := range codesIn(fset, file) {
				if use.name == "CodeOf" && slices.Contains(askForCodes, dir+"/"+name) {
					allowed++
					continue
				}
				t.Errorf("%s/%s:%d: cli.%s: return cli.Refused, cli.Stopped or another outcome, and ask for it with errors.As", dir, name, use.line, use.name)
			}
		}
	}
	if read < 200 || allowed != len(askForCodes) {
		t.Errorf("%d files were read, %d of them ask for a code: want %d", read, allowed, len(askForCodes))
	}
}

// askForCodes are the files that hand a code on to the shell, or print it.
var askForCodes = []string{"plugin/main.go", "plugin/fixapiintcmd/after.go"}

// codeUse is where a file names an exit code of plugin/cli, or asks for one.
type codeUse struct {
	name string
	line int
}

func codesIn(fset *token.FileSet, file *ast.File) (out []codeUse) {
	imported := importedNames(file)
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if ok && imported[x.Name] == module+"/plugin/cli" && (strings.HasPrefix(sel.Sel.Name, "Exit") || sel.Sel.Name == "CodeOf") {
			out = append(out, codeUse{sel.Sel.Name, fset.Position(n.Pos()).Line})
		}
		return true
	})
	return out
}

func TestExitCodesAreSeen(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "any.go", `package any

import (
	"os/exec"

	named "`+module+`/plugin/cli"
)

var (
	_ = &exec.ExitError{}
	_ = named.ExitRefused
	_ = named.CodeOf(nil)
	_ = named.Refused(nil)
)
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(codesIn(fset, file)), "[{ExitRefused 11} {CodeOf 12}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
