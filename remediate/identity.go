package remediate

import (
	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// Identified refuses a machine that is not the node it is taken for: a wrong line
// in an ssh configuration or inventory, --local on another machine. Its kubelet's
// client certificate says who it is; where that can't be read, its host name.
func Identified(snapshot inspect.Snapshot, node string) error {
	n, ok := snapshot.Node(node)
	if !ok || n.Via == "" {
		return nil // others say that it was not read
	}
	reason := snapshot.WhyNotNode(node)
	if reason == "" {
		return nil
	}
	return &Refusal{Name: "node-identity", Node: node, Reason: reason, Next: "look where this name leads: ssh configuration, inventory, --local on the right machine; " + foreign.Command(inspect.NodeNames, "kubectl get node %s -o wide", node)}
}
