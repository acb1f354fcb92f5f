package kubeconfig

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// plain refuses what is not text, or holds what some parsers take for a line
// break and others don't.
func plain(text []byte) error {
	if len(text) > maxSize {
		return refuse(reasonTooLarge, "the file has more than %d bytes: that is no kubeconfig that a program wrote, so look at it on the node", maxSize)
	}
	if !utf8.Valid(text) || bytes.HasPrefix(text, []byte("\ufeff")) {
		return refuse(reasonNotText, "the file is not UTF-8, or starts with a byte order mark: save it as UTF-8 without one")
	}
	if bytes.Contains(bytes.ReplaceAll(text, []byte("\r\n"), nil), []byte("\r")) || bytes.ContainsFunc(text, odd) {
		return refuse(reasonNotText, "the file has control characters in it: remove them")
	}
	return nil
}

func odd(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// parse returns the mapping that the text is.
func parse(text []byte) (*yaml.Node, error) {
	documents := pki.NewYAML(text)
	document, err := documents.Next()
	if errors.Is(err, io.EOF) {
		return nil, refuse(reasonNotYAML, "the file is empty: it is no kubeconfig")
	}
	if err != nil {
		return nil, refuse(reasonNotYAML, "the file is neither YAML nor JSON (%s): correct it", Brief(err))
	}
	if _, err := documents.Next(); !errors.Is(err, io.EOF) {
		return nil, refuse(reasonManyDocuments, "the file has more after its first YAML document, which client-go ignores: remove that")
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, refuse(reasonNotYAML, "the file is not a mapping of keys to values: it is no kubeconfig")
	}
	if err := direct(document.Content[0]); err != nil {
		return nil, err
	}
	return document, nil
}

// guard turns a panic of a parser, which are known to have had some, into an error:
// files come from anywhere.
func guard(read func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the parser gave up")
		}
	}()
	return read()
}

// direct refuses documents in which something may be another thing than what
// stands there. It looks everywhere, as an alias reaches everywhere.
func direct(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return refuse(reasonIndirect, "line %d has an anchor, an alias or a tag: write out what is meant", n.Line)
	}
	if n.Kind == yaml.MappingNode {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Value == "<<" {
				return refuse(reasonIndirect, "line %d has a merge key, or a key that is no word: write out what is meant", key.Line)
			}
			// Some readers of JSON don't tell large letters from small ones. Keys
			// that were overwritten look alike, and are others.
			name := strings.ToLower(key.Value)
			if seen[name] && !masked(key.Value) {
				return refuse(reasonTwice, "line %d has the key %.60q for the second time: remove one", key.Line, key.Value)
			}
			seen[name] = true
		}
	}
	for _, child := range n.Content {
		if err := direct(child); err != nil {
			return err
		}
	}
	return nil
}

// child returns the value of a key; nil if there is none, or no mapping.
func child(n *yaml.Node, key string) *yaml.Node {
	if n != nil && n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// scalar returns the text of a scalar, "" for null.
func scalar(n *yaml.Node) (text string, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode {
		return "", false
	}
	if n.Tag == "!!null" {
		return "", true
	}
	return n.Value, true
}

// position returns the offset of a line and a column, both counted from 1, the
// column in characters.
func position(text []byte, line, column int) (offset int, ok bool) {
	for ; line > 1; line-- {
		end := bytes.IndexByte(text[offset:], '\n')
		if end < 0 {
			return 0, false
		}
		offset += end + 1
	}
	for ; column > 1; column-- {
		_, size := utf8.DecodeRune(text[offset:])
		if size == 0 {
			return 0, false
		}
		offset += size
	}
	return offset, line == 1 && column == 1
}

// same compares two trees, comments and styles included. Where the first one has
// the node except, the second one must have the same node with this value.
func same(a, b, except *yaml.Node, value string) bool {
	want := a.Value
	if a == except {
		want = value
	}
	if a.Kind != b.Kind || a.Style != b.Style || a.Tag != b.Tag || b.Value != want || a.Line != b.Line || b.Anchor != "" || b.Alias != nil ||
		a.HeadComment != b.HeadComment || a.LineComment != b.LineComment || a.FootComment != b.FootComment || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i], except, value) {
			return false
		}
	}
	return true
}
