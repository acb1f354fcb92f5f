package apply

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// commands are what to type: for one node first where there are several, then for all. A plan of a file is
// made again before, of the cluster as it is now.
func (s planSummary) commands(w *ui.Page) {
	lines := s.run.Lines
	if lines.Apply == "" {
		return
	}
	approve := func(of ...string) string {
		if slices.ContainsFunc(of, func(name string) bool { return slices.Contains(s.plan.Unapproved, name) }) {
			return " --approve-csrs"
		}
		return ""
	}
	one, all := "", lines.Apply+approve(s.plan.Unapproved...)
	if due := s.due(); lines.ApplyNamed != "" && len(due) > 1 && foreign.Fit(due[0]) {
		one = foreign.Command(inspect.NodeNames, "%s --nodes %s", foreign.Words(lines.ApplyNamed), due[0]) + approve(due[0])
	}
	first, label := cmp.Or(one, all), "next"
	if lines.OfFile {
		w.Command(label, first+" --dry-run="+DryRunClient)
		label = "then"
	}
	w.Command(label, first)
	if one != "" {
		w.Command("all", all)
	}
}

// wholeOrNames are lines such as "clocks: they agree" in one; where several have no room, only the names.
func wholeOrNames(lines []string, columns int) string {
	whole := strings.Join(lines, "; ")
	if len(lines) < 2 || ui.Width(whole) <= columns {
		return whole
	}
	var names []string
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ": ")
		names = append(names, name)
	}
	return strings.Join(names, ", ") + " (--details)"
}

// due are the nodes that the plan changes, each once, in its order.
func (s planSummary) due() []string {
	var out []string
	for _, n := range s.plan.Nodes() {
		if n.Name != "" && n.Changes() && !slices.Contains(out, n.Name) {
			out = append(out, n.Name)
		}
	}
	return out
}
