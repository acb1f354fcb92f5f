package rotatecmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/metadata"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// plan judges one, and has the API server try it. resumed: it comes after one that was
// begun before.
func (f *rotateFlags) plan(ctx context.Context, conn *connect.Connection, p *rotation, resumed bool) error {
	if err := f.judgeAll(p, resumed); err != nil {
		return err
	}
	if conn == nil {
		return nil
	}
	if p.itself() {
		if err := f.try(ctx, conn, p); err != nil {
			return err
		}
	}
	for i := range p.leaves {
		if p.leaves[i].of.Triggered() {
			continue
		}
		if err := f.try(ctx, conn, &p.leaves[i]); err != nil {
			return err
		}
	}
	return nil
}

// judgeAll judges what is to be made anew. What is waited for stops nothing yet: what a new
// signer brings, and, where one was made before, that the cluster comes to rest after that.
func (f *rotateFlags) judgeAll(p *rotation, resumed bool) error {
	if f.leaf {
		left := p.preflight(p.of).Left(p.all)
		p.left = &left
		resumed = resumed || !left.Signer
		for _, of := range left.Leaves {
			leaf := rotation{rotations: p.rotations, of: of, anew: left.Signer}
			if err := leaf.judgeLeaf(f.risks, func(v preflight.Verdict) bool { return broughtAlong(v) || resumed && settling(v) }); err != nil {
				return err
			}
			p.leaves = append(p.leaves, leaf)
		}
	}
	if !p.itself() {
		return nil
	}
	return p.judge(f.risks, func(v preflight.Verdict) bool { return resumed && settling(v) })
}

// try reads what is to be patched, and has the API server try that.
func (f *rotateFlags) try(ctx context.Context, conn *connect.Connection, p *rotation) error {
	client, err := metadata.NewForConfig(conn.Rest)
	if err != nil {
		return fmt.Errorf("client for %s: %w", conn.Server, err)
	}
	if p.action, err = action.PlanRotation(ctx, client, p.of.At, p.of.Trigger.Annotation, inspect.LiveHints(f.seen.App.Called)); err != nil {
		return apply.Refused(err)
	}
	if h := p.of.Entry; h != nil && h.Object != nil && h.Object.Annotations[p.of.Trigger.Annotation] != p.action.Was {
		return p.untried(fmt.Errorf("%s: %w", p.of.At, remediate.ErrChanged)) // it was made anew since it was judged
	}
	if f.dryRun != apply.DryRunClient {
		if p.after, err = p.action.Try(ctx); err != nil {
			return p.untried(err)
		}
	}
	return nil
}

// knownNames are what may be typed, of any version.
func knownNames() []string {
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

// untried says why the API server would not do it.
func (p rotation) untried(err error) error {
	if errors.Is(err, remediate.ErrChanged) {
		return &cli.ExitError{Code: cli.ExitRefused, Err: cli.WithHint(cli.NothingChanged(err), "somebody writes it at this moment: look, and run it again")}
	}
	return apply.Refused(err)
}

// judge asks all checks. The error says all that stops it; what waits reports is waited
// for, and does not. waits may be nil.
func (p *rotation) judge(accepted []string, waits func(preflight.Verdict) bool) error {
	return p.weigh(p.preflight(p.of).Check(), accepted, waits)
}

// judgeLeaf asks all checks of what is signed anew because its signer was. Where its owner
// was told already nothing holds that back any more, and what is asked of trust is only
// told.
func (p *rotation) judgeLeaf(accepted []string, waits func(preflight.Verdict) bool) error {
	pre := p.preflight(p.of)
	pre.Follows, pre.Anew = true, p.anew
	if !p.of.Triggered() {
		return p.weigh(pre.Check(), accepted, waits)
	}
	p.verdicts, p.accepted, p.awaited = nil, nil, nil
	for _, v := range pre.Check() {
		if slices.Contains([]string{rotate.SignerTrusted, rotate.OutsideVerifiers, rotate.PodsMemory, rotate.OwnKubeconfig}, v.Name) {
			p.verdicts = append(p.verdicts, verdictOf(v))
		}
	}
	return nil
}

// broughtAlong reports whether the new signer brings it by itself, or people do meanwhile.
func broughtAlong(v preflight.Verdict) bool {
	return slices.Contains([]string{rotate.SignerTrusted, rotate.OutsideVerifiers, rotate.PodsMemory, rotate.OwnKubeconfig, "chain-settled"}, v.Name)
}

// settling reports whether it is what a new signer keeps busy until it has come to
// everybody: operators, static pods, and nodes with their pools. What is not known of
// those does not get known by waiting.
func settling(v preflight.Verdict) bool {
	return v.Holds == catalog.No && slices.Contains([]string{"operators-settled", preflight.StaticPodsSettled, "pools-ready", "nodes-ready"}, v.Name)
}

func (p *rotation) weigh(verdicts []preflight.Verdict, accepted []string, waits func(preflight.Verdict) bool) error {
	p.verdicts, p.accepted, p.awaited = nil, nil, nil
	var stops []preflight.Verdict
	for _, v := range verdicts {
		p.verdicts = append(p.verdicts, verdictOf(v))
		switch {
		case !v.Stops():
		case v.Risk && slices.Contains(accepted, v.Name):
			p.accepted = append(p.accepted, v.Name)
		case waits != nil && waits(v):
			p.awaited = append(p.awaited, v.Name)
		default:
			stops = append(stops, v)
		}
	}
	if len(stops) > 0 {
		return apply.Stopped(stops)
	}
	return nil
}

// owner is who makes it anew.
func (p rotation) owner() string {
	if p.of.Entry != nil && p.of.Entry.Owner() != "" {
		return p.of.Entry.Owner()
	}
	return "its operator"
}

// differing are the annotations that the API server would change.
func (p rotation) differing() []annotationDiff {
	out := []annotationDiff{}
	if p.after == nil {
		return out
	}
	both := maps.Clone(p.action.Annotations)
	maps.Copy(both, p.after)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		before, was := p.action.Annotations[name]
		after, is := p.after[name]
		if was == is && before == after {
			continue
		}
		d := annotationDiff{Name: name}
		if was {
			d.Before = &before
		}
		if is {
			d.After = &after
		}
		out = append(out, d)
	}
	return out
}
