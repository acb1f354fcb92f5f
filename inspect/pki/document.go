package pki

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxNesting limits maps in maps; what lies deeper is read as text.
	maxNesting = 100
	// maxDocuments limits the documents of one stream.
	maxDocuments = 1000
	// maxYAML limits what is given to the YAML parser, which is slow and
	// hungry. Objects of a cluster are smaller. Beyond it, a value is text.
	maxYAML = 2 << 20
	// minScalar is the shortest string that is looked at.
	minScalar = 20
)

// document reads a JSON or YAML document, or a stream of them. It reports
// false if the value is none.
func (w *walk) document(data []byte, at place) bool {
	ok, first := w.structured(data, at)
	if ok {
		w.refusals(data, first, at)
	}
	return ok
}

// structured returns the first document of a YAML stream, too.
func (w *walk) structured(data []byte, at place) (ok bool, first *yaml.Node) {
	if !isJSONish(data) {
		return w.yaml(data, at)
	}
	if w.json(data, at) {
		return true, nil
	}
	// It only starts like JSON: what was found in it is found again.
	w.results = &results{}
	if w.over(at) {
		return true, nil
	}
	return w.yaml(data, at)
}

func isJSONish(data []byte) bool {
	data = bytes.TrimLeft(data, "\ufeff \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// isYAMLish looks at the first line that says something: YAML worth parsing
// starts with a key or a list.
func isYAMLish(data []byte) bool {
	if len(data) > maxYAML || bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		switch {
		case len(line) == 0, line[0] == '#', line[0] == '%', string(line) == "---":
			continue
		case bytes.HasPrefix(line, []byte(dashes)):
			return false
		case line[0] == '{', line[0] == '[', line[0] == '-', line[0] == '?':
			return true
		}
		return bytes.Contains(line, []byte(": ")) || bytes.HasSuffix(line, []byte(":"))
	}
	return false
}

// scalar reads a string of a document.
func (w *walk) scalar(text string, path *path, at place) {
	if len(text) < minScalar {
		return
	}
	data := []byte(text)
	defer clear(data)
	if mayHold(data) {
		w.value(data, place{field: path.join(at.field), depth: at.depth + 1, inDocument: true})
	}
}

// path leads to a scalar of a document. It becomes a string only where
// something is found.
type path struct {
	document int // 1-based
	steps    []step
}

// step is an index, or if that is negative, a key and which of the map's keys it is.
type step struct {
	key   string
	index int
	nth   int
}

// join writes the path, for a document that is itself at a field. The second
// and further documents of a stream start with their number: (2).data. A key that
// does not read like a name is written as its index: [key:3].
func (p *path) join(field string) string {
	var b strings.Builder
	if p.document > 1 {
		fmt.Fprintf(&b, "(%d)", p.document)
	}
	for _, s := range p.steps {
		switch {
		case s.index >= 0:
			fmt.Fprintf(&b, "[%d]", s.index)
		case !PlainKey(s.key):
			b.WriteString("[" + KeyIndex(s.nth) + "]")
		case !isWord(s.key):
			b.WriteString("[" + strconv.Quote(s.key) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		}
	}
	if field == "" {
		return b.String()
	}
	return field + "#" + b.String()
}

func isWord(s string) bool {
	for _, c := range []byte(s) {
		if !isBase64(c) && c != '-' && c != '_' || c == '+' || c == '/' {
			return false
		}
	}
	return s != ""
}

// json reads a stream of JSON documents, up to where it breaks. It reports
// whether there was at least one whole map or list.
func (w *walk) json(data []byte, at place) (found bool) {
	d := json.NewDecoder(&untilOver{bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))), w.scanner.Over})
	d.UseNumber()
	p := &path{document: 1}
	for p.document <= maxDocuments {
		token, err := d.Token()
		if err != nil {
			break
		}
		if open, ok := token.(json.Delim); ok {
			if err := w.jsonTree(d, open, p, at); err != nil {
				break
			}
			found = true
		}
		p.document++
	}
	return found
}

// jsonTree reads the map or list that was just opened, without recursion.
func (w *walk) jsonTree(d *json.Decoder, open json.Delim, p *path, at place) error {
	p.steps = append(p.steps[:0], firstStep(open))
	wantKey := open == '{'
	for len(p.steps) > 0 {
		token, err := d.Token()
		if err != nil {
			return err
		}
		top := &p.steps[len(p.steps)-1]
		switch t := token.(type) {
		case json.Delim:
			if t == '}' || t == ']' {
				p.steps = p.steps[:len(p.steps)-1]
				break
			}
			if len(p.steps) == maxNesting {
				return errTooDeep
			}
			top.enter()
			p.steps = append(p.steps, firstStep(t))
			wantKey = t == '{'
			continue
		case string:
			if wantKey {
				top.key, wantKey = t, false
				top.nth++
				continue
			}
			top.enter()
			w.scalar(t, p, at)
		default:
			top.enter()
		}
		if n := len(p.steps); n > 0 {
			wantKey = p.steps[n-1].index < 0
		}
	}
	return nil
}

const errTooDeep = errKey("nested too deeply")

// firstStep is the step before the first element of a map or list.
func firstStep(open json.Delim) step {
	if open == '{' {
		return step{index: -1, nth: -1}
	}
	return step{index: 0, key: "before"}
}

// enter moves a step of a list to its next element.
func (s *step) enter() {
	if s.index >= 0 {
		if s.key == "before" {
			s.key = ""
		} else {
			s.index++
		}
	}
}

// yaml reads a stream of YAML documents. It reports whether at least one of
// them is a map or a list, and returns the first.
func (w *walk) yaml(data []byte, at place) (found bool, first *yaml.Node) {
	if !isYAMLish(data) {
		return false, nil
	}
	if directives(data) > maxDirectives {
		w.stop(at, errDirectives.Error()+": what it holds was looked for in its text")
		return true, nil
	}
	if err := w.payYAML(len(data)); err != nil {
		w.stop(at, err.Error()+": what it holds was looked for in its text")
		return true, nil
	}
	documents := newYAML(data, w.scanner.Over)
	p := &path{}
	for p.document < maxDocuments {
		node, err := documents.Next()
		if err != nil {
			break
		}
		if p.document++; p.document == 1 {
			first = node
		}
		if len(node.Content) == 1 && node.Content[0].Kind != yaml.ScalarNode {
			found = true
			w.yamlTree(node.Content[0], p, at)
		}
	}
	return w.over(at) || found, first
}

// yamlTree visits the scalars of a node. Aliases are not followed: what they
// stand for is read where it stands, once.
func (w *walk) yamlTree(node *yaml.Node, p *path, at place) {
	if len(p.steps) == maxNesting {
		return
	}
	switch node.Kind {
	case yaml.ScalarNode:
		w.scalar(node.Value, p, at)
	case yaml.SequenceNode:
		for i, child := range node.Content {
			p.steps = append(p.steps, step{index: i})
			w.yamlTree(child, p, at)
			p.steps = p.steps[:len(p.steps)-1]
		}
	case yaml.MappingNode:
		for i := 1; i < len(node.Content); i += 2 {
			p.steps = append(p.steps, step{key: node.Content[i-1].Value, index: -1, nth: i / 2})
			w.yamlTree(node.Content[i], p, at)
			p.steps = p.steps[:len(p.steps)-1]
		}
	}
}
