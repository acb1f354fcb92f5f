package floors

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// yamlParsers are packages that parse YAML, with those of their functions that do.
func yamlParsers() map[string][]string {
	v := []string{"NewDecoder", "Unmarshal", "UnmarshalStrict"}
	return map[string][]string{
		"go.yaml.in/yaml/v2": v, "go.yaml.in/yaml/v3": v, "gopkg.in/yaml.v2": v, "gopkg.in/yaml.v3": v, "sigs.k8s.io/yaml/goyaml.v2": v, "sigs.k8s.io/yaml/goyaml.v3": v,
		"sigs.k8s.io/yaml":                   {"Unmarshal", "UnmarshalStrict", "YAMLToJSON", "YAMLToJSONStrict", "JSONToYAML"},
		"k8s.io/apimachinery/pkg/util/yaml":  {"NewYAMLOrJSONDecoder", "NewYAMLToJSONDecoder", "Unmarshal", "ToJSON", "NewDocumentDecoder"},
		"k8s.io/client-go/tools/clientcmd":   {"Load", "LoadFromFile", "NewClientConfigFromBytes", "RESTConfigFromKubeConfig"},
		"k8s.io/client-go/kubernetes/scheme": {"Codecs"},
	}
}

// ownYAML is what may call them beside package pki, whose bounds are everyone's, and why.
func ownYAML() map[string]string {
	return map[string]string{
		"inspect/pki/yaml.go":                "it has the bounds",
		"plugin/ui/document.go":              "what it is given was written here",
		"inspect/collect/apiprobe/config.go": "what it is given was written here, of what package pki parsed",
		"remediate/kubeconfig/prove.go":      "what it is given is JSON, written here",
	}
}

// TestYAMLIsParsedInOnePlace: the parsers take time in the square of some texts, and gigabytes for
// others. Package pki knows which.
func TestYAMLIsParsedInOnePlace(t *testing.T) {
	t.Parallel()
	files, seen := token.NewFileSet(), map[string]bool{}
	for _, dir := range []string{"cmd", "foreign", "inspect", "nodeexec", "plugin", "remediate"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || isTestHelper(filepath.ToSlash(filepath.Dir(path))) {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			for _, call := range yamlCalls(file) {
				if seen[name] = true; ownYAML()[name] == "" {
					t.Errorf("%s calls %s: read YAML with pki.ParseYAML, pki.NewYAML or pki.YAMLToJSON, which have bounds", name, call)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range ownYAML() {
		if !seen[name] {
			t.Errorf("%s parses no YAML: leave it out here", name)
		}
	}
}

// yamlCalls are the parsers that a file names.
func yamlCalls(file *ast.File) (calls []string) {
	imported := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := filepath.Base(path)
		switch {
		case spec.Name != nil:
			name = spec.Name.Name
		case strings.HasSuffix(path, "/v2"), strings.HasSuffix(path, "/v3"), strings.Contains(name, "yaml."):
			name = "yaml"
		}
		imported[name] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(yamlParsers()[imported[x.Name]], s.Sel.Name) {
				calls = append(calls, x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return calls
}

func TestYAMLParsersAreSeen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`import "go.yaml.in/yaml/v3"; var _ = yaml.Unmarshal`:               1,
		`import y "go.yaml.in/yaml/v3"; var _ = y.NewDecoder(nil)`:          1,
		`import "sigs.k8s.io/yaml"; var _, _ = yaml.YAMLToJSON(nil)`:        1,
		`import "k8s.io/client-go/tools/clientcmd"; var f = clientcmd.Load`: 1,
		`import "go.yaml.in/yaml/v3"; var _ yaml.Node`:                      0,
		`import "encoding/json"; var _ = json.Unmarshal`:                    0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package a; "+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if calls := yamlCalls(file); len(calls) != want {
			t.Errorf("%s: %q", text, calls)
		}
	}
}
