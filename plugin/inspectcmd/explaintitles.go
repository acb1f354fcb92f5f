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
var marked = regexp.MustCompile(`^[^a-z0-9 ]* ?(?:critical|warning|info|fail|unknown) +`)

// phrases are in titles that name an object, and by what check they are: without a file no more is known
// of that object.
func phrases() []struct{ is, check string } {
	return []struct{ is, check string }{
		{`^(csr-\S+|\d+ csrs?)( \(.*\))? pending`, "csr-answered"},
		{` expired( \S+)? ago`, "certificate-expired"},
		{` expires in \d`, "certificate-expiring"},
		{`^truncated pem in `, "pem-readable"},
	}
}

// titleOf is a title as it is compared: no case, no mark, no names behind it.
func titleOf(typed string) string {
	return marked.ReplaceAllString(strings.ToLower(strings.Join(strings.Fields(typed), " ")), "")
}

// title explains a problem by its title, as screens print it; false: none is called so.
func (e *explainer) title(ctx context.Context, w io.Writer, all []topic, typed string) (bool, error) {
	title := titleOf(typed)
	is := func(words string) bool {
		words = strings.ToLower(words)
		return title == words || strings.HasPrefix(title, words+": ") || strings.HasPrefix(title, words+" (")
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
	if len(e.reading.From) > 0 {
		found, err := e.findings(ctx)
		if err != nil {
			return false, err
		}
		for _, f := range found {
			if is(f.Reason) {
				return true, e.one(ctx, w, all, f.ID)
			}
		}
	}
	for _, p := range phrases() {
		if regexp.MustCompile(p.is).MatchString(title) {
			return true, e.one(ctx, w, all, p.check)
		}
	}
	return false, nil
}

// problemOf explains a cause of the catalog.
func problemOf(c catalog.Cause) topic {
	var ids []string
	for _, s := range c.Symptoms {
		if s.Proves && !slices.Contains(ids, s.ID) {
			ids = append(ids, s.ID)
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
	return topic{kind: problemKind, claim: strings.Join(ids, ", "), help: h}
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

// ofFile is a step whose command reads the files that were named, where it does as it stands.
func (e explainer) ofFile(step string) string {
	text, from := e.reading.Hints().Next(step), e.reading.Hints().From()
	if from == "" || !e.isCommand(step) || strings.Contains(text, " --from ") {
		return text
	}
	for _, command := range []string{" inspect", " verify", " explain", " rotate --list"} {
		if rest, ok := strings.CutPrefix(text, e.program+command); ok && !strings.Contains(rest, "--nodes") && !strings.Contains(rest, "HOST:PORT") {
			return text + from
		}
	}
	return text
}
