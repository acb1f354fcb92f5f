package rotatecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// trigger asks once, and does one after the other.
func (f *rotateFlags) trigger(ctx context.Context, conn *connect.Connection, plans []rotation) error {
	if err := f.applying(conn).Consent(ctx); err != nil {
		return err
	}
	if f.wait > 0 {
		f.ends = collect.Taken().Add(f.wait)
		ui.Printf(f.seen.App.Streams.ErrOut, "It is followed for at most %s (--wait).\n", f.wait)
	}
	var begun []*following
	err := f.inTurn(plans, func(p rotation, later, last bool) (bool, error) {
		w, changed, err := f.one(ctx, conn, p, later, last)
		begun = append(begun, w)
		return changed, err
	})
	if err != nil || f.leaf || f.wait == 0 { // leaves are followed one by one
		return err
	}
	return f.followAll(ctx, begun)
}

// left is what is left of --wait, which is for the whole run.
func (f *rotateFlags) left() time.Duration {
	if f.ends.IsZero() {
		return f.wait
	}
	return max(0, f.ends.Sub(collect.Taken()))
}

// over reports whether the time of --wait is: nothing more is begun.
func (f *rotateFlags) over() bool { return !f.ends.IsZero() && f.left() == 0 }

// isOver says so.
func (f *rotateFlags) isOver() string { return fmt.Sprintf("the time of --wait (%s) is over", f.wait) }

// inTurn has one done after the other, until one fails.
func (f *rotateFlags) inTurn(plans []rotation, one func(p rotation, later, last bool) (changed bool, err error)) error {
	var unknown error // done, as far as it is known
	begun := false    // one of those before
	for i, p := range plans {
		if p.idle() {
			continue
		}
		changed, err := one(p, i > 0, i == len(plans)-1)
		err = partly(err, begun)
		begun = begun || changed
		var e *cli.ExitError
		switch {
		case err == nil:
			continue
		case errors.As(err, &e) && e.Err == nil && e.Code == cli.ExitIncomplete:
			unknown = err
			continue
		}
		return f.rest(err, plans, i, changed)
	}
	return unknown
}

// standing tells of several NAMEs what is done, what is on its way, and what was not begun,
// when the one at this index failed.
func standing(plans []rotation, at int, changed bool) string {
	var done, under, left []string
	for i, p := range plans {
		switch {
		case p.idle():
		case i < at:
			done = append(done, p.of.Name)
		case i == at && changed:
			under = append(under, p.of.Name)
		default:
			left = append(left, p.of.Name)
		}
	}
	return listed("done", done, "on its way", under, "not begun", left)
}

// listed joins lists of names, each after what it is; those that are empty are left out.
func listed(parts ...any) string {
	var out []string
	for i := 0; i+1 < len(parts); i += 2 {
		if names, ok := parts[i+1].([]string); ok && len(names) > 0 {
			out = append(out, fmt.Sprintf("%s: %s", parts[i], strings.Join(names, ", ")))
		}
	}
	return strings.Join(out, "; ")
}

// rest says where it stands when one failed, and which line goes on: with those that were
// not begun, and with --leaf with that one, too.
func (f *rotateFlags) rest(failed error, plans []rotation, at int, changed bool) error {
	rest := plans[at:]
	if changed && !f.leaf {
		rest = plans[at+1:] // it is on its way by itself
	}
	if len(plans) == 1 && !f.leaf {
		rest = nil
	}
	var e *cli.ExitError
	var h *cli.HintError
	code, err := cli.CodeOf(failed), failed
	stands := standing(plans, at, changed)
	if f.over() {
		stands = f.isOver() + ": " + stands
	}
	switch silent := errors.As(failed, &e) && e.Err == nil; {
	case silent && f.over():
		err = errors.New(stands)
	case silent:
		err = fmt.Errorf("not through: %s", stands)
	case len(plans) > 1 && (at > 0 || f.over()):
		err = fmt.Errorf("%w; %s", failed, stands)
	}
	var hints, names []string
	if errors.As(failed, &h) {
		hints = append(hints, h.Hint)
	}
	if changed && !f.leaf && h == nil {
		hints = append(hints, inspect.LiveHints(f.seen.App.Called).Next("{} rotate status %s", plans[at].of.Name))
	}
	for _, p := range rest {
		names = append(names, p.of.Name)
	}
	if len(rest) > 1 || len(rest) == 1 && (h == nil || !strings.Contains(h.Hint, f.line+" ")) { // else it says so itself
		hints = append(hints, "to go on from there:\n    "+f.line+" "+nodeexec.Quote(names...))
	}
	if len(hints) > 0 {
		err = cli.WithHint(err, "%s", strings.Join(hints, "\n"))
	}
	return &cli.ExitError{Code: code, Err: err}
}

// applying writes one thing, as a run of its own.
func (f *rotateFlags) applying(conn *connect.Connection) *apply.Run {
	return &apply.Run{
		Flags: apply.Flags{App: f.seen.App, Config: f.seen.Config, Yes: f.yes, Output: f.output}, Command: rotate.RotateCommand, Run: remediate.NewRun(collect.Taken()),
		Session: &apply.Session{App: f.seen.App, Conn: conn}, NoLease: slices.Contains(f.risks, remediate.NoLease),
	}
}

// one has one made anew, and follows it. later: it is not the first, last: nor are there
// others after it. changed: it was begun; w is how it is followed from then on.
func (f *rotateFlags) one(ctx context.Context, conn *connect.Connection, p rotation, later, last bool) (w *following, changed bool, err error) {
	app := f.seen.App
	w = f.following(conn, p.of, nil)
	w.named = later || !last
	if p.itself() {
		a := f.applying(conn)
		for tries := 1; ; tries++ {
			if later {
				if err := f.awaitChecks(ctx, w, &p); err != nil {
					return w, false, err
				}
			}
			err := f.write(ctx, a, func() (rotation, error) { return p, f.recheck(ctx, conn, p) })
			if err == nil {
				break
			}
			if !later || tries == patience || !passing(ctx, err) {
				return w, len(a.Deeds) > 0, err
			}
		}
		a.Say("\nDone: %s has made it anew. %s\n", ui.Clean(p.owner()), "A rotation can't be taken back.")
		if f.wait == 0 {
			a.Say("How far its CA is, at any time: %s\n", inspect.LiveHints(app.Called).Next("{} rotate status %s", p.of.Name))
			return w, true, nil
		}
		w = f.following(conn, p.of, p.of.Cert())
		w.named = later || !last
	}
	switch {
	case p.left != nil:
		err := f.signLeaves(ctx, conn, w, p.itself())
		return w, p.itself() || w.did, err
	case last: // it is followed with those before it
		return w, true, nil
	}
	return w, true, f.settle(ctx, w)
}

// write does one thing under the Lease, after what is to be done was looked at once more.
func (f *rotateFlags) write(ctx context.Context, a *apply.Run, look func() (rotation, error)) error {
	held, release, err := a.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	p, err := look()
	switch {
	case err != nil:
		return err
	case f.over(): // reading, or the Lease, took the rest of it
		return &cli.ExitError{Code: cli.ExitFindings, Err: cli.WithHint(cli.NothingChanged(errors.New(f.isOver())), "%s %s", f.line, p.of.Name)}
	}
	plan := &remediate.Plan{Run: a.Run, Basis: p.facts.Snapshot, Now: p.facts.Now, Waves: []remediate.Wave{{Nodes: []remediate.NodePlan{{Steps: []remediate.Step{{Action: p.action, Change: &remediate.Change{}}}}}}}}
	if plan.Waves[0].Nodes[0].Steps[0].Change, err = p.action.Diff(p.facts.Snapshot, p.facts.Now); err != nil {
		return apply.Refused(err)
	}
	j, err := a.Begin(plan)
	if err != nil {
		return err
	}
	err = a.Apply(held, plan, j)
	_ = j.Close() // each line is on the disk already
	if err != nil {
		return f.untriggered(p, err)
	}
	return nil
}

// recheck asks everything again, now that nobody else with certrot changes anything: a
// question may have been on the screen for an hour, and somebody else rotated what signs.
func (f *rotateFlags) recheck(ctx context.Context, conn *connect.Connection, shown rotation) error {
	fresh, err := f.read(ctx)
	if err != nil {
		return cli.NothingChanged(err)
	}
	fresh.ask(ctx, conn)
	now := rotation{rotations: fresh}
	if now.of, err = fresh.find(f.seen.App, shown.of.At.Namespace+"/"+shown.of.At.Name); err != nil {
		return cli.NothingChanged(err)
	}
	if err := now.judge(f.risks, nil); err != nil {
		return err
	}
	if !sameCert(now.of.Cert(), shown.of.Cert()) || !sameCert(now.signs(), shown.signs()) {
		return &cli.ExitError{Code: cli.ExitRefused, Err: cli.WithHint(cli.NothingChanged(fmt.Errorf("%s, or what signs it: %w", shown.of.At, remediate.ErrChanged)), "look again, and run it again")}
	}
	return nil
}

// signs is the certificate that signs what is rotated now; nil: it was not read.
func (p rotation) signs() *pki.Cert {
	for _, of := range p.all {
		if of.At == p.of.Rotation.Signer {
			return of.Cert()
		}
	}
	return nil
}

// untriggered says how it failed.
func (f *rotateFlags) untriggered(p rotation, err error) error {
	var late *remediate.Late
	var refusal *remediate.Refusal
	status := inspect.LiveHints(f.seen.App.Called).Next("{} rotate status %s", cmp.Or(p.of.Name, p.of.At.Name))
	switch {
	case errors.Is(err, remediate.ErrChanged):
		return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(cli.NothingChanged(err), "somebody else writes it: look at it, and run this again")}
	case errors.As(err, &late):
		return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(fmt.Errorf("the annotation is removed, and %s did not answer: %w", p.owner(), err),
			"does it run? It makes the certificate anew as soon as it does: oc get clusteroperators; %s", status)}
	case errors.As(err, &refusal):
		return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(cli.NothingChanged(err), "%s", refusal.Next)}
	}
	return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(err, "whether it was made anew: %s", status)}
}
