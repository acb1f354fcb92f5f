package remediate

import (
	"fmt"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// identified refuses a machine that is not the node it is taken for: a wrong line
// in an ssh configuration or inventory, --local on another machine. Its kubelet's
// client certificate says who it is; where that can't be read, its host name.
func identified(facts inspect.Snapshot, node string) error {
	n, ok := facts.Node(node)
	if !ok || n.Via == "" {
		return nil // others say that it was not read
	}
	refuse := func(reason string) error {
		return &Refusal{Name: "node-identity", Node: node, Reason: reason, Next: "look where this name leads: ssh configuration, inventory, --local on the right machine; kubectl get node " + node + " -o wide"}
	}
	if user := facts.KubeletUser(node); user != "" {
		if user != "system:node:"+node {
			return refuse(fmt.Sprintf("the machine that was reached is another node: its kubelet is %q", user))
		}
		return nil
	}
	short := func(name string) string { return strings.ToLower(strings.SplitN(name, ".", 2)[0]) }
	switch {
	case n.Hostname == "":
		return refuse("whether the machine that was reached is this node is not known: neither its kubelet's certificate nor its host name could be read")
	case short(n.Hostname) != short(node):
		return refuse(fmt.Sprintf("the machine that was reached calls itself %s, and its kubelet's certificate could not be read", n.Hostname))
	}
	return nil
}
