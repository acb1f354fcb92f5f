package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// columns prints a row for each certificate, as kubectl's custom-columns does
// for each object. kubectl's own printer would bring its whole get command and
// with it a third of the program's size (docs/adr/0008).
type columns struct {
	rows    Rows
	headers []string // none with --no-headers
	paths   []*jsonpath.JSONPath
}

// maxColumns bounds a file of columns, in bytes.
const maxColumns = 1 << 20

// parseColumns reads "HEADER:path,HEADER:path"; with the name
// custom-columns-file, spec is a file with two lines, as for kubectl.
func parseColumns(ctx context.Context, name, spec string, noHeaders bool, rows Rows) (*columns, error) {
	var headers, paths []string
	switch name {
	case "custom-columns":
		for _, column := range strings.Split(spec, ",") {
			header, path, ok := strings.Cut(column, ":")
			if !ok || header == "" || path == "" {
				return nil, fmt.Errorf("column %q is no HEADER:path, such as %s:.%s", column, strings.ToUpper(rows.Fields[0]), rows.Fields[0])
			}
			headers, paths = append(headers, header), append(paths, path)
		}
	case "custom-columns-file":
		raw, err := collect.ReadNamed(ctx, spec, nil, maxColumns)
		if err != nil {
			return nil, err
		}
		first, second, _ := strings.Cut(strings.TrimSpace(string(raw)), "\n")
		headers, paths = strings.Fields(first), strings.Fields(second)
		if len(headers) == 0 || len(headers) != len(paths) {
			return nil, fmt.Errorf("file %s wants a line of headers and a line of as many paths", spec)
		}
	default:
		return nil, errors.New("is none of custom-columns=, custom-columns-file=")
	}
	c := &columns{rows: rows, headers: headers}
	if noHeaders {
		c.headers = nil
	}
	for i, p := range paths {
		parsed, err := fieldPath(p, rows)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", headers[i], err)
		}
		c.paths = append(c.paths, parsed)
	}
	return c, nil
}

func (c *columns) print(w io.Writer, inv *report.Inventory, _ assess.Severity) error {
	return c.printRows(w, len(inv.Certificates), func(i int) (map[string]any, error) { return asUnstructured(inv.Certificates[i]) })
}

// printDocument prints the list of a document.
func (c *columns) printDocument(w io.Writer, document any) error {
	doc, err := asUnstructured(document)
	if err != nil {
		return err
	}
	rows, _ := doc[c.rows.Key].([]any)
	return c.printRows(w, len(rows), func(i int) (map[string]any, error) {
		row, _ := rows[i].(map[string]any)
		return row, nil
	})
}

func (c *columns) printRows(w io.Writer, n int, row func(int) (map[string]any, error)) error {
	t := printers.GetNewTabWriter(w)
	if len(c.headers) > 0 {
		if _, err := fmt.Fprintln(t, strings.Join(c.headers, "\t")); err != nil {
			return err
		}
	}
	for i := range n {
		doc, err := row(i)
		if err != nil {
			return err
		}
		cells := make([]string, len(c.paths))
		for j, p := range c.paths {
			if cells[j], err = cell(p, doc); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(t, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// noCell stands where a path leads nowhere, as kubectl writes it.
const noCell = "<none>"

// cell is what a path leads to, else noCell.
func cell(p *jsonpath.JSONPath, doc map[string]any) (string, error) {
	found, err := p.FindResults(doc)
	if err != nil {
		return "", err
	}
	var values []string
	for _, list := range found {
		for _, v := range list {
			values = append(values, Clean(fmt.Sprint(v.Interface())))
		}
	}
	if len(values) == 0 {
		return noCell, nil
	}
	return strings.Join(values, ","), nil
}

// FieldPath reads a path to a field of a certificate.
func FieldPath(typed string) (*jsonpath.JSONPath, error) { return fieldPath(typed, certificateRows()) }

// fieldPath reads a path to a field of a row as kubectl takes them, with or without the leading
// dot and the braces: ".notAfter", "{.locations[0]}". The field it begins with must be one that
// rows have: a mistyped one would be empty everywhere.
func fieldPath(typed string, rows Rows) (*jsonpath.JSONPath, error) {
	text := strings.TrimPrefix(strings.Trim(typed, "{}"), ".")
	first := text
	if i := strings.IndexAny(text, ".[ "); i >= 0 {
		first = text[:i]
	}
	if first != "" && !slices.Contains(rows.Fields, first) {
		return nil, fmt.Errorf("%s have no field %q; they have %s", rows.Key, first, strings.Join(rows.Fields, ", "))
	}
	if text == "" {
		return nil, fmt.Errorf("no field is named, such as .%s", rows.Fields[0])
	}
	path := jsonpath.New("field").AllowMissingKeys(true)
	return path, path.Parse("{." + text + "}")
}

// CompleteFields completes names of fields.
func CompleteFields(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, field := range report.CertificateFields() {
		out = append(out, "."+field)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// Order of certificates by one of their fields. Those without it come last.
type Order struct{ Path *jsonpath.JSONPath }

// Sort puts certs in order; those that are alike keep theirs.
func (o *Order) Sort(certs []report.Cert) error {
	type keyed struct {
		report.Cert
		key string
	}
	all := make([]keyed, len(certs))
	for i, c := range certs {
		doc, err := asUnstructured(c)
		if err != nil {
			return err
		}
		key, err := cell(o.Path, doc)
		if err != nil {
			return err
		}
		all[i] = keyed{c, key}
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return compareCells(a.key, b.key) })
	for i := range all {
		certs[i] = all[i].Cert
	}
	return nil
}

// compareCells compares what cell returns, as text: dates of one form are in
// order, too.
func compareCells(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == noCell:
		return 1
	case b == noCell:
		return -1
	}
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
}
