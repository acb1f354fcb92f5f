package ui

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
)

// A template prints what kubectl's own printer prints, and is refused where kubectl refuses it.
func TestGoTemplatesAreKubectls(t *testing.T) {
	t.Parallel()
	doc := map[string]any{
		"kind": "Inventory", "count": float64(12), "share": 0.5, "large": float64(1 << 40), "yes": true, "none": nil, "base64": "Y2VydHJvdA==",
		"list":  []any{map[string]any{"name": "a", "uses": []any{"serverAuth", "clientAuth"}}, map[string]any{"name": "b"}},
		"empty": []any{}, "nested": map[string]any{"key": map[string]any{"x": "<&>"}},
	}
	for _, text := range []string{
		"{{.}}", "{{.kind}} {{.count}} {{.share}} {{.large}} {{.yes}} {{.none}}", "{{.absent}}", "{{.absent.deeper}}", "{{.kind.deeper}}",
		`{{range .list}}{{.name}}{{"\n"}}{{end}}`, `{{range $i, $e := .list}}{{$i}}={{$e.name}},{{else}}none{{end}}`, "{{range .empty}}x{{else}}none{{end}}",
		"{{range $k, $v := .nested}}{{$k}}{{$v}}{{end}}", `{{with .nested.key}}{{.x | html}} {{.x | js}} {{.x | urlquery}}{{end}}`,
		`{{len .list}} {{index .list 1}} {{index .list 7}}`, `{{(index .list 0).uses}}`, `{{slice .kind 1 3}}`, `{{printf "%d %v %q" .count .share .kind}}`,
		`{{if and .yes (gt .count 10) (eq .kind "Inventory")}}all{{else if not .none}}some{{end}}`, `{{if exists . "nested" "key" "x"}}there{{end}}`,
		`{{exists .list 1 "uses"}} {{exists .list 0 "uses" 1}} {{exists . "kind" "x"}} {{exists .list "0"}} {{exists .list 2}} {{exists . "none"}}`,
		"{{base64decode .base64}}", "{{base64decode .kind}}", `{{define "t"}}[{{.}}]{{end}}{{template "t" .kind}}{{template "absent"}}`,
		"{{break}}", "{{range .list}}{{if .uses}}{{continue}}{{end}}{{.name}}{{end}}", "{{", "{{.kind", "{{nothing .}}", "{{call .kind}}", "{{- /* a comment */ -}} x",
	} {
		for _, allowMissing := range []bool{true, false} {
			var got, want bytes.Buffer
			print, err := goTemplate(text, allowMissing)
			if err == nil {
				err = print(&got, doc)
			}
			printer, wantErr := printers.NewGoTemplatePrinter([]byte(text))
			if wantErr == nil {
				printer.AllowMissingKeys(allowMissing)
				wantErr = printer.PrintObj(&unstructured.Unstructured{Object: doc}, &want)
			}
			if (err == nil) != (wantErr == nil) {
				t.Errorf("%q, missing keys allowed %v: error %v, kubectl's %v", text, allowMissing, err, wantErr)
				continue
			}
			// Where kubectl's stops, it prints the template and the data behind what it has.
			if before, _, _ := strings.Cut(want.String(), "Error executing template"); got.String() != before {
				t.Errorf("%q: got %q, kubectl prints %q", text, got.String(), before)
			}
		}
	}
}
