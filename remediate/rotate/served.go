package rotate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// aboutServer reports whether a claim is about what a server presents or accepts, and not
// about who verifies that.
func aboutServer(c trust.Claim) bool {
	return slices.ContainsFunc(catalog.Servers(), func(s catalog.Server) bool { return s.ID == c.Edge.ID }) || aboutCaller(c)
}

// aboutCaller reports whether a claim is about a request that was made with a client
// certificate.
func aboutCaller(c trust.Claim) bool {
	return slices.ContainsFunc(catalog.Callers(), func(r catalog.Caller) bool { return r.ID == c.Edge.ID })
}

// looked is what was seen of whether servers present, or accept, what a certificate signed.
type looked struct {
	all, does    int
	old, unknown []string
	remediations []string // what repairs some of the old, for people
}

// servedStage asks whether servers present, in handshakes, what the signer's newest
// certificate has signed; and of what clients present, whether servers accept it.
func (c Chain) servedStage(ca *pki.Cert, leaf Stage) Stage {
	if leaf.Status != assess.Pass {
		return leaf.follows(StageServed, "it follows "+StageLeaf)
	}
	s := reached(StageServed)
	var l looked
	var elsewhere []string // what tells it, for each of the unknown that is in no handshake from a node
	what := "handshakes presented a certificate of it"
	hints := c.Facts.Hints()
	late := hints.Next("a server reads it within minutes; {} verify names the one that does not, with its remediation")
	blind := hints.UnreadNodes("handshakes are made from nodes that can be read: --nodes all, with --via ssh where exec does not lead there")
	for _, at := range c.leaves() {
		caller := slices.IndexFunc(catalog.Callers(), func(r catalog.Caller) bool { return r.Presented == at })
		switch claims := c.claimsPresenting(at); {
		case len(entriesAt(c.Facts, at)) == 0: // it is not there, else the stage before was not reached
		case caller >= 0:
			what, s.Requests = "requests with a certificate of it were accepted", true
			late = hints.Next("a changed file is read within a minute or two: kube-apiserver-cert-syncer writes the certificate on control plane nodes, and who writes the servers' CAs is named by {} verify")
			blind = hints.UnreadNodes("requests are made on control plane nodes that can be read, with the certificate that lies there: --nodes all, with --via ssh where exec does not lead there")
			l.accepted(claims, at, ca, c.mastersWithout(catalog.Callers()[caller].Certificate))
		case !slices.ContainsFunc(claims, func(x trust.Claim) bool { return x.Server != "" }):
			why, next := c.unseen(at)
			l.unknown = append(l.unknown, why)
			elsewhere = append(elsewhere, next)
		default:
			l.presented(claims, at, ca)
		}
	}
	switch {
	case len(l.old) > 0:
		s.pending(fmt.Sprintf("%d of %d %s; not: %s", l.does, l.all, what, few(l.old)))
		s.count(l.does, l.all, lateOf(l.old, ""))
		s.advise(late)
		if len(l.remediations) > 0 {
			s.advise(few(l.remediations))
		}
	case len(l.unknown) > 0:
		s.unread("unknown: " + few(l.unknown))
		s.count(l.does, l.does+len(l.unknown), lateOf(l.unknown, ""))
		if len(elsewhere) == len(l.unknown) && !slices.Contains(elsewhere, "") { // nodes that are read don't tell
			blind = few(slices.Compact(elsewhere))
		}
		s.advise(blind)
		if l.does > 0 {
			s.Reason = fmt.Sprintf("%d of %d %s; %s", l.does, l.all, what, s.Reason)
		}
	case l.all == 0:
		s.Reason = "certificates of an administrator's own are presented in its place"
	default:
		s.Reason = fmt.Sprintf("all %d %s", l.all, what)
		s.count(l.all, l.all, nil)
	}
	return s
}

// presented counts handshakes in which the certificate of a place was to be presented.
func (l *looked) presented(claims []trust.Claim, at catalog.Ref, ca *pki.Cert) {
	for _, claim := range claims {
		switch {
		case claim.Server == "" || claim.Edge.Presented != at && len(claim.Chain) > 0: // one of an administrator's own is presented
			continue
		case len(claim.Chain) == 0:
			l.unknown = append(l.unknown, claim.Because())
		case signed(claim.Chain[0], ca):
			l.does++
		default:
			l.old = append(l.old, fmt.Sprintf("%s presents %s for %s, made %s", claim.Server, pki.Foreign(pki.CommonName(claim.Chain[0].Subject)), at.Name, remediate.Timestamp(claim.Chain[0].NotBefore)))
		}
		l.all++
	}
}

// accepted counts requests that presented a master's copy of the certificate of a place. Of
// masters without a copy that was read, it is unknown what they present.
func (l *looked) accepted(claims []trust.Claim, at catalog.Ref, ca *pki.Cert, without []string) {
	if len(claims) == 0 {
		l.unknown = append(l.unknown, at.Name+" (no request was made with it: that takes a control plane node that can be read)")
	}
	for _, claim := range claims {
		switch {
		case len(claim.Chain) > 0 && !signed(claim.Chain[0], ca):
			old := fmt.Sprintf("%s on %s still has the one made %s", claim.Presented.Path, claim.Presented.Node, remediate.Timestamp(claim.Chain[0].NotBefore))
			if slices.Contains(l.old, old) { // as many servers are asked with it
				continue
			}
			l.old = append(l.old, old)
		case claim.Status == assess.Unknown:
			l.unknown = append(l.unknown, claim.Because())
		case claim.Status != assess.Pass:
			l.old, l.remediations = append(l.old, claim.Because()), append(l.remediations, remediationOf(claim))
		default:
			l.does++
		}
		l.all++
	}
	for _, master := range without {
		l.unknown = append(l.unknown, "what kube-apiserver on "+master+" presents (its file was not read, or is not there)")
	}
}

// remediationOf is what repairs a claim, for people; the zero text: nothing is known.
func remediationOf(claim trust.Claim) string {
	return assess.Replace(claim.Edge.Remediation, "NODE", claim.Node)
}

// mastersWithout are those of which a file was not read, or is not there. A node of which
// the API says nothing may be one.
func (c Chain) mastersWithout(file string) []string {
	var out []string
	for n := range c.Facts.Snapshot.EachNode() {
		if may := n.Role == catalog.RoleMaster || n.Role == "" && n.Via == ""; may && n.File(file) == nil {
			out = append(out, n.Name)
		}
	}
	return out
}

// claimsPresenting are the claims about handshakes in which a place's certificate was to be
// presented.
func (c Chain) claimsPresenting(at catalog.Ref) []trust.Claim {
	instead := []catalog.Ref{at}
	for _, row := range catalog.Servers() {
		for _, s := range row.Certs {
			if s.From == at {
				instead = append(instead, s.Custom...)
			}
		}
	}
	var out []trust.Claim
	for _, claim := range c.Claims {
		// One verifier may be presented it in the same handshake: those are counted once.
		if aboutServer(claim) && slices.Contains(instead, claim.Edge.Presented) {
			out = append(out, claim)
		}
	}
	return out
}

// unseen says why no handshake tells what is presented of a place, and what does: of servers that are
// asked from nodes, reading these (next is empty).
func (c Chain) unseen(at catalog.Ref) (why, next string) {
	for _, row := range catalog.Servers() {
		if slices.ContainsFunc(row.Certs, func(s catalog.ServedCert) bool { return s.From == at }) {
			return at.Name + " (no handshake was made)", ""
		}
	}
	if entries := entriesAt(c.Facts, at); len(entries) > 0 && len(entries[0].Content.Certs) > 0 {
		switch cert := entries[0].Content.Certs[0]; {
		case cert.IsCA:
			return at.Name + " (no server presents it: it signs, and what it signs is not tracked)", nothingToDo + "certrot does not track what it signs"
		case slices.Contains(cert.Usages, "server auth"):
			return at.Name + " (no handshake was made: certrot does not ask its server)", c.Facts.Hints().Next("ask its server yourself: {} inspect HOST:PORT")
		}
	}
	return at.Name + " (a client presents it: a handshake with a server does not tell)", nothingToDo + "certrot can't see what a client presents"
}

// edgesStage asks whether all holds that is known of who presents and who verifies what the
// signer signs.
func (c Chain) edgesStage(leaf Stage) Stage {
	if leaf.Status != assess.Pass {
		return leaf.follows(StageEdges, "they are judged after "+StageLeaf)
	}
	s := reached(StageEdges)
	s.advise(c.Facts.Hints().Next("{} verify"+c.Facts.Hints().Live(" --nodes all")) + c.Facts.Hints().From() + " names each, with its remediation")
	var failed, unknown, remediations []string
	var late, unread []Late
	claims := slices.DeleteFunc(c.claims(), func(claim trust.Claim) bool { return claim.Tenant != "" && claim.Status != assess.Pass }) // stage trust tells of them
	for _, claim := range claims {
		text := strings.TrimSpace(fmt.Sprintf("%s, of %s (%s)", claim.Statement, whoOf(claim), claim.Because()))
		switch claim.Status {
		case assess.Pass:
		case assess.Unknown:
			unknown = append(unknown, text)
			unread = append(unread, Late{whoOf(claim), claim.Because()})
		default:
			failed = append(failed, text)
			late = append(late, Late{whoOf(claim), claim.Because()})
			if aboutCaller(claim) { // of which certrot verify does not tell
				remediations = append(remediations, remediationOf(claim))
			}
		}
	}
	switch {
	case len(failed) > 0:
		s.pending(fmt.Sprintf("checks fail in %d of %d places: %s", len(failed), len(claims), few(failed)))
		s.count(len(claims)-len(failed)-len(unknown), len(claims), late)
		if len(remediations) == len(failed) {
			s.advise(few(remediations))
		}
	case len(unknown) > 0:
		s.unread(fmt.Sprintf("checks are unknown in %d of %d places: %s", len(unknown), len(claims), few(unknown)))
		s.count(len(claims)-len(unknown), len(claims), unread)
	case len(claims) == 0 && c.noClients():
		s.unread(noClientKnown)
		s.advise(nothingToRead)
	case len(claims) == 0:
		s.unread("its clients were not asked for, or are unknown")
	default:
		s.Remediation, s.Reason = assess.Remediation{}, fmt.Sprintf("all checks about what it signs pass, in %d places", len(claims))
		s.count(len(claims), len(claims), nil)
	}
	return s
}
