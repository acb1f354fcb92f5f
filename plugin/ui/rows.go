package ui

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

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
	NoHeaders bool
	template  *genericclioptions.KubeTemplatePrintFlags
}

// TemplateForms are the forms of RowFlags, as help and errors name them.
const TemplateForms = "jsonpath=, go-template=, custom-columns="

// OutputUsage is the help text of -o for a list that has own forms besides.
func OutputUsage(what, own string) string {
	return "Form of " + what + ": " + own + ", " + TemplateForms + " (and the -file variants of the last three)."
}

// AddFlags adds what goes with those forms; -o is the command's.
func (f *RowFlags) AddFlags(cmd *cobra.Command, own ...string) {
	f.template = genericclioptions.NewKubeTemplatePrintFlags()
	f.template.AddFlags(cmd)
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
	read, err := f.fromFile(ctx, format)
	if err != nil {
		return nil, fmt.Errorf("-o %s: %w", format, err)
	}
	templated, err := f.template.ToPrinter(read)
	if genericclioptions.IsNoCompatiblePrinterError(err) {
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
		return templated.PrintObj(&unstructured.Unstructured{Object: doc}, w)
	}, nil
}

// fromFile is a form whose template is in a file, with that template: kubectl's printers read files without a
// bound, and wait for pipes.
func (f *RowFlags) fromFile(ctx context.Context, format string) (string, error) {
	name, file, _ := strings.Cut(format, "=")
	form, ok := map[string]string{"go-template-file": "go-template", "templatefile": "template", "jsonpath-file": "jsonpath"}[name]
	argument := f.template.TemplateArgument
	if !ok || file == "" && *argument == "" {
		return format, nil
	}
	if file == "" {
		file, *argument = *argument, "" // it is read: the form holds it
	}
	raw, err := collect.ReadNamed(ctx, file, nil, maxColumns)
	return form + "=" + string(raw), err
}
