package inspect

import (
	"cmp"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// RepairOrder are all nodes of the cluster, as far as they are known, in the order in which a
// repair of all of them takes them: control plane nodes, then nodes that do not work, then others.
func (s *Snapshot) RepairOrder() []string {
	nodes := slices.Concat(s.Nodes, s.LeftOut())
	rank := func(n *Node) int {
		switch {
		case n.Role == catalog.RoleMaster || n.Role == catalog.RoleArbiter:
			return 0
		case s.NodeHealth(n).Unhealthy():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(nodes, func(a, b Node) int { return cmp.Compare(rank(&a), rank(&b)) })
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Name
	}
	return names
}

// InOrder are nodes in an order of all nodes, and whether they are all of these: then a command
// names none.
func InOrder(names, order []string) (ordered []string, all bool) {
	ordered = slices.Clone(names)
	at := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(ordered, func(a, b string) int { return cmp.Compare(at(a), at(b)) })
	all = len(names) > 1 && !slices.ContainsFunc(order, func(name string) bool { return !slices.Contains(names, name) })
	return ordered, all
}
