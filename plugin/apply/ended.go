package apply

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// wavesOf are the names of waves by the IDs of actions.
func wavesOf(p *remediate.Plan) map[string]string {
	of := map[string]string{}
	for _, w := range p.Waves {
		for _, n := range w.Nodes {
			for _, s := range n.Steps {
				of[s.Action.ID()] = w.Name
			}
		}
	}
	return of
}

// ended turns how a run ended into what the user is told, and the exit code.
func (a *Execution) ended(p *remediate.Plan, err error) error {
	var r *remediate.Refusal
	if errors.As(err, &r) && len(a.Changed) == 0 && r.Risk { // asked again, before anything was begun
		return Refused(&remediate.Refusal{Name: r.Name, Node: r.Node, Reason: r.Reason, Next: acceptable(r)})
	}
	how := ""
	if out := a.allLeftOut(p); len(out) > 0 {
		how = " Left out: " + strings.Join(nodesIn(out), ", ") + "."
	}
	if err == nil && a.Undoes != "" {
		a.Printf("\nDone: the files are what they were before run %s.%s\n", a.Undoes, how)
		a.printEarlier()
		return nil
	}
	if err == nil {
		if undos := a.undos(); len(undos) > 0 {
			how += " Backups are on the nodes. Undo: " + strings.Join(undos, "; ")
		}
		a.Printf("\nDone.%s\n", how)
		a.printEarlier()
		return nil
	}
	everything := "everything was done"
	if len(a.leftOut) > 0 {
		err = fmt.Errorf("%w. Left out while it ran: %s", err, a.whyLeftOut())
		everything = "everything else was done"
	}
	var unknown *remediate.UnknownEffectError
	var late *remediate.LateEffectError
	var stopped *remediate.Stopped
	back := a.undoHint()
	if errors.As(err, &stopped) {
		back = cmp.Or(a.unwritable(p, stopped), a.pastWorker(p, stopped)) + back
	}
	if errors.As(err, &r) && r.Risk {
		back = acceptable(r) + "\n" + back
	} else if r != nil && r.Next != "" {
		back = r.Next + "\n" + back
	}
	if errors.As(err, &stopped) && a.Lines.PastMasters != "" && p != nil && r == nil && !stopped.Interrupted && ofMaster(p, stopped) {
		back += fmt.Sprintf("\nif this control plane node can't be recovered: %s\n  (%s)", a.Lines.PastMasters, PastMastersMeans)
	}
	if errors.As(err, &late) && remediate.AwaitsNode(actionOf(stopped)) && a.Lines.PastWorkers != "" && p != nil && len(stopped.NotStarted) > 0 && !ofMaster(p, stopped) {
		back += fmt.Sprintf("\nif %s can't be recovered: %s\n  (each run may then leave one more worker without a heartbeat, in the same way)", stopped.Action.Node(), a.Lines.PastWorkers)
	}
	if stopped != nil && len(stopped.NotStarted)+len(stopped.PartlyDone)+len(stopped.OtherFailures) > 0 {
		if len(stopped.PartlyDone) > 0 {
			err = fmt.Errorf("%w. Begun, and not at the end: %s", err, strings.Join(stopped.PartlyDone, ", "))
		}
		if len(stopped.NotStarted) > 0 {
			err = fmt.Errorf("%w. Not begun: %s", err, strings.Join(stopped.NotStarted, ", "))
		}
		return cli.Stopped(cli.WithHint(err, "%s", back))
	}
	switch {
	case errors.As(err, &unknown):
		return cli.Incomplete(cli.WithHint(fmt.Errorf("%s, and %w", everything, err), "kubectl get nodes; %s", back))
	case errors.As(err, &late) && stopped != nil && stopped.Action.Node() == "":
		return cli.Stopped(cli.WithHint(fmt.Errorf("%w. What was done before stays", err), "%s", back))
	case errors.As(err, &late):
		return cli.Stopped(cli.WithHint(fmt.Errorf("the files are right and the kubelet was restarted, but %w. Nothing was put back", err),
			"look at its pending requests and its kubelet: kubectl get csr; journalctl -u kubelet; %s", back))
	}
	return cli.Stopped(cli.WithHint(err, "%s", back))
}

// acceptable is the next step after a refusal that may be accepted by name.
func acceptable(r *remediate.Refusal) string {
	accept := "--accept-risk=" + r.Name
	if strings.Contains(r.Next, accept) {
		return r.Next
	}
	return r.Next + "; or accept the risk: " + accept
}

// changedMeanwhile names what changed after it was read, where that is the only failure; else nothing.
func changedMeanwhile(err error) (places []string) {
	var stopped *remediate.Stopped
	if !errors.As(err, &stopped) {
		if errors.Is(err, remediate.ErrChanged) {
			places = append(places, ui.Clean(ui.OneLine(err.Error())))
		}
		return places
	}
	for _, s := range append([]*remediate.Stopped{stopped}, stopped.OtherFailures...) {
		if !errors.Is(s, remediate.ErrChanged) {
			return nil
		}
		places = append(places, placeOf(s.Action))
	}
	return places
}

// placeOf is what an action changes, for people.
func placeOf(a remediate.Action) string {
	_, place, _ := strings.Cut(a.ID(), " ")
	if a.Node() != "" {
		place = strings.TrimPrefix(place, a.Node()+":") + " on " + titleOf(a.Node())
	}
	if counted, ok := a.(remediate.Counted); ok && counted.Count().Of == "pod" {
		place = "pods of " + place
	}
	return ui.Clean(place)
}

// Refused gives refusals their exit code.
func Refused(err error) error {
	var r *remediate.Refusal
	if !errors.As(err, &r) {
		return err
	}
	wrapped := cli.RefusedUnchanged(err)
	if r.Next != "" {
		wrapped = cli.WithHint(wrapped, "%s", r.Next)
	}
	return cli.Refused(wrapped)
}

// actionOf is at which step a run stopped; nil: at none.
func actionOf(s *remediate.Stopped) remediate.Action {
	if s == nil {
		return nil
	}
	return s.Action
}

// PastMasters is the line that repairs workers although a control plane node can't be
// recovered. line is how the command was called, but for --only and --accept-risk.
func PastMasters(line string, risks []string) string {
	if !slices.Contains(risks, preflight.MastersFirst) {
		risks = append(slices.Clone(risks), preflight.MastersFirst)
	}
	return line + " --only " + remediate.WaveWorkers + " --accept-risk=" + strings.Join(risks, ",")
}

// PastMastersMeans is what is left open by it.
const PastMastersMeans = "while it is not Ready, kube-controller-manager gets no new revision: kube-root-ca.crt may stay old, requests of kubelets may wait, and the waves control-plane and network are left for when it is replaced or removed"

// ofMaster reports whether a run stopped at a master.
func ofMaster(p *remediate.Plan, s *remediate.Stopped) bool {
	n, ok := p.Basis.Node(s.Action.Node())
	return ok && (inspect.RunsAPIServer(p.Basis, n) || n.Role == catalog.RoleArbiter)
}
