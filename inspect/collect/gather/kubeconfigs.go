package gather

import (
	"fmt"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// What is read of the kubeconfigs of one node, all together. The node alone says how many paths a content has,
// so each content is read once, and what it brings is counted at each path.
const (
	maxKubeconfigs   = 2_000   // paths: ten revisions of each static pod are some hundred
	maxKubeconfigLen = 4 << 20 // bytes of their clusters, as facts
	maxAllPieces     = 100_000 // of their texts, each text once; one of maxPieces may take seconds
)

// maxTexts is how many bytes the redacted texts of a node's kubeconfigs have, counted at each path: a snapshot has
// each, and of a node no more than 48 MiB as JSON.
const maxTexts = 8 << 20

// withoutTexts leaves out the texts of a node's kubeconfigs, where they are too much. Those of a kubelet's are
// some kilobytes, and without them it is not repaired.
func withoutTexts(n *inspect.Node) (gaps []inspect.Gap) {
	size := 0
	for _, k := range n.Kubeconfigs {
		size += len(k.Text)
	}
	if size <= maxTexts {
		return nil
	}
	for i := range n.Kubeconfigs {
		n.Kubeconfigs[i].Text = nil
	}
	return []inspect.Gap{{What: "node/" + n.Name, Reason: fmt.Sprintf("the texts of its kubeconfigs are left out: together they have more than %d MiB", maxTexts>>20), Next: nextRoom}}
}

// kubeconfigs reads the contents of one node as kubeconfigs.
type kubeconfigs struct {
	read                map[*Content]kubeconfig
	paths, size, pieces int
}

// kubeconfig is a content that was read as one.
type kubeconfig struct {
	inspect.Kubeconfig        // without a path
	is                 bool   // a kubeconfig
	secret             bool   // has something that only its owner may read
	size               int    // bytes of the facts
	leftOut            string // why it was not read
}

// add returns what a content is as kubeconfig, at one path more.
func (all *kubeconfigs) add(c *Content) kubeconfig {
	k, known := all.read[c]
	if !known {
		k = all.parse(c)
		all.read[c] = k
	}
	switch {
	case !k.is:
		return k
	case all.paths == maxKubeconfigs:
		return kubeconfig{leftOut: fmt.Sprintf("the node has more than %d kubeconfigs", maxKubeconfigs)}
	case all.size+k.size > maxKubeconfigLen:
		return kubeconfig{leftOut: fmt.Sprintf("the clusters in the node's kubeconfigs are more than %d MiB", maxKubeconfigLen>>20)}
	}
	all.paths++
	all.size += k.size
	return k
}

func (all *kubeconfigs) parse(c *Content) kubeconfig {
	if c.Text == nil {
		return kubeconfig{}
	}
	if pieces := pki.Pieces(c.Text); pieces <= maxPieces { // more are not read as YAML
		if all.pieces+pieces > maxAllPieces {
			return kubeconfig{leftOut: fmt.Sprintf("the node's kubeconfigs have more than %d lines and values", maxAllPieces)}
		}
		all.pieces += pieces
	}
	doc, is := c.document()
	if !is {
		return kubeconfig{}
	}
	k := kubeconfig{is: true}
	k.Kubeconfig, k.secret = doc.kubeconfig()
	k.size = len(k.Problem) + len(k.Current)
	for _, x := range k.Clusters {
		const each = 100 // without its texts
		k.size += each + len(x.Name) + len(x.Server) + len(x.CAFile) + len(x.ServerName)
	}
	return k
}
