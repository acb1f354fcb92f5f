package rotatecmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// shortUndo is noUndo in a line.
const shortUndo = "not possible: the old key will be gone; the previous CA stays trusted until it expires"

// showPlan prints a plan for people: on one screen, or in full.
// of several, the last one has the next step.
func (o *rotateOptions) showPlan(out io.Writer, p rotate.Planned, last bool) error {
	if o.details {
		return printRotation(out, p)
	}
	a, page := ui.NewOneScreen(out), ui.NewPage(out)
	most, more := screenLines, moreDetails
	o.head(a, page, p.Reading)
	if p.Rotates() {
		about(a, "rotate", p)
		otherwise(a, p)
	} else {
		about(a, "signer", p)
		a.Prose(ui.Always, 2, label("stays"), "not rotated: "+p.Left.Why)
	}
	if p.NoChanges() {
		a.Gap()
		a.Line(ui.Always, "No changes: already up to date")
		return a.Print(out, most, more)
	}
	changes(a, p)
	checks(a, p)
	a.Gap()
	follows(a, p)
	a.Gap()
	a.Prose(ui.Always, 2, label("undo"), shortUndo)
	next := o.again + " " + nodeexec.Quote(o.names...)
	switch {
	case !last:
	case o.dryRun == apply.DryRunClient:
		a.Whole("%s", label("next")+next+" --dry-run="+apply.DryRunServer)
	case o.dryRun == apply.DryRunServer:
		a.Whole("%s", label("next")+next)
	default: // it is asked
		most -= questionLines
	}
	return a.Print(out, most, more)
}

// changes prints what is written, all of it: it is what is agreed to.
func changes(a *ui.OneScreen, p rotate.Planned) {
	word := label("change")
	put := func(text string) {
		a.Whole("%s", word+text)
		word = label("")
	}
	if p.Rotates() {
		for _, line := range diffLines(p) {
			put(line)
		}
	}
	if len(p.Leaves) > 0 {
		put("then, one after another, each once all its clients trust the new CA:")
	}
	for i, leaf := range p.Leaves {
		put("  " + leaf.Of.At.Namespace + "/" + leaf.Of.At.Name)
		lines := diffLines(leaf)
		if i+1 < len(p.Leaves) && slices.Equal(lines, diffLines(p.Leaves[i+1])) { // it is the same of the next one
			continue
		}
		for _, line := range lines {
			put("  " + line)
		}
	}
}

// diffLines are the annotations that change, a line each.
func diffLines(p rotate.Planned) []string {
	switch {
	case p.Of.Triggered():
		return []string{p.Of.Trigger.Annotation + " is removed already: waiting for its owner"}
	case p.After == nil:
		return []string{"remove annotation " + p.Of.Trigger.Annotation}
	}
	var out []string
	for _, d := range differing(p) {
		if d.Before != nil {
			out = append(out, "- "+d.Name+": "+*d.Before)
		}
		if d.After != nil {
			out = append(out, "+ "+d.Name+": "+*d.After)
		}
	}
	return out
}

// checks prints how many checks pass, and which do not.
func checks(a *ui.OneScreen, p rotate.Planned) {
	checkedFirst(p).Counted(a, label("checks"))
	printOpen(a, p)
}

// printOpen prints the checks that do not pass and stop nothing yet, a line for each way they go
// on. What the user accepts, and where the run will stop, is never cut.
func printOpen(a *ui.OneScreen, p rotate.Planned) {
	all := p.Leaves
	if p.Rotates() {
		all = append([]rotate.Planned{p}, all...)
	}
	const awaited, accepted = "○ awaited: ", "! accepted: "
	var order []string
	names, reasons, of := map[string][]string{}, map[string][]string{}, map[string][]string{}
	for _, r := range all {
		for _, v := range r.Checks {
			kind := awaited
			switch {
			case !v.Blocks():
				continue
			case r.Of.Triggered():
				kind = "! not blocked by, as its owner rotates it already: "
			case slices.Contains(r.Accepted, v.ID):
				kind = accepted
			case v.Status != assess.Fail:
				kind = "? stops with exit code 3 unless read by then: "
			}
			if names[kind] == nil {
				order = append(order, kind)
			}
			names[kind] = append(names[kind], v.ID)
			of[kind+v.ID] = append(of[kind+v.ID], r.Of.Name)
			reasons[kind] = append(reasons[kind], ui.OneLine(v.Named()))
		}
	}
	for _, kind := range order {
		checks := unique(names[kind])
		for i, id := range checks { // of what, where it is not of all
			if of := of[kind+id]; len(of) == 1 && len(all) > 1 {
				checks[i] += " (" + of[0] + ")"
			} else if len(of) < len(all) {
				checks[i] += fmt.Sprintf(" (%s +%d)", of[0], len(of)-1)
			}
		}
		if kind == awaited {
			a.Names(ui.Useful, label("")+kind, checks)
		} else {
			a.Whole("%s", label("")+kind+strings.Join(checks, ", "))
			rank, most := ui.Extra, 2
			texts := unique(reasons[kind])
			switch {
			case kind == accepted && len(texts) <= 2 && len(all) == 1: // what is agreed to
				rank, most = ui.Always, 3
			case kind == accepted:
				rank = ui.Useful
			}
			for _, reason := range texts {
				a.Prose(rank, most, label("")+"  ", reason)
			}
		}
	}
}

// stageLine is what one stage comes to.
type stageLine struct {
	stage  string
	to, by []string
	from   []time.Time
	// restart and reload are the static pods that do.
	restart, reload []string
	effects, missed []string
	ca              string  // what its clients use
	rank            ui.Rank // of the line about nodes
}

// stageName is what a stage is called for people: static pods are the control plane's.
func stageName(stage string) string {
	if stage == catalog.FlowMasters {
		return "control-plane"
	}
	return stage
}

// follows prints a line for each stage that follows, with how many objects it is about.
func follows(a *ui.OneScreen, p rotate.Planned) {
	var blocked []string
	for _, s := range stagesOf(p, &blocked) {
		s.print(a, fmt.Sprintf("  %-*s", stageColumns-2, stageName(s.stage)))
	}
	if len(blocked) > 0 {
		a.Names(ui.Always, "! blocked   ", unique(blocked))
	}
}

// stageColumns is where the words of a stage that follows stand.
const stageColumns = 17

// print adds the line of a stage.
func (s *stageLine) print(a *ui.OneScreen, lead string) {
	switch s.stage {
	case rotate.StageBundle:
		a.Names(ui.Useful, lead+"new CA added to ", baseNames(s.to))
	case rotate.StageAggregates:
		if len(s.to) == 1 {
			a.Names(ui.Useful, lead+"and to ", baseNames(s.to))
		} else {
			a.Names(ui.Useful, lead+fmt.Sprintf("and to %d CA bundles made from it: ", len(s.to)), baseNames(s.to))
		}
	case catalog.FlowMasters, rotate.StageServed:
		if len(s.restart) > 0 {
			a.Names(ui.Always, lead+"restart, one node after another: ", s.restart)
		} else {
			a.Names(ui.Extra, lead+"reload, no restart: ", s.reload)
		}
	case catalog.FlowNodes:
		switch {
		case len(s.missed) > 0:
			a.Names(ui.Always, lead+"! not delivered by this version: ", s.missed)
		case len(s.effects) > 0:
			a.Names(s.rank, lead+"on each node: ", s.effects)
		default:
			a.Names(ui.Useful, lead, s.to)
		}
	case catalog.FlowTrust:
		use := " use "
		if len(s.by) == 1 {
			use = " uses "
		}
		a.Names(ui.Useful, lead+ui.Count(len(s.by), "client")+use+s.ca+": ", s.by)
	case catalog.FlowLeaf:
		names := baseNames(s.to)
		if len(s.from) == 0 {
			a.Names(ui.Useful, lead+"it signs ", names)
			return
		}
		from := minute(slices.MinFunc(s.from, time.Time.Compare))
		if room := a.Columns() - ui.Width(lead) - len("it signs from : ") - len(from); len(names) > 0 && ui.Width(names[0])+len(" +99") > room {
			from = from[:len(time.DateOnly)]
		}
		a.Names(ui.Useful, lead+"it signs from "+from+": ", names)
	default:
		a.Names(ui.Useful, lead, s.to)
	}
}

// stagesOf are the stages, in the order in which they follow. What static pods do with what the
// signer signs is the last of them, served.
func stagesOf(p rotate.Planned, blocked *[]string) []*stageLine {
	var out []*stageLine
	ca := "this CA"
	if !p.Of.Signer() {
		ca = "its CA"
	}
	at := func(stage string) *stageLine {
		i := slices.IndexFunc(out, func(s *stageLine) bool { return s.stage == stage })
		if i < 0 {
			i, out = len(out), append(out, &stageLine{stage: stage, rank: ui.Useful, ca: ca})
		}
		return out[i]
	}
	leaf := !p.Rotates() || !p.Of.Signer()
	for _, c := range p.Consequences() {
		*blocked = append(*blocked, c.BlockedBy...)
		stage := c.Stage
		if leaf = leaf || stage == catalog.FlowLeaf; stage == catalog.FlowNow {
			continue
		} else if leaf && stage == catalog.FlowMasters {
			stage = rotate.StageServed
		}
		s := at(stage)
		switch {
		case c.Stage == catalog.FlowMasters && c.Rollout:
			s.restart = unique(append(s.restart, strings.TrimPrefix(c.At, "static pods of ")))
		case c.Stage == catalog.FlowMasters:
			s.reload = unique(append(s.reload, strings.TrimPrefix(c.At, "static pods of ")))
		case c.Node != "":
			s.effects = unique(append(s.effects, c.Node+" ("+shortPlace(c.At)+")"))
			if c.Node != string(catalog.NodeNone) && c.Node != string(catalog.NodeReload) {
				s.rank = ui.Always
			}
		case c.Undelivered:
			s.missed = unique(append(s.missed, shortPlace(c.At)))
		}
		s.to, s.by = unique(append(s.to, shortPlace(c.At))), unique(append(s.by, c.By))
		if c.From != nil {
			s.from = append(s.from, *c.From)
		}
	}
	return out
}

// baseNames are places without their namespaces.
func baseNames(places []string) []string {
	var out []string
	for _, p := range places {
		out = append(out, p[strings.LastIndex(p, "/")+1:])
	}
	return out
}

// shortPlace is a place of the catalog without its kind and key.
func shortPlace(at string) string {
	if kind, rest, ok := strings.Cut(at, "/"); ok && (kind == catalog.Secret || kind == catalog.ConfigMap) {
		at, _, _ = strings.Cut(rest, "[")
	}
	return strings.TrimPrefix(at, "File:")
}
