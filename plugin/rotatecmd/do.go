package rotatecmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
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
		Secret       string               `json:"secret"`
		Certificate  *apply.PlanCert      `json:"certificate,omitempty"` // that is there now
		Owner        string               `json:"owner"`
		Annotation   string               `json:"annotation"` // that is removed
		DryRun       string               `json:"dryRun"`
		Annotations  []annotationDiff     `json:"annotations"` // that differ, as the API server sees it
		Checks       []rotateVerdict      `json:"checks"`
		Accepted     []string             `json:"accepted"`
		Awaited      []string             `json:"awaited,omitempty"`
		Consequences []rotateConsequences `json:"consequences"`
		Undo         string               `json:"undo"`
		// With --leaf: why the signer is not made anew, and what it signs that is.
		Stands string         `json:"stands,omitempty"`
		Leaves []rotationLeaf `json:"leaves,omitempty"`
	}
	rotationLeaf struct {
		Secret      string           `json:"secret"`
		Annotation  string           `json:"annotation"`
		Annotations []annotationDiff `json:"annotations"`
		Checks      []rotateVerdict  `json:"checks"`
		Accepted    []string         `json:"accepted"`
		Awaited     []string         `json:"awaited"`
	}
	annotationDiff struct {
		Name   string  `json:"name"`
		Before *string `json:"before"` // null: not there
		After  *string `json:"after"`
	}
)

const noWayBack = "none: the old key is gone once the new one is made. What trusted the old CA goes on trusting it until it ends; if the new CA does not come to somebody, it is brought there, and what it signs follows later"

// rotation is one that is planned.
type rotation struct {
	rotations
	of       rotate.Rotatable
	action   action.Rotate
	verdicts []rotateVerdict
	accepted []string
	awaited  []string          // checks that do not hold yet, for which it is waited
	after    map[string]string // annotations, as the API server would have them; nil: it was not asked
	anew     bool              // of a leaf: its signer is to be made anew before
	// left is what is to be done with --leaf; nil: what was named is made anew, and no more.
	left *rotate.Left
	// leaves are what the signer signs, as it is planned that they follow.
	leaves []rotation
}

// itself reports whether what was named is to be made anew.
func (p rotation) itself() bool { return p.left == nil || p.left.Signer }

// idle reports whether there is nothing to do.
func (p rotation) idle() bool { return !p.itself() && len(p.leaves) == 0 }

func (f *rotateFlags) rotate(ctx context.Context, names []string) error {
	app := f.seen.App
	for _, name := range names {
		if !slices.Contains(knownNames(), strings.TrimPrefix(name, "secret/")) {
			return cli.WithHint(fmt.Errorf("%q: %w", name, rotate.ErrNoSuchRotation), "%s rotate --list shows what there is", app.Called)
		}
	}
	if err := f.allowed(); err != nil {
		return err
	}
	r, err := f.read(ctx)
	if err != nil {
		return err
	}
	plans, err := f.named(r, names)
	if err != nil {
		return err
	}
	var conn *connect.Connection
	if len(f.seen.From) == 0 {
		if conn, err = connect.Connect(ctx, app, f.seen.Config, pki.NewScanner(), connect.Writing(f.risks, false)); err != nil {
			return err
		}
		r.ask(ctx, conn)
	}
	idle, resumed := true, false
	for i := range plans {
		plans[i].machinery, plans[i].network, plans[i].unread = r.machinery, r.network, r.unread
		if err := f.plan(ctx, conn, &plans[i], resumed); err != nil {
			return err
		}
		idle = idle && plans[i].idle()
		resumed = resumed || !plans[i].itself() && !plans[i].idle()
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
	return f.trigger(ctx, conn, plans)
}

// allowed refuses to write on the word of an API server that is not authenticated.
func (f *rotateFlags) allowed() error {
	if len(f.seen.From) > 0 { // nothing is written, or emitted that writes
		return nil
	}
	return connect.Writing(f.risks, false).Allows(f.seen.Config)
}

// named finds what is meant, and refuses what can't be rotated at all, or not together.
func (f *rotateFlags) named(r rotations, names []string) ([]rotation, error) {
	var plans []rotation
	refuse := func(next, format string, args ...any) error {
		return &cli.ExitError{Code: cli.ExitRefused, Err: cli.WithHint(cli.RefusedUnchanged(fmt.Errorf(format, args...)), "%s", next)}
	}
	for _, name := range names {
		of, err := r.find(f.seen.App, name)
		if err != nil {
			return nil, err
		}
		if reason, next := of.Unmanaged(); reason != "" {
			return nil, refuse(next, "%s/%s: %s", of.At.Namespace, of.At.Name, reason)
		}
		if f.leaf && !of.Signer() {
			return nil, refuse(inspect.LiveHints(f.seen.App.Called).Next("{} rotate %s", of.Name), "--leaf: %s/%s signs nothing; it is signed by %s", of.At.Namespace, of.At.Name, of.Rotation.Signer.Name)
		}
		for _, p := range plans {
			same := p.of.Rotation.Signer == of.Rotation.Signer
			switch {
			case same && p.of.At == of.At:
				return nil, refuse(inspect.LiveHints(f.seen.App.Called).Next("{} rotate %s", of.Name), "%s is named twice", of.Name)
			case same && !p.of.Signer() && !of.Signer(): // with --leaf their signer might be made anew
				return nil, refuse(inspect.LiveHints(f.seen.App.Called).Next("one after the other: {} rotate %s; then {} rotate %s", p.of.Name, of.Name),
					"%s and %s are of one chain, that of %s: one run has one of them made anew", p.of.Name, of.Name, of.Rotation.Signer.Name)
			case same:
				return nil, refuse(inspect.LiveHints(f.seen.App.Called).Next("{} rotate %s --leaf does it in the safe order", of.Rotation.Signer.Name),
					"%s and %s are of one chain: what a signer signs is made anew only after everybody trusts the signer's new CA", p.of.Name, of.Name)
			}
		}
		plans = append(plans, rotation{rotations: r, of: of})
	}
	return plans, nil
}
