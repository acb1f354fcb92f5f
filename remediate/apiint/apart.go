package apiint

import (
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// busy are the workers that are left out before anything is planned.
func (a Repair) busy() map[string]*remediate.Refusal {
	out := map[string]*remediate.Refusal{}
	for _, r := range a.Busy {
		if a.Nodes == nil {
			out[r.Node] = r
		}
	}
	return out
}

// clocksApart leaves workers of a plan for all nodes out that are changed and whose clock is wrong or was not read, and
// reports whether there are more than before: root on a worker sets its clock. Preflight asks about control plane nodes.
func (a Repair) clocksApart(p *remediate.Plan) (more bool) {
	if p.Empty() || slices.Contains(a.Order.Accept, preflight.Clocks) {
		return false
	}
	for _, planned := range p.Nodes() {
		n, ok := p.Basis.Node(planned.Name)
		if !ok || !planned.Changes() || n.Role != catalog.RoleWorker || a.apart[n.Name] != nil {
			continue
		}
		if r := clockApart(p.Basis, n.Name); r != nil {
			a.apart[n.Name] = r
			more = true
		}
	}
	return more
}

// clockApart refuses a node whose clock is wrong or was not read; nil: it is right.
func clockApart(snapshot inspect.Snapshot, node string) *remediate.Refusal {
	clock := preflight.ClockOf(snapshot, node)
	if clock.Passed == catalog.Yes {
		return nil
	}
	return &remediate.Refusal{Name: preflight.Clocks, Node: node, Reason: clock.Reason, Next: clock.Next}
}

// setApart leaves workers out with whose files a plan for all nodes would bring a new problem, or break a trust
// edge, and reports whether there are more than before: what one has in its files stops no other node.
func (a Repair) setApart(p *remediate.Plan) (more bool) {
	for _, f := range p.Added {
		for _, at := range f.At {
			more = a.apartFor(p, at.Node, fmt.Sprintf("its repair would bring a new problem: %s: %s (%s)", f.ID, f.Line(), at), at.Path) || more
		}
	}
	for _, c := range p.Breaks {
		for _, at := range c.Trust {
			more = a.apartFor(p, c.Node, "its repair would break a trust edge: "+remediate.SayEdge(c), at.Path) || more
		}
	}
	return more
}

// apartFor leaves a node out, if it is a worker, and reports whether it was not left out before.
func (a Repair) apartFor(p *remediate.Plan, node, reason, path string) bool {
	n, ok := p.Basis.Node(node)
	if !ok || n.Role != catalog.RoleWorker || a.apart[n.Name] != nil {
		return false
	}
	a.apart[n.Name] = &remediate.Refusal{
		Name: remediate.PlanProven, Node: n.Name, Reason: reason,
		Next: "compare it with the same file on another node: " + foreign.Command("", "ls -l %s", path),
	}
	return true
}

// knownWorker reports whether more than its own kubelet and root say that a node runs no kube-apiserver: operators
// do, by where they put static pods, or on a plain cluster the labels, if a control plane node has one.
func (a Repair) knownWorker(snapshot inspect.Snapshot, node string) bool {
	if operated := a.operated(); len(operated) > 0 {
		return !slices.Contains(operated, node)
	}
	return !inspect.HasOperators(snapshot) && slices.ContainsFunc(snapshot.AllNodes(), func(n inspect.Node) bool { return n.Role == catalog.RoleMaster })
}

// operated are the nodes on which operators put the control plane's static pods.
func (a Repair) operated() []string {
	nodes := slices.Clone(a.StaticPodNodes)
	if a.FollowUp.RootCA != nil {
		for _, m := range a.FollowUp.RootCA.Planned.Masters {
			nodes = append(nodes, m.Node)
		}
	}
	return nodes
}

// presentedApart reports whether a node is a worker, and the CA is the right one for another node: the
// kubeconfig, the resolver and the network of the worker are its own.
func (a Repair) presentedApart(d *remediate.Draft, name string) bool {
	n, ok := d.Snapshot.Node(name)
	return ok && n.Role == catalog.RoleWorker && slices.ContainsFunc(d.Snapshot.Nodes, func(other inspect.Node) bool {
		return other.Name != name && other.Via != "" && a.verifies(d.Snapshot, &other, a.trusted, d.Plan.Now) == nil
	})
}
