package rotatecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

func (o *rotateOptions) run(ctx context.Context) error {
	switch {
	case o.list:
		return o.showList(ctx)
	case o.how:
		return o.explain(ctx)
	}
	return o.rotate(ctx)
}

// read reads the cluster, or files.
func (o *rotateOptions) read(ctx context.Context) (rotate.Reading, error) {
	s, err := o.reading.Read(ctx)
	if err != nil {
		return rotate.Reading{}, err
	}
	if ctx.Err() != nil {
		return rotate.Reading{}, cli.NothingChanged(errors.New("interrupted"))
	}
	s.Cluster.Versions.UnreviewedAccepted = slices.Contains(o.risks, preflight.UnreviewedVersion)
	r := rotate.NewReading(ctx, inspect.NewFacts(s, s.Taken, connect.DefaultWithin))
	if ctx.Err() != nil {
		return rotate.Reading{}, cli.NothingChanged(errors.New("interrupted"))
	}
	tell(&r, s.Status)
	return r, nil
}

// rotate plans what was named, prints it, asks, and does it.
func (o *rotateOptions) rotate(ctx context.Context) error {
	if err := o.allowed(); err != nil {
		return err
	}
	r, err := o.read(ctx)
	if err != nil {
		return err
	}
	run := o.runner(nil)
	plans, err := run.Select(r, o.names)
	if err != nil {
		return exitError(err)
	}
	var conn *connect.Connection
	if len(o.reading.From) == 0 {
		if conn, err = connect.Connect(ctx, o.app, o.reading.Config, pki.NewScanner(), connect.Writing(o.risks, false)); err != nil {
			return err
		}
		ask(ctx, conn, &r)
		run = o.runner(conn)
	}
	idle := true
	for i := range plans {
		plans[i].Reading = r
		o.names[i] = plans[i].Of.Name // it may have been called by its common name
	}
	if err := run.Plan(ctx, plans); err != nil {
		return o.refused(err, plans)
	}
	for _, p := range plans {
		idle = idle && p.NoChanges()
	}
	if err := o.showPlans(plans); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	switch {
	case idle:
		return nil
	case o.dryRun != apply.DryRunNone:
		return cli.Findings(nil)
	}
	if err := o.applyRun(conn, rotate.RotateCommand).Consent(ctx); err != nil {
		return err
	}
	if o.wait > 0 {
		ui.Printf(o.app.Streams.ErrOut, "It is followed for at most %s (--wait).\n", o.wait)
	}
	defer o.progress().Close()
	return exitError(run.Run(ctx, plans))
}
