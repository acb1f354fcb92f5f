package trust

import (
	"cmp"
	"slices"
	"strings"
	"time"

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
		about := j.aboutNodes(of)
		for _, n := range cut {
			if j.over() {
				return nil
			}
			if about.concerns(&n.Node) {
				of = append(of, Claim{Assessment: assess.Assessment{Status: assess.Unknown, Reason: n.why}, Edge: of[0].Edge, Node: n.Name})
				about.add(&of[len(of)-1])
			}
		}
		if len(of) > end {
			slices.SortStableFunc(of, func(a, b Claim) int { return cmp.Compare(strings.ToLower(a.Node), strings.ToLower(b.Node)) })
		}
		out, claims = append(out, of...), claims[end:]
	}
	return out
}

// unheard are claims about control plane nodes that were not read, nor a log of theirs: what clients refuse
// there, no other log says. heard are those of which one was.
func (j *judge) unheard(row catalog.ServerLog, heard map[string]time.Time) (out []Claim) {
	if _, ok := heard[""]; ok {
		return nil // whose it is was not told
	}
	add := func(n inspect.Node, why string) {
		if _, ok := heard[n.Name]; !ok && n.Role == catalog.RoleMaster {
			out = append(out, Claim{Edge: row.Edge, Node: n.Name, Assessment: assess.Assessment{Status: assess.Unknown, Reason: why}})
		}
	}
	for _, n := range j.f.Snapshot.Nodes {
		if n.Via == "" {
			add(n, whyUnread)
		}
	}
	for _, n := range j.leftOut {
		add(n, whyLeftOut)
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

// aboutNodes is what the claims of one edge say of nodes.
type aboutNodes struct {
	j           *judge
	optional    bool
	named, with map[string]bool // that claims are about; and about files or processes on them
	others      bool
	mastersOnly bool
	lack        map[string]bool // by role, see lacked
}

func (j *judge) aboutNodes(of []Claim) *aboutNodes {
	a := &aboutNodes{j: j, optional: of[0].Optional, named: map[string]bool{}, with: map[string]bool{}, lack: map[string]bool{}, mastersOnly: true}
	for i := range of {
		a.add(&of[i])
	}
	return a
}

func (a *aboutNodes) add(c *Claim) {
	a.named[c.Node] = true
	onNode := c.onFile() || c.Edge.Presented.Kind == catalog.File || !c.ProcessStarted.IsZero()
	if c.Node == "" || !onNode || c.Refusals != nil {
		return
	}
	a.others, a.with[c.Node] = true, true
	if other, ok := a.j.f.Node(c.Node); !ok || other.Role != catalog.RoleMaster {
		a.mastersOnly = false
	}
}

// concerns reports whether the claims are about files or processes on nodes,
// and about nodes such as this one, of which they say nothing. What was found on masters
// alone is not looked for on workers; and what nodes may be without, only where each that
// was read has it.
func (a *aboutNodes) concerns(n *inspect.Node) bool {
	if a.named[n.Name] || !a.others || a.mastersOnly && n.Role != "" && n.Role != catalog.RoleMaster {
		return false
	}
	return !a.optional || !a.lacked(n.Role)
}

// lacked reports whether a node of a role was read that is without; where none of that role was read,
// any node. What root on a worker puts there says nothing of control plane nodes. More unread nodes
// change nothing of that.
func (a *aboutNodes) lacked(role string) bool {
	lack, decided := a.lack[role]
	if decided {
		return lack
	}
	read := func(other inspect.Node) bool {
		return other.Via != "" && (role == "" || other.Role == "" || other.Role == role)
	}
	if !slices.ContainsFunc(a.j.f.Snapshot.Nodes, read) {
		read = func(other inspect.Node) bool { return other.Via != "" }
	}
	lack = slices.ContainsFunc(a.j.f.Snapshot.Nodes, func(other inspect.Node) bool { return read(other) && !a.with[other.Name] })
	a.lack[role] = lack
	return lack
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
	type claimed struct {
		edge string
		at   pki.Location
	}
	var known map[claimed]bool // made when it is asked for
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
			if known == nil {
				known = map[claimed]bool{}
				for _, c := range claims {
					known[claimed{c.Edge.ID, c.Presented}] = true
					for _, at := range c.Trust {
						known[claimed{c.Edge.ID, at}] = true
					}
				}
			}
			if !known[claimed{e.ID, h.At}] {
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
	return "the certificate presented was not read: " + at + "; no handshake was made"
}

// absent reports whether a place that was not found is known not to be there.
func (j *judge) absent(r catalog.Ref) bool {
	return j.f.Absent(r) || catalog.InHostingCluster(r, j.f.Snapshot.Cluster.Topology)
}
