package rotatecmd

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// The document that rotate prints as JSON and YAML; see docs/rotate.md.
type (
	rotationPlanDocument struct {
		APIVersion   string               `json:"apiVersion"`
		Kind         string               `json:"kind"`
		Server       string               `json:"server,omitempty"`
		Version      string               `json:"version,omitempty"`
		Unreviewed   string               `json:"unreviewed,omitempty"` // versions that run and were not reviewed
		Taken        time.Time            `json:"taken"`                // when the cluster was read
		Secret       string               `json:"secret"`
		Certificate  *apply.PlanCert      `json:"certificate,omitempty"` // that is there now
		Owner        string               `json:"owner"`
		Annotation   string               `json:"annotation"` // that is removed
		DryRun       string               `json:"dryRun"`
		Annotations  []annotationDiff     `json:"annotations"` // that differ, as the API server sees it
		Checks       []rotationCheck      `json:"checks"`
		Accepted     []string             `json:"accepted"`
		Awaited      []string             `json:"awaited,omitempty"`
		Consequences []rotate.Consequence `json:"consequences"`
		Undo         string               `json:"undo"`
		// With --leaf: why the signer is not rotated, and what it signs that is.
		SignerUnchanged string         `json:"signerUnchanged,omitempty"`
		Leaves          []rotationLeaf `json:"leaves,omitempty"`
	}
	rotationLeaf struct {
		Secret      string           `json:"secret"`
		Annotation  string           `json:"annotation"`
		Annotations []annotationDiff `json:"annotations"`
		Checks      []rotationCheck  `json:"checks"`
		Accepted    []string         `json:"accepted"`
		Awaited     []string         `json:"awaited"`
	}
	annotationDiff struct {
		Name   string  `json:"name"`
		Before *string `json:"before"` // null: not there
		After  *string `json:"after"`
	}
)

const noUndo = "none: the old key is gone once the new one is made. Clients that trust the old CA trust it until it expires. Where the new CA does not arrive, bring it there; what it signs is rotated later"

// rotate plans what was named, shows it, asks, and does it.
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
		return &cli.ExitError{Code: cli.ExitFindings}
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

// runner rotates as the options say. conn is nil where nothing is changed.
func (o *rotateOptions) runner(conn *connect.Connection) *rotate.Runner {
	r := &rotate.Runner{
		Observer: humanObserver{o}, Hints: inspect.LiveHints(o.app.ProgramName), Risks: o.risks, Leaves: o.leaf,
		Try: o.dryRun != apply.DryRunClient, Wait: o.wait, Resume: o.line, Reads: o.reads,
	}
	if conn != nil {
		r.Cluster = cluster{o, conn}
	}
	return r
}

// allowed refuses to write on the word of an API server that is not authenticated.
func (o *rotateOptions) allowed() error {
	if len(o.reading.From) > 0 { // nothing is written, or emitted that writes
		return nil
	}
	return connect.Writing(o.risks, false).Allows(o.reading.Config)
}
