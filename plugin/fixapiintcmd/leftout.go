package fixapiintcmd

import (
	"errors"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// unknownNodes are the nodes that are unknown where a plan of all nodes was refused for one or
// more of them: those, and each other one that was not read.
func unknownNodes(err error, snapshot inspect.Snapshot) []*remediate.Refusal {
	var one *remediate.Refusal
	var out remediate.UnknownNodesError
	if !errors.As(err, &out) && errors.As(err, &one) {
		out = remediate.UnknownNodesError{one}
	}
	out = slices.Clone(out)
	add := func(n inspect.Node) {
		if n.Via == "" && !slices.ContainsFunc(out, func(r *remediate.Refusal) bool { return r.Node == n.Name }) {
			out = append(out, remediate.UnreadNode(snapshot, n.Name))
		}
	}
	for _, n := range snapshot.AllNodes() {
		add(n)
	}
	return out
}

// knownNode is what is known of a node, also of one that no one asked to read; nil: nothing.
func knownNode(snapshot inspect.Snapshot, name string) *inspect.Node {
	if n, ok := snapshot.Node(name); ok {
		return n
	}
	others := snapshot.LeftOut()
	if i := slices.IndexFunc(others, func(n inspect.Node) bool { return n.Name == name }); i >= 0 {
		return &others[i]
	}
	return nil
}
