package apply

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// printPlan prints a plan to people: in terms of certificates.
func printPlan(out io.Writer, a *Execution, p *remediate.Plan) error {
	w := ui.NewPage(out)
	c := p.Basis.Cluster
	if c.Server != "" || c.Versions.Cluster != "" {
		what := ""
		if c.Versions.Cluster != "" {
			what = "  " + ui.Product(c.Versions.Cluster) + " " + c.Versions.Cluster
		}
		ui.WrapLine(w, "Cluster  ", c.Server+what)
	}
	ui.PrintUnauthenticated(w, c.Unauthenticated)
	if c.Synthetic != "" {
		ui.Wrap(w, "         ", "SYNTHETIC DATA: "+c.Synthetic)
	}
	ui.PrintUnreviewed(w, c.Versions.WhyUnreviewed())
	a.PrintBasis(w, p)
	printNotes(w, p)
	if p.Empty() {
		printUnknown(w, p)
		ui.Printf(w, "\n")
		ui.WrapLine(w, "", noChanges(p))
		for _, n := range unhealthyNodes(p) {
			ui.WrapLine(w, "  "+foreign.Name(n.Name)+"  ", state(n, p.Basis.NodeHealth(n)))
		}
		_, err := io.WriteString(out, ui.CleanLines(w.String()))
		return err
	}
	for _, wave := range p.Waves {
		printWave(w, p, wave)
	}
	printUnknown(w, p)
	if len(p.Solved) > 0 {
		ui.Printf(w, "\n%s%s\n", fixes, "by the checks of inspect, before and after")
		for _, f := range p.Solved {
			ui.Wrap(w, "         "+ui.Mark(f.Severity)+" ", f.Named())
			for _, at := range inspect.Fold(f.At) {
				ui.Printf(w, "           in %s\n", at)
			}
		}
	}
	if a.Undoes == "" && (a.DryRun || a.Session == nil) {
		ui.Printf(w, "\n")
		planSummary{run: a, plan: p, full: true}.afterwards(w)
	}
	if a.Undoes == "" && a.Session != nil && !a.DryRun && writesFiles(p) {
		ui.Printf(w, "\nUndo     backups are kept on each node in %s/%s: %s\n", host.DefaultFolder, p.RunID, a.undoOf(p.RunID))
	}
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

// printNotes prints what is to be known of a plan beside its steps: its notes, and what was checked.
func printNotes(w io.Writer, p *remediate.Plan) {
	for _, note := range p.Notes {
		ui.Wrap(w, "Note     ", note.Text)
		if note.Command != "" {
			ui.Printf(w, "         %s\n", note.Command)
		}
	}
	PlanChecks{p.Checked}.InFull(w)
}

// noChanges says that a plan changes nothing. Of nodes that are not in it, it says nothing.
func noChanges(p *remediate.Plan) string {
	if nodes := NodesOf(p); len(nodes) > 0 {
		return "No changes: already up to date on " + NodeNames(nodes) + "."
	}
	if p.Basis.LacksControlPlane() {
		return "No changes: no node is in this plan. Control plane nodes were not read: what they need is unknown."
	}
	return "No changes: no node is in this plan."
}

// writesFiles reports whether a plan changes files on nodes.
func writesFiles(p *remediate.Plan) bool {
	for _, n := range p.Nodes() {
		if slices.ContainsFunc(n.Steps, func(s remediate.Step) bool { return s.Change != nil && s.Change.File != nil }) {
			return true
		}
	}
	return false
}

// printWave prints the nodes of a wave that need something, and names the others.
func printWave(w io.Writer, p *remediate.Plan, wave remediate.Wave) {
	if wave.Name != "" {
		ui.Printf(w, "\n")
		ui.Wrap(w, "Wave     ", wave.Name+": "+wave.Why)
	}
	var already []string
	for _, n := range wave.Nodes {
		if wave.Name != "" && !n.Changes() {
			already = append(already, cmp.Or(n.Name, n.Title()))
			continue
		}
		title := cmp.Or(n.Name, TheCluster)
		if node, ok := p.Basis.Node(n.Name); ok {
			title += "  " + state(node, p.Basis.NodeHealth(node))
		}
		ui.Printf(w, "\n")
		ui.Hang(w, title, 6)
		for i, s := range n.Steps {
			printStep(w, i+1, s, p.Now)
		}
	}
	if len(already) > 0 {
		ui.Wrap(w, "         ", "already up to date: "+NodeNames(already))
	}
}

// printUnknown prints nodes of which it is unknown what they need.
func printUnknown(w io.Writer, p *remediate.Plan) {
	for i, r := range p.Unknown {
		if i == 0 {
			ui.Printf(w, "\n")
		}
		a := r.Assess()
		a.Reason = r.Node + ": " + a.Named()
		ui.Judged(w, "Unknown  ", "         ", a)
	}
}

// NodeNames names nodes, as long as they are few.
func NodeNames(names []string) string { return FirstNames(names, 12) }

// FirstNames names the first ones, and says how many more there are.
func FirstNames(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// NodesOf are the nodes of a plan, each once.
func NodesOf(p *remediate.Plan) []string {
	var names []string
	for _, n := range p.Nodes() {
		if n.Name != "" && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// askedAbout are the nodes of a plan about which is asked before it is carried out: its control plane nodes, and the
// others that it changes. A worker that stays as it is has no part in it, whatever its clock says.
func askedAbout(p *remediate.Plan) []string {
	changed := map[string]bool{}
	for _, n := range p.Nodes() {
		changed[n.Name] = changed[n.Name] || n.Changes()
	}
	return slices.DeleteFunc(NodesOf(p), func(name string) bool {
		n, ok := p.Basis.Node(name)
		return ok && n.Role == catalog.RoleWorker && !changed[name]
	})
}

// unhealthyNodes are the nodes of a plan that are known not to work.
func unhealthyNodes(p *remediate.Plan) []*inspect.Node {
	var out []*inspect.Node
	for _, name := range NodesOf(p) {
		if n, ok := p.Basis.Node(name); ok && p.Basis.NodeHealth(n).Unhealthy() {
			out = append(out, n)
		}
	}
	return out
}

// state says how a node is, in a few words.
func state(n *inspect.Node, life inspect.NodeHealth) string {
	words := []string{"via " + ui.OrDash(n.Via)}
	if n.Ready != "" {
		words = append(words, "Ready "+n.Ready)
	}
	if life.Alive == catalog.No || life.Alive == catalog.Unknown && n.Ready == "True" {
		words = append(words, life.Heartbeat())
	}
	if n.Kubelet.Active != "" {
		words = append(words, "kubelet "+ui.OrDash(n.Kubelet.Sub)+" since "+n.Kubelet.Started.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// ValidityText says why a CA is left out: it has expired.
func ValidityText(c *pki.Cert, now time.Time) string {
	if c.NotAfter.Before(now) {
		return "  (expired)"
	}
	return ""
}

func printStep(w io.Writer, number int, s remediate.Step, now time.Time) {
	if s.Change == nil {
		ui.Printf(w, "  %d  %s: already up to date\n", number, s.Action.ID())
		return
	}
	ui.WrapLine(w, fmt.Sprintf("  %d  ", number), s.Change.Summary)
	f := s.Change.File
	if f == nil {
		return
	}
	if f.Removed {
		ui.Printf(w, "       what it was is kept on the node, below %s\n", host.DefaultFolder)
		return
	}
	kept := 0
	for _, c := range f.Old {
		if !contains(f.New, c) {
			ui.Printf(w, "     - %s%s\n", pki.Foreign(c.Subject), ValidityText(c, now))
			ui.Hang(w, "       "+Identity(c), 7)
		} else {
			kept++
		}
	}
	for _, c := range f.New {
		if !contains(f.Old, c) {
			ui.Printf(w, "     + %s\n", pki.Foreign(c.Subject))
			ui.Hang(w, "       "+Identity(c), 7)
		}
	}
	ui.Printf(w, "       %s kept\n", ui.Count(kept, "CA"))
}

func contains(certs []*pki.Cert, c *pki.Cert) bool {
	for _, x := range certs {
		if x.Fingerprint == c.Fingerprint {
			return true
		}
	}
	return false
}

// Described is a finding on one line.
func Described(c *pki.Cert) string { return pki.Foreign(c.Subject) + "  " + Identity(c) }

// Identity is a certificate on one line, for plans.
func Identity(c *pki.Cert) string {
	return fmt.Sprintf("sha256 %s  %s to %s", c.Fingerprint, c.NotBefore.UTC().Format(time.DateOnly), c.NotAfter.UTC().Format(time.DateOnly))
}

// AboutCA says where the CA is from, and what it was held against.
func AboutCA(w io.Writer, fix apiint.Repair, p *remediate.Plan) {
	n := 0
	for _, found := range pki.NewScanner().Scan(fix.CA) {
		n += len(found.Content.Certs)
	}
	ui.Wrap(w, "CA       ", ui.Count(n, "certificate")+" of "+fix.CASource)
	said := map[string]bool{}
	for _, v := range p.Basis.Served {
		if len(v.Chain) == 0 || v.Server != "" { // a snapshot has what others presented, too
			continue
		}
		line := fmt.Sprintf("at %s: %s, issued by %s, until %s, sha256 %s; the CA verifies it", v.Address, pki.Foreign(v.Chain[0].Subject), pki.Foreign(v.Chain[0].Issuer), v.Chain[0].NotAfter.UTC().Format(time.DateOnly), v.Chain[0].Fingerprint.Short())
		if !said[line] {
			said[line] = true
			ui.Wrap(w, "Served   ", line)
		}
	}
}

// repairs names the problems of inspect that the plan repairs, as its screen does, the worst first.
func (s planSummary) repairs(w *ui.Page) {
	columns := w.Columns() - len(fixes)
	var findings, behind []cause.Finding
	for _, f := range s.plan.Solved {
		one := cause.Finding{Assessment: f.Assessment, At: f.At}
		if f.ID == "kubelet-current" { // one problem of a node with what else it has, which is listed apart
			behind = append(behind, one)
		} else {
			findings = append(findings, one)
		}
	}
	if len(findings) == 0 || len(behind) == 0 {
		w.Line(fixes + s.firstOf(slices.Concat(findings, behind), columns))
		return
	}
	var nodes []string
	for _, f := range behind {
		for _, at := range f.At {
			if name := foreign.Name(at.Node); !slices.Contains(nodes, name) {
				nodes = append(nodes, name)
			}
		}
	}
	of := ui.NamesThatFit(nodes, columns/4)
	if problems := cause.Fold(s.run.App.Hints(), findings); len(problems) == 1 && problems[0].ID == catalog.CauseAPIInt { // in one line
		w.Few(fixes, "trust in api-int: "+ui.NamesThatFit(problems[0].Names(), columns/3)+"; client certificate: "+of)
		return
	}
	w.Few(fixes, s.firstOf(findings, columns)+"; no client certificate: "+of)
}

// firstOf is the first problem of some findings, and how many more there are.
func (s planSummary) firstOf(findings []cause.Finding, columns int) string {
	problems := cause.Fold(s.run.App.Hints(), findings)
	line, more := ui.Clean(ui.OneLine(problems[0].Reason)), ""
	if n := len(problems) - 1; n > 0 {
		more = fmt.Sprintf(" (and %s)", ui.Count(n, "more problem"))
	}
	if names := problems[0].Names(); problems[0].Named && len(names) > 0 {
		line += ": "
		line += ui.NamesThatFit(names, columns-ui.Width(line+more))
	}
	return line + more
}
