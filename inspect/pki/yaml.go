package pki

import (
	"bytes"
	"errors"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

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
