package rotate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Pruning is the removal of old CAs from the bundle of a signer, with what was read for it.
type Pruning struct {
	Reading
	Of     Rotatable
	CAs    []OldCA         // of the bundle, in its order
	Action PruneBundle     // as the API server tried it; the zero value: it was not asked
	Notes  remediate.Notes // of the plan: what else people are to know of the removal
	// Undo is the command that restores the bundle from what Action.Keep was given.
	Undo string
}

// Removed is how many CAs are removed.
func (p Pruning) Removed() (n int) {
	for _, ca := range p.CAs {
		if ca.Keep == "" {
			n++
		}
	}
	return n
}

// SelectPruning finds the signer that a name means, and refuses what has no bundle to prune.
func (r *Runner) SelectPruning(from Reading, name string) (Pruning, error) {
	of, err := from.Find(name)
	if err != nil {
		return Pruning{}, err
	}
	refuse := func(reason, next string) (Pruning, error) {
		return Pruning{}, &Error{Outcome: Refused, Err: fmt.Errorf("%s/%s: %s", of.At.Namespace, of.At.Name, reason), Next: next, Unchanged: true}
	}
	if !of.Signer() {
		return refuse("it is signed by "+of.Rotation.Signer.Name+", and no signer: it has no CAs", r.Hints.Next("{} rotate prune %s", of.Rotation.Signer.Name))
	}
	if v := preflight.Reviewed(from.Facts.Snapshot.Cluster); v.Blocks() && !slices.Contains(r.Risks, v.ID) {
		return Pruning{}, blockedBy(v)
	}
	if reason, next := of.Unmanaged(); reason != "" {
		return refuse(reason, next)
	}
	if of.Rotation.Bundle == (catalog.Ref{}) {
		return refuse("its CA is in no bundle of its own", r.Hints.Next("{} inspect --all lists where it is"))
	}
	return Pruning{Reading: from, Of: of}, nil
}

// PlanPruning judges the CAs of the bundle, and has the API server try the removal. Without a
// Cluster they are only judged.
func (r *Runner) PlanPruning(ctx context.Context, p *Pruning) (err error) {
	if p.CAs, err = p.OldTrust(p.Of, r.Risks); err != nil {
		return asError(err)
	}
	bundle := p.Of.Rotation.Bundle
	removal, _ := pruneOf(bundle, p.CAs)
	plan, err := PlanOf(removal, p.Reading)
	if err != nil {
		return err
	}
	p.Notes = plan.Notes
	if r.Cluster == nil || !r.Try {
		return nil
	}
	p.Action, err = r.Cluster.Removal(ctx, bundle, p.CAs)
	switch {
	case errors.Is(err, remediate.ErrChanged): // no check refuses it
		return &Error{Outcome: Refused, Err: fmt.Errorf("nothing was changed: %w", err), Next: "another client writes it at this moment: look, and run it again"}
	case err != nil:
		return &Error{Outcome: Unread, Err: err, Next: inspect.Hints{}.Unread(inspect.Permission{Verb: "patch", Resource: "configmaps", Namespace: bundle.Namespace}), Unchanged: true}
	}
	return nil
}

// Prune removes what was planned, after consent.
func (r *Runner) Prune(ctx context.Context, p Pruning) error {
	changed, err := r.Cluster.Apply(ctx, func(ctx context.Context) (*remediate.Plan, error) {
		now, err := r.judgeAgain(ctx, p)
		if err != nil {
			return nil, err
		}
		return PlanOf(p.Action, now)
	})
	var before *Error
	switch {
	case err == nil || errors.As(err, &before): // before anything was changed
		return err
	case errors.Is(err, remediate.ErrChanged):
		return &Error{Outcome: Stopped, Err: err, Next: "another client writes it: look at it, and run this again", Unchanged: !changed}
	}
	bundle := p.Of.Rotation.Bundle
	next := foreign.Command("", "oc -n %s get configmap %s -o yaml", bundle.Namespace, bundle.Name)
	if changed {
		next += "; the bundle as it was: " + p.Undo
	}
	return &Error{Outcome: Stopped, Err: err, Next: next, Unchanged: !changed}
}

// judgeAgain reads and judges everything once more, as a rotation's recheck does: since the question was asked, a
// server may present a certificate of a previous CA again.
func (r *Runner) judgeAgain(ctx context.Context, planned Pruning) (Reading, error) {
	fresh, err := r.Cluster.Read(ctx, nil)
	if err != nil {
		return fresh, unchanged(err)
	}
	now, err := r.SelectPruning(fresh, planned.Of.At.Namespace+"/"+planned.Of.At.Name)
	if err == nil {
		now.CAs, err = now.OldTrust(now.Of, r.Risks)
	}
	if err != nil {
		return fresh, unchanged(err)
	}
	var differ []string
	goes, _ := pruneOf(now.Of.Rotation.Bundle, now.CAs)
	for _, ca := range planned.Action.Removes {
		if pki.Contains(goes.Removes, ca) {
			continue
		}
		why := "it is not in the bundle"
		for _, j := range now.CAs {
			if j.Fingerprint == ca.Fingerprint {
				why = j.Keep
			}
		}
		differ = append(differ, pki.Named(ca)+" stays now: "+why)
	}
	for _, ca := range goes.Removes {
		if !pki.Contains(planned.Action.Removes, ca) {
			differ = append(differ, pki.Named(ca)+" can be removed now, too")
		}
	}
	if len(differ) > 0 {
		return fresh, &Error{Outcome: Refused, Err: fmt.Errorf("what can be removed from %s changed after it was displayed: %s", planned.Action.Object, strings.Join(differ, "; ")), Next: "look again, and run it again", Unchanged: true}
	}
	return fresh, nil
}
