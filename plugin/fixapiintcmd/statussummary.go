package fixapiintcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// summary says on one screen how far the repair is: a line for each node that is not done, the
// most urgent first, and the next step.
func (o *statusOptions) summary(w *ui.Page, d repairDocument) {
	nodes := nodesOf(d)
	head, tail := ui.NewPage(w), ui.NewPage(w)
	header := ui.HumanPrinter{}
	for _, line := range header.Head(w, report.ClusterOf(d.cluster), d.Taken, "", tallyOf(nodes)) {
		head.Line(line)
	}
	d.Lease.print(head)
	o.tail(tail, d)
	room := w.ScreenLines() - strings.Count(head.String()+tail.String(), "\n") - 2 // empty lines
	ui.Printf(w, "%s\n", head)
	printNodes(w, nodes, room)
	ui.Printf(w, "\n%s", tail)
}

// tail says what to type.
func (o *statusOptions) tail(w *ui.Page, d repairDocument) {
	if d.State == standsDone {
		ui.Printf(w, "Done: nothing is left to be repaired.\n")
		return
	}
	w.Command("next", d.Next)
	if d.Next == o.lines.resume {
		w.Remark(o.remark)
	}
	if d.PastMasters != "" {
		w.Command("or", d.PastMasters)
		w.Line("            if this control plane node can't be recovered")
	}
	if o.lines.details != "" {
		w.Command("details", o.lines.details)
	}
}

// begin is the command that goes on: for one node first, where none of several is done. It approves requests
// that these nodes need to come back.
func (o *statusOptions) begin(d repairDocument, p *remediate.Plan) string {
	var pending []string
	done := o.named()
	for _, w := range d.Waves {
		for _, n := range w.Nodes {
			done = done || n.State == standsDone && n.Name != ""
			if n.State == standsPending && n.Name != "" && !slices.Contains(pending, n.Name) {
				pending = append(pending, n.Name)
			}
		}
	}
	line, needs := o.lines.resume, len(p.Unapproved) > 0
	if !done && len(pending) > 1 && foreign.Fit(pending[0]) {
		line = foreign.Command(inspect.NodeNames, "%s --nodes %s", foreign.Words(o.lines.applyNamed), pending[0])
		needs = slices.Contains(p.Unapproved, pending[0])
	}
	if needs {
		line += " --" + approveFlag
	}
	return line
}

// urgency is the order in which nodes are named.
func urgency() []string { return []string{standsFailed, standsPending, standsUnknown, standsDone} }

// nodesOf are the nodes of all waves, each once, the most urgent first: of those that are to be
// repaired, those that do not work come before the others.
func nodesOf(d repairDocument) []repairNode {
	var out []repairNode
	for _, wave := range d.Waves {
		for _, n := range wave.Nodes {
			i := slices.IndexFunc(out, func(o repairNode) bool { return o.Name == n.Name })
			switch {
			case i < 0 || n.Name == "" && n.State != standsDone:
				out = append(out, n)
			case worse(out[i].State, n.State) != out[i].State:
				out[i] = n
			case n.due != "" && out[i].State == n.State:
				out[i].due = strings.TrimPrefix(out[i].due+", then "+n.due, ", then ")
			}
		}
	}
	works := func(n repairNode) int {
		if n.brief == "Ready" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b repairNode) int {
		return cmp.Or(slices.Index(urgency(), a.State)-slices.Index(urgency(), b.State), works(a)-works(b))
	})
	return out
}

// tallyOf counts nodes by state. A step that is done to no node is none.
func tallyOf(nodes []repairNode) string {
	var parts []string
	for _, state := range urgency() {
		n := 0
		for _, node := range nodes {
			if node.State == state && node.Name != "" {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "nodes: " + strings.Join(parts, ", ")
}

// printNodes writes a line for each node that is not done, as far as there is room, and names
// the others by state.
func printNodes(w *ui.Page, nodes []repairNode, room int) {
	rest := map[string][]string{}
	listed := 0
	for _, n := range nodes {
		if n.State != standsDone {
			listed++
		}
	}
	if listed > room-1 {
		listed = max(room-len(urgency()), 1)
	}
	width, brief := 0, 0
	for _, n := range nodes[:listed] {
		width, brief = max(width, ui.Width(called(n))), max(brief, ui.Width(ui.OrDash(n.brief)))
	}
	const gap, leastReason = 2, 24
	width = min(width, max(w.Columns()-ui.Width(lead(""))-brief-leastReason-2*gap, 10))
	for _, n := range nodes[:listed] {
		why := n.due
		if n.State == standsFailed || why == "" {
			why = n.Reason
		}
		w.Line(lead(n.State) + ui.Clean(ui.Padded(called(n), width)+"  "+ui.Padded(ui.OrDash(n.brief), brief)+"  "+ui.OneLine(why)))
	}
	for _, n := range nodes[listed:] {
		rest[n.State] = append(rest[n.State], called(n))
	}
	for _, state := range urgency() {
		if names := rest[state]; len(names) > 0 {
			about := lead(state) + fmt.Sprintf("%d: ", len(names))
			if state != standsDone {
				about = lead(state) + fmt.Sprintf("%d more: ", len(names))
			}
			w.Line(about + ui.Clean(ui.NamesThatFit(names, w.Columns()-ui.Width(about))))
		}
	}
}

func called(n repairNode) string {
	if n.Name == "" {
		return apply.TheCluster
	}
	return foreign.Name(n.Name)
}

// lead is the mark and the word of a state, as wide for each.
func lead(state string) string {
	mark := map[string]string{standsFailed: "✗", standsPending: "!", standsDone: "✓"}[state]
	return cmp.Or(mark, "?") + fmt.Sprintf(" %-9s", state)
}
