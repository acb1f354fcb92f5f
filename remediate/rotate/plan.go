package rotate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Names are what may be typed, of any version.
func Names() []string {
	var out []string
	for _, r := range catalog.Rotations() {
		for _, at := range append([]catalog.Ref{r.Signer}, r.Targets...) {
			if at.Kind == catalog.Secret {
				out = append(out, at.Name, at.Namespace+"/"+at.Name)
			}
		}
	}
	return out
}

// CheckName refuses, before a cluster is asked, a name that no version knows.
func (r *Runner) CheckName(name string) error {
	if maySubject(name) || slices.Contains(Names(), strings.TrimPrefix(name, "secret/")) {
		return nil
	}
	return &Error{Outcome: Unread, Err: fmt.Errorf("%q: %w", name, ErrNoSuchRotation), Next: r.Hints.Next("list the names: {} rotate --list")}
}

// Select finds what is meant by names, and refuses what can't be rotated at all, or not
// together.
func (r *Runner) Select(from Reading, names []string) ([]Planned, error) {
	var plans []Planned
	refuse := func(next, format string, args ...any) error {
		return &Error{Outcome: Refused, Err: fmt.Errorf(format, args...), Next: next, Unchanged: true}
	}
	again := func(next string) string { // as a dry run, where this is one
		if from.Facts.Hints().OfFile() || !r.Try {
			next += " --dry-run=client" + from.Facts.Hints().From()
		}
		return next
	}
	for _, name := range names {
		of, err := from.Find(name)
		if err != nil {
			return nil, err
		}
		if reason, next := of.Unmanaged(); reason != "" {
			if of.Unrotated() { // it is long
				next = r.Hints.Next("{} rotate %s --explain", of.Name)
				if minor, ok := catalog.ParseMinor(from.Facts.Snapshot.Cluster.Versions.Cluster); ok && from.Facts.Hints().OfFile() {
					next += " --for-version " + minor.String()
				}
			}
			return nil, refuse(next, "%s/%s: %s", of.At.Namespace, of.At.Name, reason)
		}
		if r.Leaves && !of.Signer() {
			return nil, refuse(again(r.Hints.Next("{} rotate %s", of.Name)), "--leaf: %s/%s signs nothing; it is signed by %s", of.At.Namespace, of.At.Name, of.Rotation.Signer.Name)
		}
		for _, p := range plans {
			same := p.Of.Rotation.Signer == of.Rotation.Signer
			switch {
			case same && p.Of.At == of.At:
				return nil, refuse(again(r.Hints.Next("{} rotate %s", of.Name)), "%s is named twice", of.Name)
			case same && !p.Of.Signer() && !of.Signer(): // with --leaf their signer might be rotated
				return nil, refuse("one after the other: "+again(r.Hints.Next("{} rotate %s", p.Of.Name))+"; then "+again(r.Hints.Next("{} rotate %s", of.Name)),
					"%s and %s are of one chain, that of %s: one run rotates one of them", p.Of.Name, of.Name, of.Rotation.Signer.Name)
			case same:
				return nil, refuse(r.Hints.Next("{} rotate %s --leaf does it in the safe order", of.Rotation.Signer.Name),
					"%s and %s are of one chain: what a signer signs is rotated only after every client trusts the signer's new CA", p.Of.Name, of.Name)
			}
		}
		plans = append(plans, Planned{Reading: from, Of: of})
	}
	return plans, nil
}

// Plan judges what was selected, and has the API server try it. Without a Cluster it is only
// judged.
func (r *Runner) Plan(ctx context.Context, plans []Planned) error {
	resumed := false
	for i := range plans {
		if err := r.plan(ctx, &plans[i], resumed); err != nil {
			return err
		}
		resumed = resumed || !plans[i].Rotates() && !plans[i].NoChanges()
	}
	return nil
}

// plan judges one. resumed: it comes after one that was begun before.
func (r *Runner) plan(ctx context.Context, p *Planned, resumed bool) error {
	if err := r.judgeAll(p, resumed); err != nil {
		return err
	}
	if r.Cluster == nil {
		return nil
	}
	if p.Rotates() {
		if err := r.try(ctx, p); err != nil {
			return err
		}
	}
	for i := range p.Leaves {
		if p.Leaves[i].Of.Triggered() {
			continue
		}
		if err := r.try(ctx, &p.Leaves[i]); err != nil {
			return err
		}
	}
	return nil
}

// judgeAll judges what is to be rotated. What is waited for blocks nothing yet: what a new
// signer brings, and, where one was made before, that the cluster comes to rest after that.
func (r *Runner) judgeAll(p *Planned, resumed bool) error {
	if r.Leaves {
		left := p.Preflight(p.Of).left(p.All)
		p.Left = &left
		resumed = resumed || !left.Signer
		for _, of := range left.Leaves {
			leaf := Planned{Reading: p.Reading, Of: of, signerFirst: left.Signer}
			if err := leaf.judgeLeaf(r.Risks, func(v preflight.Verdict) bool { return fromSigner(v) || resumed && rollingOut(v) }); err != nil {
				return err
			}
			p.Leaves = append(p.Leaves, leaf)
		}
	}
	if !p.Rotates() {
		return nil
	}
	return p.judge(r.Risks, func(v preflight.Verdict) bool { return resumed && rollingOut(v) })
}

// try reads what is to be patched, and has the API server try that.
func (r *Runner) try(ctx context.Context, p *Planned) (err error) {
	if p.Action, err = r.Cluster.Trigger(ctx, p.Of.At, p.Of.Trigger.Annotation); err != nil {
		return asError(err)
	}
	if h := p.Of.Entry; h != nil && h.Object != nil && h.Object.Annotations[p.Of.Trigger.Annotation] != p.Action.Previous {
		return untried(fmt.Errorf("%s: %w", p.Of.At, remediate.ErrChanged)) // it was rotated since it was judged
	}
	if r.Try {
		if p.After, err = p.Action.DryRun(ctx); err != nil {
			return untried(err)
		}
	}
	return nil
}

// latest is what was planned, after everything was asked again under the Lease. later: others were rotated since it was
// displayed. That takes long, and operators write its Secret meanwhile: it is patched as it is now, if it is the one that
// was displayed, with the same annotation.
func (r *Runner) latest(ctx context.Context, planned Planned, later bool) (Planned, error) {
	if err := r.recheck(ctx, planned); err != nil || !later {
		return planned, err
	}
	now := planned
	if err := r.try(ctx, &now); err != nil {
		return planned, err
	}
	if why := now.Action.Since(planned.Action.AnnotatedSecret); why != "" {
		return planned, &Error{Outcome: Refused, Err: fmt.Errorf("%s: %w: %s", planned.Of.At, remediate.ErrChanged, why), Next: "look at it, and run this again", Unchanged: true}
	}
	return now, nil
}

// untried says why the API server would not do it.
func untried(err error) error {
	if errors.Is(err, remediate.ErrChanged) {
		return &Error{Outcome: Refused, Err: err, Next: "another client writes it at this moment: look at it, and run this again", Unchanged: true}
	}
	return asError(err)
}

// PlanOf is one step that is done to the cluster, and to no node: a plan that is proven.
func PlanOf(step remediate.Action, from Reading) (*remediate.Plan, error) {
	p, err := from.prove(step)
	if err != nil {
		return nil, asError(err)
	}
	return p, nil
}

// prove plans one step, and refuses it where checks find something new after it, or it breaks a trust edge.
func (r Reading) prove(step remediate.Action) (*remediate.Plan, error) {
	d := remediate.NewDraft("", r.Facts.Snapshot, r.Facts.Now)
	d.Before = remediate.Judged(r.Facts, r.Claims)
	nodes, err := d.ClusterStep(step)
	if err != nil {
		return nil, err
	}
	d.AddWave(remediate.Wave{Parallel: 1, Nodes: nodes})
	p := d.Finish()
	return p, p.Proven()
}

// RotateCommand is what journals call it.
const RotateCommand = "rotate"

// PruneCommand is what journals call it.
const PruneCommand = "rotate prune"
