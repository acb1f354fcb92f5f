package undocmd

import (
	"context"
	"io"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// undoPauses undoes a run that paused health checks, and changed no node.
func (o *undoOptions) undoPauses(ctx context.Context, record remediate.RunRecord) error {
	conn, err := connect.Connect(ctx, o.App, o.Config, pki.NewScanner(), o.Purpose)
	if err != nil {
		return err
	}
	if err := refuseOther(ctx, conn, record); err != nil {
		return err
	}
	w := &apply.Session{App: o.App, Conn: conn}
	a := &apply.Execution{Options: o.Options, Session: w, Command: "undo", RunID: remediate.NewRun(collect.Now()), Undoes: o.undoes, NoLease: slices.Contains(o.risks, remediate.NoLease)}
	a.Plan = func(ctx context.Context) (*remediate.Plan, error) {
		notes, err := byHand(o.undoes, record)
		if err != nil {
			return nil, err
		}
		p := &remediate.Plan{RunID: o.undoes, Now: collect.Now(), Notes: remediate.PlainNotes(notes...)}
		p.Basis.Cluster.Server, p.Basis.Cluster.Unauthenticated = conn.Server, conn.Unauthenticated
		return p, w.AddUnpauseSteps(ctx, o.undoes, record, p)
	}
	a.PrintBasis = func(out io.Writer, _ *remediate.Plan) { ui.Printf(out, "Undo     of run %s\n", o.undoes) }
	return a.Execute(ctx)
}
