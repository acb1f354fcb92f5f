package pki

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
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
	if !w.structured(data, at) {
		return false
	}
	w.refusals(data, at)
	return true
}

func (w *walk) structured(data []byte, at place) bool {
	if !isJSONish(data) {
		return isYAMLish(data) && w.yaml(data, at)
	}
	if w.json(data, at) {
		return true
	}
	// It only starts like JSON: what was found in it is found again.
	w.results = &results{}
	return isYAMLish(data) && w.yaml(data, at)
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
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
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
// them is a map or a list.
func (w *walk) yaml(data []byte, at place) (found bool) {
	d := yamlv3.NewDecoder(bytes.NewReader(data))
	p := &path{}
	for p.document < maxDocuments {
		var node yamlv3.Node
		if err := decodeYAML(d, &node); err != nil {
			break
		}
		p.document++
		if len(node.Content) == 1 && node.Content[0].Kind != yamlv3.ScalarNode {
			found = true
			w.yamlTree(node.Content[0], p, at)
		}
	}
	return found
}

// decodeYAML turns a panic of the parser, which is known to have had some, into
// an error: values come from anywhere.
func decodeYAML(d *yamlv3.Decoder, node *yamlv3.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errKey("the YAML parser gave up")
		}
	}()
	return d.Decode(node)
}

// yamlTree visits the scalars of a node. Aliases are not followed: what they
// stand for is read where it stands, once.
func (w *walk) yamlTree(node *yamlv3.Node, p *path, at place) {
	if len(p.steps) == maxNesting {
		return
	}
	switch node.Kind {
	case yamlv3.ScalarNode:
		w.scalar(node.Value, p, at)
	case yamlv3.SequenceNode:
		for i, child := range node.Content {
			p.steps = append(p.steps, step{index: i})
			w.yamlTree(child, p, at)
			p.steps = p.steps[:len(p.steps)-1]
		}
	case yamlv3.MappingNode:
		for i := 1; i < len(node.Content); i += 2 {
			p.steps = append(p.steps, step{key: node.Content[i-1].Value, index: -1, nth: i / 2})
			w.yamlTree(node.Content[i], p, at)
			p.steps = p.steps[:len(p.steps)-1]
		}
	}
}

// maxAliased is how many bytes of text the aliases of a YAML document may stand for. In JSON each
// is written out, and a few hundred kilobytes become gigabytes: the parser bounds how many there
// are, and not how long. API servers take objects of 3 MiB.
const maxAliased = 8 << 20

// maxAliasedKubeconfig is the same for a kubeconfig: a value may hold hundreds of them.
const maxAliasedKubeconfig = 256 << 10

var errAliased = errors.New("its aliases stand for too much text")

// YAMLToJSON is that of sigs.k8s.io/yaml, within bounds.
func YAMLToJSON(text []byte) ([]byte, error) { return yamlToJSON(text, maxAliased) }

func yamlToJSON(text []byte, most int) ([]byte, error) {
	if mayAlias(text) {
		var root yamlv3.Node
		if err := decodeYAML(yamlv3.NewDecoder(bytes.NewReader(text)), &root); err != nil {
			return nil, err
		}
		if aliased(&root, map[*yamlv3.Node]int{}, 0) > most {
			return nil, errAliased
		}
	}
	return yaml.YAMLToJSON(text)
}

// mayAlias reports whether there may be an anchor and an alias, &name and *name, where a value
// begins. Most texts have none, and are not parsed for it; in UTF-16 that is not seen.
func mayAlias(text []byte) bool {
	return bytes.IndexByte(text, 0) >= 0 || marks(text, '&') && marks(text, '*')
}

func marks(text []byte, mark byte) bool {
	for at := 0; ; at++ {
		i := bytes.IndexByte(text[at:], mark)
		if i < 0 || at+i+1 == len(text) {
			return false
		}
		at += i
		begins := at == 0 || text[at-1] >= 0x80 || bytes.IndexByte([]byte(" \t\r\n[{,:?-"), text[at-1]) >= 0
		if next := text[at+1]; begins && next > ' ' && next != mark {
			return true
		}
	}
}

// aliased is how many bytes the aliases below a node stand for; more than maxAliased where one is
// part of itself, or nodes are nested too deep.
func aliased(n *yamlv3.Node, known map[*yamlv3.Node]int, depth int) int {
	if depth > maxNesting {
		return maxAliased + 1
	}
	if n.Kind == yamlv3.AliasNode {
		size, ok := known[n.Alias]
		if !ok {
			known[n.Alias] = maxAliased + 1 // until its size is known: it may be part of itself
			size = written(n.Alias, known, depth+1)
			known[n.Alias] = size
		}
		return size
	}
	sum := 0
	for _, child := range n.Content {
		if sum += aliased(child, known, depth+1); sum > maxAliased {
			return maxAliased + 1
		}
	}
	return sum
}

// written is how many bytes a node takes with its aliases written out.
func written(n *yamlv3.Node, known map[*yamlv3.Node]int, depth int) int {
	if depth > maxNesting {
		return maxAliased + 1
	}
	if n.Kind == yamlv3.AliasNode {
		return aliased(n, known, depth)
	}
	sum := len(n.Value) + 4 // what JSON puts around it
	for _, child := range n.Content {
		if sum += written(child, known, depth+1); sum > maxAliased {
			return maxAliased + 1
		}
	}
	return sum
}
