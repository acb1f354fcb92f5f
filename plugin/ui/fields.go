package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

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
