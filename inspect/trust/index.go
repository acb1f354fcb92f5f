package trust

import (
	"net/netip"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// index finds what is asked of the entries again and again, for each claim: there may be hundreds
// of thousands of entries. Each part is made when it is asked for.
type index struct {
	presented map[place][]identity
	objects   map[pki.Location]*inspect.Object
	leaves    map[pki.Fingerprint][]*inspect.Entry // identities, by what they present
	cas       map[string]namedCAs                  // by subject
	lifetimes map[pki.Fingerprint]lifetime
	stored    map[catalog.Ref]map[string][]identity // of files, by node
	servers   map[string][]inspect.Served           // by catalog.Listener
	nowhere   map[catalog.Ref]bool
	networks  []podNetwork // of pods; nil: not asked for
}

// podNetwork is one from which the pods of a node have their addresses.
type podNetwork struct {
	netip.Prefix
	node string
}

func (j *judge) podNetworks() []podNetwork {
	if j.index.networks == nil {
		j.index.networks = []podNetwork{}
		for n := range j.f.Snapshot.EachNode() {
			for _, text := range n.PodNetworks {
				if p, err := netip.ParsePrefix(text); err == nil {
					j.index.networks = append(j.index.networks, podNetwork{p, n.Name})
				}
			}
		}
	}
	return j.index.networks
}

// storedOn are the certificates in a file of a node.
func (j *judge) storedOn(file catalog.Ref, node string) []identity {
	on, known := j.index.stored[file]
	if !known {
		if j.index.stored == nil {
			j.index.stored = map[catalog.Ref]map[string][]identity{}
		}
		on = map[string][]identity{}
		for _, i := range j.presented(file, catalog.ObjectSelector{}) {
			on[i.node] = append(on[i.node], i)
		}
		j.index.stored[file] = on
	}
	return slices.Clip(on[node])
}

// servedBy are the handshakes with servers of one kind.
func (j *judge) servedBy(listener string) []inspect.Served {
	if j.index.servers == nil {
		j.index.servers = map[string][]inspect.Served{}
		for _, v := range j.f.Snapshot.Served {
			j.index.servers[v.Server] = append(j.index.servers[v.Server], v)
		}
	}
	return j.index.servers[listener]
}

// nowhere reports whether a file is on no node: all of them were read.
func (j *judge) nowhere(r catalog.Ref) bool {
	no, known := j.index.nowhere[r]
	if !known {
		no = r.Kind == catalog.File && !slices.ContainsFunc(j.f.Snapshot.Nodes, func(n inspect.Node) bool { return !j.without(n.Name, r) })
		if j.index.nowhere == nil {
			j.index.nowhere = map[catalog.Ref]bool{}
		}
		j.index.nowhere[r] = no
	}
	return no
}

// lifetime is how long a certificate lives, by the places that hold it. A tenant has one in tens of
// thousands of places, and each of them may have a claim.
type lifetime struct {
	catalog.Lifetime
	catalog.Tristate
}

// place is one of the catalog's.
type place struct {
	catalog.Ref
	catalog.ObjectSelector
}

// object is the one that a place is in; nil: none was read.
func (j *judge) object(at pki.Location) *inspect.Object {
	if j.index.objects == nil {
		j.index.objects = make(map[pki.Location]*inspect.Object, len(j.f.Entries))
		for i := range j.f.Entries {
			h := &j.f.Entries[i]
			if _, known := j.index.objects[h.At]; !known && h.Object != nil {
				j.index.objects[h.At] = h.Object
			}
		}
	}
	return j.index.objects[at]
}

// presenting are the places that present a certificate.
func (j *judge) presenting(leaf *pki.Cert) []*inspect.Entry {
	if j.index.leaves == nil {
		j.index.leaves = map[pki.Fingerprint][]*inspect.Entry{}
		for i := range j.f.Entries {
			if h := &j.f.Entries[i]; h.Leaf() != nil {
				j.index.leaves[h.Leaf().Fingerprint] = append(j.index.leaves[h.Leaf().Fingerprint], h)
			}
		}
	}
	return j.index.leaves[leaf.Fingerprint]
}
