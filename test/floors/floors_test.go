package floors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestImportsGoDownTheFloors(t *testing.T) {
	for _, v := range violations(list(t, "../..")) {
		t.Error(v)
	}
}

func TestOnlyMainEndsTheProcess(t *testing.T) {
	for _, v := range exits(t, list(t, "../..")) {
		t.Error(v)
	}
}

func TestPluginRequiresNoControlPlane(t *testing.T) {
	for _, v := range requirements(t, "../..") {
		t.Error(v)
	}
}

// TestDependenciesAreExplained: a module is required directly because that was
// decided, and written down why.
func TestDependenciesAreExplained(t *testing.T) {
	const page = "docs/adr/0004-dependencies.md"
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all").Output()
	if err != nil {
		t.Fatalf("go list -m all: %v", err)
	}
	for _, m := range strings.Fields(string(out)) {
		if !strings.Contains(string(text), m) {
			t.Errorf("go.mod requires %s, and %s does not say what it gives, what it costs and how to leave it", m, page)
		}
	}
}

// TestLogsOfTheLabsTestsAreNotes: the end of `make test` tells logs from errors by that word.
func TestLogsOfTheLabsTestsAreNotes(t *testing.T) {
	logs := regexp.MustCompile(`\bt\.Log(?:f\("note: |\("note:")?`)
	files := 0
	for _, dir := range []string{"../e2e", "../lab"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			for i, line := range strings.Split(string(text), "\n") {
				if slices.Contains(logs.FindAllString(line, -1), "t.Log") {
					t.Errorf("%s:%d: what is logged begins with \"note: \"", path, i+1)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 30 {
		t.Errorf("only %d files were read", files)
	}
}

// TestRulesCatch gives the rules a module where each is broken once.
func TestRulesCatch(t *testing.T) {
	const fixture = "testdata/broken"
	pkgs := list(t, fixture)
	got := slices.Concat(violations(pkgs), exits(t, pkgs), requirements(t, fixture))
	for _, want := range []string{
		"inspect imports inspect/collect: inspect holds the facts",
		"inspect/catalog imports net/http: this floor does no IO",
		"inspect/pki imports os: this floor does no IO",
		"inspect/pki imports inspect/catalog: pki knows certificates",
		"nodeexec imports inspect/pki: nodeexec is how to get onto a node",
		"remediate imports plugin: the engine runs",
		"remediate imports github.com/spf13/cobra: only plugin knows flags",
		"plugin imports example.com/third imports k8s.io/kubernetes/pkg/api: the plugin ships without",
		"remediate imports test/lab: what ships must not depend",
		"plugin: its tests import " + module + "/test/lab",
		`remediate/util: the name "util" says nothing`,
		"elsewhere: no floor has this folder",
		"remediate/remediate.go:16: os.Exit: only cmd",
		"remediate/remediate.go:17: log.Fatal: only cmd",
		"go.mod requires k8s.io/kubernetes",
	} {
		if !slices.ContainsFunc(got, func(v string) bool { return strings.Contains(v, want) }) {
			t.Errorf("nothing says %q", want)
		}
	}
	if want := 15; len(got) != want {
		t.Errorf("%d violations, want %d", len(got), want)
	}
	if t.Failed() {
		t.Logf("found:\n%s", strings.Join(got, "\n"))
	}
}

// list asks go for the packages of the module in dir and all they import.
func list(t *testing.T, dir string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Dir,Standard,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v\n%s", dir, err, stderr.String())
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// exits finds calls that end the process outside of cmd and test.
func exits(t *testing.T, pkgs []pkg) []string {
	t.Helper()
	endings := map[string]func(string) bool{
		"os":                          func(f string) bool { return f == "Exit" },
		"syscall":                     func(f string) bool { return f == "Exit" },
		"log":                         func(f string) bool { return strings.HasPrefix(f, "Fatal") },
		"k8s.io/klog/v2":              func(f string) bool { return strings.HasPrefix(f, "Fatal") || strings.HasPrefix(f, "Exit") },
		"runtime":                     func(f string) bool { return f == "Goexit" },
		"k8s.io/kubectl/pkg/cmd/util": func(f string) bool { return f == "CheckErr" },
	}
	var found []string
	for _, p := range pkgs {
		dir, own := relative(p.ImportPath)
		if f, _ := floorOf(dir); !own || f.dir == "cmd" || f.dir == "test" {
			continue
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			imported := importedNames(file)
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if !ok {
					return true
				}
				if ends := endings[imported[x.Name]]; ends != nil && ends(sel.Sel.Name) {
					found = append(found, fmt.Sprintf("%s/%s:%d: %s.%s: only cmd ends the process; return an error, and plugin picks the exit code",
						dir, name, fset.Position(n.Pos()).Line, x.Name, sel.Sel.Name))
				}
				return true
			})
		}
	}
	return found
}

// TestNoPackageAsksWhichActionItIs: what an action may be besides is an interface of remediate, so
// that a new one is a file of its own and a place in a plan.
func TestNoPackageAsksWhichActionItIs(t *testing.T) {
	t.Parallel()
	read := 0
	for _, p := range list(t, "../..") {
		dir, own := relative(p.ImportPath)
		if !own || strings.HasPrefix(dir, "test/") {
			continue
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			imported := importedNames(file)
			read++
			check := func(e ast.Expr) {
				if star, ok := e.(*ast.StarExpr); ok {
					e = star.X
				}
				sel, ok := e.(*ast.SelectorExpr)
				if !ok {
					return
				}
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{module + "/remediate/action", module + "/remediate/csr"}, imported[x.Name]) {
					t.Errorf("%s/%s:%d: asks whether an action is %s.%s: let the action say what matters of it, by an interface of remediate beside Action",
						dir, name, fset.Position(e.Pos()).Line, x.Name, sel.Sel.Name)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeAssertExpr:
					check(n.Type)
				case *ast.TypeSwitchStmt:
					for _, c := range n.Body.List {
						if clause, ok := c.(*ast.CaseClause); ok {
							for _, e := range clause.List {
								check(e)
							}
						}
					}
				}
				return true
			})
		}
	}
	if read < 200 {
		t.Errorf("only %d files were read", read)
	}
}

// importedNames maps what a file calls a package to its import path.
func importedNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := importPath[strings.LastIndexByte(importPath, '/')+1:]
		if importPath == "k8s.io/klog/v2" {
			name = "klog"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = importPath
	}
	return names
}

// requirements finds modules in go.mod that the plugin must not ship with,
// even where no package is imported: they choose versions for all others.
func requirements(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "//")
		if strings.Contains(line, "=>") {
			continue // a replacement of what is required elsewhere
		}
		for _, word := range strings.Fields(line) {
			for _, banned := range []string{"k8s.io/kubernetes", "github.com/openshift/", "go.etcd.io/etcd/"} {
				if word == banned || strings.HasSuffix(banned, "/") && strings.HasPrefix(word, banned) {
					found = append(found, fmt.Sprintf("go.mod requires %s: the lab and its parts are a module of their own (test/lab/components)", word))
				}
			}
		}
	}
	return found
}

// TestArchitectureNamesEveryPackage: who looks for something begins with docs/architecture.md.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, p := range list(t, "../..") {
		dir := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if dir == "" || strings.HasPrefix(dir, "test/") || strings.Contains(p.ImportPath, " [") || !strings.HasPrefix(p.ImportPath, module) {
			continue
		}
		if named++; !strings.Contains(string(page), "`"+dir+"`") {
			t.Errorf("docs/architecture.md does not say what %s owns", dir)
		}
	}
	if named < 20 {
		t.Errorf("only %d packages were listed", named)
	}
}
