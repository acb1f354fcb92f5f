package rotatecmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

const (
	// screenLines fit on a terminal of 24, with the prompt below them.
	screenLines = 23
	// questionLines are those of the question after a plan.
	questionLines = 2
	// moreDetails is the last line of a screen.
	moreDetails = "all of it: --details; for scripts: -o json"
)

// label is the beginning of a line, before its text.
func label(word string) string { return fmt.Sprintf("%-10s", word) }

// head says which cluster it is, and as of when.
func (o *rotateOptions) head(a *ui.OneScreen, page *ui.Page, r rotate.Reading) {
	head := func(more string) []string {
		return ui.HumanPrinter{}.Head(page, report.ClusterOf(r.Facts.Snapshot.Cluster), r.Facts.Now, o.from(), more)
	}
	lines := head("")
	if o.dryRun != "" && o.dryRun != apply.DryRunNone {
		if told := head("dry run, nothing changed"); len(told) == len(lines) { // it takes no line of its own
			lines = told
		}
	}
	for i, line := range lines {
		if i < 2 {
			a.Line(ui.Always, "%s", line)
		} else { // what has to be known of the answer: whole sentences
			a.Line(ui.Useful, "%s", line)
		}
	}
	a.Gap()
}

// about says what is rotated, whose it is, and its certificate.
func about(a *ui.OneScreen, word string, p rotate.Planned) {
	kind := "a signer"
	if !p.Of.Signer() {
		kind = "signed by " + p.Of.Rotation.Signer.Name
	}
	a.Line(ui.Always, "%s%s/%s", label(word), p.Of.At.Namespace, p.Of.At.Name)
	a.Line(ui.Extra, "%s%s; %s", label("owner"), p.Owner(), kind)
	cert := p.Of.Cert()
	if cert == nil {
		where := "not read"
		switch {
		case p.Facts.Absent(p.Of.At) && p.Facts.Hints().OfFile():
			where = "not in this file"
		case p.Facts.Absent(p.Of.At):
			where = "not there"
		}
		a.Line(ui.Always, "%s%s", label("now"), where)
		return
	}
	now := label("now") + "valid " + validity(cert, p.Facts.Now)
	if whole := now + "  " + shortName(p.Of, cert); ui.Width(whole) <= a.Columns() {
		now = whole
	}
	a.Line(ui.Always, "%s", now)
}

// otherwise says when it is rotated automatically if nothing is done; and of a signer, the first of
// what it signs.
func otherwise(a *ui.OneScreen, p rotate.Planned) {
	if !p.Rotates() || p.Of.Triggered() || p.Of.Cert() == nil {
		return
	}
	when, dated := automatic(p, p.Of)
	if dated {
		when = "rotates automatically on " + when
	}
	a.Line(ui.Always, "%s%s", label("otherwise"), when)
	if !p.Of.Signer() {
		return
	}
	var first *rotate.Rotatable
	more := 0
	for _, of := range p.All {
		if of.Rotation.Signer != p.Of.At || of.At == p.Of.At || of.Cert() == nil {
			continue
		}
		if more++; first == nil || !of.Next(p.Facts).IsZero() && (first.Next(p.Facts).IsZero() || of.Next(p.Facts).Before(first.Next(p.Facts))) {
			first = &of
		}
	}
	if first == nil {
		return
	}
	when, dated = automatic(p, *first)
	if !dated {
		when += ":"
	}
	others := ""
	if more > 1 {
		others = fmt.Sprintf(" +%d", more-1)
	}
	a.Line(ui.Useful, "%swhat it signs: %s %s%s", label(""), when, first.At.Name, others)
}

// automatic says when something is rotated automatically; dated: that is a date to come.
func automatic(p rotate.Planned, of rotate.Rotatable) (when string, dated bool) {
	switch renewal, next := p.Facts.RenewalOf(of.Cert()), of.Next(p.Facts); {
	case !next.IsZero() && !next.After(p.Facts.Now):
		return "overdue: should have rotated " + next.UTC().Format(time.DateOnly), false
	case !next.IsZero():
		return next.UTC().Format(time.DateOnly), true
	case renewal.Automatic == catalog.Yes:
		return "rotates automatically, when is unknown", false
	case renewal.Automatic == catalog.No:
		return "does not rotate automatically", false
	}
	return "whether it rotates automatically is unknown", false
}

// shortName is the common name of a certificate, without the namespace that the line before has.
func shortName(of rotate.Rotatable, cert *pki.Cert) string {
	return pki.Foreign(strings.TrimPrefix(pki.CommonName(cert.Subject), of.At.Namespace+"_"))
}

func validity(cert *pki.Cert, now time.Time) string {
	days := cert.NotBefore.UTC().Format(time.DateOnly) + " to " + cert.NotAfter.UTC().Format(time.DateOnly)
	if !cert.NotAfter.After(now) {
		return days + ", expired " + duration.HumanDuration(now.Sub(cert.NotAfter)) + " ago"
	}
	return days + ", expires in " + duration.HumanDuration(cert.NotAfter.Sub(now))
}

// preview is the command that prints a repair of the same cluster or files. It takes fewer flags about
// nodes than rotate does.
func (o *rotateOptions) preview(repair string) string {
	return o.reading.Hints().Next("{} " + repair + " --dry-run=client")
}

// command is one of the program's, about the same cluster or files: it runs as it stands.
func (o *rotateOptions) command(words string, names ...string) string {
	reads := o.reads
	if len(o.reading.From) > 0 {
		reads = ""
	}
	if strings.Contains(reads, " --nodes ") {
		words = strings.Replace(words, " --nodes all", "", 1)
	}
	out := o.app.Hints().Next("{} "+words) + reads
	if len(names) > 0 {
		out += " " + nodeexec.Quote(names...)
	}
	for _, file := range o.reading.From {
		out += " --from " + nodeexec.Quote(file)
	}
	return out
}

// unique keeps the first of equal texts.
func unique(texts []string) []string {
	var out []string
	for _, s := range texts {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
