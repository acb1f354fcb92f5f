package collect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

const (
	// maxParsed bounds what is given to a parser at once: an object, or a list of
	// small ones. An API server takes 3 MiB, and etcd 1.5 MiB; as YAML that is more.
	maxParsed = 8 << 20
	// maxPieces bounds what is parsed by what it may consist of: the YAML parser takes
	// some 300 bytes of memory for each value, be it as short as "{}".
	maxPieces = 1_000_000
	// maxListPieces is what a list in YAML is parsed of at once; a longer one is read
	// item by item, so that its values are not in memory together.
	maxListPieces = 100_000
	// maxDocuments bounds the documents of a stream.
	maxDocuments = 100_000
	// maxBad is how many bad objects of a list are tried.
	maxBad = 1000
)

// parsable is an error for what is not given to a parser.
func parsable(text []byte) error {
	if len(text) > maxParsed {
		return fmt.Errorf("is %d MiB in one object, where API servers take 3: not read", len(text)>>20)
	}
	if n := pki.Pieces(text); n > maxPieces {
		return fmt.Errorf("is one object of %d lines and values, more than the %d that are parsed: not read", n, maxPieces)
	}
	return nil
}

// toJSON parses YAML, within bounds.
func toJSON(text []byte) ([]byte, error) {
	if err := parsable(text); err != nil {
		return nil, err
	}
	raw, err := pki.YAMLToJSON(text)
	if err != nil {
		return nil, errors.New(yamlReason(err.Error()))
	}
	return raw, nil
}

// yamlReason is what the parser's error says without what it quotes of the text: names of
// anchors, and whole values beside a key of a kind that JSON does not have.
func yamlReason(text string) string {
	if before, _, ok := strings.Cut(text, " anchor '"); ok {
		return before + " anchor"
	}
	for _, quote := range []string{"`", "\"", " of type: ", ": []interface", ": map["} {
		text, _, _ = strings.Cut(text, quote)
	}
	return strings.TrimSpace(text)
}

// documents are those of a YAML stream that say something.
type documents struct {
	rest []byte
	read int
}

// next returns the next one; io.EOF: there is none.
func (d *documents) next() ([]byte, error) {
	for len(d.rest) > 0 {
		doc := d.rest
		at := 0
		for at < len(doc) && !bytes.HasPrefix(doc[at:], []byte("---")) {
			at += lineEnd(doc[at:])
		}
		doc = doc[:at]
		end := lineEnd(d.rest[at:])
		mark := bytes.TrimSpace(bytes.TrimPrefix(d.rest[at:at+end], []byte("---")))
		d.rest = d.rest[at+end:]
		if len(mark) > 0 && mark[0] != '#' {
			return nil, errors.New("has a line that begins with --- and is no end of a YAML document")
		}
		if saysNothing(doc) {
			continue
		}
		if d.read++; d.read > maxDocuments {
			d.rest = nil
			return nil, fmt.Errorf("holds more than %d documents: the others were not read", maxDocuments)
		}
		return doc, nil
	}
	return nil, io.EOF
}

// saysNothing reports whether a document is of comments and empty lines only.
func saysNothing(doc []byte) bool {
	for len(doc) > 0 {
		end := lineEnd(doc)
		if line := bytes.TrimSpace(doc[:end]); len(line) > 0 && line[0] != '#' {
			return false
		}
		doc = doc[end:]
	}
	return true
}

// lineEnd is where the first line of a text ends.
func lineEnd(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// objectList is a list whose objects are parsed one by one: one that is too large
// to be parsed at once, or was cut off.
type objectList struct {
	apiVersion, kind string // that it implies for its items; empty: it does not say
	cut              bool   // its end is missing, and with it what items follows the last
	begun            bool   // what stands before the items is the beginning of an object
	items            iter.Seq2[[]byte, error]
}

// cutOffError is the error for what ends too early.
type cutOffError struct {
	list bool
	read int // objects before that
	bad  error
}

func (e *cutOffError) Error() string {
	if !e.list {
		return "its last line has no end, so it was cut off, as by a full disk: what stood behind it is unknown"
	}
	why := fmt.Sprintf("its list is cut off, as by a full disk: %s before that were read, the others are unknown", numbered(e.read, "whole object"))
	if e.bad != nil {
		why += "; " + e.bad.Error()
	}
	return why
}

// each passes on the objects of a list, and returns what was wrong with it.
func (l *objectList) each(object func(n int, raw []byte) error) error {
	n, bad := 0, 0
	var first error
	for raw, err := range l.items {
		if err == nil {
			err = object(n, raw)
		}
		if n++; err == nil {
			continue
		}
		if bad++; first == nil {
			first = err
		}
		if bad == maxBad {
			return fmt.Errorf("%d of its first %d objects can't be read, and the others were not tried: %w", bad, n, first)
		}
	}
	if bad > 0 {
		first = fmt.Errorf("%d of %s can't be read: %w", bad, numbered(n, "object"), first)
	}
	if l.cut {
		return &cutOffError{true, n - bad, first}
	}
	return first
}

// imply takes what a list says of itself. One that says no kind was cut off: it
// stands behind the items.
func (l *objectList) imply(raw []byte) {
	var h struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	err := json.Unmarshal(raw, &h)
	kind, ok := strings.CutSuffix(h.Kind, "List")
	if l.cut = l.cut || err != nil || !ok || h.APIVersion == ""; !l.cut {
		l.apiVersion, l.kind = h.APIVersion, kind
	}
}

// splitLong is splitYAML for a whole list that is too long to be parsed at once.
func splitLong(doc []byte) (*objectList, bool) {
	if len(doc) <= maxParsed && pki.Pieces(doc) <= maxListPieces {
		return nil, false
	}
	l, ok := splitYAML(doc)
	return l, ok && !l.cut
}

// splitYAML finds the items of a list by the lines they begin with, as oc and
// kubectl write them; false where there is no such list. Of one that was cut off,
// the last item is one only if something follows it.
func splitYAML(doc []byte) (*objectList, bool) {
	at := 0
	for !isItems(doc[at : at+lineEnd(doc[at:])]) {
		if at += lineEnd(doc[at:]); at == len(doc) {
			return nil, false
		}
	}
	head := doc[:at]
	body := doc[at+lineEnd(doc[at:]):]
	if begun := bytes.TrimSpace(body); len(begun) == 0 || string(begun) == "-" {
		return &objectList{cut: true, begun: isBegun(head), items: func(func([]byte, error) bool) {}}, true
	}
	indent := len(body) - len(bytes.TrimLeft(body, " "))
	if !beginsItem(body, indent) {
		return nil, false
	}
	at = 0
	for at < len(body) && (isInside(body[at]) || beginsItem(body[at:], indent)) {
		at += lineEnd(body[at:])
	}
	body, tail := body[:at], body[at:]
	l := &objectList{begun: isBegun(head)}
	if raw, err := toJSON(bytes.Join([][]byte{head, tail}, nil)); err == nil {
		l.imply(raw)
	} else {
		l.cut = true
	}
	l.items = func(yield func([]byte, error) bool) {
		for begin, end := 0, 0; begin < len(body); begin = end {
			for end += lineEnd(body[end:]); end < len(body) && !beginsItem(body[end:], indent); {
				end += lineEnd(body[end:])
			}
			if end == len(body) && len(tail) == 0 && l.cut {
				return
			}
			raw, err := toJSON(body[begin:end]) // a list of one
			if err == nil {
				raw = bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("[")), []byte("]"))
			}
			if !yield(raw, err) {
				return
			}
		}
	}
	return l, true
}

// isBegun reports whether a text in YAML begins as objects do.
func isBegun(text []byte) bool {
	for len(text) > 0 {
		end := lineEnd(text)
		line := bytes.TrimRight(text[:end], " \r\n")
		if len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return bytes.HasPrefix(line, []byte("apiVersion:")) || bytes.HasPrefix(line, []byte("kind:"))
		}
		text = text[end:]
	}
	return false
}

// unfinished is why a text is no object that begins as one; empty: it does not, or
// it is whole, such as a kubeconfig. What is left of one that was cut off is not all
// that there was.
func unfinished(text []byte) string {
	if at := jsonSpace(text, 0); at < len(text) && text[at] == '{' {
		if bytes.Contains(text, []byte(`"apiVersion"`)) && jsonEnd(text, at) < 0 {
			return "it has no end: it was cut off"
		}
		return ""
	}
	if !isBegun(text) {
		return ""
	}
	docs := documents{rest: text}
	doc, err := docs.next()
	if err != nil {
		return err.Error()
	}
	raw, err := toJSON(doc)
	if err != nil {
		return err.Error()
	}
	var o metav1.TypeMeta
	if json.Unmarshal(raw, &o) != nil || o.Kind == "" {
		return "it says no kind, so it was cut off or edited"
	}
	return ""
}

// isItems reports whether a line is the key of a list's items.
func isItems(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("items:"))
	return ok && len(bytes.TrimSpace(rest)) == 0
}

// beginsItem reports whether a text begins with an item of a list.
func beginsItem(text []byte, indent int) bool {
	text = text[:min(len(text), indent+2)]
	item := bytes.TrimLeft(text, " ")
	return len(text)-len(item) == indent && (bytes.HasPrefix(item, []byte("- ")) || bytes.HasPrefix(item, []byte("-\n")))
}

// isInside reports whether a line that begins so belongs to the item before it: it
// is indented, empty or a comment.
func isInside(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '#' }

// noObjectError is the error for a document that is no object.
type noObjectError string

func (e noObjectError) Error() string { return string(e) }

func noObject(err error) error {
	return noObjectError("holds no Kubernetes object: " + err.Error())
}

// isNull reports whether a document says nothing.
func isNull(raw []byte) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }
