package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// KubeletSetupOf is how the kubelet of a node is set up: by its flags, else by the files that are
// there, of what may be in the versions that run.
func KubeletSetupOf(facts Snapshot, n *Node) catalog.KubeletSetup {
	rows := catalog.KubeletSetups(facts.Cluster.Versions)
	for _, row := range rows {
		if n.Kubelet.Kubeconfig == row.Kubeconfig {
			return row
		}
	}
	if n.Kubelet.Kubeconfig == "" {
		for _, row := range rows {
			if slices.ContainsFunc(row.Kubeconfigs(), func(path string) bool { return n.File(path) != nil }) {
				return row
			}
		}
	}
	return rows[0]
}

// HasOperators reports whether operators keep the cluster, or may: it is not known to be plain,
// nor are its nodes that were read.
func HasOperators(facts Snapshot) bool {
	if !catalog.KubeletSetups(facts.Cluster.Versions)[0].HasOperators {
		return false
	}
	read := false
	for i := range facts.Nodes {
		if n := &facts.Nodes[i]; n.Via != "" {
			if read = true; KubeletSetupOf(facts, n).HasOperators {
				return true
			}
		}
	}
	return !read
}

// MissingFile reports whether a file is known not to be there.
func MissingFile(facts Snapshot, n *Node, path string) bool {
	_, unread := unreadAt(facts, n, path)
	return n.File(path) == nil && !unread
}

// unreadAt is why it is not known what is at a path of a node: of the node, of the path, or
// of a directory above it.
func unreadAt(facts Snapshot, n *Node, path string) (Gap, bool) {
	for _, g := range facts.Gaps {
		if g.What == "node/"+n.Name && (g.Where == "" || g.Where == path || strings.HasPrefix(path, strings.TrimSuffix(g.Where, "/")+"/")) {
			return g, true
		}
	}
	return Gap{}, false
}

// HeartbeatSinceStart reports whether a node is Ready by a heartbeat that is newer than the start
// of its kubelet, and did not stop since.
func HeartbeatSinceStart(facts Snapshot, n *Node) bool {
	return n.Heartbeat.After(n.Kubelet.Started) && n.Ready == "True" && facts.NodeHealth(n).Alive != catalog.No
}

// KubeletClientCert is a kubelet's client certificate as it was read; nil: none was.
func KubeletClientCert(facts Snapshot, node string) *pki.Cert {
	for _, b := range facts.Bundles {
		if b.At.Node == node && b.At.Path == KubeletClient && len(b.Content.Certs) > 0 {
			return b.Content.Certs[0]
		}
	}
	return nil
}

// UnreadClient says why it is not known whether a kubelet whose client certificate was not
// read has one; empty where there is none.
func UnreadClient(facts Snapshot, n *Node) string {
	if g, unread := unreadAt(facts, n, KubeletClient); unread {
		return cmp.Or(g.Reason, "it was not read")
	}
	return ""
}

// APIServerFile is a file on a node that only nodes with a kube-apiserver have; empty: none
// was read.
func APIServerFile(facts Snapshot, node string) string {
	for _, b := range facts.Bundles {
		if b.At.Kind == pki.KindFile && b.At.Node == node && catalog.OfAPIServer(b.At.Path) {
			return b.At.Path
		}
	}
	return ""
}

// RunsAPIServer reports whether a node of these facts is a master: by its labels, else by
// its files, where no API tells the labels or the node lost its own.
func RunsAPIServer(facts Snapshot, n *Node) bool {
	return n.Role == catalog.RoleMaster || n.Role != catalog.RoleArbiter && APIServerFile(facts, n.Name) != ""
}

// LeftOut are the nodes of the cluster that are not among Nodes, by name: nobody asked to read
// them, so nothing is known of what is on them. Who judges all nodes counts them as unread.
func (s *Snapshot) LeftOut() []Node {
	var out []Node
	had := map[string]bool{}
	for i := range s.Nodes {
		had[s.Nodes[i].Name] = true
	}
	add := func(n Node) {
		if !had[n.Name] {
			had[n.Name] = true
			out = append(out, n)
		}
	}
	for _, n := range s.OtherNodes {
		add(n)
	}
	if s.Status != nil && s.Status.ControlPlane != nil {
		for _, n := range s.Status.ControlPlane.Nodes {
			other := Node{Name: n.Name, Ready: n.Ready, Heartbeat: n.Heartbeat, Lease: n.Lease}
			if n.Master {
				other.Role = catalog.RoleMaster
			}
			add(other)
		}
	}
	slices.SortFunc(out, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
