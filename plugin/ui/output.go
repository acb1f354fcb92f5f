package ui

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/smallstep/certinfo"
	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// OutputFlags choose the form of the answer.
type OutputFlags struct {
	format  string
	All     bool
	details bool
	verbose bool
	rows    RowFlags
}

// Printer writes an inventory in one form.
type Printer struct {
	// minSeverity is the one below which the form leaves findings out, unless
	// the user says otherwise.
	MinSeverity assess.Severity
	// Names: it prints what has certificates. Where the user says a severity, what findings of it are about.
	Names bool
	Print func(w io.Writer, inv *report.Inventory, atLeast assess.Severity) error
}

// AddFlags adds -o and what goes with it.
func (f *OutputFlags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.format, "output", "o", "", OutputUsage("the output", strings.Join(inspectForms(), ", ")))
	cmd.Flags().BoolVar(&f.details, "details", false, "Print each finding in full, with its places and its evidence.")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "Also print what was read.")
	cmd.Flags().BoolVar(&f.All, "all", false, "Also list every certificate, not only problems and what expires soon.")
	f.rows.AddFlags(cmd, inspectForms()...)
}

// inspectForms are the forms that only certificates have.
func inspectForms() []string { return []string{"wide", "json", "yaml", "name", "text", "pem"} }

// Asked is what an answer for people is about.
type Asked struct {
	Within time.Duration // what expires within this time is listed
	// Nodes: they are what was asked for. NoNodes: nothing of them was.
	Nodes, NoNodes bool
	Requests       bool // they alone were asked for
	Named          bool // objects were asked for by name
	Listed         bool // the user says from which severity on problems are listed: none is only counted
	// Filter is what was typed that leaves something out; empty: nothing.
	Filter string
}

// ToPrinter is the printer for -o.
func (f *OutputFlags) ToPrinter(ctx context.Context, hints inspect.Hints, asked Asked) (Printer, error) {
	switch f.format {
	case "", "wide":
		people := HumanPrinter{Hints: hints, wide: f.format == "wide", details: f.details, verbose: f.verbose, all: f.All, noHeaders: f.rows.NoHeaders, Asked: asked}
		return Printer{assess.Warning, false, people.print}, nil
	case "json":
		return Printer{assess.Info, false, printJSON}, nil
	case "yaml":
		return Printer{assess.Info, false, func(w io.Writer, inv *report.Inventory, atLeast assess.Severity) error {
			return PrintDocument(w, f.format, inv.AtLeast(atLeast))
		}}, nil
	case "name":
		return Printer{assess.Info, true, printNames}, nil
	case "text":
		return Printer{assess.Info, false, printText}, nil
	case "pem":
		return Printer{assess.Info, false, printPEM}, nil
	}
	if name, spec, ok := strings.Cut(f.format, "="); ok && strings.HasPrefix(name, "custom-columns") { // a row at a time
		columns, err := parseColumns(ctx, name, spec, f.rows.NoHeaders, certificateRows())
		if err != nil {
			return Printer{}, fmt.Errorf("-o %s: %w", f.format, err)
		}
		return Printer{assess.Info, false, columns.print}, nil
	}
	templated, err := f.rows.ToPrinter(ctx, f.format, certificateRows(), inspectForms()...)
	return Printer{assess.Info, false, func(w io.Writer, inv *report.Inventory, atLeast assess.Severity) error {
		return templated(w, inv.AtLeast(atLeast))
	}}, err
}

func asUnstructured(v any) (map[string]any, error) {
	raw, err := json.Marshal(wholeSeconds(v))
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	return doc, json.Unmarshal(raw, &doc)
}

// onOneLine writes control characters in all texts of a document as escapes: what a
// template prints is lines, which no text of a cluster's may add to.
func onOneLine(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case []any:
		for i := range v {
			v[i] = onOneLine(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = onOneLine(v[k])
		}
	}
	return v
}

// printJSON writes the document as json.MarshalIndent would, one element of its
// lists at a time: an inventory of a large cluster is many megabytes.
func printJSON(out io.Writer, inv *report.Inventory, atLeast assess.Severity) error {
	const indent = "    " // as kubectl's
	w := bufio.NewWriter(out)
	doc := reflect.ValueOf(inv.AtLeast(atLeast)).Elem()
	element := func(v reflect.Value, depth int) error {
		raw, err := json.MarshalIndent(wholeSeconds(v.Interface()), strings.Repeat(indent, depth), indent)
		if err == nil {
			_, err = w.Write(asciiControls(raw))
		}
		return err
	}
	Printf(w, "{")
	for i := range doc.NumField() {
		if !doc.Type().Field(i).IsExported() {
			continue // they are the last ones
		}
		name, _, _ := strings.Cut(doc.Type().Field(i).Tag.Get("json"), ",")
		Printf(w, "%s\n%s%q: ", comma(i), indent, name)
		v := doc.Field(i)
		if v.Kind() != reflect.Slice || v.Len() == 0 {
			if err := element(v, 1); err != nil {
				return err
			}
			continue
		}
		Printf(w, "[")
		for j := range v.Len() {
			Printf(w, "%s\n%s", comma(j), indent+indent)
			if err := element(v.Index(j), 2); err != nil {
				return err
			}
		}
		Printf(w, "\n%s]", indent)
	}
	Printf(w, "\n}\n")
	return w.Flush()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// printText prints each certificate as openssl x509 -text does. One that can't be written
// so is named, with the reason, and stops no other.
func printText(w io.Writer, inv *report.Inventory, _ assess.Severity) error {
	for i := range inv.Certificates {
		c := &inv.Certificates[i]
		parsed, err := c.X509()
		if err != nil {
			return err
		}
		comment(w, "sha256 "+c.Fingerprint.String(), 0, TerminalWidth(w))
		for _, at := range inspect.Fold(c.Locations()) {
			comment(w, at, 0, TerminalWidth(w))
		}
		text, err := certificateText(parsed.Raw)
		if err != nil {
			comment(w, fmt.Sprintf("write %s as text: %s", pki.Quoted(c.Subject), err), 0, TerminalWidth(w))
			text = "# read it with -o json\n"
		}
		if _, err := fmt.Fprintln(w, hung(CleanLines(text), TerminalWidth(w))); err != nil {
			return err
		}
	}
	return nil
}

// hung breaks the lines of a text in rows of a terminal, which would begin them with what a name in it
// says; 0: it is none.
func hung(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(text, "\t", "    ")) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		begin := strings.Repeat(" ", min(indent, width/2)) + "  …" // no line of its own begins so
		column := 0
		for _, r := range line {
			n := columnsOf(r)
			if r != '\n' && column > 0 && column+n > width {
				out.WriteString("\n" + begin)
				column = columnsIn(begin)
			}
			out.WriteRune(r)
			column += n
		}
	}
	return out.String()
}

// certificateText is a certificate as text. certinfo panics at some malformed extensions,
// and prints line feeds of names as they are.
func certificateText(der []byte) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("an extension is malformed: %v", p)
		}
	}()
	parsed, err := x509.ParseCertificate(pki.OneLineStrings(der))
	if err != nil {
		return "", foreign.Error(err)
	}
	text, err = certinfo.CertificateText(parsed)
	return text, foreign.Error(err)
}

// printNames prints each object that holds a certificate once, as kubectl does and takes it:
// secret/NAME, without its namespace. A file on a node is its node's; one of this machine is
// in no object.
func printNames(w io.Writer, inv *report.Inventory, _ assess.Severity) error {
	type object struct {
		kind            pki.Kind
		namespace, name string
	}
	seen := map[object]bool{}
	for places := range inv.Places() {
		for _, at := range places {
			name, ok := collect.ObjectName(at)
			o := object{at.Kind, at.Namespace, name}
			if !ok || seen[o] {
				continue
			}
			seen[o] = true
			if _, err := fmt.Fprintln(w, pki.Foreign(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// printPEM prints each certificate as PEM, behind comments that say what it is: openssl and every
// reader of PEM passes over them.
func printPEM(w io.Writer, inv *report.Inventory, _ assess.Severity) error {
	for i := range inv.Certificates {
		c := &inv.Certificates[i]
		pemComment(w, pki.Foreign(c.Subject))
		pemComment(w, "sha256 "+c.Fingerprint.String())
		pemComment(w, "valid from "+c.NotBefore.UTC().Format(time.RFC3339)+" until "+c.NotAfter.UTC().Format(time.RFC3339))
		for _, at := range inspect.Fold(c.Locations()) {
			pemComment(w, at)
		}
		if _, err := w.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER})); err != nil {
			return err
		}
	}
	return nil
}

// pemLine is how long a comment between PEM blocks may be, in bytes: OpenSSL takes each 254 bytes
// for a line, wherever they stand.
const pemLine = 160

// pemComment writes a text that no reader of PEM takes for the beginning of a block, or its end.
func pemComment(w io.Writer, s string) {
	comment(w, strings.ReplaceAll(Clean(s), "--", `-\x2d`), pemLine, TerminalWidth(w))
}

// comment writes a text in lines of so many bytes, and in rows of a terminal, which would begin them
// with the text; 0: any.
func comment(w io.Writer, s string, most, width int) {
	const begin, hung = "# ", "#     " // no line of its own begins so
	line, column := begin, len(begin)
	for _, r := range s {
		n := columnsOf(r)
		if most > 0 && len(line) > most || width > 2*len(hung) && column+n > width {
			Printf(w, "%s\n", line)
			line, column = hung, len(hung)
		}
		line, column = line+string(r), column+n
	}
	Printf(w, "%s\n", line)
}
