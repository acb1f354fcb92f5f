package cause

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Because says how a problem came about, where the catalog knows that and the facts have it for each of its nodes;
// empty: they do not.
func (p *Problem) Because(f *inspect.Facts) string {
	if p.ID == catalog.CauseClientCertificate {
		return p.whyWithout(f)
	}
	rows := catalog.Causes()
	i := slices.IndexFunc(rows, func(c catalog.Cause) bool { return p.ID != "" && c.ID == p.ID })
	if i < 0 || rows[i].Because == "" || len(p.Nodes) == 0 {
		return ""
	}
	ca := f.UndeliveredCA()
	if ca == nil || ca.Replaced.After(f.Now) || slices.ContainsFunc(p.Nodes, func(n string) bool { return !f.LackOnNode(n, ca.CA) }) {
		return ""
	}
	format, since := rows[i].Because, ca.Replaced
	if presented := f.PresentedSince(ca); rows[i].Onset != "" && !presented.IsZero() && !presented.After(f.Now) {
		format, since = rows[i].Onset, presented
	}
	return fmt.Sprintf(format, duration.HumanDuration(f.Now.Sub(since)), f.Snapshot.Cluster.Versions.Product())
}

// whyWithout says what is known of kubelets that have no client certificate: since when their requests are not answered,
// and that they do not trust api-int; empty: nothing is.
func (p *Problem) whyWithout(f *inspect.Facts) string {
	var asked, distrust distinct
	total, first, agesKnown := 0, time.Time{}, true
	for node, requests := range f.PendingJoins() {
		if !slices.Contains(p.Nodes, node) {
			continue
		}
		asked.add(foreign.Name(node))
		total += len(requests)
		for _, r := range requests {
			if agesKnown = agesKnown && !r.Since.IsZero(); first.IsZero() || r.Since.Before(first) {
				first = r.Since
			}
		}
	}
	for _, node := range p.distrust {
		distrust.add(foreign.Name(node))
	}
	var said []string
	if total > 0 {
		csrs := strconv.Itoa(total) + " CSRs"
		if total == 1 {
			csrs = "1 CSR"
		}
		slices.Sort(asked.list)
		if len(asked.list) < len(p.Nodes) {
			csrs += " of " + strings.Join(asked.list, ", ")
		}
		if csrs += " unanswered"; agesKnown {
			csrs += " since " + clock(f.Now, first)
		}
		said = append(said, csrs)
	}
	if who := distrust.list; len(who) > 0 {
		line := "do not trust api-int"
		if len(who) == 1 {
			line = "does not trust api-int"
		}
		if len(who) < len(p.Nodes) {
			line = strings.Join(who, ", ") + " " + line
		}
		if ca := f.UndeliveredCA(); ca != nil && !slices.ContainsFunc(p.distrust, func(n string) bool { return !f.LackOnNode(n, ca.CA) }) {
			if since := f.PresentedSince(ca); !since.IsZero() && !since.After(f.Now) {
				line += " since " + clock(f.Now, since)
			}
		}
		said = append(said, line)
	}
	return strings.Join(said, "; ")
}

// clock is when something was: the time, where that was less than a day ago, else the day.
func clock(now, t time.Time) string {
	if age := now.Sub(t); age >= 0 && age < 24*time.Hour {
		return t.UTC().Format("15:04Z")
	}
	return t.UTC().Format(time.DateOnly)
}
