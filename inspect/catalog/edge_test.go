package catalog

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestEdgesAreInTheFileOfTheirPart: each file has rows of one Part. kubeadm's are together, of all
// Parts.
func TestEdgesAreInTheFileOfTheirPart(t *testing.T) {
	t.Parallel()
	partOf := map[string]string{
		"edge_api_int.go": "PartAPIInt", "edge_control_plane.go": "PartControlPlane", "edge_nodes.go": "PartNodes",
		"edge_services.go": "PartServices", "edge_access.go": "PartAccess", "edge_bundles.go": "PartBundles",
	}
	files, err := filepath.Glob("edge_*.go")
	if err != nil || len(partOf) != len(Parts()) {
		t.Fatalf("%v; %d Parts have files, want %d", err, len(partOf), len(Parts()))
	}
	for _, name := range files {
		if name == "edge_kubeadm.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		ast.Inspect(file, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Part" {
					rows++
					if value, ok := pair.Value.(*ast.Ident); !ok || value.Name != partOf[name] {
						t.Errorf("%s has a row whose Part is not %q", name, partOf[name])
					}
				}
			}
			return true
		})
		if rows == 0 {
			t.Errorf("%s has no row with a Part", name)
		}
	}
}
