package trust

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// whyUnread and whyLeftOut are why nothing is known of a claim on a node.
const (
	whyUnread  = "the node was not read"
	whyLeftOut = "the node was left out" // of a file
)

// withUnread adds, to claims that are about nodes, the nodes that were not read: what
// holds for the others says nothing of them. It keeps the order.
func (j *judge) withUnread(claims []Claim) []Claim {
	type unread struct {
		inspect.Node
		why string
	}
	var cut []unread
	for _, n := range j.f.Snapshot.Nodes {
		if n.Via == "" {
			cut = append(cut, unread{n, whyUnread})
		}
	}
	for _, n := range j.leftOut {
		cut = append(cut, unread{n, whyLeftOut})
	}
	if len(cut) == 0 {
		return claims
	}
	var out []Claim
	for len(claims) > 0 {
		end := 1
		for end < len(claims) && claims[end].Edge.ID == claims[0].Edge.ID {
			end++
		}
		of := claims[:end:end]
		for _, n := range cut {
			if j.concerns(of, &n.Node) {
				of = append(of, Claim{Assessment: assess.Assessment{Status: assess.Unknown, Reason: n.why}, Edge: of[0].Edge, Node: n.Name})
			}
		}
		if len(of) > end {
			slices.SortStableFunc(of, func(a, b Claim) int { return cmp.Compare(strings.ToLower(a.Node), strings.ToLower(b.Node)) })
		}
		out, claims = append(out, of...), claims[end:]
	}
	return out
}

// LeftOutOfFile are the nodes that a file names and that were not read for it. Who reads the
// file did not choose them, so nothing is said of all nodes without them; who asks a cluster
// for some nodes wants to know of no others.
func LeftOutOfFile(f *inspect.Facts) []inspect.Node {
	if !f.Hints().OfFile() {
		return nil
	}
	return f.Snapshot.LeftOut()
}

// concerns reports whether the claims of one edge are about files or processes on nodes,
// and about nodes such as this one, of which they say nothing. What was found on masters
// alone is not looked for on workers; and what nodes may be without, only where each that
// was read has it.
func (j *judge) concerns(of []Claim, n *inspect.Node) bool {
	others, mastersOnly, with := false, true, map[string]bool{}
	for i := range of {
		c := &of[i]
		onNode := c.onFile() || c.Edge.Presented.Kind == catalog.File || !c.ProcessStarted.IsZero()
		switch {
		case c.Node == n.Name:
			return false
		case c.Node == "" || !onNode || c.Refusals != nil:
			continue
		}
		others, with[c.Node] = true, true
		if other, ok := j.f.Snapshot.Node(c.Node); !ok || other.Role != catalog.RoleMaster {
			mastersOnly = false
		}
	}
	if !others || mastersOnly && n.Role != "" && n.Role != catalog.RoleMaster {
		return false
	}
	return !of[0].Optional || !slices.ContainsFunc(j.f.Snapshot.Nodes, func(other inspect.Node) bool {
		return other.Via != "" && !with[other.Name] && (!mastersOnly || other.Role == "" || other.Role == catalog.RoleMaster)
	})
}

// onFile reports whether its trust anchors are in a file on a node.
func (c *Claim) onFile() bool {
	return c.Edge.Trust.Kind == catalog.File || len(c.Trust) > 0 && c.Trust[0].Node != ""
}

// cutShort makes claims unknown that are judged by places of which not all was read: what was left
// out may be what a client lacks, or what it has to trust. It adds claims of places of the platform's
// and of nodes of which nothing was read: others find none there.
func (j *judge) cutShort(claims []Claim) []Claim {
	whole := func(at pki.Location) pki.Location { at.Field = ""; return at }
	why := map[pki.Location]string{}
	for i := range j.f.Entries {
		if reason := j.f.Entries[i].Content.CutShort(); reason != "" {
			why[whole(j.f.Entries[i].At)] = reason
		}
	}
	if len(why) == 0 {
		return claims
	}
	claims = append(claims, j.unclaimed(claims)...)
	for i := range claims {
		c := &claims[i]
		at := c.Presented
		if why[whole(at)] == "" { // trust anchors that were read may suffice
			n := slices.IndexFunc(c.Trust, func(at pki.Location) bool { return why[whole(at)] != "" })
			if n < 0 || c.Status == assess.Pass {
				continue
			}
			at = c.Trust[n]
		}
		c.Status, c.Missing, c.Reason = assess.Unknown, nil, "not all of "+whole(at).String()+" was read: "+why[whole(at)]
	}
	return claims
}

// unclaimed are claims of edges by places of which so little was read that no certificate is left.
func (j *judge) unclaimed(claims []Claim) []Claim {
	var out []Claim
	for i := range j.f.Entries {
		h := &j.f.Entries[i]
		if len(h.Content.Certs) > 0 || h.Superseded || h.Writer() == inspect.WriterTenant || h.Content.CutShort() == "" {
			continue
		}
		for _, e := range catalog.Edges() {
			fits := func(r catalog.Ref) bool {
				if r.Kind == catalog.File {
					return h.At.Kind == pki.KindFile && h.At.Path == r.Name
				}
				return r.Fits(string(h.At.Kind), h.At.Namespace, h.At.Name, h.At.Key)
			}
			if e.In.Holds(j.f.Snapshot.Cluster.Versions) == catalog.No || !fits(e.Presented) && !fits(e.Trust) {
				continue
			}
			if !slices.ContainsFunc(claims, func(c Claim) bool {
				return c.Edge.ID == e.ID && (c.Presented == h.At || slices.Contains(c.Trust, h.At))
			}) {
				out = append(out, Claim{Edge: e, Node: h.At.Node, Presented: h.At})
			}
		}
	}
	return out
}

// notSeen is why nothing is known of what a server presents.
func notSeen(e catalog.Edge) string {
	at := e.Presented.String()
	if e.Presented.Kind == catalog.File {
		at = e.Presented.Name + " of any node"
	}
	return "not read: " + at + ", which has the certificate presented; no handshake was made"
}

// absent reports whether a place that was not found is known not to be there.
func (j *judge) absent(r catalog.Ref) bool {
	return j.f.Absent(r) || catalog.InHostingCluster(r, j.f.Snapshot.Cluster.Topology)
}

// nowhere reports whether a file is on no node: all of them were read.
func (j *judge) nowhere(r catalog.Ref) bool {
	return r.Kind == catalog.File && !slices.ContainsFunc(j.f.Snapshot.Nodes, func(n inspect.Node) bool { return !j.without(n.Name, r) })
}
