package inspectcmd

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// told is a problem of the files as a screen tells it, with what found it.
type told struct {
	ui.Problem
	found []finding
}

// finding is one judgement, with what it is about.
type finding struct {
	assess.Assessment
	claim string // empty: its Reason is the title
	at    []pki.Location
}

// unread reports whether it is what was not read, and no judgement.
func (t told) unread() bool { return len(t.found) == 0 }

// tolds are all that inspect and verify tell of the files.
func (e *explainer) tolds(ctx context.Context) ([]told, error) {
	if err := e.readFiles(ctx); err != nil {
		return nil, err
	}
	facts := inspect.NewFacts(*e.read, e.read.Taken, connect.DefaultWithin)
	inv := report.NewInventory(ctx, facts, report.Filter{})
	var out []told
	for _, least := range []assess.Severity{assess.Warning, assess.Info, assess.Critical} { // --min-severity
		out = append(out, e.toldOf(&inv, least)...)
	}
	for _, u := range (ui.HumanPrinter{Hints: e.reading.Hints()}).UnknownIn(&inv) {
		out = append(out, told{Problem: u})
	}
	verified := report.NewVerification(ctx, inspect.NewFacts(*e.read, e.read.Taken, connect.DefaultWithin))
	for _, p := range e.verified(e.reading.Hints(), &verified) {
		t := told{Problem: p.Problem}
		for _, c := range p.Claims {
			f := finding{Assessment: c.Assessment, claim: c.Said(), at: c.Trust}
			f.Remediation = p.Next
			if len(p.Claims) == 1 {
				f.Remediation = c.Remediation
			}
			t.found = append(t.found, f)
		}
		out = append(out, t)
	}
	return out, nil
}

// toldOf are the problems of findings of a severity or worse, as inspect's screen has them.
func (e *explainer) toldOf(inv *report.Inventory, least assess.Severity) []told {
	limited := inv.AtLeast(least)
	problems := limited.Problems(e.reading.Hints())
	var out []told
	for _, p := range problems {
		t := told{Problem: ui.ProblemIn(limited, p)}
		t.Others = append(t.Others, elsewhere(limited, p, problems)...)
		for _, i := range p.Findings {
			t.found = append(t.found, finding{Assessment: limited.Findings[i].Assessment, at: limited.Findings[i].Locations})
		}
		out = append(out, t)
	}
	return out
}

// called are those of a title: in whole, else with what they are about left out, else cut, as on a
// narrow screen.
func called(all []told, title string) []told {
	cut := regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(title, " …:,")), "…", ".*"))
	for _, same := range []func(whole, bare string) bool{
		func(whole, _ string) bool { return title == whole },
		func(_, bare string) bool {
			return title == bare || strings.HasPrefix(title, bare+": ") || strings.HasPrefix(title, bare+" (")
		},
		func(whole, _ string) bool { return len(title) >= leastCut && cut.MatchString(whole) },
	} {
		var out []told
		for _, t := range all {
			bare := titleOf(t.Title)
			whole := bare
			if len(t.Names) > 0 {
				whole += ": " + titleOf(strings.Join(t.Names, ", "))
			}
			if same(whole+strings.ToLower(t.More), bare) || same(whole, bare) {
				out = append(out, t)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// leastCut is how much of a title is taken for it.
const leastCut = 12

// apart are problems that a title may mean, the platform's first. Those of one title are one: inspect and verify
// may both tell of it. What a tenant's objects have never speaks for the platform's.
func apart(alike []told) []told {
	type name struct {
		title    string
		platform bool
	}
	index := map[name]int{}
	seen := map[string]bool{} // a snapshot may have hundreds of thousands of findings
	var out []told
	for _, t := range alike {
		is := name{titleOf(t.Title), t.Platform}
		n, ok := index[is]
		if !ok {
			n = len(out)
			index[is] = n
			out = append(out, told{Problem: t.Problem})
		}
		for _, f := range t.found {
			var id strings.Builder
			fmt.Fprintf(&id, "%d %q %q", n, f.ID, f.Reason)
			for _, at := range f.at {
				fmt.Fprintf(&id, " %q", at)
			}
			if !seen[id.String()] {
				seen[id.String()] = true
				out[n].found = append(out[n].found, f)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b told) int {
		switch {
		case a.Platform == b.Platform:
			return 0
		case a.Platform:
			return -1
		}
		return 1
	})
	return out
}

// mostAlike problems of like titles are explained, and as many titles as there are findings listed.
const mostAlike = 3

// printApart explains the problems that a title may mean.
func (e *explainer) printApart(w io.Writer, all []topic, problems []told) {
	if len(problems) == 1 {
		e.printTold(w, all, problems[0].Title, problems[0])
		return
	}
	ui.Wrap(w, "", fmt.Sprintf("%d problems in this file have this title, or one that was cut to it.", len(problems)))
	for _, t := range problems[:min(mostAlike, len(problems))] {
		title := t.Title
		if len(t.Names) > 0 {
			title += ": " + ui.NamesThatFit(t.Names, namesColumns)
		}
		ui.Printf(w, "\n")
		e.printTold(w, all, title, t)
	}
	if len(problems) <= mostAlike {
		return
	}
	section(w, "Others", func() {
		for i, t := range problems[mostAlike:] {
			if i == mostFindings {
				ui.Printf(w, "%s%s\n", indent, ui.Count(len(problems)-mostAlike-i, "more problem"))
				return
			}
			ui.Wrap(w, indent, ui.Clean(ui.OneLine(t.Title)))
		}
	})
}

// checks are those that found it, each once.
func (t told) checks() []string {
	var out []string
	for _, f := range t.found {
		if !slices.Contains(out, f.ID) {
			out = append(out, f.ID)
		}
	}
	return out
}

// printTold explains a problem of the files: what was found, what it means here, what to do.
func (e *explainer) printTold(w io.Writer, all []topic, title string, t told) {
	checks := t.checks()
	ui.Wrap(w, "", ui.Clean(ui.OneLine(title)))
	switch {
	case t.Word == notRead:
		ui.Wrap(w, "", "Not in this file. Exit codes of verify count it, those of inspect do not.")
	case t.unread():
		ui.Wrap(w, "", "Unknown: it was not read.")
	case t.found[0].Status == assess.Unknown:
		ui.Wrap(w, "", "Unknown in this file. Checks: "+strings.Join(checks, ", "))
	default:
		ui.Wrap(w, "", "Problem in this file. Found by: "+strings.Join(checks, ", "))
	}
	if means := t.means(); means != "" {
		section(w, "What it means", func() { ui.Wrap(w, indent, means) })
	}
	if t.Cause != "" {
		section(w, "Cause", func() { ui.Wrap(w, indent, t.Cause) })
	}
	if next := e.next(t); next != (assess.Remediation{}) {
		section(w, "What to do", func() {
			remedy(w, next)
			for _, other := range t.Others[:min(len(t.Others), ui.MaxPlaces)] {
				remedy(w, other)
			}
		})
	}
	if task := t.task(); len(checks) != 1 { // else the check names it
		printTask(w, task)
	}
	if len(t.found) > 0 {
		section(w, "Details", func() { e.evidence(w, t) })
	}
	switch {
	case len(checks) == 1:
		for _, topic := range all {
			if topic.name == checks[0] {
				ui.Printf(w, "\n")
				topic.print(w, *e)
				break
			}
		}
	case len(checks) > 1:
		section(w, "The checks", func() { ui.Printf(w, "%s%s\n", indent, e.command("{} explain CHECK")) })
	}
}

// task is the page about it; empty: there is none.
func (t told) task() string {
	if t.unread() {
		return taskOf(unknownKind, "")
	}
	for _, f := range t.found {
		if page := taskOf("", f.ID); page != "" {
			return page
		}
	}
	return ""
}

// command is a command that reads the files.
func (e *explainer) command(format string) string {
	return e.reading.Hints().Next(format) + e.reading.Hints().From()
}

// next is what to do about it.
func (e *explainer) next(t told) assess.Remediation {
	switch next := t.Next; {
	case next != (assess.Remediation{}) || len(t.found) == 0:
		return next
	case t.found[0].Remediation != (assess.Remediation{}) || t.found[0].Status != assess.Unknown:
		return t.found[0].Remediation
	case strings.HasSuffix(t.found[0].Reason, " was not reviewed"):
		return assess.FixedCommand(e.command(foreign.Command("", "{} explain %s", preflight.UnreviewedVersion)))
	}
	return assess.Advise(e.reading.Hints().Next("take the snapshot again, as a user who may read it: {} snapshot -o FILE"))
}

// remedy prints what to do, its commands on lines of their own.
func remedy(w io.Writer, r assess.Remediation) {
	page := ui.NewPage(w)
	ui.Assessment(page, indent, assess.Assessment{Remediation: r}, nil)
	for text := range strings.Lines(page.String()) { // without its labels
		ui.Printf(w, "%s%s", indent, text[min(len(text)-1, len(indent+"next  ")):])
	}
}

// notRead is the word of what a file does not have.
const notRead = "NOT READ"

// means says what a problem means here.
func (t told) means() string {
	switch {
	case t.Word == notRead, t.unread():
		return "What is there is unknown, and so is each check that needs it. Unknown never counts as fine."
	case t.found[0].Status == assess.Unknown:
		return "Not judged: these checks may fail. Unknown never counts as fine."
	}
	means := t.Impact
	if means == "" {
		means = t.found[0].Impact
	}
	if means == "" {
		return ""
	}
	means = strings.TrimSuffix(means, ".") + "."
	if first, _, _ := strings.Cut(means, " "); strings.ContainsAny(first, "-.0123456789") { // the name of a node
		return means
	}
	return strings.ToUpper(means[:1]) + means[1:]
}

// mostFindings are printed of a problem.
const mostFindings = 12

// evidence is each finding of a problem: what is found alike on several nodes in one line.
func (e *explainer) evidence(w io.Writer, t told) {
	if len(t.found) == 1 {
		f := t.found[0]
		if reason := f.said(t); titleOf(reason) != titleOf(t.Title) {
			ui.Wrap(w, indent, f.ID+": "+reason)
		}
		for n, at := range f.at {
			if n == ui.MaxPlaces && len(f.at) > ui.MaxPlaces+1 {
				line(w, "in", ui.Count(len(f.at)-n, "more place"))
				break
			}
			ui.Printf(w, "%sin        %s\n", indent, ui.Clean(at.String()))
		}
		line(w, "evidence", ui.Clean(ui.OneLine(f.Evidence)))
		return
	}
	var lines []string
	seen, nodes, on := map[string]bool{}, map[string][]string{}, map[[2]string]bool{}
	for _, f := range t.found {
		text := f.ID + ": " + f.said(t)
		if !seen[text] {
			seen[text] = true
			lines = append(lines, text)
		}
		if len(lines) > mostFindings && !slices.Contains(lines[:mostFindings], text) {
			continue // it is counted alone
		}
		for _, at := range f.at {
			if node := foreign.Name(at.Node); at.Node != "" && f.claim != "" && !on[[2]string{text, node}] {
				on[[2]string{text, node}] = true
				nodes[text] = append(nodes[text], node)
			}
		}
	}
	for i, text := range lines {
		if i == mostFindings {
			ui.Printf(w, "%s%s\n", indent, ui.Count(len(lines)-i, "more finding")+":")
			ui.Printf(w, "%s%s\n", indent, e.command(t.whole()))
			return
		}
		if n := nodes[text]; len(n) > 0 {
			text += " (" + ui.NamesThatFit(n, namesColumns) + ")"
		}
		ui.Wrap(w, indent, text)
	}
}

// namesColumns is the room for the nodes of a finding.
const namesColumns = 60

// said is what a finding says beside its title.
func (f finding) said(t told) string {
	reason := ui.Clean(ui.OneLine(f.Reason))
	switch {
	case f.claim == "" || f.claim == t.Title:
		return reason
	case reason == "" || strings.HasSuffix(t.Title, ": "+reason):
		return f.claim
	}
	return f.claim + ": " + reason
}

// whole is the command that prints all of its findings.
func (t told) whole() string {
	if t.found[0].claim != "" {
		return "{} verify --details"
	}
	return "{} inspect --details"
}
