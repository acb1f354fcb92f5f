package remediate

import "github.com/kubectl-certrot/kubectl-certrot/inspect"

// UnreadNode refuses a node that was not read, with the reason.
func UnreadNode(facts inspect.Snapshot, name string) *Refusal {
	r := &Refusal{Name: "node-read", Node: name, Reason: "it was not read", Next: "check the name: inspect nodes lists all nodes"}
	for _, g := range facts.Gaps {
		if g.What == "node/"+name || g.What == "nodes" {
			r.Reason, r.Next = g.Reason, g.Next
			break
		}
	}
	return r
}
