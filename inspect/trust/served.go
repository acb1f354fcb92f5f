package trust

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// servers judges what handshakes have seen: whether servers present what the places
// hold that they read.
func (j *judge) servers() []Claim {
	var out []Claim
	for _, row := range catalog.Servers() {
		holds := j.hasServer(row)
		if holds == catalog.No {
			continue
		}
		claims := j.server(row)
		if len(claims) == 0 && row.Listener.Port != "" && j.thereIs(row) {
			c := Claim{Assessment: assess.Assessment{Status: assess.Unknown, Reason: "no handshake with them was made: that takes a node that can be read"}, Edge: row.Edge}
			c.Assessment.Remediation = assess.Advise(j.f.Hints().UnreadNodes("{} verify --nodes all"))
			if holds == catalog.Unknown {
				c.Reason, c.Assessment.Remediation = j.f.Snapshot.Cluster.Versions.WhyUndecided(), assess.Remediation{}
			}
			claims = []Claim{c}
		}
		slices.SortStableFunc(claims, func(a, b Claim) int {
			return cmp.Or(strings.Compare(a.Node, b.Node), pki.Compare(a.Presented, b.Presented))
		})
		out = append(out, claims...)
	}
	return append(out, j.ownCertificate()...)
}

// hasServer tells whether the row's servers are of the version that runs.
func (j *judge) hasServer(row catalog.Server) catalog.Tristate {
	if catalog.OfKubeadm(row.In) && j.f.Snapshot.MadeByKubeadm() == catalog.No {
		return catalog.No
	}
	return row.In.Holds(j.f.Snapshot.Cluster.Versions)
}

// thereIs reports whether any of the places was read that a server presents.
func (j *judge) thereIs(row catalog.Server) bool {
	return slices.ContainsFunc(row.Certs, func(s catalog.ServedCert) bool { return len(j.presented(s.From, catalog.ObjectSelector{})) > 0 })
}

// server judges each handshake with the servers of one row.
func (j *judge) server(row catalog.Server) []Claim {
	var out []Claim
	for _, v := range j.servedBy(row.Listener.Name) {
		if j.over() {
			break
		}
		show, known := j.showOf(row, v)
		if catalog.InHostingCluster(show.From, j.f.Snapshot.Cluster.Topology) || !known && len(row.Certs) > 0 && catalog.InHostingCluster(row.Certs[0].From, j.f.Snapshot.Cluster.Topology) {
			continue // what they present is in the cluster that hosts this one
		}
		if !known && v.Server == catalog.ListenerNodeKubeconfig {
			continue // a kubelet that knows the API server by a name of its own: its edges speak of that
		}
		if known && v.Problem != "" && j.listensNot(row, show, v) {
			continue
		}
		c := Claim{Edge: row.Edge, Node: cmp.Or(v.Of, v.Node), Server: v.Address, VerifiedName: v.Name, Chain: v.Chain}
		c.Edge.Presented, c.Edge.ServerName, c.Edge.Reload = show.From, show.Name, show.Reload
		if known && show.Name == catalog.NameInternal && row.Listener.Name == catalog.ListenerAPIServer {
			c.Edge.Part = catalog.PartAPIInt
		}
		if len(v.Chain) == 0 && v.Problem == "" {
			v.Problem = "no certificate was presented"
		}
		switch {
		case v.Problem != "":
			c.Status, c.Reason = assess.Unknown, fmt.Sprintf("%s: TLS handshake%s: %s", v.Address, fromNode(v), v.Problem)
		case !known:
			j.anyOf(&c, row, v)
		default:
			j.reloaded(&c, show, v)
		}
		out = append(out, c)
	}
	return out
}

// listensNot reports whether there is nothing to present on a node: no server listens.
func (j *judge) listensNot(row catalog.Server, show catalog.ServedCert, v inspect.Served) bool {
	return (j.absent(show.From) || row.Optional && j.without(v.Of, append([]catalog.Ref{show.From}, show.Custom...)...)) && len(j.stored(show.From, v.Of)) == 0
}

// Silent are the handshakes in which no certificate came, of servers that may present one.
func Silent(f *inspect.Facts) []inspect.Served {
	j := newJudge(f)
	var out []inspect.Served
	for _, v := range f.Snapshot.Served {
		none := v.Problem == "" || slices.ContainsFunc(catalog.Servers(), func(row catalog.Server) bool {
			show, known := j.showOf(row, v)
			return row.Listener.Name == v.Server && j.hasServer(row) != catalog.No && known && j.listensNot(row, show, v)
		})
		if !none {
			out = append(out, v)
		}
	}
	return out
}

func fromNode(v inspect.Served) string {
	if v.Node == "" {
		return ""
	}
	return " from " + v.Node
}

// showOf is what a server is to present for the name that it was asked for.
func (j *judge) showOf(row catalog.Server, v inspect.Served) (catalog.ServedCert, bool) {
	for _, s := range row.Certs {
		if name, ok := inspect.ServerName(s.Name, j.f.Snapshot.Cluster); ok && name == v.Name {
			return s, true
		}
	}
	return catalog.ServedCert{}, false
}

// without reports whether a node was read, and has none of these files.
func (j *judge) without(node string, files ...catalog.Ref) bool {
	n, ok := j.f.Node(node)
	if !ok || n.Via == "" || len(j.f.GapsOf(node)) > 0 {
		return false
	}
	return !slices.ContainsFunc(files, func(r catalog.Ref) bool { return n.File(r.Name) != nil })
}

// stored are the certificates at a place, which for a file is on the server's node.
func (j *judge) stored(at catalog.Ref, node string) []identity {
	if at.Kind == catalog.File {
		return j.storedOn(at, node)
	}
	return j.presented(at, catalog.ObjectSelector{})
}

func presents(v inspect.Served, i identity) bool {
	return len(v.Chain) > 0 && v.Chain[0].Fingerprint == i.chain[0].Fingerprint
}

// anyOf judges a server that was asked for a name of which no row speaks, such as an
// address: what it presents has to be what one of its places holds.
func (j *judge) anyOf(c *Claim, row catalog.Server, v inspect.Served) {
	for _, s := range row.Certs {
		for _, at := range append([]catalog.Ref{s.From}, s.Custom...) {
			for _, i := range j.stored(at, v.Of) {
				if presents(v, i) {
					c.Status, c.Presented, c.Edge.Presented = assess.Pass, i.at, at
					return
				}
			}
		}
	}
	c.Status, c.Reason = assess.Unknown, fmt.Sprintf("%s presents %s for %q: which certificate is to be served for that name is unknown", v.Address, certificate(v.Chain[0]), v.Name)
}

// reloaded judges what a server presents against what the place holds that it reads.
func (j *judge) reloaded(c *Claim, show catalog.ServedCert, v inspect.Served) {
	for _, at := range show.Custom {
		for _, i := range j.stored(at, v.Of) {
			if presents(v, i) {
				c.Status, c.Presented, c.Edge.Presented = assess.Pass, i.at, at
				return
			}
		}
	}
	places := j.stored(show.From, v.Of)
	if len(places) == 0 {
		c.Status, c.Reason = assess.Unknown, show.From.String()+" was not read, or is not there: the certificate presented can't be compared"
		if n, ok := j.f.Node(v.Of); show.From.Kind == catalog.File && (!ok || n.Via == "") {
			c.Reason = v.Of + " was not read: the certificate presented can't be compared with " + show.From.String() + " there"
		}
		return
	}
	place := places[0]
	c.Presented = place.at
	if slices.ContainsFunc(places, func(i identity) bool { return presents(v, i) }) {
		c.Status = assess.Pass
		return
	}
	leaf, stored := v.Chain[0], place.chain[0]
	c.Stored = stored
	c.Reason = fmt.Sprintf("%s presents another certificate than %s holds", v.Address, place.at)
	c.Assessment.Evidence = fmt.Sprintf("%s presents %s for %s; %s holds %s", v.Address, certificate(leaf), cmp.Or(v.Name, "no name"), place.at, certificate(stored))
	switch {
	case !j.knownIssuer(v.Chain, show.From):
		c.Status = assess.Unknown
		c.Assessment.Evidence += ". No CA of the cluster verifies the certificate presented: a proxy terminates TLS, or the server was given another certificate"
	case leaf.NotBefore.After(stored.NotBefore):
		c.Status = assess.Unknown
		c.Assessment.Evidence += ", an older one: was it changed while this was read? Run it again"
	case show.ReloadWithin > 0 && j.f.Now.Before(stored.NotBefore.Add(show.ReloadWithin)):
		c.Status = assess.Unknown
		c.Assessment.Evidence += fmt.Sprintf(". It is new: that it is read %s may take %d minutes; run it again", show.Reload, int(show.ReloadWithin.Minutes()))
	default:
		c.Status = assess.Fail
		c.Assessment.Evidence += j.onDisk(show, v)
		c.Edge.Remediation = cmp.Or(show.Remediation, c.Edge.Remediation)
	}
}

// certificate names one for people.
func certificate(c *pki.Cert) string {
	return fmt.Sprintf("%s (made %s)", c.Fingerprint.Short(), c.NotBefore.UTC().Format("2006-01-02 15:04 MST"))
}

// knownIssuer reports whether a CA verifies the chain that is known to sign what is at a
// place, or that its readers trust; at the time when the leaf was made, because what
// is presented may be expired.
func (j *judge) knownIssuer(chain []*pki.Cert, at catalog.Ref) bool {
	var roots []*pki.Cert
	for _, e := range catalog.Edges() {
		if e.Presented == at && e.Trust.Kind != catalog.File {
			for _, a := range j.anchors(e) {
				if tenantOf(e, a.at) == "" { // a tenant's CA signs nothing of the platform's
					roots = append(roots, a.certs...)
				}
			}
		}
	}
	for _, r := range catalog.Rotations() {
		if !slices.Contains(r.Targets, at) {
			continue
		}
		for _, i := range j.ofControlPlane(slices.Concat(j.presented(r.Signer, catalog.ObjectSelector{}), j.published(r.Bundle))) {
			roots = append(roots, i.chain...)
		}
	}
	return pki.Verify(chain, roots, "", chain[0].NotBefore) == nil
}

// onDisk says, for a place of which the server's node has a copy, whether that is
// what is presented: then the new one was not written, else the server has not read it.
func (j *judge) onDisk(show catalog.ServedCert, v inspect.Served) string {
	if show.Reload != catalog.ReloadOnChange {
		return ""
	}
	at := show.From
	for _, c := range catalog.NodeCopies() {
		if c.In.Holds(j.f.Snapshot.Cluster.Versions) != catalog.Yes || c.Object.Kind != at.Kind || c.Object.Namespace != at.Namespace || c.Object.Name != "*" {
			continue
		}
		path := strings.Replace(c.File, "*", at.Name, 1)
		for _, i := range j.stored(catalog.Ref{Kind: catalog.File, Name: path}, v.Of) {
			if presents(v, i) {
				return fmt.Sprintf(". The file %s on %s is the old one, too: look at %s", path, v.Of, c.Writer)
			}
			return fmt.Sprintf(". The file %s on %s is another one: the server has not read it", path, v.Of)
		}
	}
	return ""
}

// ownCertificate judges whether an administrator's certificate is presented for
// api-int, which may be where one was made for that name.
func (j *judge) ownCertificate() []Claim {
	e := catalog.CustomAPIIntEdge()
	internal, ok := inspect.ServerName(e.ServerName, j.f.Snapshot.Cluster)
	if !ok || e.In.Holds(j.f.Snapshot.Cluster.Versions) != catalog.Yes {
		return nil
	}
	var named, covering []identity
	for _, at := range catalog.NamedCertificates() {
		named = append(named, j.stored(at, "")...)
	}
	for _, i := range named {
		if leaf, err := i.chain[0].X509(); err == nil && leaf.VerifyHostname(internal) == nil {
			covering = append(covering, i)
		}
	}
	var out []Claim
	seen := false
	for _, v := range j.f.Snapshot.Served {
		if v.Name != internal || len(v.Chain) == 0 || v.Server != catalog.ListenerNodeKubeconfig && v.Server != catalog.ListenerUserKubeconfig && v.Of == "" {
			continue
		}
		seen = true
		for _, i := range named {
			if presents(v, i) {
				out = append(out, Claim{
					Assessment: assess.Assessment{
						Status: assess.Fail,
						Reason: fmt.Sprintf("%s presents %s for it, of %s", v.Address, certificate(v.Chain[0]), i.at),
					},
					Edge: e, Node: cmp.Or(v.Of, v.Node), Presented: i.at, Server: v.Address, VerifiedName: internal, Chain: v.Chain,
				})
			}
		}
	}
	switch {
	case len(named) == 0 || len(out) > 0:
		return out
	case seen:
		return []Claim{{Edge: e, Assessment: assess.Assessment{Status: assess.Pass}, VerifiedName: internal}}
	case len(covering) > 0:
		return []Claim{{
			Assessment: assess.Assessment{
				Status: assess.Unknown,
				Reason: covering[0].at.String() + " covers that name too; whether it is presented was not seen: no handshake was made",
			},
			Edge: e, Presented: covering[0].at, Chain: covering[0].chain, VerifiedName: internal,
		}}
	}
	return nil
}

// preferHandshakes puts what handshakes saw in the place of what files and Secrets hold, where
// who verifies connects to the very address that was asked.
func (j *judge) preferHandshakes(at catalog.Ref, stored []identity) []identity {
	for _, row := range catalog.Servers() {
		if !row.Direct || row.Certs[0].From != at {
			continue
		}
		last := map[string]int{} // by node: which of stored is its last one
		for i, of := range stored {
			last[of.node] = i
		}
		var out []identity
		seen := map[string]bool{} // the nodes whose stored ones are replaced
		for _, v := range j.servedBy(row.Listener.Name) {
			if len(v.Chain) == 0 {
				continue
			}
			one := identity{node: v.Of, chain: v.Chain, server: v.Address, name: cmp.Or(v.Name, hostOf(v.Address))}
			own, isOwn := last[v.Of]
			isOwn = isOwn && !seen[v.Of]
			if all, ok := last[""]; ok && (!isOwn || all > own) {
				own, isOwn = all, true
			}
			if isOwn {
				one.at = stored[own].at
			}
			seen[v.Of] = v.Of != ""
			out = append(out, one)
		}
		if len(out) > 0 && at.Kind != catalog.File {
			return out // it is what those servers read
		}
		return append(out, slices.DeleteFunc(slices.Clone(stored), func(of identity) bool { return seen[of.node] })...)
	}
	return stored
}

// presented finds the places of what is presented.
func (j *judge) presented(r catalog.Ref, carries catalog.ObjectSelector) []identity {
	key := place{r, carries}
	out, known := j.index.presented[key]
	if !known {
		if j.index.presented == nil {
			j.index.presented = map[place][]identity{}
		}
		out = j.findPresented(r, carries)
		j.index.presented[key] = out
	}
	return slices.Clone(out) // some take theirs out of it
}

// published finds a bundle that says who signs next. Of one that each namespace has, the copies that no
// tenant writes say so, where such were read.
func (j *judge) published(bundle catalog.Ref) []identity {
	out := j.presented(bundle, catalog.ObjectSelector{})
	if slices.ContainsFunc(out, func(i identity) bool { return reserved(i.at) }) {
		out = slices.DeleteFunc(out, func(i identity) bool { return !reserved(i.at) })
	}
	return out
}

func (j *judge) findPresented(r catalog.Ref, carries catalog.ObjectSelector) []identity {
	var out []identity
	for i := range j.f.Entries {
		h := &j.f.Entries[i]
		fits := !h.Superseded && len(h.Content.Certs) > 0
		switch {
		case !fits:
		case r.Kind == catalog.File:
			fits = h.At.Kind == pki.KindFile && h.At.Node != "" && h.At.Path == r.Name && strings.HasSuffix(h.At.Field, r.Key)
		case carries != catalog.ObjectSelector{}:
			// By what it carries: some of them have a row by their name.
			fits = string(h.At.Kind) == r.Kind && h.At.Key == r.Key && h.Object != nil && carries.Annotated(h.Object.Annotations)
		case strings.Contains(r.Name, "*"): // a family may have others within
			fits = h.Row != nil && h.Row.Ref == r
		default:
			fits = r.Fits(string(h.At.Kind), h.At.Namespace, h.At.Name, h.At.Key)
		}
		if fits {
			out = append(out, identity{node: h.At.Node, at: h.At, chain: h.Content.Certs, content: h.Content})
		}
	}
	return out
}
