package inspect

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// byNode finds what is asked of the facts for each node, of which there may be thousands, as there may
// be of what is found.
type byNode struct {
	nodes  map[string]int     // in Snapshot.Nodes; of several of one name the first
	files  map[nodePath]span  // in Entries
	gaps   map[string][]Gap   // of its files, or of all of it
	served map[nodePath][]int // in Snapshot.Served, by from where and the address
	// addresses are those of Node objects: of one that several nodes name, who has it is unknown.
	addresses   map[string]*Node
	contested   map[string][]string // by address: the names of several
	masters     []string
	isMaster    map[string]bool
	joining     map[string]bool // whose kubelet may have requested a client certificate that is pending
	clients     bool            // a kubelet's client certificate was read, of any node
	mayBeMaster func(node string) bool
	allMasters  bool
}

// span are neighbours in a list.
type span struct{ first, end int }

func newByNode(s *Snapshot) byNode {
	by := byNode{nodes: make(map[string]int, len(s.Nodes)), files: map[nodePath]span{}, gaps: map[string][]Gap{}, served: map[nodePath][]int{}, joining: map[string]bool{}}
	for i := range s.Nodes {
		if _, known := by.nodes[s.Nodes[i].Name]; !known {
			by.nodes[s.Nodes[i].Name] = i
		}
	}
	for i := range s.Bundles { // which are sorted
		at := nodePath{s.Bundles[i].At.Node, s.Bundles[i].At.Path}
		if at.node == "" {
			continue
		}
		switch found, known := by.files[at]; {
		case !known:
			by.files[at] = span{i, i + 1}
		case found.end == i:
			by.files[at] = span{found.first, i + 1}
		}
	}
	by.clients = slices.ContainsFunc(s.Bundles, func(b Bundle) bool { return b.At.Path == KubeletClient })
	for _, r := range s.Requests {
		node, joins := r.Joins()
		if _, may := catalog.RequesterOf(r.Signer, r.Requester, node, s.Cluster.Versions); joins && r.Condition == Pending && may != catalog.No {
			by.joining[node] = true
		}
	}
	for _, g := range s.Gaps {
		if node, ok := strings.CutPrefix(g.What, "node/"); ok {
			by.gaps[node] = append(by.gaps[node], g)
		}
	}
	for i := range s.Served {
		at := nodePath{s.Served[i].Node, s.Served[i].Address}
		by.served[at] = append(by.served[at], i)
	}
	by.addresses, by.contested = addressesOf(s)
	by.mayBeMaster = s.mayBeMaster()
	by.masters, by.allMasters = s.Masters()
	by.isMaster = make(map[string]bool, len(by.masters))
	for _, name := range by.masters {
		by.isMaster[name] = true
	}
	return by
}

// addressesOf are the nodes by what NodeAt finds them by; nil: several name it, which are contested.
func addressesOf(s *Snapshot) (of map[string]*Node, contested map[string][]string) {
	of, contested = map[string]*Node{}, map[string][]string{}
	for n := range s.EachNode() {
		for _, text := range n.Addresses {
			at := canonical(text)
			found, known := of[at]
			switch {
			case !known || found != nil && found.Name == n.Name:
				of[at] = n
			case found != nil:
				of[at], contested[at] = nil, []string{found.Name, n.Name}
			case contested[at][len(contested[at])-1] != n.Name: // a node's addresses come together
				contested[at] = append(contested[at], n.Name)
			}
		}
	}
	return of, contested
}

// canonical writes an address in the one way that all of its spellings have; names stay as they are.
func canonical(address string) string {
	if at, err := netip.ParseAddr(address); err == nil {
		return at.Unmap().String()
	}
	return address
}

// NodeAt is Snapshot.NodeAt.
func (f *Facts) NodeAt(address string) (*Node, bool) {
	n := f.byNode.addresses[canonical(address)]
	return n, n != nil
}

// ContestedAt are the names of the nodes that have an address, where several say so.
func (f *Facts) ContestedAt(address string) []string { return f.byNode.contested[canonical(address)] }

// MasterAt is Snapshot.MasterAt.
func (f *Facts) MasterAt(address string) (name string, ok bool) {
	names := f.ContestedAt(address)
	if n, ok := f.NodeAt(address); ok {
		names = []string{n.Name}
	}
	return onlyMaster(names, f.MayBeMaster, f.IsMaster)
}

// onlyMaster is the one of some nodes that may run kube-apiserver, if it does.
func onlyMaster(names []string, mayBe, is func(node string) bool) (name string, ok bool) {
	for _, n := range names {
		switch {
		case !mayBe(n):
		case name != "" && name != n:
			return "", false
		default:
			name = n
		}
	}
	return name, name != "" && is(name)
}

// MayBeMaster reports whether a node has a kube-apiserver, or may have one: nodes whose labels name
// another role have none, whatever is on them.
func (f *Facts) MayBeMaster(node string) bool { return f.byNode.mayBeMaster(node) }

// Masters is Snapshot.Masters.
func (f *Facts) Masters() (names []string, all bool) {
	return slices.Clone(f.byNode.masters), f.byNode.allMasters
}

// IsMaster reports whether a node is one of Masters.
func (f *Facts) IsMaster(node string) bool { return f.byNode.isMaster[node] }

// Node returns the node of that name.
func (f *Facts) Node(name string) (*Node, bool) {
	i, ok := f.byNode.nodes[name]
	if !ok {
		return nil, false
	}
	return &f.Snapshot.Nodes[i], true
}

// GapsOf are the gaps of a node: of its files, or of all of it.
func (f *Facts) GapsOf(node string) []Gap { return f.byNode.gaps[node] }

// InFile are the places in a file of a node.
func (f *Facts) InFile(node, path string) []Entry {
	at := f.byNode.files[nodePath{node, path}]
	return f.Entries[at.first:at.end]
}

// FirstInFile is the first place in a file of a node; nil if there is none.
func (f *Facts) FirstInFile(n *Node, file string) *Entry {
	if in := f.InFile(n.Name, file); len(in) > 0 {
		return &in[0]
	}
	return nil
}

// ServedAt are the handshakes that were made from a node with an address.
func (f *Facts) ServedAt(node, address string) []Served {
	found := f.byNode.served[nodePath{node, address}]
	out := make([]Served, len(found))
	for i, at := range found {
		out[i] = f.Snapshot.Served[at]
	}
	return out
}

// ServedTo is Snapshot.ServedTo.
func (f *Facts) ServedTo(node, address string) (Served, bool) {
	for _, v := range f.ServedAt(node, address) {
		if v.toKubeconfig() {
			return v, true
		}
	}
	return Served{}, false
}

// Loaded is Snapshot.Loaded.
func (f *Facts) Loaded(node string, k Kubeconfig) ([]*pki.Cert, []pki.Skipped) {
	at, ok := k.embedded(node)
	if !ok {
		return nil, nil
	}
	in := f.InFile(node, k.Path)
	for i := range in {
		if in[i].At == at {
			return in[i].Content.LoadedBy(pki.ReaderGo)
		}
	}
	return nil, nil
}

// MayAsk reports whether the client of a request in a node's name may be its kubelet.
func (f *Facts) MayAsk(r SigningRequest, node string) bool {
	_, may := catalog.RequesterOf(r.Signer, r.Requester, node, f.Snapshot.Cluster.Versions)
	return may != catalog.No
}

// PendingJoins are the requests for the client certificate of a kubelet that are pending, by node.
func (f *Facts) PendingJoins() map[string][]SigningRequest {
	out := map[string][]SigningRequest{}
	for _, r := range f.Snapshot.Requests {
		if node, joins := r.Joins(); joins && r.Condition == Pending && f.MayAsk(r, node) {
			out[node] = append(out[node], r)
		}
	}
	return out
}
