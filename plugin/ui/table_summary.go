package ui

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// summary is the first screen of an inventory.
func (p HumanPrinter) summary(w *Page, inv *report.Inventory, atLeast assess.Severity) {
	limited := inv.AtLeast(atLeast)
	listed := limited.Findings
	hidden := len(inv.Findings) - len(listed)
	s := Summary{Head: p.head(w, inv), Unknown: p.UnknownIn(inv), Listed: p.Listed}
	n := map[assess.Severity]int{}
	for _, problem := range limited.Problems(p.Hints) {
		told := ProblemIn(limited, problem)
		s.Problems = append(s.Problems, told)
		n[problem.Severity]++
	}
	s.Tally = tallied(n, len(UnknownOf(inv.Gaps)), hidden)
	if len(listed) == 0 {
		open := p.unjudged(inv)
		if open > 0 {
			s.Tally = strings.Replace(s.Tally, "no problems", "no problems, renewal unknown of "+Count(open, "certificate"), 1)
		}
		of := ""
		if hidden > 0 {
			of = fmt.Sprintf(" of severity %s or worse", atLeast)
		}
		s.Pass = []string{fmt.Sprintf("✓ %s: no problem%s found", Count(len(inv.Certificates)-open, "certificate"), of)}
		switch {
		case len(inv.Certificates) == open && (len(inv.Gaps) > 0 || open > 0):
			s.Pass = nil
		case p.Filter != "" && hidden+len(inv.Certificates)+len(inv.Bundles)+len(inv.Requests)+len(inv.Nodes)+len(inv.Reported)+len(inv.Gaps) == 0:
			s.Tally, s.Pass = "nothing matches: nothing was judged", nil
		case len(inv.Certificates) == 0 && p.Filter != "":
			s.Pass[0] = "no certificate matches the filter"
		case len(inv.Gaps) > 0:
			s.Pass[0] += " in what was read"
		}
	}
	if ofCluster := inv.Cluster.Version != "" || inv.Cluster.Kubernetes != "" || len(inv.Nodes) > 0; len(listed) == 0 && ofCluster {
		s.Next, s.NextAbout = p.Hints.Next("{} verify")+p.Hints.From(), "whether clients trust these certificates"
	}
	if !p.all {
		s.Tail = []string{p.moreLine(w, len(s.Problems) > 0)}
	}
	if !p.all && !p.wide { // else it is a table
		s.Tail = append(p.expiryLines(w, inv), s.Tail...)
	}
	if p.all || p.wide {
		w.lines = unbounded
	}
	s.Print(w)
	if p.Requests && !p.all {
		p.fewRequests(w, inv)
	}
}

// UnknownIn is what was not read, and what a file does not have.
func (p HumanPrinter) UnknownIn(inv *report.Inventory) []Problem {
	return append(UnknownOf(inv.Gaps), p.notInFile(inv)...)
}

// isOld reports whether the nodes were read long ago.
func isOld(inv *report.Inventory) bool { return inv.Now.Sub(inv.Taken).Abs() > oldAfter }

// nowIn says nodesNow as of when the nodes were read.
func nowIn(p cause.Problem, inv *report.Inventory, inNames bool) string {
	now := nodesNow(p, inv, inNames)
	if now != "" && isOld(inv) {
		now = strings.NewReplacer(" is already down (", " was down when read (", " are already down (", " were down when read (", " is down (", " was down when read (", " is NotReady", " was NotReady when read", "still up: ", "up: ").Replace(now)
	}
	return now
}

// withHeartbeats are names of nodes, with since when those without a heartbeat have none; old: they were read
// long ago.
func withHeartbeats(names []string, nodes []report.Node, old bool) []string {
	silent := map[string]string{}
	for _, n := range nodes {
		switch {
		case n.Alive != catalog.No.String() && (n.Ready == "" || n.Ready == "True"):
		case n.Alive != catalog.No.String():
			silent[foreign.Name(n.Name)] = " (NotReady)"
		case old:
			silent[foreign.Name(n.Name)] = " (down when read)"
		default:
			silent[foreign.Name(n.Name)] = " (" + strings.Replace(n.Heartbeat, " (Lease)", "", 1) + ")"
		}
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name + silent[name]
	}
	return out
}

// tallied says how many problems there are; hidden findings are below the severity that is asked for.
func tallied(n map[assess.Severity]int, unknown, hidden int) string {
	line := "no problems"
	if parts, problems := severities(n), 0; len(parts) > 0 {
		for _, k := range n {
			problems += k
		}
		line = Count(problems, "problem") + ": " + strings.Join(parts, ", ")
	}
	if unknown > 0 {
		line += fmt.Sprintf(", %d unknown", unknown)
	}
	if hidden > 0 {
		line += "  (" + more(hidden) + ")"
	}
	return line
}

// more says how many findings are not printed, and how they are.
func more(hidden int) string { return fmt.Sprintf("%d more: --min-severity=info", hidden) }

// severities counts by severity, the worst first.
func severities(n map[assess.Severity]int) []string {
	var out []string
	for s := assess.Critical; s >= assess.Info; s-- {
		if k := n[s]; k > 0 {
			word := s.String()
			if s == assess.Warning && k > 1 {
				word += "s"
			}
			out = append(out, fmt.Sprintf("%d %s", k, word))
		}
	}
	return out
}

// head says which cluster it is, or which files, as of when, and how many nodes were read.
func (p HumanPrinter) head(w *Page, inv *report.Inventory) []string {
	var files []string
	for _, r := range inv.Reads {
		if r.What == "file" || r.What == "kubeconfig" {
			files = append(files, r.What+" "+r.Where)
		}
	}
	nodes := ""
	if !p.NoNodes && (inv.Cluster.Version != "" || len(inv.Nodes) > 0) {
		nodes = "nodes read: " + cmp.Or(inv.NodesRead(), "none")
	}
	head := p.Head(w, inv.Cluster, inv.Now, strings.Join(files, ", "), nodes)
	if p.Filter != "" {
		head = append(head, "Only     "+Clean(OneLine(p.Filter)))
	}
	return head
}

// Head says which cluster it is, else from is said, and as of when; more stands behind that.
func (p HumanPrinter) Head(w *Page, c report.Cluster, now time.Time, from, more string) []string {
	var first []string
	if host := hostOf(c.Server); host != "" {
		first = append(first, host)
	}
	if c.Version != "" {
		first = append(first, Product(c.Version)+" "+c.Version)
	} else if c.Kubernetes != "" {
		first = append(first, "Kubernetes "+c.Kubernetes)
	}
	if len(first) == 0 && from != "" {
		first = append(first, from)
	}
	second := []string{AsOf(c, now, "2006-01-02 15:04Z")}
	if more != "" {
		second = append(second, more)
	}
	lines := []string{strings.Join(append(slices.Clip(first), second...), "  ")}
	if len(first) > 0 && columnsIn(lines[0]) > w.columns {
		lines = []string{strings.Join(first, "  "), strings.Join(second, "  ")}
	}
	if last := len(lines) - 1; columnsIn(lines[last]) > w.columns { // which nodes are read is said in fewer words
		if brief := strings.Replace(lines[last], "  nodes read: ", "  read: ", 1); columnsIn(brief) <= w.columns {
			lines[last] = brief
		}
	}
	if last := len(lines) - 1; more != "" && columnsIn(lines[last]) > w.columns {
		lines = append(lines[:last], strings.TrimSuffix(lines[last], "  "+more), more)
	}
	notes := NewPage(w)
	p.notes(notes, c)
	for line := range strings.Lines(notes.String()) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// oldAfter is how much older than now a file is before that is said.
const oldAfter = time.Hour

// AsOf says for which time facts are judged, of which time they are, and how old their file is.
func AsOf(c report.Cluster, now time.Time, layout string) string {
	at := "as of " + now.UTC().Format(layout)
	if !c.Read.IsZero() && now.Sub(c.Read).Abs() > oldAfter {
		at = "judged " + at + ", data of " + c.Read.UTC().Format(layout)
	}
	if age := c.Opened.Sub(c.Read); !c.Opened.IsZero() && age > oldAfter {
		at += " (" + duration.HumanDuration(age) + " ago)"
	}
	return at
}

// notInFile tells of the nodes that a file has none of. Exit codes and documents do not count them,
// as it may be of some nodes on purpose.
func (p HumanPrinter) notInFile(inv *report.Inventory) []Problem {
	if p.NoNodes || p.Named || !inv.LacksControlPlaneNodes() || len(inv.Nodes) == 0 {
		return nil
	}
	return []Problem{{Mark: "-", Word: "NOT READ", Title: "control plane nodes: " + report.FileHasNone, Next: assess.Advise(p.Hints.UnreadNodes(""))}}
}

// hostOf is the server without what every URL of an API server has.
func hostOf(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "https" {
		return Clean(server)
	}
	return Clean(u.Host)
}

// UnknownOf are what was not read, one line each.
func UnknownOf(gaps []report.Gap) []Problem {
	var out []Problem
	for _, g := range onceEach(gaps) {
		out = append(out, Problem{
			Mark: StatusMark(assess.Unknown), Word: "UNKNOWN", Next: g.Remediation,
			Title: strings.TrimSpace(strings.TrimSpace(g.What+" "+Clean(g.Where)) + ": " + g.Reason),
		})
	}
	return out
}

// expiryLines say in a line or two what expires within the threshold, and which of it nothing
// is known to renew.
func (p HumanPrinter) expiryLines(w *Page, inv *report.Inventory) []string {
	soon := p.soon(inv)
	within := "Next " + duration.HumanDuration(p.Within) + ": "
	automatic, last, overdue := 0, time.Time{}, foundBy(inv, "rotation-overdue")
	rotates := func(c *report.Cert) bool { return !overdue[c.Fingerprint] && p.rotates(c, inv.Now) }
	for i := range inv.Certificates {
		if c := &inv.Certificates[i]; rotates(c) {
			automatic++
			if due := dueBy(c); due.After(last) {
				last = due
			}
		}
	}
	if len(inv.Certificates) == 0 { // nothing is known of any
		return nil
	}
	if len(soon) == 0 && automatic == 0 {
		if slices.ContainsFunc(inv.Findings, func(f report.Finding) bool { return f.ID == "certificate-expired" }) {
			return []string{within + "nothing more expires"}
		}
		return []string{within + "no certificate expires"}
	}
	var names, ages []string
	for _, c := range soon {
		if rotates(c) {
			continue
		}
		names = append(names, placeName(firstOfPlatform(c.Locations())))
		ages = append(ages, " "+duration.HumanDuration(c.NotAfter.Sub(inv.Now)))
	}
	line, expire := within, ""
	if len(names) > 0 {
		expire = fmt.Sprintf("%d expire: ", len(names))
	}
	if len(names) == 1 {
		expire = "1 expires: "
	}
	if automatic > 0 {
		line += Count(automatic, "automatic rotation")
		expire = strings.TrimSuffix("; "+expire, "; ")
	}
	if by := " by " + last.UTC().Format(time.DateOnly); automatic > 0 && columnsIn(line+by+expire+firstWithCount(names, ages)) <= w.columns {
		line += by
	}
	if len(names) == 0 {
		return []string{line}
	}
	line += expire
	room := w.columns - columnsIn(line)
	for i := range names { // a name is cut, and not when it expires
		more := ""
		if rest := len(names) - 1; rest > 0 {
			more = fmt.Sprintf(" +%d", rest)
		}
		names[i] = Middle(names[i], room-columnsIn(ages[i]+more)) + ages[i]
	}
	return []string{line + NamesThatFit(names, room)}
}

// rotates reports whether a certificate is renewed automatically within the threshold, before or when it expires.
func (p HumanPrinter) rotates(c *report.Cert, now time.Time) bool {
	return c.Renewal.Automatic() && !c.NotAfter.Before(now) && dueBy(c).Sub(now) <= p.Within && c.Locations()[0].Kind != catalog.Request
}

// foundBy are the certificates that findings of a check are about.
func foundBy(inv *report.Inventory, check string) map[pki.Fingerprint]bool {
	out := map[pki.Fingerprint]bool{}
	for _, f := range inv.Findings {
		if f.ID == check {
			for _, c := range f.Certificates {
				out[c] = true
			}
		}
	}
	return out
}

// unjudged counts what expires within the threshold, is in no finding for that, and whose renewal is unknown.
func (p HumanPrinter) unjudged(inv *report.Inventory) (n int) {
	found := foundBy(inv, "certificate-expiring")
	for _, c := range p.soon(inv) {
		if !c.Renewal.Known && !found[c.Fingerprint] {
			n++
		}
	}
	return n
}

// firstOfPlatform is the first place that no tenant writes, where there is one: a tenant may copy the
// platform's certificate.
func firstOfPlatform(places []pki.Location) pki.Location {
	i := slices.IndexFunc(places, func(at pki.Location) bool {
		return (&inspect.Entry{Bundle: &inspect.Bundle{At: at}}).Reserved()
	})
	return places[max(i, 0)]
}

// placeName is a place as people call it: a node, NAMESPACE/NAME, or KIND/NAME.
func placeName(at pki.Location) string {
	switch {
	case at.Node != "":
		return foreign.Name(at.Node) + ":" + foreign.Name(at.Path)
	case at.Namespace != "":
		return foreign.Name(at.Namespace + "/" + at.Name)
	case at.Name != "":
		return foreign.Name(string(at.Kind) + "/" + at.Name)
	}
	return at.String()
}

// groups are names of which one thing is so, in the order in which they came.
type groups struct {
	what  []string
	names map[string][]string
}

func (g *groups) add(name, what string) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if g.names[what] == nil {
		g.what = append(g.what, what)
	}
	g.names[what] = append(g.names[what], name)
}

// say says what is so of each group, between the words for one, or for several, and the end.
func (g *groups) say(one, several, end string) (out []string) {
	for _, what := range g.what {
		names, is := g.names[what], one
		if len(names) > 1 {
			is = several
		}
		if more := len(names) - MaxPlaces; more > 0 {
			names = append(slices.Clone(names[:MaxPlaces]), fmt.Sprintf("%d more", more))
		}
		out = append(out, strings.Join(names, ", ")+is+what+end)
	}
	return out
}
