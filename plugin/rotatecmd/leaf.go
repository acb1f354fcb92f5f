package rotatecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// signLeaves has what a signer signs signed anew, one after the other, each when all who
// verify it are seen to trust the signer. changed: the signer was made anew before.
func (f *rotateFlags) signLeaves(ctx context.Context, conn *connect.Connection, w *following, changed bool) error {
	_, name, _ := strings.Cut(w.name, "/")
	w.next = f.line + " " + name
	return f.eachLeaf(ctx, w, changed, func(leaf rotation) (bool, error) { return f.signLeaf(ctx, conn, leaf) })
}

// eachLeaf has them signed, by sign, until there is none left or one fails. changed:
// something was, before; sign tells the same of itself.
func (f *rotateFlags) eachLeaf(ctx context.Context, w *following, changed bool, sign func(rotation) (changed bool, err error)) error {
	done := map[catalog.Ref]bool{}
	tries := 0
	for {
		leaf, err := f.nextLeaf(ctx, w)
		if err != nil {
			return partly(err, changed)
		}
		if leaf == nil {
			break
		}
		if done[leaf.of.At] {
			return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(fmt.Errorf("%s was made anew, and not by the newest signer", leaf.of.At), "%s", inspect.LiveHints(f.seen.App.Called).Next("{} rotate status %s", leaf.of.Name))}
		}
		did, err := sign(*leaf)
		before := changed
		changed, w.did = changed || did, w.did || did
		if tries++; err != nil && (tries == patience || !passing(ctx, err)) {
			return partly(err, before)
		} else if err != nil {
			continue
		}
		done[leaf.of.At], tries = true, 0
		w.signed = append(w.signed, leaf.of.Name)
	}
	p, _, err := w.until(ctx, f.left(), through)
	if err != nil {
		return err
	}
	return f.ending(p, w)
}

// passing reports whether a step failed only because something could not be read, before
// it changed anything: what was done before it may have the API server rolled out.
func passing(ctx context.Context, err error) bool {
	return cli.CodeOf(err) == cli.ExitUsage && ctx.Err() == nil
}

// partly is the failure of one step, where others were done before: nothing may say then
// that nothing was changed, neither the error nor its exit code.
func partly(err error, changed bool) error {
	var u *cli.Unchanged
	var h *cli.HintError
	told := errors.As(err, &u)
	if !changed || !told && cli.CodeOf(err) != cli.ExitUsage {
		return err
	}
	inner := err
	if told {
		inner = u.Inner
	}
	half := fmt.Errorf("stopped half-way: %w", inner)
	if errors.As(err, &h) {
		half = cli.WithHint(half, "%s", h.Hint)
	}
	return &cli.ExitError{Code: cli.ExitStopped, Err: half}
}

// patience is how often nothing but what can't be read may be in the way: once may be
// chance, and what could not be read three times does not get better by asking again.
const patience = 3

// nextLeaf waits until the next one may be signed; nil: there is none.
func (f *rotateFlags) nextLeaf(ctx context.Context, w *following) (*rotation, error) {
	var next *rotation
	var why error
	blind, said := 0, ""
	p, ok, err := w.until(ctx, f.left(), func(now rotation, stages []rotate.Stage) bool {
		leaf, none := now.leafNow(stages)
		next, why = nil, nil
		switch {
		case none == catalog.Yes:
			return true
		case leaf == nil && none == catalog.Unknown:
			why, blind = errors.New("the signer was not read, or what it signs"), blind+1
			return blind >= patience
		case leaf == nil:
			blind = 0
			return false
		}
		if why = leaf.judgeLeaf(f.risks, nil); why == nil && (leaf.of.Triggered() || inBundles(stages)) {
			next = leaf
			return true
		}
		if blind++; why == nil || anyNo(leaf.verdicts) {
			blind = 0
		}
		if text := stopsOf(leaf.verdicts); text != said && text != "" {
			said = text
			w.say("waiting, before %s is signed anew: %s\n", leaf.of.Name, ui.Clean(text))
		}
		return blind >= patience
	})
	switch {
	case err != nil:
		return nil, err
	case next != nil && f.over():
		why = errors.New(f.isOver())
	case next != nil:
		return next, nil
	case ok && blind < patience:
		return nil, nil
	}
	code := cli.ExitFindings
	if blind >= patience {
		code = cli.ExitIncomplete
	}
	if err := f.ending(p, w); err != nil && cli.CodeOf(err) == cli.ExitUsage {
		return nil, err
	}
	var waiting []string
	for _, leaf := range p.preflight(p.of).Left(p.all).Leaves {
		waiting = append(waiting, leaf.Name)
	}
	return nil, stillWaiting(why, code, w.signed, waiting)
}

// leafNow is the first of those that are to be signed anew; nil: there is none, for good
// (Yes), not yet (No), or as far as it was read (Unknown).
func (p rotation) leafNow(stages []rotate.Stage) (leaf *rotation, none catalog.Answer) {
	left := p.preflight(p.of).Left(p.all)
	if !left.Signer && len(left.Leaves) > 0 {
		return &rotation{rotations: p.rotations, of: left.Leaves[0]}, catalog.No
	}
	none = catalog.Yes
	for _, s := range stages {
		switch {
		case s.Name != rotate.StageSigner && s.Name != rotate.StageLeaf:
		case s.Reached == catalog.No:
			return nil, catalog.No
		case s.Reached == catalog.Unknown:
			none = catalog.Unknown
		}
	}
	return nil, none
}

// stillWaiting says for what it was waited, when the time is over, what was signed anew
// before and what is waiting.
func stillWaiting(why error, code int, done, waiting []string) error {
	var u *cli.Unchanged
	var h *cli.HintError
	inner := why
	if errors.As(why, &u) {
		inner = u.Inner
	}
	if inner == nil {
		inner = errors.New("the signer is not in all bundles yet")
	}
	what := cmp.Or(strings.Join(waiting, ", "), "what the signer signs")
	if len(done) > 0 {
		what = strings.Join(done, ", ") + " is done; " + what
	}
	err := fmt.Errorf("%s is not signed anew yet: %w", what, inner)
	if errors.As(why, &h) {
		err = cli.WithHint(err, "%s", h.Hint)
	}
	return &cli.ExitError{Code: code, Err: err}
}

func anyNo(verdicts []rotateVerdict) bool {
	for _, v := range verdicts {
		if v.stopped && v.Holds == catalog.No.String() {
			return true
		}
	}
	return false
}

// stopsOf are the checks that are in the way, for people.
func stopsOf(verdicts []rotateVerdict) string {
	var out []string
	for _, v := range verdicts {
		if v.stopped {
			out = append(out, v.Check+": "+v.Reason)
		}
	}
	return strings.Join(out, "; ")
}

// signLeaf has one signed anew, and waits until it is signed and shown. changed: its owner
// was told to.
func (f *rotateFlags) signLeaf(ctx context.Context, conn *connect.Connection, leaf rotation) (changed bool, err error) {
	w := f.following(conn, leaf.of, leaf.of.Cert())
	w.signer, w.next = leaf.since, f.line+" "+leaf.of.Rotation.Signer.Name
	if !leaf.of.Triggered() {
		if changed, err = f.tellLeaf(ctx, conn, w, leaf); err != nil {
			return changed, err
		}
	}
	return changed, f.awaitLeaf(ctx, w)
}

// awaitLeaf waits until what was told is signed by the newest signer, and no server shows
// what was there before.
func (f *rotateFlags) awaitLeaf(ctx context.Context, w *following) error {
	var unread *rotate.Stage // without which it is not known who has signed it
	blind := 0
	p, ok, err := w.until(ctx, f.left(), func(_ rotation, stages []rotate.Stage) bool {
		unread = nil
		for i, s := range stages {
			itself := s.Name == rotate.StageLeaf || s.Name == rotate.StageSigner
			switch {
			case s.Reached == catalog.No && (itself || s.Name == rotate.StageServed):
				blind = 0
				return false
			case s.Reached == catalog.Unknown && itself && unread == nil:
				unread = &stages[i]
			}
		}
		if unread == nil {
			return true
		}
		blind++
		return blind >= patience
	})
	switch {
	case err != nil:
		return err
	case unread != nil:
		err := fmt.Errorf("%s is to be made anew, and whether the newest signer has signed it is not known: %s: %s", p.of.At, unread.Name, unread.Text)
		return &cli.ExitError{Code: cli.ExitIncomplete, Err: cli.WithHint(err, "%s; then: %s", unread.Next, w.next)}
	case ok:
		return nil
	}
	err = f.ending(p, w)
	var e *cli.ExitError
	if !errors.As(err, &e) || e.Err != nil {
		return err
	}
	return &cli.ExitError{Code: e.Code, Err: cli.WithHint(fmt.Errorf("%s is to be made anew, and not all servers show one that the newest signer has signed, or it is not signed yet", p.of.At), "%s", w.next)}
}

// tellLeaf has its owner sign it anew, when all that was asked still holds. told is false
// where there was nothing to tell.
func (f *rotateFlags) tellLeaf(ctx context.Context, conn *connect.Connection, w *following, leaf rotation) (told bool, err error) {
	a := f.applying(conn)
	err = f.write(ctx, a, func() (rotation, error) {
		now, _, err := w.look(ctx)
		if err != nil {
			return now, cli.NothingChanged(err)
		}
		if err := stillDue(now, leaf); err != nil {
			return now, err
		}
		// Who trusted the signer a minute ago may not.
		if err := now.judgeLeaf(f.risks, nil); err != nil {
			return now, err
		}
		if err := f.try(ctx, conn, &now); err != nil {
			return now, err
		}
		b := &strings.Builder{}
		ui.Printf(b, "\n%s, of %s\n", now.of.At, now.owner())
		if !sameCert(now.of.Cert(), leaf.of.Cert()) {
			ui.Printf(b, "  signed anew meanwhile, and not by the newest signer: %s\n", apply.Identity(now.of.Cert()))
			w.since = now.of.Cert()
		}
		now.printDiff(b)
		a.Say("%s", ui.CleanLines(b.String()))
		return now, nil
	})
	if errors.Is(err, errAlready) {
		return false, nil
	}
	return len(a.Deeds) > 0, err
}

// stillDue asks whether what was to be signed anew a moment ago still is: its owner may
// have been quicker, or somebody else, and the signer of then may be the one of before.
// errAlready: nothing is left to do but to wait.
func stillDue(now, leaf rotation) error {
	signed, why := now.chain(now.of).Signed()
	switch {
	case now.of.Triggered(), signed == catalog.Yes:
		return errAlready
	case signed == catalog.Unknown:
		return cli.NothingChanged(cli.WithHint(errors.New(why), "%s", inspect.Hints{}.Unread(inspect.MayList("secrets", ""))))
	case !sameCert(now.signs(), leaf.signs()):
		return &cli.ExitError{Code: cli.ExitRefused, Err: cli.WithHint(cli.NothingChanged(fmt.Errorf("what signs %s: %w", leaf.of.At, remediate.ErrChanged)), "look again, and run it again")}
	}
	return nil
}

// errAlready ends a step in which nothing is left to do.
var errAlready = errors.New("it is signed by the newest signer already, or its owner is told to")
