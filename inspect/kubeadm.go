package inspect

import (
	"net/netip"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// MadeByKubeadm tells whether kubeadm made the cluster, or somebody who keeps to its
// files: each node that it made has the kubelet.conf with which that joined. Unknown for
// a cluster that may be OpenShift.
func (s *Snapshot) MadeByKubeadm() catalog.Answer {
	if !s.Cluster.Versions.NotOpenShift {
		return catalog.Unknown
	}
	read := false
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if slices.ContainsFunc(n.Kubeconfigs, func(k Kubeconfig) bool { return slices.Contains(catalog.KubeadmKubeconfigs(), k.Path) }) {
			return catalog.Yes
		}
		read = read || n.Via != "" && !slices.ContainsFunc(s.Gaps, func(g Gap) bool { return g.What == "node/"+n.Name })
	}
	if s.Cluster.Kubeadm != catalog.Unknown || !read {
		return s.Cluster.Kubeadm
	}
	return catalog.No
}

// NodeAt returns the node that has an address, or a name, among those of the Node
// objects; false where none is known to, or several say so: a kubelet writes the addresses of
// its Node, and may name any.
func (s *Snapshot) NodeAt(address string) (*Node, bool) {
	at, err := netip.ParseAddr(address)
	is := func(text string) bool {
		if text == address {
			return true
		}
		b, bad := netip.ParseAddr(text)
		return err == nil && bad == nil && b.Unmap() == at.Unmap()
	}
	var found *Node
	for _, nodes := range [][]Node{s.Nodes, s.OtherNodes} {
		for i := range nodes {
			switch {
			case !slices.ContainsFunc(nodes[i].Addresses, is):
			case found != nil && found.Name != nodes[i].Name:
				return nil, false
			default:
				found = &nodes[i]
			}
		}
	}
	return found, found != nil
}

// MasterAt is NodeAt for nodes that run kube-apiserver. A worker that has the address is not the
// one that answers there.
func (s *Snapshot) MasterAt(address string) (name string, ok bool) {
	n, ok := s.NodeAt(address)
	if !ok {
		return "", false
	}
	masters, _ := s.Masters()
	return n.Name, slices.Contains(masters, n.Name)
}

// Masters are the names of the nodes that run kube-apiserver, as far as the API or a file
// on them says it; all: there are no others.
func (s *Snapshot) Masters() (names []string, all bool) {
	all = true
	for _, nodes := range [][]Node{s.Nodes, s.OtherNodes} {
		for _, n := range nodes {
			if n.Role == catalog.RoleMaster {
				names = append(names, n.Name)
			}
			all = all && n.Role != ""
		}
	}
	for _, b := range s.Bundles {
		if at := b.At; at.Kind == pki.KindFile && at.Node != "" && at.Path == catalog.KubeadmServing().Name {
			names = append(names, at.Node)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, all && len(names) > 0
}
