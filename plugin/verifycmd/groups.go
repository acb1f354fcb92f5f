package verifycmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// ClaimGroup is claims of one edge that agree.
type ClaimGroup []report.VerificationClaim

// GroupClaims puts claims together that say the same of several nodes.
func GroupClaims(claims []report.VerificationClaim, part string) []ClaimGroup {
	type key struct {
		id     string
		claim  string
		status assess.Status
		reason string
		impact string
		how    string
		lacks  string
	}
	index := map[key]int{}
	var out []ClaimGroup
	for _, c := range claims {
		if c.Part != part {
			continue
		}
		k := key{c.ID, c.Claim, c.Status, c.Reason, c.Impact, c.Evidence, ""}
		if c.Missing != nil {
			k.lacks = c.Missing.SHA256.String()
		}
		n, ok := index[k]
		if !ok {
			n = len(out)
			index[k] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], c)
	}
	return out
}

// same reports whether two groups do not hold for the same reason.
func (g ClaimGroup) same(o ClaimGroup) bool {
	return len(g) == len(o) && g[0].Status == o[0].Status && g[0].Because() == o[0].Because() &&
		slices.EqualFunc(g, o, func(a, b report.VerificationClaim) bool { return slices.Equal(a.Trust, b.Trust) })
}

// unknownAs reports whether two groups are unknown for the same reason, and nothing else
// is to be said of the first.
func (g ClaimGroup) unknownAs(o ClaimGroup) bool {
	return g[0].Status == assess.Unknown && g[0].Refusals == nil && o[0].Status == g[0].Status && o[0].Because() == g[0].Because()
}

// Nodes are those that the claims are about, each once.
func (g ClaimGroup) Nodes() (names []string) {
	for _, c := range g {
		if c.Node != "" && !slices.Contains(names, c.Node) {
			names = append(names, c.Node)
		}
	}
	return names
}

// among is the number of claims of the group's edge, of all its lines.
func (g ClaimGroup) among(claims []report.VerificationClaim) int {
	n := 0
	for _, c := range claims {
		if c.ID == g[0].ID && c.Claim == g[0].Claim && c.Part == g[0].Part {
			n++
		}
	}
	return n
}

// about says of how much of the cluster the line tells. Where other lines tell of the
// rest, all is the number of claims of all of them.
func (g ClaimGroup) about(all int, wide bool) string {
	nodes := g.Nodes()
	presented, places := map[string]bool{}, 0
	for _, m := range g {
		places += len(m.Trust)
		if m.Presented != nil {
			presented[m.Presented.String()] = true
		}
	}
	switch {
	case len(nodes) > 3 && !wide:
		return "  (" + ui.Count(len(nodes), "node") + ")"
	case len(nodes) > 0:
		return "  (" + strings.Join(nodes, ", ") + ")"
	case len(g) < all:
		return fmt.Sprintf("  (%d of %d places)", len(g), all)
	case len(presented) > 1:
		return "  (" + ui.Count(len(presented), "certificate") + ")"
	case places > 1:
		return "  (" + ui.Count(places, "place") + ")"
	case len(g[0].Logs) > 0 && g[0].Refusals == nil:
		return "  (" + ui.Count(len(g[0].Logs), "log") + ")"
	}
	return ""
}

// remediation is that of the claims of all nodes together.
func (g ClaimGroup) remediation() assess.Remediation {
	return g[0].RemediationFor(g.Nodes())
}

// print writes the claim, who it is about, and where it does not hold, why; last is
// what was written before, and all the claims of all lines of the edge.
func (g ClaimGroup) print(w io.Writer, now time.Time, last ClaimGroup, all int, wide bool) {
	c := g[0]
	ui.WrapLine(w, ui.StatusMark(c.Status)+" ", c.Said()+g.about(all, wide))
	c.Remediation = g.remediation()
	ui.Assessment(w, "    ", c.Assessment, func() {
		if c.Status != assess.Pass {
			g.seen(w, now, wide)
		}
		if !c.Status.Wrong() {
			return
		}
		if g.same(last) {
			ui.Printf(w, "    trust the same places, which lack the same\n")
		} else {
			g.evidence(w, now, wide)
		}
		g.again(w, c.Status)
	})
}

// seen writes what logs of servers say of clients.
func (g ClaimGroup) seen(w io.Writer, now time.Time, wide bool) {
	n := 0
	for _, m := range g {
		if m.Refusals == nil {
			continue
		}
		if n++; n > ui.MaxPlaces && !wide {
			continue
		}
		who := m.Refusals.Client
		if m.Refusals.Owner != "" {
			who = m.Refusals.Owner + " (" + who + ")"
		}
		last := ""
		if !m.Refusals.Last.IsZero() {
			last = ", the last one " + duration.HumanDuration(now.Sub(m.Refusals.Last)) + " before"
		}
		ui.Wrap(w, "    seen  ", ui.Clean(fmt.Sprintf("%s: %s%s, in %s", who, ui.Count(m.Refusals.Count, "handshake"), last, strings.Join(inspect.Fold(m.Logs), ", "))))
	}
	if n > ui.MaxPlaces && !wide {
		ui.Printf(w, "    seen  %d more: -o wide\n", n-ui.MaxPlaces)
	}
}

// maxOf is how many columns the names of nodes have within a sentence.
const maxOf = 60

// again writes when what is presented is verified again: until then a verifier may work
// on.
func (g ClaimGroup) again(w io.Writer, status assess.Status) {
	if g[0].Next == nil {
		return
	}
	lead, text := "    when  ", g[0].Next.Verifies
	if status == assess.Warn {
		lead, text = "          ", "then "+text
	}
	var from, to time.Time
	var of []string
	for _, m := range g {
		n := m.Next
		if !n.To.IsZero() && m.Node != "" {
			of = append(of, m.Node)
		}
		if !n.To.IsZero() && (from.IsZero() || n.From.Before(from)) {
			from = n.From
		}
		if n.To.After(to) {
			to = n.To
		}
	}
	if !to.IsZero() {
		whose := ""
		if len(of) > 0 && len(of) < len(g) {
			whose = " on " + ui.NamesThatFit(of, maxOf)
		}
		text += "; when its client certificate is renewed" + whose + ", " + ui.Days(from, to) + " UTC"
	}
	ui.Wrap(w, lead, text)
}

// evidence writes where the trust anchors are, what they lack, and since when or
// from when that counts.
func (g ClaimGroup) evidence(w io.Writer, now time.Time, wide bool) {
	c := g[0]
	var trusts []string
	for _, m := range g {
		trusts = append(trusts, inspect.Fold(m.Trust)...)
	}
	for i, at := range trusts {
		if i == ui.MaxPlaces && !wide {
			ui.Printf(w, "    trust %d more: -o wide\n", len(trusts)-i)
			break
		}
		ui.Printf(w, "    trust %s\n", at)
	}
	if c.Missing != nil {
		ui.Wrap(w, "    lacks ", fmt.Sprintf("CA %s (%s), made %s", foreign.QuotedName(c.Missing.Subject), c.Missing.SHA256.Short(), c.Missing.Since.UTC().Format("2006-01-02 15:04 MST")))
	}
	if c.From != nil {
		first := *c.From
		for _, m := range g {
			if m.From != nil && m.From.Before(first) {
				first = *m.From
			}
		}
		ui.Wrap(w, "    when  ", fmt.Sprintf("%s at the earliest (%s)", first.UTC().Format("2006-01-02 15:04 MST"), ui.RelativeTime(now, first)))
	}
}
