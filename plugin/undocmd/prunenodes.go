package undocmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// removal removes what nodes keep of a run.
type removal struct {
	run     string
	earlier []string     // holders whose holds on nodes are no one's, as remediate.Env has them
	still   func() error // asked while no other run may change the nodes: why nothing is to be removed after all
}

// removeFrom removes a run from nodes. without are those that keep nothing of it.
func removeFrom(ctx context.Context, o apply.Options, r removal, names []string) (without []string, err error) {
	w, err := o.NewSession(ctx, names)
	if err != nil {
		return nil, err
	}
	without, err = r.from(ctx, w, names)
	return without, errors.Join(err, w.Close())
}

// from holds all nodes before anything is removed: a run under way, or an undo, needs what each keeps.
func (r removal) from(ctx context.Context, w *apply.Session, names []string) (without []string, err error) {
	env := w.Env(r.run, gather.Options{})
	env.Holder, env.EarlierHolders = nodeexec.ThisHolder().String()+", prune of run "+r.run, r.earlier
	env.Open = func(ctx context.Context, name string) (nodeexec.Node, error) {
		n, err := w.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		if err := collect.IsNode(ctx, n, name); err != nil {
			return nil, errors.Join(err, n.Close())
		}
		return n, nil
	}
	onNode := func(name string, do func(context.Context, nodeexec.Node) error) error {
		ctx, cancel := context.WithTimeoutCause(ctx, w.Choice.Timeout, fmt.Errorf("not done after %s", w.Choice.Timeout))
		defer cancel()
		defer env.Disconnect(name)
		n, err := env.Connect(ctx, name)
		if err != nil {
			return err
		}
		return do(ctx, n)
	}
	releases := map[string]func(){}
	defer func() {
		for _, release := range releases {
			release()
		}
		err = errors.Join(err, env.Close())
	}()
	var errs []error
	for _, name := range names {
		errs = append(errs, onNode(name, func(ctx context.Context, n nodeexec.Node) error {
			folder, err := host.Look(ctx, n, host.DefaultFolder+"/"+r.run)
			if err != nil {
				return err
			}
			if folder[0].Kind == host.Absent {
				without = append(without, name)
				return nil
			}
			release, err := env.Hold(ctx, name)
			if err == nil {
				releases[name] = release
			}
			return err
		}))
	}
	if err := errors.Join(errs...); errors.Is(err, host.ErrBusy) {
		return without, fmt.Errorf("nothing was removed: %w", err)
	}
	if err := r.still(); err != nil {
		return without, errors.Join(append(errs, err)...)
	}
	for _, name := range names {
		release := releases[name]
		if release == nil {
			continue
		}
		errs = append(errs, onNode(name, func(ctx context.Context, n nodeexec.Node) error {
			defer release()
			delete(releases, name)
			return host.RunFolder{ID: r.run}.Remove(ctx, n)
		}))
	}
	return without, errors.Join(errs...)
}

// grew refuses a run that did something since its journal was read.
func grew(js remediate.Journals, s remediate.RunRecord) error {
	now, err := js.Read(s.Run)
	if err == nil && len(now.Records) != len(s.Records) {
		err = fmt.Errorf("it is under way, or was a moment ago: %d records were added to its journal since that was read", len(now.Records)-len(s.Records))
	}
	return err
}
