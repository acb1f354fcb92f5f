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
func (f *rotateFlags) rotate(ctx context.Context, names []string) error {
	run := f.runner(nil)
	for _, name := range names {
		if err := run.CheckName(name); err != nil {
			return exitError(err)
		}
	}
	if err := f.allowed(); err != nil {
		return err
	}
	r, err := f.read(ctx)
	if err != nil {
		return err
	}
	plans, err := run.Select(r, names)
	if err != nil {
		return exitError(err)
	}
	var conn *connect.Connection
	if len(f.from) == 0 {
		if conn, err = connect.Connect(ctx, f.app, f.config, pki.NewScanner(), connect.Writing(f.risks, false)); err != nil {
			return err
		}
		ask(ctx, conn, &r)
		run = f.runner(conn)
	}
	idle := true
	for i := range plans {
		plans[i].Reading = r
	}
	if err := run.Plan(ctx, plans); err != nil {
		return exitError(err)
	}
	for _, p := range plans {
		idle = idle && p.NoChanges()
	}
	if err := f.showPlans(plans); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	switch {
	case idle:
		return nil
	case f.dryRun != apply.DryRunNone:
		return &cli.ExitError{Code: cli.ExitFindings}
	}
	if err := f.applyRun(conn, rotate.RotateCommand).Consent(ctx); err != nil {
		return err
	}
	if f.wait > 0 {
		ui.Printf(f.app.Streams.ErrOut, "It is followed for at most %s (--wait).\n", f.wait)
	}
	return exitError(run.Run(ctx, plans))
}

// runner rotates what the flags say. conn is nil where nothing is changed.
func (f *rotateFlags) runner(conn *connect.Connection) *rotate.Runner {
	r := &rotate.Runner{
		Observer: humanObserver{f}, Hints: inspect.LiveHints(f.app.ProgramName), Risks: f.risks, Leaves: f.leaf,
		Try: f.dryRun != apply.DryRunClient, Wait: f.wait, Resume: f.line,
	}
	if conn != nil {
		r.Cluster = cluster{f, conn}
	}
	return r
}

// allowed refuses to write on the word of an API server that is not authenticated.
func (f *rotateFlags) allowed() error {
	if len(f.from) > 0 { // nothing is written, or emitted that writes
		return nil
	}
	return connect.Writing(f.risks, false).Allows(f.config)
}
