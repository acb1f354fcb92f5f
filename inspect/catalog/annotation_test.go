package catalog

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestWhatIsReadOfAnnotationsIsAskedFor: of an object with many annotations, only those that are asked for are kept for
// certain. So each that this package names is, and those that judge name no other.
func TestWhatIsReadOfAnnotationsIsAskedFor(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]bool{AnnotationRemediatedNode: true} // collect reads it of an object that it does not keep
	named := 0
	for _, file := range sourcesOf(t, ".") {
		for name, value := range stringConstants(file) {
			if !strings.HasPrefix(strings.ToLower(name), "annotation") || elsewhere[value] {
				continue
			}
			if named++; !AsksForAnnotation(value) {
				t.Errorf("%s is in no row, and AsksForAnnotation does not have it: of an object with many annotations it may be lost", name)
			}
		}
	}
	if named < 10 {
		t.Errorf("only %d constants were found", named)
	}
	for _, row := range Triggers() {
		if row.Annotation != "" && !AsksForAnnotation(row.Annotation) {
			t.Errorf("the annotation of %s is not asked for: %s", row.Secret, row.Annotation)
		}
	}
	for _, folder := range []string{"..", "../check", "../trust", "../cause", "../report", "../../remediate/rotate", "../../plugin/inspectcmd", "../../plugin/rotatecmd"} {
		for _, file := range sourcesOf(t, folder) {
			own := stringConstants(file)
			ast.Inspect(file, func(n ast.Node) bool {
				key := annotationKey(n)
				lit, literal := key.(*ast.BasicLit)
				id, ident := key.(*ast.Ident)
				switch {
				case literal:
					t.Errorf("%s reads the annotation %s: name it in inspect/catalog, and in AsksForAnnotation", folder, lit.Value)
				case ident && own[id.Name] != "":
					t.Errorf("%s reads the annotation %s: name it in inspect/catalog, and in AsksForAnnotation", folder, own[id.Name])
				}
				return true
			})
		}
	}
}

// annotationKey is by what an expression reads one annotation; nil: it reads none.
func annotationKey(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.IndexExpr:
		if of, ok := n.X.(*ast.SelectorExpr); ok && of.Sel.Name == "Annotations" {
			return n.Index
		}
	case *ast.CallExpr:
		if of, ok := n.Fun.(*ast.SelectorExpr); ok && of.Sel.Name == "Annotation" && len(n.Args) == 1 {
			return n.Args[0]
		}
	}
	return nil
}

// sourcesOf are the files of a package beside its tests.
func sourcesOf(t *testing.T, folder string) (out []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(names), err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, file)
	}
	return out
}

// stringConstants are those of a file, by name.
func stringConstants(file *ast.File) map[string]string {
	out := map[string]string{}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, s := range decl.Specs {
			spec := s.(*ast.ValueSpec)
			for i, name := range spec.Names {
				if i >= len(spec.Values) {
					continue
				}
				if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					out[name.Name], _ = strconv.Unquote(lit.Value)
				}
			}
		}
	}
	return out
}
