package apply

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// planSummary is a plan on one screen. A plan that is to be confirmed is said in full where a
// line would be cut, and names all that is written.
type planSummary struct {
	run     *Execution
	plan    *remediate.Plan
	confirm bool
	full    bool // nothing is cut
	brief   bool // there is no room to say that the commands are for the live cluster, and where the details are
}

// printPlanSummary prints a plan on one screen, and for a plan that is to be confirmed all that
// it writes.
func printPlanSummary(out io.Writer, a *Execution, p *remediate.Plan) error {
	s := planSummary{run: a, plan: p, confirm: !a.DryRun && a.Session != nil && !p.Empty()}
	w := ui.NewPage(out)
	s.print(w)
	if s.confirm {
		s.writes(w)
	}
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

func (s planSummary) print(w *ui.Page) {
	head, rows, bottom := ui.NewPage(w), ui.NewPage(w), ui.NewPage(w)
	s.head(head)
	if !s.plan.Empty() {
		s.rows(rows)
		s.bottom(bottom)
	}
	left := func() int {
		return w.ScreenLines() - lines(head.String()) - lines(rows.String()) - wrapped(bottom.String(), w.Columns())
	}
	room := left()
	notes := s.notes(w, room)
	if s.brief = s.run.Lines.OfFile && lines(notes) > room-1; s.brief {
		bottom = ui.NewPage(w)
		s.bottom(bottom)
		room = left()
		notes = s.notes(w, room)
	}
	room -= lines(notes)
	for i, part := range []string{head.String(), rows.String(), notes, bottom.String()} {
		if i > 0 && part != "" && (room > 0 || s.confirm) { // an empty line
			ui.Printf(w, "\n")
			room--
		}
		ui.Printf(w, "%s", part)
	}
	if s.plan.Empty() {
		ui.Printf(w, "\n")
		ui.Wrap(w, "", noChanges(s.plan))
		for _, n := range unhealthyNodes(s.plan) {
			w.Line("  " + foreign.Name(n.Name) + "  " + state(n, s.plan.Basis.NodeHealth(n)))
		}
	}
}

func lines(text string) int { return strings.Count(text, "\n") }

// wrapped is how many lines a terminal makes of a text with commands, which are whole.
func wrapped(text string, columns int) (n int) {
	for line := range strings.Lines(text) {
		n += max(1, (ui.Width(strings.TrimSuffix(line, "\n"))+columns-1)/columns)
	}
	return n
}

// head says which cluster it is, and what is repaired.
func (s planSummary) head(w *ui.Page) {
	due := map[string]bool{}
	for _, name := range s.due() {
		due[name] = true
	}
	printer := ui.HumanPrinter{}
	nodes := "nodes to repair: "
	if s.run.DryRun {
		nodes = "dry run: "
	}
	counted := s.plan.Basis.CountNodes(func(n *inspect.Node) bool { return due[n.Name] }).String()
	head := func(nodes string) []string {
		return printer.Head(w, report.ClusterOf(s.plan.Basis.Cluster), s.plan.Now, "", nodes+counted)
	}
	lines := head(nodes)
	if s.run.DryRun {
		if whole := head("dry run, nothing changed: "); len(whole) == len(lines) { // it takes no line of its own
			lines = whole
		}
	}
	for _, line := range lines {
		w.Line(line)
	}
	s.reason(w)
}

// reason says which CA kubelets get, from where, and why: what api-int presents.
func (s planSummary) reason(w *ui.Page) {
	leaf := servedLeaf(s.plan)
	few := w.Few
	if w.Columns() < 60 { // lines are cut where the plan would not fit a screen
		few = func(lead, s string) { w.Line(lead + ui.Clean(s)) }
	}
	if added := s.added(); len(added) > 0 {
		first := added[0]
		if i := slices.IndexFunc(added, func(c *pki.Cert) bool { return leaf != nil && c.Subject == leaf.Issuer }); i >= 0 {
			first = added[i]
		}
		text := "CA " + shortName(first.Subject) + " (until " + first.NotAfter.UTC().Format(time.DateOnly) + ")"
		if len(added) > 1 {
			text += fmt.Sprintf(" and %d more", len(added)-1)
		}
		few("Adds     ", text+", from "+shortSource(s.run.CASource))
		if leaf != nil && leaf.Issuer == first.Subject {
			few("Why      ", "it signed api-int's certificate (expires "+leaf.NotAfter.UTC().Format(time.DateOnly)+")")
			return
		}
	}
	if leaf != nil {
		few("Served   ", "api-int's certificate (expires "+leaf.NotAfter.UTC().Format(time.DateOnly)+"), signed by "+shortName(leaf.Issuer))
	}
}

// added are the CAs that the plan adds to any file, each once.
func (s planSummary) added() []*pki.Cert {
	var out []*pki.Cert
	for _, n := range s.plan.Nodes() {
		for _, step := range n.Due() {
			if f := step.Change.File; f != nil && !f.Removed {
				out = append(out, pki.Without(pki.Without(f.New, f.Old), out)...)
			}
		}
	}
	return out
}

// servedLeaf is what api-int presents to a node; nil: it was not read.
func servedLeaf(p *remediate.Plan) *pki.Cert {
	for _, v := range p.Basis.Served {
		if len(v.Chain) > 0 && v.Server == "" { // a snapshot has what others presented, too
			return v.Chain[0]
		}
	}
	return nil
}

// shortName is a CA's common name without the operator that made it.
func shortName(subject string) string {
	name := pki.CommonName(subject)
	return pki.Foreign(name[strings.LastIndexByte(name, '_')+1:])
}

// shortSource is the ConfigMap that CAs are from, without its namespace; any other source as it is.
func shortSource(source string) string {
	ref, _, _ := strings.Cut(source, "[")
	if kind, name, ok := strings.Cut(ref, "/"); ok && kind == "ConfigMap" {
		return kind + " " + name[strings.LastIndexByte(name, '/')+1:]
	}
	return source
}

// notes say what is unknown, what was accepted, what to know and what passed, in at most so
// many lines; in a plan that is to be confirmed in full.
func (s planSummary) notes(w *ui.Page, room int) string {
	var notes []note
	for _, r := range s.plan.Unknown {
		notes = append(notes, note{mark: unknownMark, text: foreign.Name(r.Node) + ": " + r.Assess().Named()})
	}
	var accepted, others, passed []note
	for _, about := range s.plan.Notes {
		switch n := (note{"! WARNING", about.Text, about.Command}); about.Kind {
		case remediate.NotePending: // the rows do
			if s.confirm || s.byWave() {
				others = append(others, n)
			}
		case remediate.NoteAccepted:
			accepted = append(accepted, n)
		case remediate.NotePassed: // a line names those that passed
			if s.confirm {
				passed = append(passed, note{passMark, about.Text, about.Command})
			}
		default:
			others = append(others, n)
		}
	}
	notes = slices.Concat(notes, accepted, others, passed)
	form := checksInFew
	if s.confirm {
		form = checksWhole
	}
	checks := ui.NewPage(w)
	if s.checks().summarize(checks, form); !s.confirm && lines(checks.String())+min(len(notes), 1+len(accepted)) > room {
		checks = ui.NewPage(w)
		s.checks().summarize(checks, checksInBrief)
	}
	if s.confirm {
		full := ui.NewPage(w)
		for _, n := range notes {
			ui.Wrap(full, n.lead(), n.text)
			n.look(full)
		}
		return full.String() + checks.String()
	}
	room -= lines(checks.String())
	whole, few, brief := ui.NewPage(w), ui.NewPage(w), ui.NewPage(w)
	listed := len(notes)
	if listed > room {
		listed = max(room-1, 0)
	}
	for _, n := range notes[:listed] {
		whole.Few(n.lead(), n.text)
		n.look(whole)
		few.Few(n.lead(), strings.TrimSuffix(n.text, ":"))
		brief.Line(n.lead() + ui.Clean(strings.TrimSuffix(n.text, ":")))
	}
	if more := len(notes) - listed; more > 0 {
		brief.Line(note{mark: notes[listed].mark}.lead() + ui.Count(more, "more note") + ": --details")
	} else if lines(whole.String()) <= room {
		brief = whole
	} else if lines(few.String()) <= room { // texts go before commands, which --details has
		brief = few
	}
	return brief.String() + checks.String()
}

func (s planSummary) checks() PlanChecks { return PlanChecks{s.plan.Checked} }

// note is a line of a summary.
type note struct{ mark, text, command string }

// look writes the command that lists what it is about, if there is one.
func (n note) look(w *ui.Page) {
	if n.command != "" {
		w.Command("", n.command)
	}
}

func (n note) lead() string { return fmt.Sprintf("%-12s", n.mark) }

// bottom says what the plan repairs, and what to type.
func (s planSummary) bottom(w *ui.Page) {
	if len(s.plan.Solved) > 0 {
		s.repairs(w)
	}
	s.afterwards(w)
	if s.run.Lines.Details != "" && !s.brief {
		w.Command("details", s.run.Lines.Details)
	}
}

// afterwards says what remains, and what to type.
func (s planSummary) afterwards(w *ui.Page) {
	s.remains(w)
	if !s.confirm {
		s.commands(w)
	}
	switch {
	case !writesFiles(s.plan):
	case s.confirm:
		w.Command("undo", s.run.undoOf(s.plan.RunID))
	default:
		w.Line("  undo      " + s.run.undoOf("RUN") + "  (RUN is printed at the end)")
	}
}

// writes names each file and object that is changed, in full: what is not printed here is not
// written. CAs are named once for all files that get the same ones.
func (s planSummary) writes(w io.Writer) {
	type group struct {
		removed        bool
		added, dropped []*pki.Cert
		files          []string
	}
	var groups []*group
	var others []string // what else is done
	at := map[string][]string{}
	for _, n := range s.plan.Nodes() {
		for _, step := range n.Due() {
			f := step.Change.File
			if f == nil {
				if what := step.Change.Summary; !remediate.Waits(step.Action) {
					if at[what] == nil {
						others = append(others, what)
					}
					at[what] = append(at[what], titleOf(n.Name))
				}
				continue
			}
			g := &group{f.Removed, pki.Without(f.New, f.Old), pki.Without(f.Old, f.New), nil}
			i := slices.IndexFunc(groups, func(o *group) bool {
				return o.removed == g.removed && sameCerts(o.added, g.added) && sameCerts(o.dropped, g.dropped)
			})
			if i < 0 {
				i, groups = len(groups), append(groups, g)
			}
			groups[i].files = append(groups[i].files, foreign.Name(n.Name)+":"+foreign.Name(f.Path))
		}
	}
	for _, g := range groups {
		verb := "Writes"
		if g.removed {
			verb = "Removes"
		}
		ui.Printf(w, "\n%s %s, with a backup on the node in %s/%s:\n", verb, ui.Count(len(g.files), "file"), host.DefaultFolder, s.plan.RunID)
		for _, file := range g.files {
			ui.Printf(w, "  %s\n", file)
		}
		if g.removed {
			continue
		}
		printCAs(w, "adds", "to", "+", g.added, s.plan.Now)
		printCAs(w, "removes", "from", "-", g.dropped, s.plan.Now)
	}
	if len(others) > 0 {
		ui.Printf(w, "\nAlso:\n")
		for _, what := range others {
			ui.Wrap(w, "  ", what+": "+strings.Join(at[what], ", "))
		}
	}
}

// printCAs names CAs, all of them.
func printCAs(w io.Writer, verb, where, sign string, certs []*pki.Cert, now time.Time) {
	if len(certs) == 0 {
		return
	}
	ui.Printf(w, "%s %s %s each:\n", verb, ui.Count(len(certs), "CA"), where)
	for _, c := range certs {
		expired := ""
		if sign == "-" {
			expired = ValidityText(c, now)
		}
		ui.Printf(w, "  %s %s  sha256 %s  until %s%s\n", sign, pki.Foreign(c.Subject), c.Fingerprint.Short(), c.NotAfter.UTC().Format(time.DateOnly), expired)
	}
}

func sameCerts(a, b []*pki.Cert) bool {
	return len(a) == len(b) && len(pki.Without(a, b)) == 0
}
