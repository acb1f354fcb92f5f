package remediate

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
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

// dropTrailingWaits takes the waits from nodes to which nothing else is done, and after which nothing
// is: without an API it is not known whether nodes are back, and they would be asked for
// ever. Where it is known that a master is not, that is waited for.
func dropTrailingWaits(d *draft, api bool) {
	for i := len(d.plan.Waves) - 1; i >= 0; i-- {
		for j := len(d.plan.Waves[i].Nodes) - 1; j >= 0; j-- {
			n := &d.plan.Waves[i].Nodes[j]
			was, ok := d.plan.Basis.Node(n.Name)
			switch {
			case !n.Changes():
			case !ok || !onlyWaits(*n), api && RunsAPIServer(d.facts, was), hasPending(*n, d.plan.Basis):
				return
			default:
				*n = withoutWaits(d, *n)
			}
		}
	}
}

// noteSkippable says how to go past nodes that are waited for, and to which nothing else is done.
// Past a master nothing leads: while it is away, another one is not to be lost, too.
func noteSkippable(d *draft) {
	nodes := d.plan.Nodes()
	for i, n := range nodes {
		f, ok := d.facts.Node(n.Name)
		if !ok || !onlyWaits(n) || i == len(nodes)-1 || RunsAPIServer(d.facts, f) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(nodes), func(o NodePlan) bool { return o.Name == n.Name })
		d.note("All was done to %s, and it is not known to be back: it is waited for before the next node is begun. Where it does not come back, leave it out: %s", n.Name, foreign.Command(inspect.NodeNames, "--nodes %s", foreign.Commas(namesOfNodes(others))))
	}
}

// namesOfNodes leaves out the steps of the cluster.
func namesOfNodes(nodes []NodePlan) (out []string) {
	for _, n := range nodes {
		if n.Name != "" {
			out = append(out, n.Name)
		}
	}
	return out
}

// onlyWaits reports whether all that is due there is to wait for what was done before.
func onlyWaits(n NodePlan) bool {
	for _, s := range n.due() {
		switch s.Action.(type) {
		case Await, AwaitAPIServer, ApproveCSRs:
		default:
			return false
		}
	}
	return n.Changes()
}

// withoutWaits is a node that is not waited for: it is as it was before. A request of it that is
// pending is looked at.
func withoutWaits(d *draft, n NodePlan) NodePlan {
	d.facts.Nodes = slices.Clone(d.facts.Nodes)
	now, ok := d.facts.Node(n.Name)
	if was, read := d.plan.Basis.Node(n.Name); ok && read {
		now.Ready, now.Heartbeat, now.Lease = was.Ready, was.Heartbeat, was.Lease
	}
	pending := hasPending(n, d.plan.Basis)
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

// hasPending reports whether a request of its kubelet is pending, and to be looked at.
func hasPending(n NodePlan, facts inspect.Snapshot) bool {
	approves := slices.ContainsFunc(n.due(), func(s Step) bool { _, is := s.Action.(ApproveCSRs); return is })
	return approves && len(PendingRequests(facts, n.Name)) > 0
}

// notBack reports whether a node is not known to be back since its kubelet was started.
func notBack(facts inspect.Snapshot, n *inspect.Node, now time.Time) bool {
	c, err := Await{On: n.Name}.Diff(facts, now)
	return c != nil || err != nil
}

// resumeFirst puts workers to which everything was done, and that are not back, before the
// first one that is Ready: what took them away is not done to it. Where nothing is done to a
// Ready one, or that was accepted, they are not waited for: what mends them may come later.
func (a APIInt) resumeFirst(d *draft, begun []NodePlan, first, rest *Wave) {
	accepted := slices.Contains(a.Order.Accept, WorkersBack)
	var waited []NodePlan
	for _, n := range begun {
		if accepted || len(first.Nodes) == 0 {
			n = withoutWaits(d, n)
		}
		if n.Changes() {
			waited = append(waited, n)
		} else {
			rest.Nodes = append(rest.Nodes, n)
		}
	}
	const away = "All was done to these workers, and they are not known to be back: %s. "
	switch names := strings.Join(titles(begun), ", "); {
	case len(begun) == 0 || len(first.Nodes) == 0:
	case accepted:
		d.note("Accepted by name (%s): "+away+"They are not waited for.", WorkersBack, names)
	default:
		d.note(away+"They are waited for before one that works is begun. Where one does not come back: --accept-risk=%s", names, WorkersBack)
	}
	if len(waited) > 0 {
		first.Why = "those that were begun and are not back, and one that works, before the others"
	}
	first.Nodes = append(waited, first.Nodes...)
}

// dropTrailingGates takes the question whether kube-apiserver answers from masters after which
// nothing is done.
func dropTrailingGates(p *Plan) {
	after := false
	for i := len(p.Waves) - 1; i >= 0; i-- {
		for j := len(p.Waves[i].Nodes) - 1; j >= 0; j-- {
			n := &p.Waves[i].Nodes[j]
			if rest := withoutGates(*n); !after && !rest.Changes() {
				*n = rest
			}
			after = after || n.Changes()
		}
	}
}

// idle reports whether no more is to be done than to ask whether kube-apiservers answer.
func idle(p *Plan) bool {
	return !slices.ContainsFunc(p.Nodes(), func(n NodePlan) bool { return withoutGates(n).Changes() })
}

// withoutGates is a node without the question whether kube-apiserver answers.
func withoutGates(n NodePlan) NodePlan {
	n.Steps = slices.DeleteFunc(slices.Clone(n.Steps), func(s Step) bool { _, gate := s.Action.(AwaitAPIServer); return gate })
	return n
}
