package inspect

import (
	"fmt"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// WhyNotNode says why the machine that was read as a node is not that node, or is not
// known to be; "" where it is. Its kubelet's client certificate says who it is; where
// that can't be read, its host name does. Of what a Node object says of its machine
// (machine ID, addresses) nothing counts: the kubelet writes that, and may copy another
// machine's.
func (s *Snapshot) WhyNotNode(node string) string {
	if user := s.KubeletUser(node); user != "" {
		if user != "system:node:"+node {
			return fmt.Sprintf("the machine that was reached is another node: its kubelet is %s", foreign.QuotedName(user))
		}
		return ""
	}
	hostname := ""
	if n, ok := s.Node(node); ok {
		hostname = n.Hostname
	}
	short := func(name string) string { return strings.ToLower(strings.SplitN(name, ".", 2)[0]) }
	switch {
	case hostname == "":
		return "whether the machine that was reached is this node is unknown: neither its kubelet's certificate nor its host name could be read"
	case short(hostname) != short(node):
		return fmt.Sprintf("the machine that was reached calls itself %s, and its kubelet's certificate could not be read", foreign.QuotedName(hostname))
	}
	return ""
}
