package ui

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// PrintDocument prints what a program reads, as "json" or "yaml". Times are whole
// seconds of UTC, in all documents: jq's fromdate and others read no fractions.
func PrintDocument(out io.Writer, format string, d any) error {
	raw, err := json.MarshalIndent(wholeSeconds(d), "", "    ") // as kubectl's
	if err == nil && format == "yaml" {
		raw, err = asYAML(raw)
	}
	if err != nil {
		return err
	}
	if format != "yaml" {
		raw = asciiControls(raw)
	}
	_, err = fmt.Fprintf(out, "%s\n", bytes.TrimSpace(raw))
	return err
}

// asciiControls writes what does not print in JSON's strings as \u escapes: JSON escapes
// the first 32 characters alone. Decoded, the document is the same.
func asciiControls(raw []byte) []byte {
	if bytes.IndexFunc(raw, hidden) < 0 {
		return raw
	}
	var out bytes.Buffer
	for _, r := range string(raw) {
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// hidden reports whether a character does something else than print, or is written as an escape
// by the screen, whose escapes are not JSON's; JSON's own line
// feeds do not count.
func hidden(r rune) bool { return r != '\n' && r != utf8.RuneError && !foreign.Prints(string(r)) }

// asYAML writes JSON as YAML. Its reader refuses some control characters, and its writer
// prints others as they are: a string that holds one is written between double quotes, on
// one line, with escapes; a mark stands in for it until the rest is written. The mark is
// random: no text of a cluster's holds it.
func asYAML(raw []byte) ([]byte, error) {
	mark := rand.Text()
	var quoted []string
	var plain bytes.Buffer
	for len(raw) > 0 {
		from := bytes.IndexByte(raw, '"')
		if from < 0 {
			plain.Write(raw)
			break
		}
		to := from + 1
		for raw[to] != '"' {
			if raw[to] == '\\' {
				to++
			}
			to++
		}
		plain.Write(raw[:from])
		literal := raw[from : to+1]
		raw = raw[to+1:]
		var s string
		if err := json.Unmarshal(literal, &s); err != nil {
			return nil, err
		}
		if breaks(s) {
			literal = fmt.Appendf(nil, `"%s.%d."`, mark, len(quoted))
			quoted = append(quoted, yamlQuoted(s))
		}
		plain.Write(literal)
	}
	out, err := yaml.JSONToYAML(plain.Bytes())
	if err != nil {
		return nil, err
	}
	return unmarked(out, mark+".", quoted)
}

// unmarked is a document with its strings in the places of their marks. The document is
// read and written once, however many there are: any tenant adds some.
func unmarked(marked []byte, mark string, quoted []string) ([]byte, error) {
	var out bytes.Buffer
	for {
		before, after, found := bytes.Cut(marked, []byte(mark))
		out.Write(before)
		if !found {
			return out.Bytes(), nil
		}
		number, rest, _ := bytes.Cut(after, []byte("."))
		i, err := strconv.Atoi(string(number))
		if err != nil || i < 0 || i >= len(quoted) {
			return nil, fmt.Errorf("write yaml: mark %.20q stands for no string; read it with -o json", number)
		}
		out.WriteString(quoted[i])
		marked = rest
	}
}

// breaks reports whether YAML's writer would put a string on several lines, or could not
// write it: then a text of the cluster's chooses what a line begins with.
func breaks(s string) bool {
	return strings.IndexFunc(s, hidden) >= 0 || strings.ContainsAny(s, "\n“\\") || len(s) > 60 && strings.Contains(s, " ")
}

// yamlQuoted is a string between double quotes, all in ASCII where it does not print.
func yamlQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case hidden(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// wholeSeconds is a document with its times cut to seconds. The document itself, which
// may share times with the facts that it is made from, stays as it is.
func wholeSeconds(d any) any {
	v := reflect.ValueOf(d)
	if !v.IsValid() {
		return d
	}
	return cutTimes(v).Interface()
}

func cutTimes(v reflect.Value) reflect.Value {
	if !hasTimes(v.Type(), map[reflect.Type]bool{}) {
		return v
	}
	if t, ok := v.Interface().(time.Time); ok {
		return reflect.ValueOf(pki.WritableTime(t).Truncate(time.Second))
	}
	switch v.Kind() {
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(cutTimes(v.Field(i)))
			}
		}
		return out
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(cutTimes(v.Elem()))
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(cutTimes(v.Index(i)))
		}
		return out
	}
	return v
}

// hasTimes reports whether values of a type hold times. A type that writes itself
// cuts its own.
func hasTimes(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == reflect.TypeFor[time.Time]() {
		return true
	}
	if t.Kind() == reflect.Pointer {
		return hasTimes(t.Elem(), seen)
	}
	if seen[t] || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Slice:
		return hasTimes(t.Elem(), seen)
	case reflect.Struct:
		for field := range t.Fields() {
			if field.IsExported() && hasTimes(field.Type, seen) {
				return true
			}
		}
	}
	return false
}

type (
	// JunitDocument is the document in which CI systems read the outcome of tests.
	JunitDocument struct {
		XMLName struct{}     `xml:"testsuites"`
		Suites  []JunitSuite `xml:"testsuite"`
	}
	// JunitSuite is a suite of it.
	JunitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []JunitCase `xml:"testcase"`
	}
	// JunitCase is a case of a suite.
	JunitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
	}
)

// Fail makes the case one that failed, and skip one of which nothing is known.
func (c *JunitCase) Fail(why string) { c.Failure = &junitMessage{Clean(why)} }

// Skip marks a case as not decided.
func (c *JunitCase) Skip(why string) { c.Skipped = &junitMessage{Clean(why)} }

// Add counts a case.
func (s *JunitSuite) Add(c JunitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// Write writes the document.
func (d *JunitDocument) Write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(d); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
