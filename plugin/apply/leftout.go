package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// nodesIn are the nodes that refusals are about.
func nodesIn(refusals []*remediate.Refusal) (names []string) {
	for _, r := range refusals {
		names = append(names, r.Node)
	}
	return names
}

// whyLeftOut names the nodes that were left out while the run went on, each with the reason.
func (a *Execution) whyLeftOut() string {
	var texts []string
	for _, r := range a.leftOut {
		texts = append(texts, r.Error())
	}
	return strings.Join(texts, "; ")
}

// allLeftOut are the nodes that were left out while it ran, and of an undo, those that its plan leaves out.
func (a *Execution) allLeftOut(p *remediate.Plan) []*remediate.Refusal {
	if a.Undoes == "" || p == nil {
		return a.leftOut
	}
	return slices.Concat(p.Unknown, a.leftOut)
}

// openUndone is the end of an undo that did all but for the workers that it left out: why, and the line that takes
// them again.
func (a *Execution) openUndone(p *remediate.Plan) error {
	out := a.allLeftOut(p)
	var texts []string
	for _, r := range out {
		texts = append(texts, r.Error())
	}
	next := out[0].Next
	if len(out) > 1 || len(a.leftOut) > 0 {
		next = "first do what is printed of each"
		if len(out) == 1 {
			next = out[0].Next
		}
		next += "; then:\n    " + a.lineFor(nodesIn(out))
	}
	return cli.Incomplete(cli.WithHint(errors.New("everything else was put back; left out: "+strings.Join(texts, "; ")), "%s", next))
}

// lineFor is the line for some nodes.
func (a *Execution) lineFor(nodes []string) string {
	return foreign.Command(inspect.NodeNames, "%s --nodes %s", foreign.Words(a.Lines.NamedNodes), foreign.Commas(nodes))
}

// pastWorker is the line of an undo that goes on without the worker at which it stopped; empty: there is none.
func (a *Execution) pastWorker(p *remediate.Plan, stopped *remediate.Stopped) string {
	if a.Undoes == "" || p == nil || stopped.Interrupted || len(stopped.NotStarted) == 0 {
		return ""
	}
	node := stopped.Action.Node()
	if n, ok := p.Basis.Node(node); !ok || n.Role != catalog.RoleWorker {
		return ""
	}
	others := a.withoutNodes(p, []string{node})
	if others == "" {
		return ""
	}
	return "to leave " + foreign.Name(node) + " out:\n    " + others + "\n"
}

// changedOn names what changed on nodes after it was read, for which alone they were left out.
func changedOn(refusals []*remediate.Refusal) (places []string) {
	for _, r := range refusals {
		if errors.Is(r, remediate.ErrChanged) {
			places = append(places, ui.Clean(ui.OneLine(r.Error())))
		}
	}
	return places
}

// openLeftOut is the end of a run that did all but for the nodes that it left out: what to wait for, and the command
// that repairs them. Nodes of which the plan did not know what they need are named with them.
func (a *Execution) openLeftOut(p *remediate.Plan) error {
	if a.Undoes != "" {
		return a.openUndone(p)
	}
	text := "everything else was done; left out while it ran: " + a.whyLeftOut()
	next := a.leftOut[0].Next
	if len(p.Unknown) > 0 {
		names := nodesIn(p.Unknown)
		text += fmt.Sprintf("; %s could not be judged: %s", ui.Count(len(names), "node"), strings.Join(names, ", "))
		next += "\n" + p.Unknown[0].Next
	}
	then := "then run the same command again"
	if a.Lines.Resume != "" {
		then = "then:\n    " + a.Lines.Resume
	}
	return cli.Incomplete(cli.WithHint(errors.New(text), "%s\n%s", next, then))
}
