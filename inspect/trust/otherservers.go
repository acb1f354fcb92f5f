package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// servedByMasters is what each of kubeadm's masters presents, all of which have their own: what a
// handshake with it saw, else what its file holds. A master of which neither was read has
// no chain.
func (j *judge) servedByMasters(stored []identity) []identity {
	names, _ := j.f.Masters()
	byNode := map[string]*identity{}
	identityOn := func(node string) *identity {
		if byNode[node] == nil {
			byNode[node] = &identity{node: node, at: servingOn(node)}
			names = append(names, node)
		}
		return byNode[node]
	}
	for _, node := range slices.Clone(names) {
		byNode[node] = &identity{node: node, at: servingOn(node)}
	}
	for _, direct := range []bool{true, false} { // who was asked by a kubeconfig's address is as good
		for _, v := range j.f.Snapshot.Served {
			node := v.Of
			if name, ok := j.f.MasterAt(hostOf(v.Address)); ok && v.Server == catalog.ListenerNodeKubeconfig {
				node = name
			}
			if len(v.Chain) == 0 || node == "" || direct != (v.Server == catalog.ListenerAPIServer) || !direct && v.Server != catalog.ListenerNodeKubeconfig {
				continue
			}
			if i := identityOn(node); i.chain == nil {
				i.chain, i.server, i.word = v.Chain, v.Address, wordOf(j.f, v, node)
			}
		}
	}
	for _, h := range stored {
		if !j.f.MayBeMaster(h.node) {
			continue
		}
		i := identityOn(h.node)
		switch {
		case i.chain == nil:
			i.chain = h.chain
		case i.chain[0].Fingerprint != h.chain[0].Fingerprint:
			i.next = h.chain
		}
	}
	var out []identity
	slices.Sort(names)
	seen := false
	for _, node := range names {
		out = append(out, *byNode[node])
		seen = seen || byNode[node].chain != nil
	}
	if !seen {
		return nil // which is said once
	}
	return out
}

// wordOf is the worker whose word alone it is that a control plane node presents a chain: root on it chooses what
// is presented to it. Empty: a node that may be one of the control plane was presented the same, or a second worker.
func wordOf(f *inspect.Facts, v inspect.Served, of string) string {
	if of == "" {
		return ""
	}
	return aloneWith(f, v, func(other inspect.Served) bool {
		return other.Server == v.Server && (other.Of == of || v.Of == "" && other.Address == v.Address)
	})
}

// aloneWith is the worker that was presented a chain, where none of those that count was presented the same: no
// node that may be one of the control plane, no second worker, no other client. Empty: it is no worker, or not alone.
// The whole chain is compared: the leaf is public, and a worker may say that it came without its intermediates.
func aloneWith(f *inspect.Facts, v inspect.Served, counts func(inspect.Served) bool) string {
	if v.Node == "" || len(v.Chain) == 0 || f.MayBeMaster(v.Node) {
		return ""
	}
	same := func(a, b *pki.Cert) bool { return a.Fingerprint == b.Fingerprint }
	for _, other := range f.Snapshot.Served {
		if other.Node != v.Node && counts(other) && slices.EqualFunc(other.Chain, v.Chain, same) {
			return ""
		}
	}
	return v.Node
}

// byWordOf makes a claim unknown that fails by what a worker alone was presented, for other nodes than that one.
func (c *Claim) byWordOf(worker string) {
	if worker != "" && worker != c.Node && c.Status.Wrong() {
		c.Status, c.Missing, c.From = assess.Unknown, nil, time.Time{}
		c.Reason = "as " + worker + " alone was presented: " + c.Reason
	}
}

// ofControlPlane leaves out the files of workers: the cluster's CA signs on control plane nodes.
func (j *judge) ofControlPlane(places []identity) []identity {
	return slices.DeleteFunc(places, func(i identity) bool { return i.node != "" && !j.f.MayBeMaster(i.node) })
}

// servingOn is the file that holds what one of kubeadm's masters presents, read or not.
func servingOn(node string) pki.Location {
	return pki.Location{Kind: pki.KindFile, Node: node, Path: catalog.KubeadmServing().Name}
}

// unreadMaster reports whether a node is known to be a master, and was not read.
func (j *judge) unreadMaster(node string) bool {
	n, asked := j.f.Node(node)
	return j.f.IsMaster(node) && (!asked || n.Via == "")
}

// otherServers looks at what other servers behind the same address present, and at what they
// will present when they have read it: a handshake meets one of them, the next connection
// perhaps another. The worst counts.
func (j *judge) otherServers(c *Claim, owner string, presented []identity) {
	if len(c.Chain) == 0 {
		return
	}
	met := c.Chain[0].Fingerprint
	also := func(chain []*pki.Cert, server string, s identity) {
		if len(chain) == 0 || chain[0].Fingerprint == met {
			return
		}
		other := *c
		other.Chain, other.Server, other.Status, other.Reason, other.Missing, other.From, other.NextUnknown = chain, server, assess.Pass, "", nil, time.Time{}, false
		j.decide(&other)
		if j.elsewhere(&other, owner, s); assess.WorstFirst(other.Status, c.Status) < 0 {
			by := "by " + s.node + ", one of the control plane nodes"
			if s.word != "" && s.word != c.Node {
				other.Status, other.Missing, other.From = assess.Unknown, nil, time.Time{}
				by += ", as " + s.word + " alone was presented"
			}
			if assess.WorstFirst(other.Status, c.Status) >= 0 {
				return
			}
			other.Reason = by + ": " + other.Reason
			*c = other
		}
	}
	for _, s := range presented {
		if s.server != "" {
			also(s.chain, s.server, s) // of kubeadm's masters each has its own
		}
	}
	for _, v := range j.servedBy(catalog.ListenerAPIServer) {
		if v.Name == c.VerifiedName && len(v.Chain) > 0 && v.Chain[0].Fingerprint != met {
			also(v.Chain, v.Address, identity{node: v.Of, word: wordOf(j.f, v, v.Of)})
		}
	}
	for _, s := range presented {
		j.pendingReload(c, owner, s)
	}
}

// pendingReload looks at what a server's place holds, where that is not what is presented: it will
// be, once the server has read it.
func (j *judge) pendingReload(c *Claim, owner string, s identity) {
	chain := s.next
	if s.server == "" {
		chain = s.chain
	}
	if len(chain) == 0 || c.Status == assess.Fail || len(c.Chain) > 0 && chain[0].Fingerprint == c.Chain[0].Fingerprint {
		return
	}
	next := *c
	next.Chain, next.Status, next.Reason, next.Missing, next.From, next.NextUnknown = chain, assess.Pass, "", nil, time.Time{}, false
	j.decide(&next)
	j.elsewhere(&next, owner, s)
	place := "its Secret"
	if s.node != "" {
		place = s.at.String()
	}
	switch {
	case next.Status == assess.Fail:
		c.Status, c.Missing, c.From, c.NextUnknown = assess.Warn, next.Missing, time.Time{}, false
		c.Reason = place + " already holds another certificate, and a control plane node that has read it presents that one: " + next.Reason
	case next.Status == assess.Unknown && !next.NextUnknown && c.Status == assess.Pass:
		c.Status, c.Reason, c.NextUnknown = assess.Unknown, next.Reason, true
	}
}

// elsewhere takes back that a master presents a certificate for other names than a
// kubeconfig asks for, where that names an address of which no node is known, and there
// may be several masters: perhaps it is another one's alone.
func (j *judge) elsewhere(c *Claim, owner string, s identity) {
	if c.Status != assess.Fail || owner != "" || s.node == "" || c.Edge.ServerName != catalog.NameInKubeconfig || c.Edge.Presented != catalog.KubeadmServing() {
		return
	}
	if names, all := j.f.Masters(); all && len(names) == 1 || verify(c, "", j.timeOf(c)) != nil {
		return
	}
	c.Status, c.Missing = assess.Unknown, nil
	c.Reason = fmt.Sprintf("the certificate that %s presents does not cover %q, and no known node has that name or address: whether %s answers there was not seen", s.node, c.VerifiedName, s.node)
}

// ownerOf is the master whose own address a kubeconfig names; empty: none's, as far as is
// known, and then all of them may answer.
func (j *judge) ownerOf(a anchors) string {
	if a.cluster == nil {
		return ""
	}
	address, _, err := a.cluster.Dialled()
	if err != nil {
		return ""
	}
	name, ok := j.f.MasterAt(hostOf(address))
	if !ok {
		return ""
	}
	return name
}

// callsOther reports whether the kubeconfig of a client certificate names a master's own address,
// and these trust anchors are on none but others.
func (j *judge) callsOther(s identity, a anchors) bool {
	n, ok := j.f.Node(s.node)
	if !ok {
		return false
	}
	i := slices.IndexFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == s.at.Path })
	if i < 0 {
		return false
	}
	c, ok := n.Kubeconfigs[i].InUse()
	if !ok {
		return false
	}
	owner := j.ownerOf(anchors{cluster: &c})
	return owner != "" && !slices.ContainsFunc(a.at, func(at pki.Location) bool { return at.Node == owner })
}

// hostOf is what a client that connects to an address verifies where it has no other
// name.
func hostOf(address string) string {
	return strings.Trim(address[:max(strings.LastIndexByte(address, ':'), 0)], "[]")
}
