package rotate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// aboutServer reports whether a claim is about what a server shows or accepts, and not
// about who verifies that.
func aboutServer(c trust.Claim) bool {
	return slices.ContainsFunc(catalog.Servers(), func(s catalog.Server) bool { return s.ID == c.Edge.ID }) || aboutCaller(c)
}

// aboutCaller reports whether a claim is about a request that was made with a client
// certificate.
func aboutCaller(c trust.Claim) bool {
	return slices.ContainsFunc(catalog.Callers(), func(r catalog.Caller) bool { return r.ID == c.Edge.ID })
}

// looked is what was seen of whether servers show, or accept, what a certificate signed.
type looked struct {
	all, does    int
	old, unknown []string
	mend         []string // what mends some of the old, for people
}

// servedStage asks whether servers show, in handshakes, what the signer's newest
// certificate has signed; and of what clients show, whether servers accept it.
func (c Chain) servedStage(ca *pki.Cert, leaf Stage) Stage {
	if leaf.Reached != catalog.Yes {
		return Stage{Name: StageServed, Reached: leaf.Reached, Text: "it follows " + StageLeaf, Next: leaf.Next}
	}
	s := Stage{Name: StageServed, Reached: catalog.Yes}
	var l looked
	what := "handshakes were shown a certificate of it"
	hints := c.Facts.Hints()
	late := hints.Next("a server reads it within minutes; {} verify names the one that does not, and what mends it")
	blind := hints.UnreadNodes("handshakes are made from nodes that can be read: --nodes all, with --via ssh where exec does not lead there")
	for _, at := range c.leaves() {
		caller := slices.IndexFunc(catalog.Callers(), func(r catalog.Caller) bool { return r.Presented == at })
		switch claims := c.shownBy(at); {
		case len(heldAt(c.Facts, at)) == 0: // it is not there, else the stage before was not reached
		case caller >= 0:
			what = "requests with a certificate of it were accepted"
			late = hints.Next("a changed file is read within a minute or two: kube-apiserver-cert-syncer writes the certificate on masters, and who writes the servers' CAs is named by {} verify")
			blind = hints.UnreadNodes("requests are made on masters that can be read, with the certificate that lies there: --nodes all, with --via ssh where exec does not lead there")
			l.accepted(claims, at, ca, c.mastersWithout(catalog.Callers()[caller].Certificate))
		case !slices.ContainsFunc(claims, func(x trust.Claim) bool { return x.Server != "" }):
			l.unknown = append(l.unknown, c.unseen(at))
		default:
			l.shown(claims, at, ca)
		}
	}
	switch {
	case len(l.old) > 0:
		s.Reached, s.Text, s.Next = catalog.No, fmt.Sprintf("%d of %d %s; not: %s", l.does, l.all, what, few(l.old)), late
		if len(l.mend) > 0 {
			s.Next = few(l.mend)
		}
	case len(l.unknown) > 0:
		s.Reached, s.Text, s.Next = catalog.Unknown, "not known: "+few(l.unknown), blind
		if l.does > 0 {
			s.Text = fmt.Sprintf("%d of %d %s; %s", l.does, l.all, what, s.Text)
		}
	case l.all == 0:
		s.Text = "certificates of an administrator's own are shown in its place"
	default:
		s.Text = fmt.Sprintf("all %d %s", l.all, what)
	}
	return s
}

// shown counts handshakes in which the certificate of a place was to be shown.
func (l *looked) shown(claims []trust.Claim, at catalog.Ref, ca *pki.Cert) {
	for _, claim := range claims {
		switch {
		case claim.Server == "" || claim.Edge.Presented != at && len(claim.Chain) > 0: // one of an administrator's own is shown
			continue
		case len(claim.Chain) == 0:
			l.unknown = append(l.unknown, claim.Reason)
		case signed(claim.Chain[0], ca):
			l.does++
		default:
			l.old = append(l.old, fmt.Sprintf("%s shows %s for %s, made %s", claim.Server, pki.Foreign(pki.CommonName(claim.Chain[0].Subject)), at.Name, remediate.Timestamp(claim.Chain[0].NotBefore)))
		}
		l.all++
	}
}

// accepted counts requests that showed a master's copy of the certificate of a place. Of
// masters without a copy that was read, it is not known what they show.
func (l *looked) accepted(claims []trust.Claim, at catalog.Ref, ca *pki.Cert, without []string) {
	if len(claims) == 0 {
		l.unknown = append(l.unknown, at.Name+" (no request was made with it: that takes a master that can be read)")
	}
	for _, claim := range claims {
		switch {
		case len(claim.Chain) > 0 && !signed(claim.Chain[0], ca):
			old := fmt.Sprintf("%s on %s still has the one made %s", claim.Presented.Path, claim.Presented.Node, remediate.Timestamp(claim.Chain[0].NotBefore))
			if slices.Contains(l.old, old) { // as many servers are asked with it
				continue
			}
			l.old = append(l.old, old)
		case claim.Status == trust.Unknown:
			l.unknown = append(l.unknown, claim.Reason)
		case claim.Status != trust.Holds:
			l.old, l.mend = append(l.old, claim.Reason), append(l.mend, mendOf(claim))
		default:
			l.does++
		}
		l.all++
	}
	for _, master := range without {
		l.unknown = append(l.unknown, "what kube-apiserver on "+master+" shows (its file was not read, or is not there)")
	}
}

// mendOf is what mends a claim, for people; the zero text: nothing is known.
func mendOf(claim trust.Claim) string {
	return strings.ReplaceAll(claim.Edge.Remediation, "NODE", claim.Node)
}

// mastersWithout are those of which a file was not read, or is not there. A node of which
// the API says nothing may be one.
func (c Chain) mastersWithout(file string) []string {
	var out []string
	for _, n := range slices.Concat(c.Facts.Snapshot.Nodes, c.Facts.Snapshot.Unasked) {
		if may := n.Role == catalog.RoleMaster || n.Role == "" && n.Via == ""; may && n.File(file) == nil {
			out = append(out, n.Name)
		}
	}
	return out
}

// shownBy are the claims about handshakes in which a place's certificate was to be shown.
func (c Chain) shownBy(at catalog.Ref) []trust.Claim {
	instead := []catalog.Ref{at}
	for _, row := range catalog.Servers() {
		for _, s := range row.Shows {
			if s.From == at {
				instead = append(instead, s.Instead...)
			}
		}
	}
	var out []trust.Claim
	for _, claim := range c.Claims {
		// Who verifies may be shown it in the same handshake: those are counted once.
		if aboutServer(claim) && slices.Contains(instead, claim.Edge.Presented) {
			out = append(out, claim)
		}
	}
	return out
}

// unseen says why no handshake tells what is shown of a place.
func (c Chain) unseen(at catalog.Ref) string {
	for _, row := range catalog.Servers() {
		if slices.ContainsFunc(row.Shows, func(s catalog.Show) bool { return s.From == at }) {
			return at.Name + " (no handshake was made)"
		}
	}
	if held := heldAt(c.Facts, at); len(held) > 0 && len(held[0].Content.Certs) > 0 && held[0].Content.Certs[0].IsCA {
		return at.Name + " (nobody shows it: it signs, and what it signs is not followed)"
	}
	return at.Name + " (no server shows it: a client does, which no handshake tells)"
}

// edgesStage asks whether all holds that is known of who shows and who verifies what the
// signer signs.
func (c Chain) edgesStage(leaf Stage) Stage {
	if leaf.Reached != catalog.Yes {
		return Stage{Name: StageEdges, Reached: leaf.Reached, Text: "they are judged after " + StageLeaf, Next: leaf.Next}
	}
	s := Stage{Name: StageEdges, Reached: catalog.Yes, Next: c.Facts.Hints().Next("{} verify" + c.Facts.Hints().Live(" --nodes all") + " names each, and what mends it")}
	var broken, unknown, mend []string
	claims := slices.DeleteFunc(c.claims(), func(claim trust.Claim) bool { return claim.Tenant != "" && claim.Status != trust.Holds }) // stage trust tells of them
	for _, claim := range claims {
		text := strings.TrimSpace(fmt.Sprintf("%s, of %s (%s)", claim.Claim, whoOf(claim), claim.Reason))
		switch claim.Status {
		case trust.Holds:
		case trust.Unknown:
			unknown = append(unknown, text)
		default:
			broken = append(broken, text)
			if aboutCaller(claim) { // of which certrot verify does not tell
				mend = append(mend, mendOf(claim))
			}
		}
	}
	switch {
	case len(broken) > 0:
		s.Reached, s.Text = catalog.No, fmt.Sprintf("%d of %d claims do not hold: %s", len(broken), len(claims), few(broken))
		if len(mend) == len(broken) {
			s.Next = few(mend)
		}
	case len(unknown) > 0:
		s.Reached, s.Text = catalog.Unknown, fmt.Sprintf("%d of %d claims are not known: %s", len(unknown), len(claims), few(unknown))
	case len(claims) == 0:
		s.Reached, s.Text = catalog.Unknown, "who verifies what it signs was not asked, or is not known"
	default:
		s.Next, s.Text = "", fmt.Sprintf("all %d claims about what it signs hold", len(claims))
	}
	return s
}
