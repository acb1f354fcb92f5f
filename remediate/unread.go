package remediate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// UnreadNode refuses a node that was not read, with the reason.
func UnreadNode(snapshot inspect.Snapshot, name string) *Refusal {
	const check = "check the name"
	r := &Refusal{Name: "node-read", Node: name, Reason: "it was not read"}
	_, known := snapshot.Node(name)
	if slices.ContainsFunc(snapshot.LeftOut(), func(n inspect.Node) bool { return n.Name == name }) {
		r.Reason, known = "the node was left out", true
	}
	r.Next = snapshot.Hints.UnreadNodes(check + ": inspect nodes lists all nodes")
	if !known && snapshot.Hints.OfFile() {
		r.Reason = "no node of this name is in the file" + namesIn(snapshot)
		r.Next = check + "; or " + r.Next
	}
	for _, g := range snapshot.Gaps {
		if g.What == "node/"+name || g.What == "nodes" {
			r.Reason, r.Next = g.Reason, g.Next
			break
		}
	}
	return r
}

// namesIn lists the nodes that were read, few of many.
func namesIn(snapshot inspect.Snapshot) string {
	var names []string
	for _, n := range snapshot.Nodes {
		if n.Via != "" {
			names = append(names, foreign.Name(n.Name))
		}
	}
	const most = 5
	switch rest := len(names) - most; {
	case len(names) == 0:
		return ""
	case rest > 0:
		return fmt.Sprintf(", which has %s and %d more", strings.Join(names[:most], ", "), rest)
	}
	return ", which has " + strings.Join(names, ", ")
}

// UnknownNodesError says of several nodes that what they need is unknown, where nothing else
// is known that is to be done.
type UnknownNodesError []*Refusal

func (e UnknownNodesError) Error() string {
	texts := make([]string, len(e))
	for i, r := range e {
		texts[i] = r.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap is the first refusal: its check decides what is said of all.
func (e UnknownNodesError) Unwrap() error { return e[0] }
