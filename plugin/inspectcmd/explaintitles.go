package inspectcmd

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// problemKind is that of what findings of several checks are about.
const problemKind = "Problem"

// marked are the mark and the severity before a title on a screen.
var marked = regexp.MustCompile(`^(?:[✗✓!?·–-] +)?(?:(?:CRITICAL|WARNING|WARN|INFO|FAIL|UNKNOWN|NOT READ) +)?`)

// phrases are in titles that name an object, and by what check they are: without a file no more is known
// of that object.
func phrases() []struct{ is, check string } {
	return []struct{ is, check string }{
		{`^(csr-\S+|\d+ csrs?)( \(.*\))? pending`, "csr-answered"},
		{` expired( \S+)? ago`, "certificate-expired"},
		{` expires in \d`, "certificate-expiring"},
		{`^truncated pem in `, "pem-readable"},
		{` (is|was) down .*: no client certificate$`, "kubelet-current"},
	}
}

// titleOf is a title as it is compared: no case, no mark, no names behind it.
func titleOf(typed string) string { return strings.ToLower(withoutMark(typed)) }

// withoutMark is a line of a screen without its mark and severity.
func withoutMark(typed string) string { return marked.ReplaceAllString(ui.OneLine(typed), "") }

// WithoutMarks are arguments of which none is a line of a screen that begins as a flag does.
func WithoutMarks(args []string) []string {
	out := slices.Clone(args)
	for i := range out {
		if out[0] == "explain" {
			out[i] = strings.TrimPrefix(out[i], "- ")
		}
	}
	return out
}

// title explains a problem by its title, as screens print it; false: none is called so.
func (e *explainer) title(ctx context.Context, w io.Writer, all []topic, typed string) (bool, error) {
	title, bare := titleOf(typed), withoutMark(typed)
	if len(e.reading.From) > 0 {
		problems, err := e.tolds(ctx)
		if err != nil {
			return false, err
		}
		if alike := called(problems, title); len(alike) > 0 {
			e.printApart(w, all, apart(alike))
			return true, nil
		}
	}
	is := func(words string) bool {
		words = strings.ToLower(words)
		return title == words || strings.HasPrefix(title, words+": ") || strings.HasPrefix(title, words+" (") ||
			len(title) >= leastLine && strings.HasPrefix(words, title+" ")
	}
	for _, c := range catalog.Causes() {
		if is(c.Title) {
			problemOf(c).print(w, *e)
			return true, nil
		}
	}
	for _, t := range all {
		if slices.ContainsFunc([]assess.Status{assess.Pass, assess.Fail, assess.Warn, assess.Unknown}, func(s assess.Status) bool { return is(report.Said(t.claim, s)) }) {
			t.print(w, *e)
			return true, nil
		}
	}
	for _, p := range phrases() {
		if regexp.MustCompile(p.is).MatchString(title) {
			return true, e.one(ctx, w, all, p.check)
		}
	}
	if unread.MatchString(ui.OneLine(typed)) {
		unknownTopic().print(w, *e)
		return true, nil
	}
	if bare != ui.OneLine(typed) && !strings.Contains(bare, " ") { // a name, behind its mark
		return true, e.print(ctx, w, e.asTyped([]string{bare}))
	}
	return false, nil
}

// leastLine is how long the first line of a title is that goes on in the next one.
const leastLine = 50

// unread are titles of what was not read, and of checks that need it.
var unread = regexp.MustCompile(`^\? |^(UNKNOWN|NOT READ) |^\d+ checks: |: the file has none; `)

// unknownTopic explains what is told as unknown, without the file that lacks it.
func unknownTopic() topic {
	return topic{kind: unknownKind, claim: "nothing: it was not read", help: help{
		"unknown", "What is there is unknown, and so is each check that needs it. Unknown never counts as fine.",
		[]string{"what was not read, why, and how it is read:", inspectDetails, "which checks need it:", "{} verify --details"},
	}}
}

// unknownKind is that of what was not read.
const unknownKind = "Unknown"

// problemOf explains a cause of the catalog.
func problemOf(c catalog.Cause) topic {
	var ids, with []string
	for _, s := range c.Symptoms {
		if s.Proves && !slices.Contains(ids, s.ID) {
			ids = append(ids, s.ID)
		}
	}
	for _, s := range c.Symptoms {
		if !slices.Contains(ids, s.ID) && !slices.Contains(with, s.ID) {
			with = append(with, s.ID)
		}
	}
	h := help{name: c.Title, means: c.Impact}
	if c.Remediation != "" {
		h.todo = []string{c.Remediation}
	}
	if h.means != "" {
		h.means = strings.ToUpper(h.means[:1]) + h.means[1:] + "."
	}
	h.todo = append(h.todo, foreign.Command("", "{} explain %s", ids[0]))
	found := strings.Join(ids, ", ")
	if len(with) > 0 {
		found += "; with these, also: " + strings.Join(with, ", ")
	}
	return topic{kind: problemKind, claim: found, help: h}
}

// findings are those of the files, folded as on inspect's screen: those of the first problem first.
func (e *explainer) findings(ctx context.Context) ([]report.Finding, error) {
	if err := e.readFiles(ctx); err != nil {
		return nil, err
	}
	inv := report.NewInventory(ctx, inspect.NewFacts(*e.read, e.read.Taken, connect.DefaultWithin), report.Filter{})
	all := make([]cause.Finding, len(inv.Findings))
	for i, f := range inv.Findings {
		all[i] = cause.Finding{Assessment: f.Assessment, At: f.Locations}
	}
	var out []report.Finding
	for _, problem := range cause.Fold(e.reading.Hints(), all) {
		for _, i := range problem.Findings {
			out = append(out, inv.Findings[i])
		}
	}
	return out, nil
}

// listFound lists the names of the checks that found something in the files.
func (e *explainer) listFound(ctx context.Context, w io.Writer, all []topic) error {
	found, err := e.findings(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	var of []topic
	for _, f := range found {
		i := slices.IndexFunc(all, func(t topic) bool { return t.name == f.ID })
		if i >= 0 && !slices.ContainsFunc(of, func(t topic) bool { return t.name == f.ID }) {
			of = append(of, all[i])
		}
	}
	if !e.noHeaders {
		ui.Printf(w, "Found in this file\n")
	}
	if err := e.table(w, of); err != nil {
		return err
	}
	ui.Printf(w, "\n")
	return nil
}
