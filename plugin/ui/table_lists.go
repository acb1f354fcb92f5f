package ui

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// soon is what expires within the threshold, renewed automatically or not.
func (p HumanPrinter) soon(inv *report.Inventory) []*report.Cert {
	var soon []*report.Cert
	for i := range inv.Certificates {
		c := &inv.Certificates[i]
		if left := c.NotAfter.Sub(inv.Now); left < 0 || left > p.Within {
			continue
		}
		if c.Locations()[0].Kind != "CertificateSigningRequest" { // kept for the record; the places that use it come first
			soon = append(soon, c)
		}
	}
	return soon
}

// expiresSoon lists what expires within the threshold.
func (p HumanPrinter) expiresSoon(w io.Writer, inv *report.Inventory) {
	soon := p.soon(inv)
	within := duration.HumanDuration(p.Within)
	if len(soon) == 0 {
		Printf(w, "\nExpires within %s: nothing\n", within)
		return
	}
	automatic, verb, overdue := 0, "rotate", foundBy(inv, "rotation-overdue")
	for _, c := range soon {
		if p.rotates(c, inv.Now) && !overdue[c.Fingerprint] {
			automatic++
		}
	}
	if automatic == 1 {
		verb = "rotates"
	}
	Printf(w, "\nExpires within %s: %s, %d %s automatically\n", within, Count(len(soon), "certificate"), automatic, verb)
	rest := 0
	if !p.wide && len(soon) > maxExpiring+1 {
		soon, rest = soon[:maxExpiring], len(soon)-maxExpiring
	}
	p.table(w, inv.Now, soon)
	if rest > 0 {
		Printf(w, "… and %d more: --all\n", rest)
	}
}

// revocationLists lists those in bundles.
func (p HumanPrinter) revocationLists(w io.Writer, inv *report.Inventory) {
	if !slices.ContainsFunc(inv.Bundles, func(b report.Bundle) bool { return len(b.CRLs) > 0 }) {
		return
	}
	Printf(w, "\nRevocation lists\n")
	var lines strings.Builder
	t := printers.GetNewTabWriter(&lines)
	if !p.noHeaders {
		Printf(t, "NEXT UPDATE\tISSUER\tREVOKED\tIN\n")
	}
	for _, b := range inv.Bundles {
		if len(b.CRLs) == 0 {
			continue
		}
		places := inspect.Fold(b.Locations)
		in := strings.Join(places, ",")
		if !p.wide && len(places) > MaxPlaces+1 {
			in = fmt.Sprintf("%s and %d more: -o wide", strings.Join(places[:MaxPlaces], ","), len(places)-MaxPlaces)
		}
		for _, l := range b.CRLs {
			nextUpdate := "-"
			if !l.NextUpdate.IsZero() {
				nextUpdate = RelativeTime(inv.Now, l.NextUpdate)
			}
			Printf(t, "%s\t%s\t%d\t%s\n", nextUpdate, pki.Foreign(l.Issuer), l.Revoked, in)
		}
	}
	_ = t.Flush() // the buffer does not fail
	p.fitted(w, lines.String())
}

func (p HumanPrinter) footer(w io.Writer, inv *report.Inventory) {
	if p.all {
		return
	}
	Printf(w, "\nEverything:  %s%s\nOne kind:    %s%s\nFor scripts: -o json\n", p.Hints.Next("{} inspect --all"), p.Hints.From(), p.Hints.Next("{} inspect secrets"), p.Hints.From())
	if len(inv.Findings) > 0 {
		Printf(w, "%s%s\n", p.Hints.Next("What a problem means: {} explain CHECK"), p.Hints.From())
	}
	if inv.Cluster.Version != "" && len(inv.Nodes) == 0 {
		Printf(w, "Files on nodes were not read.\n")
	}
}

// nodes lists nodes: where the user asked for nodes, or for everything.
func (p HumanPrinter) nodes(w io.Writer, inv *report.Inventory) {
	if len(inv.Nodes) == 0 || !p.all && !p.Asked.Nodes {
		return
	}
	Printf(w, "\nNodes\n")
	l := listing{headers: []string{"NODE", "READY", "VIA", "KUBELET", "CLIENT CERT", "SERVING CERT", "REQUESTS", "CLOCK"}, flexible: 0}
	l.shortHeaders = []string{"NODE", "READY", "VIA", "KUBELET", "CLIENT", "SERVING", "CSRS", "CLOCK"}
	for _, n := range inv.Nodes {
		kubelet, brief := OrDash(n.Kubelet), OrDash(n.Kubelet)
		if n.Started != nil {
			kubelet += " since " + RelativeTime(inv.Now, *n.Started)
			if n.Kubelet == "running" {
				brief = "up " + duration.HumanDuration(inv.Now.Sub(*n.Started))
			}
		}
		requests := "-"
		if len(n.Pending) > 0 {
			requests = strconv.Itoa(len(n.Pending)) + " pending"
		}
		row := []string{foreign.Name(n.Name), readyOf(n), OrDash(n.Via), kubelet, expiry(inv.Now, n.ClientCert, n.LacksClient), expiry(inv.Now, n.ServingCert, false), requests, clockOf(n)}
		l.rows = append(l.rows, row)
		short := slices.Clone(row)
		short[1] = strings.NewReplacer(" for ", " ", " (Lease)", "").Replace(row[1])
		short[3] = brief
		for i := 4; i < 6; i++ { // when it expires, and not when it is renewed
			short[i], _, _ = strings.Cut(strings.TrimPrefix(row[i], "expires "), ", ")
		}
		short[6], _, _ = strings.Cut(requests, " ")
		l.short = append(l.short, short)
	}
	p.list(w, l)
}

// readyOf is the condition, unless it is left over from before the node's last heartbeat.
func readyOf(n report.Node) string {
	if n.Alive == catalog.No.String() {
		return n.Heartbeat
	}
	return OrDash(n.Ready)
}

// expiry says when a certificate expires, and when it is renewed. absent: it is known that there is none.
func expiry(now time.Time, c *report.Cert, absent bool) string {
	switch {
	case absent:
		return "none"
	case c == nil:
		return "-"
	}
	s := "expires " + RelativeTime(now, c.NotAfter)
	if c.NotAfter.Before(now) {
		s = "expired " + RelativeTime(now, c.NotAfter)
	}
	if r := renewed(c); c.Renewal.Automatic() && c.NotAfter.After(now) {
		s += ", renewal " + r
	}
	return s
}

// clockOf says how far a node's clock is off, as far as that is certain.
func clockOf(n report.Node) string {
	if n.AheadAtLeast == nil || n.AheadAtMost == nil {
		return "-"
	}
	switch low, high := *n.AheadAtLeast, *n.AheadAtMost; {
	case low >= 1:
		return fmt.Sprintf("%s ahead", time.Duration(low)*time.Second)
	case high <= -1:
		return fmt.Sprintf("%s behind", time.Duration(-high)*time.Second)
	}
	return "ok"
}

// moreLine says how more is printed; one problem is explained by what the screen is from.
func (p HumanPrinter) moreLine(w *Page, problems bool) string {
	from := p.Hints.From()
	lines := []string{"more: --details, --all, -o json; one problem: {} explain 'TITLE'", "more: --details, --all; {} explain 'TITLE'"}
	for i := range lines {
		if line := p.Hints.Next(lines[i]) + from; problems && columnsIn(line) <= w.columns {
			return line
		}
	}
	if line := p.Hints.Next(lines[1]) + " --from FILE"; problems && from != "" && columnsIn(line) <= w.columns {
		return line
	}
	return "more: --details; every certificate: --all; for scripts: -o json"
}

// ProblemIn is a folded problem of an inventory, with what of it is the case now.
func ProblemIn(inv *report.Inventory, problem cause.Problem) Problem {
	told := ProblemOf(problem)
	if !problem.Named {
		return told
	}
	inNames := problem.ID == catalog.CauseClientCertificate
	if inNames {
		told.Names = withHeartbeats(told.Names, inv.Nodes, isOld(inv))
		if now := inv.ImpactNow(problem); now != "" {
			told.Impact = now
			if len(problem.Nodes) == 1 {
				name := foreign.Name(problem.Nodes[0])
				told.Title = name + " is down" + strings.TrimPrefix(told.Names[0], name) + ": no client certificate"
				if isOld(inv) {
					told.Title = name + " was down when read: no client certificate"
				}
				told.Names, told.Known = nil, true
			}
		}
	}
	for _, node := range withHeartbeats(foreignNames(problem.Elsewhere), inv.Nodes, isOld(inv)) { // its findings are told there
		if name, _, silent := strings.Cut(node, " (no heartbeat"); silent {
			node = name + " (down)"
		}
		told.Names = append(told.Names, node)
	}
	told.Cause = inv.Because(problem)
	if told.Now = nowIn(problem, inv, inNames); inNames && len(told.Names) == 0 { // the title says it
		told.Now = ""
	}
	if impact := untilWhen(problem, inv); impact != "" { // which of the nodes are down is left to say
		told.Impact = impact
		if told.Now, _, _ = strings.Cut(told.Now, ", until "); strings.HasPrefix(strings.TrimPrefix(told.Now, "still "), "up: ") {
			told.Now = ""
		}
	}
	if problem.ID == catalog.CauseRequests {
		for _, i := range problem.Findings {
			if r := inv.Findings[i].Remediation; r != told.Next && !slices.Contains(told.Others, r) {
				told.Others = append(told.Others, r)
			}
		}
	}
	return told
}

// foreignNames are names of nodes as they may stand in a line.
func foreignNames(nodes []string) []string {
	out := make([]string, len(nodes))
	for i, node := range nodes {
		out[i] = foreign.Name(node)
	}
	return out
}

// dueBy is when a certificate is renewed at the latest: when it expires, where no rule is known.
func dueBy(c *report.Cert) time.Time {
	if c.Renewal.Due.IsZero() {
		return c.NotAfter
	}
	return c.Renewal.Due
}

// firstWithCount is the first name, when it expires, and how many more there are.
func firstWithCount(names, ages []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + ages[0]
	}
	return fmt.Sprintf("%s%s +%d", names[0], ages[0], len(names)-1)
}

// untilWhen is the impact of kubelets that do not trust api-int, where it is known when the first one reconnects at the
// latest; empty: it is not.
func untilWhen(p cause.Problem, inv *report.Inventory) string {
	up, first := inv.StillUp(p)
	if p.ID != catalog.CauseAPIInt || first.IsZero() {
		return ""
	}
	const then, most = ": restart no kubelet or node before the repair", leastColumns / 2
	by := first.UTC().Format(time.DateOnly)
	if len(up) == 1 && columnsIn(up[0]) <= most {
		return up[0] + " becomes NotReady at any reconnect, by " + by + " at latest (certificate renewal)" + then
	}
	return "each node becomes NotReady at any reconnect, the first by " + by + " at latest (certificate renewal)" + then
}

// nodesNow says which of a problem's nodes have no heartbeat, and which are still to lose theirs, until
// when at the latest; empty: nothing of that is known. inNames: the title has their heartbeats.
func nodesNow(p cause.Problem, inv *report.Inventory, inNames bool) string {
	var down, before, up []string
	var silent groups
	names, first := inv.StillUp(p)
	for _, n := range inv.Nodes {
		switch {
		case !slices.Contains(p.Nodes, n.Name):
		case inNames && n.Earlier:
			before = append(before, foreign.Name(n.Name)+" is down since before api-int changed")
		case inNames:
		case n.Alive == catalog.No.String() && n.Earlier:
			before = append(before, foreign.Name(n.Name)+" is down ("+strings.Replace(n.Heartbeat, " (Lease)", "", 1)+") since before api-int changed")
		case n.Alive == catalog.No.String():
			silent.add(foreign.Name(n.Name), strings.Replace(n.Heartbeat, " (Lease)", "", 1))
		case n.Ready != "" && n.Ready != "True":
			down = append(down, foreign.Name(n.Name)+" is NotReady")
		default:
			up = names
		}
	}
	until := ""
	if p.ID == catalog.CauseAPIInt && !first.IsZero() {
		until = ", until it reconnects (" + first.UTC().Format(time.DateOnly) + " at the latest)"
		if len(up) > 1 {
			until = ", until they reconnect (the first one " + first.UTC().Format(time.DateOnly) + " at the latest)"
		}
	}
	down = slices.Concat(silent.say(" is already down (", " are already down (", ")"), down, before)
	if len(down) == 0 && until == "" {
		return ""
	}
	if len(down) > MaxPlaces {
		down = append(down[:MaxPlaces], fmt.Sprintf("%d more nodes are", len(down)-MaxPlaces))
	}
	if len(up) > MaxPlaces {
		up = append(up[:MaxPlaces], fmt.Sprintf("%d more", len(up)-MaxPlaces))
	}
	line := strings.Join(down, ", ")
	if len(up) > 0 {
		line = strings.TrimPrefix(line+"; still up: ", "; ") + strings.Join(up, ", ") + until
	}
	return line
}
