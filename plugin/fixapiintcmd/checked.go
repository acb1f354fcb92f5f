package fixapiintcmd

import (
	"context"
	"errors"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// checkedPlan makes the plan, and asks what has to hold of the whole cluster. What a worker says of itself
// leaves it out of a plan for all nodes, which is made once more. w is nil for facts from a file.
func (o *fixOptions) checkedPlan(ctx context.Context, w *apply.Session, fix apiint.Repair, a *apply.Execution, s inspect.Snapshot) (*remediate.Plan, error) {
	checks := o.preflight
	checks.All = fix.Nodes == nil
	for {
		p, err := o.plan(fix, a.RunID, s)
		err = checks.Preflight(ctx, w, s, fix.CA, p, withPast(err, a.Lines.PastMasters))
		var busy *preflight.BusyError
		if !errors.As(err, &busy) {
			return p, err
		}
		fix.Busy = append(fix.Busy, busy.Workers...)
		checks.All = len(fix.Busy) < len(s.Nodes) // each time there is another one
	}
}
