package apply

import (
	"errors"
	"fmt"
	"strings"

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
