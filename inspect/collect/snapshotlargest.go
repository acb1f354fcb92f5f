package collect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// ownerOf is the node or namespace of a place.
func ownerOf(at pki.Location) string {
	if at.Node != "" {
		return ownerNode(at.Node)
	}
	return ownerNamespace(at.Namespace)
}

func ownerNamespace(name string) string {
	if name == "" {
		return "no namespace"
	}
	return foreign.Name(name)
}

func ownerNode(name string) string { return "node/" + foreign.Name(name) }

// largest are the three owners of most, with how much.
func largest(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, name := range names[:min(3, len(names))] {
		out = append(out, fmt.Sprintf("%s (%d)", name, of[name]))
	}
	return strings.Join(out, ", ")
}

// mostThings are the nodes and namespaces that hold most certificates, keys and the like.
func mostThings(bundles []inspect.Bundle) string {
	weights, count := map[*pki.Content]int{}, map[string]int{}
	for _, b := range bundles {
		weight, known := weights[b.Content]
		if !known {
			weight = b.Content.Things()
			weights[b.Content] = weight
		}
		count[ownerOf(b.At)] += weight
	}
	return largest(count)
}

// mostBytes are the nodes and namespaces of which a file, of these places, has most bytes. What places share is
// its first one's.
func mostBytes(bundles []inspect.Bundle, f *snapshotFile) string {
	size := map[string]int{}
	add := func(owner string, part any) {
		text, _ := json.Marshal(part) // what can't be written was an error before
		size[owner] += len(text)
	}
	contents, certs, objects := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for i, b := range f.Bundles {
		owner := ownerOf(bundles[i].At)
		if add(owner, b); !contents[int(b.Content)] {
			contents[int(b.Content)] = true
			add(owner, f.Contents[b.Content])
			for _, n := range f.Contents[b.Content].Certificates {
				if !certs[n] {
					certs[n] = true
					add(owner, f.Certificates[n])
				}
			}
		}
		if b.Object != nil && !objects[*b.Object] {
			objects[*b.Object] = true
			add(owner, f.Objects[*b.Object])
		}
	}
	for _, nodes := range [][]fileNode{f.Nodes, f.Unasked} {
		for _, n := range nodes {
			for _, k := range n.Kubeconfigs { // one by one: all of a node may be much
				add(ownerNode(n.Name), k)
			}
			n.Kubeconfigs = nil
			add(ownerNode(n.Name), n)
		}
	}
	for _, g := range f.Gaps {
		owner := ownerNamespace(g.Where)
		if node, ok := strings.CutPrefix(g.What, "node/"); ok {
			owner = ownerNode(node)
		}
		add(owner, g)
	}
	for _, s := range f.Served {
		add(ownerOf(pki.Location{Node: s.Node}), s)
	}
	for _, r := range f.Requests {
		add(ownerNamespace(""), r)
	}
	place := func(at string, part any) {
		l, _ := pki.ParseLocation(at) // empty: no namespace
		add(ownerOf(l), part)
	}
	for _, r := range f.Reported {
		place(r.At, r)
	}
	for _, r := range f.References {
		place(r.From, r)
	}
	for _, e := range f.Exposed {
		place(e.At, e)
	}
	for _, l := range f.ServerLogs {
		place(l.At, l)
	}
	return largest(size)
}
