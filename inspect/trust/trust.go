// Package trust judges which client trusts which server: each edge of the catalog, with the
// facts of a snapshot, now and at the next rotation. It reads nothing itself.
package trust

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Claim is one edge in one place: a verifier's trust anchors, and what is
// presented to it.
type Claim struct {
	catalog.Edge
	// Assessment is what is judged. Warn: it passes now, and not any more after something that is
	// going to happen. What Edge has of the same names is the catalog's text.
	assess.Assessment
	Node  string         // where the verifier runs; empty: not on one node
	Trust []pki.Location // the trust anchors: places with the same content are one claim
	Roots []*pki.Cert    // those that the verifier's reader loads
	// Skipped are those that stand there too, and that it does not load, or may not.
	Skipped      []pki.Skipped
	Presented    pki.Location // the object that what is presented comes from; zero: seen by a handshake alone
	Server       string       // host:port of the handshake in which it was presented; empty: none was made
	Chain        []*pki.Cert  // what is presented, the leaf first
	VerifiedName string       // the server name that it must be valid for; empty: none
	NextUnknown  bool         // Unknown is only what is presented next: it holds now
	// Missing is the CA without which it does not hold; nil where that is unknown,
	// or not the reason.
	Missing *pki.Cert
	// Stored is what the server's place holds, where that is not what is presented.
	Stored *pki.Cert
	// Tenant is the namespace that it is about alone, whose users may write its trust anchors, or
	// what is presented; empty: the platform's components depend on it.
	Tenant string
	// From is when it breaks at the earliest; zero: now, or unknown.
	From time.Time
	// ProcessStarted is since when the process runs that has the trust anchors in memory; zero:
	// the claim is not about one.
	ProcessStarted time.Time
	// Logs are those of a server that say so, and Refusals what they say of one client;
	// nil where something else says so, or of no client.
	Logs     []pki.Location
	Refusals *ClientRefusals
	Expired  bool // it fails, and what is presented has expired: no trust anchor helps
	// Advice is the remediation where it does not hold, with NODE for any node.
	Advice assess.Remediation
}

// Judge returns the claims for all edges that hold for the versions that run, in
// the order of the catalog, and then of nodes and places. Once ctx is done it
// judges no further one: what it returns then is not complete, and the caller
// has to say so.
func Judge(ctx context.Context, f *inspect.Facts) []Claim { return judgeWith(ctx, f, nil) }

// JudgeAllNodes is Judge for who speaks of all nodes: those that a file names and that were
// not read for it are unknown.
func JudgeAllNodes(ctx context.Context, f *inspect.Facts) []Claim {
	return judgeWith(ctx, f, LeftOutOfFile(f))
}

func judgeWith(ctx context.Context, f *inspect.Facts, leftOut []inspect.Node) []Claim {
	j := newJudge(f)
	j.leftOut, j.over = leftOut, func() bool { return ctx.Err() != nil }
	var out []Claim
	for _, e := range catalog.Edges() {
		if j.over() {
			return nil // some of an edge's claims would look like all of them
		}
		claims := j.claims(e)
		slices.SortStableFunc(claims, func(a, b Claim) int {
			return cmp.Or(strings.Compare(a.Node, b.Node), pki.Compare(first(a.Trust), first(b.Trust)), pki.Compare(a.Presented, b.Presented))
		})
		out = append(out, claims...)
	}
	for _, row := range catalog.StartupReaders() {
		if row.In.Holds(f.Snapshot.Cluster.Versions) == catalog.Yes {
			out = append(out, j.memory(row, out)...)
		}
	}
	out = j.withUnread(out)
	for _, row := range catalog.ServerLogs() {
		if row.In.Holds(f.Snapshot.Cluster.Versions) != catalog.No {
			out = append(out, j.refused(row, out)...)
		}
	}
	out = append(append(out, j.withUnread(j.servers())...), j.accepted()...)
	out = j.cutShort(out)
	for i := range out {
		out[i].conclude(f.Hints())
	}
	if j.over() {
		return nil
	}
	return out
}

// subject is the node that it is about, else the places of its trust, else what is presented.
func (c *Claim) subject() string {
	switch {
	case c.Node != "":
		return foreign.Name(c.Node)
	case len(c.Trust) > 0:
		return strings.Join(inspect.Fold(c.Trust), ", ")
	case c.Presented != (pki.Location{}):
		return c.Presented.String()
	}
	return c.Verifier
}

func first(at []pki.Location) pki.Location {
	if len(at) == 0 {
		return pki.Location{}
	}
	return at[0]
}

type judge struct {
	f            *inspect.Facts
	leftOut      []inspect.Node               // unread, though not among the facts' nodes
	over         func() bool                  // no caller waits for the claims any more
	serviceCalls func() []inspect.ServiceCall // several edges ask for them
	// issuers are those that were looked for; nil: none was seen.
	issuers map[issued]*pki.Cert
	index   index
	// compared is how often stores of tenants were: see mostCompared.
	compared int
	costs    int // what claims about tenants may still cost
	decoys   int // what trying tenants' CAs for the platform's claims may
	// What claims have cost: about each worker's files, and about each tenant's. A tenant may call its
	// namespace as it likes.
	spentByWorker, spentByTenant map[string]int
	// processesCut are nodes of which some processes were not looked at.
	processesCut map[string]bool
	tlsKeys      map[pki.Location]*inspect.Entry // of Secrets; nil: not looked for yet
}

func newJudge(f *inspect.Facts) *judge {
	return &judge{f: f, serviceCalls: sync.OnceValue(f.ServiceCalls), over: func() bool { return false }, costs: min(costsAtLeast+pki.CostOrdinary*len(f.Certs), costsAtMost), decoys: costsAtLeast, spentByWorker: map[string]int{}, spentByTenant: map[string]int{}, processesCut: f.Snapshot.ProcessesCut()}
}

// anchors are trust anchors that some places hold alike.
type anchors struct {
	node    string
	at      []pki.Location
	certs   []*pki.Cert // that the verifier's reader loads
	skipped []pki.Skipped
	cluster *inspect.KubeconfigCluster // of a kubeconfig on a node
	problem string                     // why they are unknown; else empty
}

// identity is something that presents a chain.
type identity struct {
	node  string
	at    pki.Location
	chain []*pki.Cert
	// content is what the place holds; nil: seen by a handshake.
	content *pki.Content
	// Of a handshake: the address, and the name that who connects to it verifies.
	server, name string
	word         string      // the worker that alone was presented it: see wordOf
	next         []*pki.Cert // what the place holds, where something else was presented
}

// claims judges one row in the way that it says.
func (j *judge) claims(e catalog.Edge) []Claim {
	here, why := j.here(e)
	switch {
	case here == catalog.No:
		return nil
	case e.Verify == catalog.VerifyAggregate:
		return j.aggregates(e, j.f.Aggregates())
	case e.Verify == catalog.VerifyNodeCopies:
		return j.aggregates(e, j.f.NodeCopies())
	case e.Verify == catalog.VerifyServiceCertificate:
		return j.calls(e)
	case e.Verify == catalog.VerifyDelivered && here == catalog.Yes:
		return j.delivered(e)
	case e.Verify == catalog.VerifyDelivered:
		return nil // of which version is unknown, and so is what brings it
	}
	stores, presented := j.anchors(e), j.presented(e.Presented, e.Selector)
	if e.CustomPresented != (catalog.Ref{}) {
		if instead := j.presented(e.CustomPresented, catalog.ObjectSelector{}); len(instead) > 0 {
			presented = instead
		}
	}
	if here == catalog.Unknown {
		if seen := j.handshakes(e, stores); len(seen) > 0 {
			return seen
		}
		if len(stores) == 0 && (e.Optional || len(presented) == 0) {
			return nil
		}
		if e.OnlyIfExists != (catalog.Ref{}) && e.ServerName == catalog.NameClient && len(presented) == 0 {
			return nil // neither the client nor what it belongs to was read
		}
		return []Claim{{Assessment: assess.Assessment{Status: assess.Unknown, Reason: why}, Edge: e}}
	}
	if e.Presented == catalog.KubeadmServing() {
		return j.edge(e, stores, j.servedByMasters(presented))
	}
	return j.edge(e, stores, j.preferHandshakes(e.Presented, presented))
}

// handshakes judges an edge in a version that was not reviewed by what was seen: a
// kubeconfig on a node does verify what its server presented to that node, or does not. nil:
// nothing was seen.
func (j *judge) handshakes(e catalog.Edge, stores []anchors) []Claim {
	if e.ServerName != catalog.NameInKubeconfig || len(j.f.Snapshot.Cluster.Versions.UnreviewedMinors()) == 0 {
		return nil
	}
	claims := j.edge(e, stores, nil)
	if !slices.ContainsFunc(claims, func(c Claim) bool { return c.Server != "" }) {
		return nil
	}
	return claims
}

// here tells whether there is such a verifier in this cluster, and where that is
// unknown, why.
func (j *judge) here(e catalog.Edge) (catalog.Tristate, string) {
	c := &j.f.Snapshot.Cluster
	in := e.In.Holds(c.Versions)
	switch {
	case in == catalog.Yes && catalog.OfKubeadm(e.In) && j.f.Snapshot.MadeByKubeadm() == catalog.No:
		return catalog.No, "" // the timeline says it once
	case in == catalog.No || e.Trust.Kind != catalog.File && catalog.InHostingCluster(e.Trust, c.Topology):
		return catalog.No, ""
	case len(e.Platforms) > 0 && (c.OwnAddresses == catalog.No || c.Platform != "" && !slices.Contains(e.Platforms, c.Platform)):
		return catalog.No, ""
	case e.OnlyIfExists != (catalog.Ref{}) && !j.there(e.OnlyIfExists) && j.f.Absent(e.OnlyIfExists):
		return catalog.No, ""
	case e.OnlyWithout != (catalog.Ref{}) && j.there(e.OnlyWithout):
		return catalog.No, ""
	case in == catalog.Unknown:
		return catalog.Unknown, c.Versions.WhyUndecided()
	case len(e.Platforms) > 0 && (c.Platform == "" || c.OwnAddresses == catalog.Unknown):
		return catalog.Unknown, "whether it runs here is unknown: Infrastructure's status.platformStatus was not read"
	case e.OnlyIfExists != (catalog.Ref{}) && !j.there(e.OnlyIfExists):
		return catalog.Unknown, "whether it runs here is unknown: " + e.OnlyIfExists.String() + " was not read"
	case e.OnlyWithout != (catalog.Ref{}) && !j.f.Absent(e.OnlyWithout):
		return catalog.Unknown, "whether it is used here is unknown: " + e.OnlyWithout.String() + " was not read"
	}
	return catalog.Yes, ""
}

// there reports whether a place was read.
func (j *judge) there(r catalog.Ref) bool {
	return slices.ContainsFunc(j.f.Entries, func(h inspect.Entry) bool {
		return r.Fits(string(h.At.Kind), h.At.Namespace, h.At.Name, h.At.Key)
	})
}

// edge judges one row, for each place of its trust anchors with each place of
// what is presented.
func (j *judge) edge(e catalog.Edge, stores []anchors, presented []identity) []Claim {
	few, out := fewOfTenants(e, stores)
	presented, left := j.fewPresented(e, presented)
	if len(stores) > 0 {
		out = append(out, left...)
	}
	for _, a := range few {
		base := Claim{Edge: e, Node: a.node, Trust: a.at, Roots: a.certs, Skipped: a.skipped}
		if a.problem != "" {
			base.Status, base.Reason = assess.Unknown, a.problem
			out = append(out, base)
			continue
		}
		name, known := j.name(e, a)
		if tenant := tenantOf(e, a.at); tenant != "" {
			if base.ofTenant(tenant); e.Selector != (catalog.ObjectSelector{}) && len(presented) > 0 {
				out = append(out, j.ofStore(base, name, presented))
				continue
			}
		}
		owner, elsewhere := j.ownerOf(a), e.OnNodesWith != "" && len(presented) > 0
		presented := slices.DeleteFunc(slices.Clone(presented), func(s identity) bool {
			return owner != "" && s.node != "" && s.node != owner || // the kubeconfig names another node's own address
				e.OnNodesWith != "" && j.callsOther(s, a)
		})
		if served, ok := j.served(a); ok {
			c := base
			c.Server, c.VerifiedName, c.Chain = served.Address, served.Name, served.Chain
			if len(presented) > 0 {
				c.Presented = presented[0].at
			}
			j.decide(&c)
			j.otherServers(&c, owner, presented)
			out = append(out, c)
			continue
		}
		n := len(out)
		for _, s := range presented {
			if j.over() {
				return out
			}
			c := base
			c.Node = cmp.Or(a.node, s.node)
			c.Presented, c.Chain, c.Server, c.VerifiedName = s.at, s.chain, s.server, cmp.Or(s.name, name)
			c.ofTenantsService()
			if !known {
				c.Status, c.Reason = assess.Unknown, "the server name that its clients verify is unknown: Infrastructure's status.apiServerInternalURI was not read"
				out = append(out, c)
				continue
			}
			if len(s.chain) == 0 {
				c.Status, c.Reason = assess.Unknown, "the certificate that "+s.node+" presents was not seen: neither by a handshake nor in "+e.Presented.String()
				out = append(out, c)
				continue
			}
			j.decide(&c)
			c.asLoaded(s.content)
			c.byWordOf(s.word)
			j.elsewhere(&c, owner, s)
			j.pendingReload(&c, owner, s)
			out = append(out, c)
		}
		if n == len(out) && !elsewhere && (a.cluster != nil || !j.absent(e.Presented) && !(e.Optional && j.nowhere(e.Presented))) { // a server answers a kubeconfig's client
			base.Status, base.Reason = assess.Unknown, notSeen(e)
			if e.Presented.Kind == catalog.File {
				base.Assessment.Remediation = assess.Advise(j.f.Hints().UnreadNodes("{} verify --nodes all"))
			}
			out = append(out, base)
		}
	}
	// Of an optional edge, what is known not to be there says nothing; what was not read
	// is unknown.
	if len(stores) == 0 && len(presented) > 0 && (!e.Optional || e.Trust.Kind != catalog.File && !j.absent(e.Trust)) {
		out = append(out, j.noVerifier(e, presented[0]))
	}
	return out
}

// noVerifier is the claim where no trust anchors were found, although there is what is
// to be verified by them.
func (j *judge) noVerifier(e catalog.Edge, presented identity) Claim {
	c := Claim{Assessment: assess.Assessment{Status: assess.Unknown, Reason: "the trust anchors were not read: " + e.Trust.String()}, Edge: e, Presented: presented.at, Chain: presented.chain}
	if j.absent(e.Trust) {
		c.Status, c.Reason = assess.Fail, "there is no "+e.Trust.String()+", or no certificate in it: its readers trust no CA"
	}
	return c
}

// served is what the server of a kubeconfig presented to the node.
func (j *judge) served(a anchors) (inspect.Served, bool) {
	if a.cluster == nil {
		return inspect.Served{}, false
	}
	address, name, err := a.cluster.Dialled()
	if err != nil {
		return inspect.Served{}, false
	}
	for _, v := range j.f.ServedAt(a.node, address) { // for another name, it may present another certificate
		if v.Name == name && v.Server == catalog.ListenerNodeKubeconfig && len(v.Chain) > 0 {
			return v, true
		}
	}
	return inspect.Served{}, false
}

// name is the server name for an edge; false where it is unknown.
func (j *judge) name(e catalog.Edge, a anchors) (string, bool) {
	switch e.ServerName {
	case catalog.NameClient, catalog.NameAny:
		return "", true
	case catalog.NameInKubeconfig:
		if a.cluster == nil {
			return "", false
		}
		_, name, err := a.cluster.Dialled()
		return name, err == nil
	case catalog.NameInternal:
		_, name, err := inspect.KubeconfigCluster{Server: j.f.Snapshot.Cluster.Internal}.Dialled()
		return name, err == nil
	}
	return string(e.ServerName), true
}
