package ui

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/text"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// Rows are the list in a document of which columns make lines.
type Rows struct {
	Key    string   // of the list in the document; it names its elements to people
	Fields []string // that elements have, as in JSON
}

// RowsOf are the elements of type T under a key.
func RowsOf[T any](key string) Rows {
	return Rows{Key: key, Fields: jsonFields(reflect.TypeFor[T]())}
}

// certificateRows are those of an Inventory.
func certificateRows() Rows { return Rows{"certificates", report.CertificateFields()} }

// jsonFields are the names that encoding/json writes for a struct, its embedded ones included.
func jsonFields(t reflect.Type) (names []string) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			names = append(names, jsonFields(field.Type)...)
		case field.IsExported() && name != "" && name != "-" && !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return names
}

// RowFlags are the flags of forms that each list has: templates over its document, and columns.
type RowFlags struct {
	NoHeaders    bool
	template     string
	allowMissing bool
}

// TemplateForms are the forms of RowFlags, as help and errors name them.
const TemplateForms = "jsonpath=, go-template=, custom-columns="

// OutputUsage is the help text of -o for a list that has own forms besides.
func OutputUsage(what, own string) string {
	return "Form of " + what + ": " + own + ", " + TemplateForms + " (and the -file variants of the last three)."
}

// AddFlags adds what goes with those forms; -o is the command's.
func (f *RowFlags) AddFlags(cmd *cobra.Command, own ...string) {
	cmd.Flags().StringVar(&f.template, "template", "", "Template string or path to template file to use when -o=go-template, -o=go-template-file. The template format is golang templates [http://golang.org/pkg/text/template/#pkg-overview].")
	Must(cmd.MarkFlagFilename("template"))
	cmd.Flags().BoolVar(&f.allowMissing, "allow-missing-template-keys", true, "If true, ignore any errors in templates when a field or map key is missing in the template. Only applies to golang and jsonpath output formats.")
	cmd.Flags().BoolVar(&f.NoHeaders, "no-headers", false, "Leave the headers of tables out.")
	Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(append(own, strings.Split(TemplateForms, ", ")...), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)))
}

// ToPrinter is the printer for a form that each list has. own are the forms that are left to the
// command: for these it is nil.
func (f *RowFlags) ToPrinter(ctx context.Context, format string, rows Rows, own ...string) (func(io.Writer, any) error, error) {
	if format == "" || slices.Contains(own, format) {
		return nil, nil
	}
	if name, spec, ok := strings.Cut(format, "="); ok && strings.HasPrefix(name, "custom-columns") {
		columns, err := parseColumns(ctx, name, spec, f.NoHeaders, rows)
		if err != nil {
			return nil, fmt.Errorf("-o %s: %w", format, err)
		}
		return columns.printDocument, nil
	}
	print, err := f.templated(ctx, format)
	if errors.Is(err, errNoForm) {
		return nil, Invalid("--output", format, append(own, strings.Split(TemplateForms, ", ")...)...)
	}
	if err != nil {
		return nil, fmt.Errorf("-o %s: %w", format, err)
	}
	return func(w io.Writer, document any) error {
		doc, err := asUnstructured(document)
		if err != nil {
			return err
		}
		onOneLine(doc)
		return print(w, doc)
	}, nil
}

var (
	errNoForm     = errors.New("no form with a template")
	errNoTemplate = errors.New("template format specified but no template given")
)

// templated is the printer for a form with a template; errNoForm: it is none.
func (f *RowFlags) templated(ctx context.Context, format string) (func(io.Writer, map[string]any) error, error) {
	form, text, err := f.fromFile(ctx, format)
	if err != nil {
		return nil, err
	}
	switch form {
	case "go-template", "template":
		return goTemplate(text, f.allowMissing)
	case "jsonpath", "jsonpath-as-json", "jsonpath-file":
		return jsonPath(text, f.allowMissing, form == "jsonpath-as-json")
	}
	return nil, errNoForm
}

// jsonPath prints a document by kubectl's printer.
func jsonPath(text string, allowMissing, asJSON bool) (func(io.Writer, map[string]any) error, error) {
	if text == "" {
		return nil, errNoTemplate
	}
	printer, err := printers.NewJSONPathPrinter(text)
	if err != nil {
		return nil, fmt.Errorf("error parsing jsonpath %s, %w", text, err)
	}
	printer.AllowMissingKeys(allowMissing)
	printer.EnableJSONOutput(asJSON)
	return func(w io.Writer, doc map[string]any) error {
		return printer.PrintObj(&unstructured.Unstructured{Object: doc}, w)
	}, nil
}

// goTemplate prints a document by a template of text/template, as kubectl's -o go-template does: with
// its functions, and whole numbers as such. The library is text/template without calls of methods, which
// a document has none of: with them, the linker keeps each exported method of all Kubernetes types.
func goTemplate(text string, allowMissing bool) (func(io.Writer, map[string]any) error, error) {
	if text == "" {
		return nil, errNoTemplate
	}
	parsed, err := template.New("output").Funcs(template.FuncMap{"exists": exists, "base64decode": decodeBase64}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("error parsing template %s, %w", text, err)
	}
	if !allowMissing {
		parsed.Option("missingkey=error")
	}
	return func(w io.Writer, doc map[string]any) error {
		raw, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		var numbered map[string]any // int64, where a number is whole
		if err := utiljson.Unmarshal(raw, &numbered); err != nil {
			return err
		}
		return parsed.Execute(w, numbered)
	}, nil
}

// exists says whether a document has a value, and not null, at the end of keys and indices.
func exists(item any, path ...any) bool {
	for _, step := range path {
		switch at := item.(type) {
		case map[string]any:
			key, isText := step.(string)
			value, ok := at[key]
			if !isText || !ok {
				return false
			}
			item = value
		case []any:
			i, isNumber := step.(int)
			if !isNumber || i < 0 || i >= len(at) {
				return false
			}
			item = at[i]
		default:
			return false
		}
	}
	return item != nil
}

func decodeBase64(text string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	return string(raw), err
}

// fromFile is the form and the template of -o; one in a file is read: kubectl's printers read files without a
// bound, and wait for pipes.
func (f *RowFlags) fromFile(ctx context.Context, format string) (form, text string, err error) {
	form, text, _ = strings.Cut(format, "=")
	if f.template != "" {
		text = f.template
	}
	inFile, ok := map[string]string{"go-template-file": "go-template", "templatefile": "template", "jsonpath-file": "jsonpath"}[form]
	if !ok || text == "" {
		return form, text, nil
	}
	raw, err := collect.ReadNamed(ctx, text, nil, maxColumns)
	return inFile, string(raw), err
}
