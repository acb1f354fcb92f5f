package ui

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// HumanPrinter is the default form: which cluster, what was read, what is
// unknown, problems first, then what expires soon.
type HumanPrinter struct {
	Hints     inspect.Hints // write the next steps
	wide      bool
	details   bool // each finding in full
	verbose   bool // what was read
	all       bool
	noHeaders bool
	Asked
	width    int  // of a terminal, or the environment's COLUMNS; 0: none
	terminal bool // out is one
}

// MaxPlaces is how many places of a finding are listed unless -o wide.
const MaxPlaces = 4

// maxFindings is how many findings are listed unless -o wide: the worst come
// first, and a thousand are too many to read.
const maxFindings = 100

// maxFiles is how many files are named one by one.
const maxFiles = 5

// maxExpiring is how many rows the list of what expires soon has unless -o wide.
const maxExpiring = 10

func (p HumanPrinter) print(out io.Writer, inv *report.Inventory, atLeast assess.Severity) error {
	p.width, p.terminal = TableWidth(out), TerminalWidth(out) > 0
	w := NewPage(out)
	if p.details {
		p.header(w, inv)
		p.Gaps(w, inv)
		p.findings(w, inv, atLeast)
	} else {
		if p.verbose {
			p.read(w, inv)
		}
		p.summary(w, inv, atLeast)
	}
	p.nodes(w, inv)
	switch {
	case p.all:
		p.certificates(w, inv)
	case p.details:
		p.expiresSoon(w, inv)
		p.footer(w, inv)
	case p.wide:
		p.expiresSoon(w, inv)
	}
	_, err := io.WriteString(out, CleanLines(w.String()))
	return err
}

func (p HumanPrinter) header(w io.Writer, inv *report.Inventory) {
	p.Cluster(w, inv.Cluster)
	places := 0
	for i := range inv.Certificates {
		places += inv.Certificates[i].Places()
	}
	p.read(w, inv)
	Printf(w, "Found    %s in %s, %s\n", Count(len(inv.Certificates), "certificate"), Count(places, "place"), AsOf(inv.Cluster, inv.Now, "2006-01-02 15:04 MST"))
}

// read says what was read, and what there was nothing to read of.
func (p HumanPrinter) read(w io.Writer, inv *report.Inventory) {
	reads, none := readsOf(inv)
	Wrap(w, "Read     ", strings.Join(reads, ", "))
	if len(none) > 0 {
		Wrap(w, "None     ", "found: "+strings.Join(none, ", "))
	}
	for _, r := range inv.Reads {
		if r.Skipped {
			note := Clean(r.Note)
			if next := r.Remediation.Text; next != "" {
				note += "; " + next
			}
			Wrap(w, "Skipped  ", strings.TrimSpace(r.What+" "+r.Where)+": "+note)
		}
	}
}

// Cluster says which one it is.
func (p HumanPrinter) Cluster(w io.Writer, c report.Cluster) {
	if c.Server != "" || c.Version != "" || c.Kubernetes != "" {
		var what []string
		if c.Version != "" {
			what = append(what, Product(c.Version)+" "+c.Version)
		}
		if c.Kubernetes != "" {
			what = append(what, "Kubernetes "+c.Kubernetes)
		}
		if c.Platform != "" {
			what = append(what, c.Platform)
		}
		WrapLine(w, "Cluster  ", c.Server+"  "+strings.Join(what, ", "))
	}
	p.notes(w, c)
}

// notes say what has to be known of the answer before it is read.
func (p HumanPrinter) notes(w io.Writer, c report.Cluster) {
	PrintUnauthenticated(w, c.Unauthenticated)
	if c.Synthetic != "" {
		Wrap(w, "SYNTHETIC DATA  ", c.Synthetic)
	}
	PrintUnreviewed(w, c.Unreviewed)
}

// PrintUnreviewed says which versions were not reviewed, once, at the top.
func PrintUnreviewed(w io.Writer, what string) {
	if what != "" {
		Wrap(w, "UNKNOWN  ", what)
	}
}

// Product is OpenShift, OKD or Kubernetes, with its version.
func Product(version string) string {
	if strings.Contains(version, "okd") {
		return "OKD"
	}
	return "OpenShift"
}

// readsOf says how many there were of what was read, and of what there were none.
func readsOf(inv *report.Inventory) (reads, none []string) {
	files, objects := 0, 0
	for _, r := range inv.Reads {
		if r.What == "file" {
			files, objects = files+1, objects+r.Objects
		}
	}
	if files > maxFiles {
		reads = append(reads, fmt.Sprintf("%d files with %d objects", files, objects))
	}
	for _, r := range inv.Reads {
		if r.Skipped || r.What == "file" && files > maxFiles {
			continue
		}
		if r.Objects == 0 && r.Where == "" && r.Note == "" && r.What != "file" && r.What != "kubeconfig" && r.What != "nodes" {
			none = append(none, r.What)
			continue
		}
		s := strconv.Itoa(r.Objects) + " " + r.What
		if r.What == "nodes" {
			s = Count(r.Objects, "node")
		}
		if r.What == "file" || r.What == "kubeconfig" {
			s = r.What + " " + r.Where
		} else if r.Where != "" {
			s += " in " + r.Where
		}
		if r.Note != "" {
			s += " (" + r.Note + ")"
		}
		reads = append(reads, s)
	}
	if len(reads) == 0 {
		reads = []string{"nothing"}
	}
	return reads, none
}

// Gaps prints what was not read.
func (p HumanPrinter) Gaps(w io.Writer, inv *report.Inventory) {
	if len(inv.Gaps) > 0 {
		Printf(w, "\nUNKNOWN  could not be read, so nothing is said of it\n")
	}
	for _, g := range onceEach(inv.Gaps) {
		Wrap(w, "  ? ", strings.TrimSpace(g.What+"  "+Clean(g.Where)))
		Assessment(w, "    ", assess.Assessment{Reason: g.Reason, Remediation: g.Remediation}, nil)
	}
	for _, left := range p.notInFile(inv) {
		Printf(w, "\n%s %s\n", left.Word, left.Title)
		Assessment(w, "    ", assess.Assessment{Remediation: left.Next}, nil)
	}
}

func (p HumanPrinter) findings(w io.Writer, inv *report.Inventory, atLeast assess.Severity) {
	limited := inv.AtLeast(atLeast)
	listed := limited.Findings
	hidden := len(inv.Findings) - len(listed)
	rest := ""
	if hidden > 0 {
		rest = "  (" + more(hidden) + ")"
	}
	if len(listed) == 0 {
		if len(inv.Gaps) == 0 {
			Printf(w, "\nFindings none%s\n", rest)
		} else {
			Printf(w, "\nFindings none in what could be read%s\n", rest)
		}
		return
	}
	problems := limited.Problems(p.Hints)
	Printf(w, "\n")
	Wrap(w, "Findings ", fmt.Sprintf("%d: %s, of %s%s", len(listed), tally(listed), Count(len(problems), "problem"), rest))
	of := map[int]cause.Problem{}
	for _, problem := range problems {
		for _, i := range problem.Findings {
			of[i] = problem
		}
	}
	for i, f := range listed {
		if i == maxFindings && !p.wide {
			Printf(w, "\n… and %d more findings: --details -o wide, or choose some (--help)\n", len(listed)-i)
			break
		}
		Printf(w, "\n%s %s  %s\n", Mark(f.Severity), strings.ToUpper(f.Severity.String()), f.ID)
		Assessment(w, "  ", f.Assessment, func() {
			places := inspect.Fold(f.Locations)
			for n, at := range places {
				if n == MaxPlaces && !p.wide && len(places) > MaxPlaces+1 {
					Printf(w, "  in    %d more places: --details -o wide\n", len(places)-n)
					break
				}
				Printf(w, "  in    %s\n", at)
			}
			if of[i].Named {
				about := of[i]
				about.Nodes = nodesOf(f, about)
				if now := nowIn(about, inv, false); now != "" {
					Wrap(w, "  now     ", now)
				}
			}
		})
	}
}

// nodesOf are those that a finding is about, else its problem.
func nodesOf(f report.Finding, problem cause.Problem) (names []string) {
	for _, at := range f.Locations {
		if at.Node != "" && !slices.Contains(names, at.Node) {
			names = append(names, at.Node)
		}
	}
	if len(names) == 0 {
		return problem.Nodes
	}
	return names
}

// Mark lets the eye find severities without colour.
func Mark(severity assess.Severity) string {
	switch severity {
	case assess.Critical:
		return "✗"
	case assess.Warning:
		return "!"
	}
	return "·"
}

func tally(findings []report.Finding) string {
	n := map[assess.Severity]int{}
	for _, f := range findings {
		n[f.Severity]++
	}
	return strings.Join(severities(n), ", ")
}

func (p HumanPrinter) certificates(w io.Writer, inv *report.Inventory) {
	all := make([]*report.Cert, len(inv.Certificates))
	for i := range inv.Certificates {
		all[i] = &inv.Certificates[i]
	}
	if len(all) > 0 {
		Printf(w, "\nCertificates\n")
		p.table(w, inv.Now, all)
	}
	p.requests(w, inv)
	p.revocationLists(w, inv)
}

// table lists certificates, the one that expires first at the top.
func (p HumanPrinter) table(w io.Writer, now time.Time, certs []*report.Cert) {
	l := listing{headers: []string{"EXPIRES", "RENEWAL", "CERTIFICATE", "TYPE", "OWNER", "IN"}, shortHeaders: []string{"EXPIRES", "RENEWAL", "IN", "CERTIFICATE"}, flexible: 3}
	if p.wide {
		l.headers = []string{"EXPIRES", "NOT AFTER", "RENEWAL", "CERTIFICATE", "ISSUER", "TYPE", "KEY", "NAMES", "OWNER", "SHA256", "IN"}
	}
	for _, c := range certs {
		row := p.row(now, c)
		l.rows = append(l.rows, row)
		if !p.wide {
			l.short = append(l.short, []string{row[0], renewedBy(c), p.shortPlace(c), row[2]})
		}
	}
	p.list(w, l)
}

// shortPlace says where a certificate is, as far as a narrow terminal has room: the place before all.
func (p HumanPrinter) shortPlace(c *report.Cert) string {
	places := c.Locations()
	more := ""
	if len(places) > 1 {
		more = fmt.Sprintf(" +%d", len(places)-1)
	}
	room := p.width - columnsIn("in 5y184d   2024-02-16   ") - leastFlexible - 5 - columnsIn(more)
	return lastPart(placeName(places[0]), max(room, leastFlexible)) + more
}

// fitted cuts lines at the edge of the terminal, where a table that wraps can't
// be read any more. With -o wide the rest hangs on a terminal, and other programs get all of it.
func (p HumanPrinter) fitted(w io.Writer, lines string) {
	if p.width < leastColumns || p.wide && !p.terminal {
		Printf(w, "%s", lines)
		return
	}
	for line := range strings.Lines(lines) {
		Printf(w, "%s", fittedLine(line, p.width, p.wide))
	}
}

func (p HumanPrinter) row(now time.Time, c *report.Cert) []string {
	places := inspect.Fold(c.Locations())
	if !p.wide {
		in := places[0]
		if len(places) > 1 {
			in += fmt.Sprintf(" +%d", len(places)-1)
		}
		return []string{RelativeTime(now, c.NotAfter), renewed(c), pki.Foreign(c.Name()), typeOf(c), OrDash(pki.Foreign(c.Owner)), in}
	}
	names := append(append([]string{}, c.Names.DNS...), c.Names.IPs...)
	return []string{
		RelativeTime(now, c.NotAfter), c.NotAfter.Format(time.RFC3339), renewed(c), pki.Foreign(c.Name()), pki.Foreign(issuerName(c)), typeOf(c), c.PublicKey,
		OrDash(pki.Foreign(strings.Join(names, ","))), OrDash(pki.Foreign(c.Owner)), c.Fingerprint.String(), strings.Join(places, ","),
	}
}

// renewed is the date at which a certificate is renewed automatically, auto where only the date
// is unknown, manual where nothing renews it, and unknown.
func renewed(c *report.Cert) string {
	switch r := c.Renewal; {
	case !r.Known:
		return "unknown"
	case !r.Automatic():
		return "manual"
	case r.Due.IsZero():
		return "auto"
	default:
		return Days(r.From, r.Due)
	}
}

// Days are between which days something happens: one where that is the same, or the first is unknown.
func Days(from, to time.Time) string {
	first, last := from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly)
	switch {
	case from.IsZero() || first >= last:
		return last
	case from.UTC().Year() == to.UTC().Year():
		return first + " to " + last[len("2006-"):]
	}
	return first + " to " + last
}

func issuerName(c *report.Cert) string {
	if c.SelfSigned {
		return "self"
	}
	return report.Cert{Cert: &pki.Cert{Subject: c.Issuer}}.Name()
}

func typeOf(c *report.Cert) string {
	switch {
	case c.Role == "signer":
		return "signer"
	case c.IsCA:
		return "CA"
	}
	var uses []string
	for _, u := range c.Usages {
		uses = append(uses, strings.TrimSuffix(u, " auth"))
	}
	return OrDash(strings.Join(uses, ","))
}

// PrintUnauthenticated says above an answer that another server may have given it.
func PrintUnauthenticated(w io.Writer, reason string) {
	if reason != "" {
		Wrap(w, "API SERVER NOT AUTHENTICATED: ", reason+". Another server may have answered.")
	}
}
