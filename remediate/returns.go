package remediate

import (
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// returns adds the waits for a node whose kubelet was restarted, by this plan or by a run
// that was stopped before the node was back. more: others are begun after it, before which
// the kube-apiserver of a master is to answer, trusted by ca beside what is known.
func returns(d *draft, name string, api, more bool, ca []byte) error {
	ask := func() error {
		n, ok := d.facts.Node(name)
		if !ok || !more {
			return nil
		}
		return gate(d, n, ca)
	}
	if !api { // what is not known of it from here ends its steps
		if err := ask(); err != nil {
			return err
		}
	}
	if _, err := d.step(Await{On: name}); err != nil || !api {
		return err
	}
	return ask()
}

// unwait takes the waits from nodes to which nothing else is done, and after which nothing
// is: without an API it is not known whether nodes are back, and they would be asked for
// ever. Where it is known that a master is not, that is waited for.
func unwait(d *draft, api bool) {
	facts := d.facts
	facts.Nodes = slices.Clone(facts.Nodes)
	for i := len(d.plan.Waves) - 1; i >= 0; i-- {
		for j := len(d.plan.Waves[i].Nodes) - 1; j >= 0; j-- {
			n := &d.plan.Waves[i].Nodes[j]
			at := slices.IndexFunc(facts.Nodes, func(f inspect.Node) bool { return f.Name == n.Name })
			switch {
			case !n.Changes():
			case !n.waits() || at < 0, api && runsAPIServer(d.facts, &facts.Nodes[at]):
				return
			default:
				*n = n.unwaited(d.plan.Basis)
				if n.Changes() {
					return
				}
				if was, ok := d.plan.Basis.Node(n.Name); ok { // so nothing is said of it
					facts.Nodes[at].Ready, facts.Nodes[at].Heartbeat = was.Ready, was.Heartbeat
					d.facts = facts
				}
			}
		}
	}
}

// leaveOut says how to go past nodes that are waited for, and to which nothing else is done.
// Past a master nothing leads: while it is away, another one is not to be lost, too.
func leaveOut(d *draft) {
	nodes := d.plan.Nodes()
	for i, n := range nodes {
		f, ok := d.facts.Node(n.Name)
		if !ok || !n.waits() || i == len(nodes)-1 || runsAPIServer(d.facts, f) {
			continue
		}
		d.note("All was done to %s, and it is not known to be back: it is waited for before the next node is begun. Where it does not come back, leave it out: --nodes %s", n.Name, strings.Join(titles(nodes[i+1:]), ","))
	}
}

// waits reports whether all that is due there is to wait for what was done before.
func (n NodePlan) waits() bool {
	for _, s := range n.due() {
		switch s.Action.(type) {
		case Await, AwaitAPIServer, ApproveCSRs:
		default:
			return false
		}
	}
	return n.Changes()
}

// unwaited is a node that is not waited for. A request of it that is pending is looked at.
func (n NodePlan) unwaited(facts inspect.Snapshot) NodePlan {
	pending := len(PendingRequests(facts, n.Name)) > 0
	n.Steps = slices.DeleteFunc(slices.Clone(n.Steps), func(s Step) bool {
		switch s.Action.(type) {
		case Await, AwaitAPIServer:
			return true
		case ApproveCSRs:
			return !pending
		}
		return false
	})
	return n
}
