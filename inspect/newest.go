package inspect

import (
	"cmp"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Newest puts together what files tell: of an object, a file or a node that several tell
// of, all that is said is what the newest says, for a certificate of one and the key of
// another belong to nothing. A file that knows no time of its own was made now. The time
// is that of the newest that knows one; zero: none does.
func Newest(parts ...Snapshot) Snapshot {
	if len(parts) == 1 {
		return parts[0]
	}
	byAge := slices.Clone(parts)
	slices.SortStableFunc(byAge, func(a, b Snapshot) int {
		if a.Taken.IsZero() != b.Taken.IsZero() {
			if a.Taken.IsZero() {
				return -1
			}
			return 1
		}
		return b.Taken.Compare(a.Taken)
	})
	nodes := newestNodes(byAge)
	onNode := func(at pki.Location, part int) bool {
		n, ok := nodes[at.Node]
		return at.Node == "" || !ok || n.read < 0 || n.read == part
	}
	unasked, bundles, requests := map[string]int{}, map[pki.Location]int{}, map[string]int{}
	served, reported := map[[4]string]int{}, map[pki.Location]int{}
	references, exposed, logs := map[pki.Location]int{}, map[pki.Location]int{}, map[pki.Location]int{}
	for i := range byAge {
		p := &byAge[i]
		p.Bundles = unseen(p.Bundles, bundles, i, func(b Bundle) pki.Location { return ObjectAt(b.At) })
		p.Bundles = slices.DeleteFunc(p.Bundles, func(b Bundle) bool { return !onNode(b.At, i) })
		p.Requests = unseen(p.Requests, requests, i, func(r SigningRequest) string { return r.Object.Name })
		p.Served = unseen(p.Served, served, i, func(s Served) [4]string { return [4]string{s.Node, s.Address, s.Name, s.Server} })
		p.Reported = unseen(p.Reported, reported, i, func(r Reported) pki.Location { return ObjectAt(r.At) })
		p.References = unseen(p.References, references, i, func(r Reference) pki.Location { return ObjectAt(r.From) })
		p.Exposed = unseen(p.Exposed, exposed, i, func(e Exposed) pki.Location { return e.At })
		p.Exposed = slices.DeleteFunc(p.Exposed, func(e Exposed) bool { return !onNode(e.At, i) })
		p.ServerLogs = unseen(p.ServerLogs, logs, i, func(l ServerLog) pki.Location { return l.At })
		p.OtherNodes = unseen(p.OtherNodes, unasked, i, func(n Node) string { return n.Name })
		p.OtherNodes = slices.DeleteFunc(p.OtherNodes, func(n Node) bool { _, asked := nodes[n.Name]; return asked })
		p.Nodes = nil
	}
	m := Merge(byAge...)
	for _, n := range nodes {
		m.Nodes = append(m.Nodes, n.Node)
	}
	slices.SortFunc(m.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	if nodesUnlisted(parts) {
		m.Gaps = append(m.Gaps, Gap{What: "nodes", Reason: "which other nodes the cluster has is unknown: no file lists them", Next: "add a file that lists them: kubectl get nodes -o yaml"})
	}
	return m
}

// nodesUnlisted reports whether files hold objects of a cluster and were read on some of its nodes, and
// none tells which nodes it has. Files of nodes alone are of these nodes, and say no more.
func nodesUnlisted(parts []Snapshot) bool {
	objects, nodes := false, false
	for _, p := range parts {
		read := slices.ContainsFunc(p.Nodes, func(n Node) bool { return n.Via != "" })
		if len(p.OtherNodes) > 0 || read && p.Cluster.Server != "" { // a live cluster was asked for all of them
			return false
		}
		nodes = nodes || read
		objects = objects || slices.ContainsFunc(p.Bundles, func(b Bundle) bool { return b.Object != nil })
	}
	return objects && nodes
}

// newestNode is a node, and the part by which it was read; -1: none did.
type newestNode struct {
	Node
	read int
}

// newestNodes are the nodes of parts, the newest of which is the first: what was read on
// each is from the newest that got there, what the API says of it from the newest.
func newestNodes(byAge []Snapshot) map[string]newestNode {
	nodes := map[string]newestNode{}
	for i, p := range byAge {
		for _, n := range p.Nodes {
			had, ok := nodes[n.Name]
			switch {
			case !ok && n.Via == "":
				nodes[n.Name] = newestNode{n, -1}
			case !ok:
				nodes[n.Name] = newestNode{n, i}
			case had.read < 0 && n.Via != "":
				n.Ready, n.Heartbeat, n.Lease = had.Ready, had.Heartbeat, had.Lease
				n.Role, n.Addresses, n.PodNetworks = had.Role, had.Addresses, had.PodNetworks
				nodes[n.Name] = newestNode{n, i}
			}
		}
	}
	return nodes
}

// unseen are the facts of part i that no part before it has. Within a part, nothing is
// left out.
func unseen[F any, K comparable](facts []F, seen map[K]int, i int, key func(F) K) []F {
	var out []F
	for _, f := range facts {
		k := key(f)
		if in, ok := seen[k]; ok && in != i {
			continue
		}
		seen[k] = i
		out = append(out, f)
	}
	return out
}
