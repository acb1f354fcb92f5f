package pki

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/plainyaml"
)

// maxAliased is how many bytes of text the aliases of a YAML document may stand for. In JSON each
// is written out, and a few hundred kilobytes become gigabytes: the parser bounds how many there
// are, and not how long. API servers take objects of 3 MiB.
const maxAliased = 8 << 20

// maxAliasedKubeconfig is the same for a kubeconfig: a value may hold hundreds of them.
const maxAliasedKubeconfig = 256 << 10

var errAliased = errors.New("its aliases stand for too much text")

// maxDirectives is how many directives of tags a YAML text may have. The parsers compare each with
// all before it; no one writes any.
const maxDirectives = 10

var errDirectives = fmt.Errorf("it has more than %d lines that begin with %%TAG, and is not read as YAML", maxDirectives)

// YAML is a stream of YAML documents. Nothing parses YAML but this and YAMLToJSON: their bounds are
// everyone's.
type YAML struct {
	d   *yamlv3.Decoder
	err error
}

// NewYAML returns the stream that a text is.
func NewYAML(text []byte) *YAML { return newYAML(text, nil) }

// newYAML returns one that ends when over says that it does.
func newYAML(text []byte, over func() error) *YAML {
	y := &YAML{d: yamlv3.NewDecoder(&untilOver{bytes.NewReader(text), over})}
	if directives(text) > maxDirectives {
		y.err = errDirectives
	}
	return y
}

// Next returns the next document; io.EOF: there is none. A panic of the parser, which is known to
// have had some, is an error: texts come from anywhere.
func (y *YAML) Next() (node *yamlv3.Node, err error) {
	if y.err != nil {
		return nil, y.err
	}
	defer func() {
		if recover() != nil {
			node, err = nil, errKey("the YAML parser gave up")
		}
	}()
	node = &yamlv3.Node{}
	if err := y.d.Decode(node); err != nil {
		return nil, err
	}
	return node, nil
}

// ParseYAML returns the first document of a text; an empty node: there is none.
func ParseYAML(text []byte) (*yamlv3.Node, error) {
	node, err := NewYAML(text).Next()
	if errors.Is(err, io.EOF) {
		return &yamlv3.Node{}, nil
	}
	return node, err
}

// untilOver reads bytes until that is over, few at a time.
type untilOver struct {
	from *bytes.Reader
	over func() error // nil: it never is
}

func (u *untilOver) Read(p []byte) (int, error) {
	if u.over != nil {
		if err := u.over(); err != nil {
			return 0, err
		}
	}
	return u.from.Read(p[:min(len(p), 4<<10)])
}

// directives is how many lines begin with one of a tag, by what the parsers take for an end of a
// line. In UTF-16, each mention counts.
func directives(text []byte) int {
	const directive = "%TAG"
	n := bytes.Count(text, []byte("%\x00T\x00A\x00G"))
	for rest := text; ; {
		at := bytes.Index(rest, []byte(directive))
		if at < 0 {
			return n
		}
		before := rest[:at]
		if begins := len(rest) == len(text) && (at == 0 || string(before) == "\ufeff"); begins || afterLine(before) {
			n++
		}
		rest = rest[at+len(directive):]
	}
}

func afterLine(text []byte) bool {
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if bytes.HasSuffix(text, []byte(end)) {
			return true
		}
	}
	return false
}

// Pieces is at least the number of values in a text of YAML or JSON.
func Pieces(text []byte) int {
	n := 0
	for _, mark := range []string{"\n", ",", "[", "{", "- ", "? "} {
		n += bytes.Count(text, []byte(mark))
	}
	return n
}

// YAMLToJSON is that of sigs.k8s.io/yaml, within bounds.
func YAMLToJSON(text []byte) ([]byte, error) {
	if out, ok := plainyaml.ToJSON(text, plainYAMLToJSON); ok {
		return out, nil
	}
	if mayAlias(text) {
		root, err := ParseYAML(text)
		if err != nil {
			return nil, err
		}
		if aliased(root, map[*yamlv3.Node]int{}, 0) > maxAliased {
			return nil, errAliased
		}
	}
	return plainYAMLToJSON(text)
}

// plainYAMLToJSON is for texts whose aliases are known to be few.
func plainYAMLToJSON(text []byte) (out []byte, err error) {
	if directives(text) > maxDirectives {
		return nil, errDirectives
	}
	defer func() {
		if recover() != nil {
			out, err = nil, errKey("the YAML parser gave up")
		}
	}()
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
