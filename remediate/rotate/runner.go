package rotate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Cluster is what a Runner needs of the cluster. Its errors may be of type Error.
type Cluster interface {
	// Recheck reads everything again, without handshakes.
	Recheck(ctx context.Context) (Reading, error)
	// Read reads everything again, and what servers present. Where clients says so of what was
	// read, requests are made with the client certificates of control plane nodes, on them.
	Read(ctx context.Context, clients func(*inspect.Snapshot) bool) (Reading, error)
	// Trigger is the removal of an annotation from a Secret, as it is now.
	Trigger(ctx context.Context, of catalog.Ref, annotation string) (action.RemoveAnnotation, error)
	// Removal takes old CAs out of a bundle as it is now, as the API server tried it. It is ErrChanged
	// where the bundle is not what was judged.
	Removal(ctx context.Context, of catalog.Ref, judged []OldCA) (PruneBundle, error)
	// Apply takes the Lease, asks for the plan, and makes it. changed: a step changed something, or may have. An
	// error before that is of type Error; one of the plan is returned as it is.
	Apply(ctx context.Context, plan func(context.Context) (*remediate.Plan, error)) (changed bool, err error)
}

// Observer is told how rotations go.
type Observer interface {
	// Stage is told when a stage is first judged, and each time its answer changes. of is
	// empty where only one rotation is tracked.
	Stage(of string, s Stage, after time.Duration)
	// Judged is told all stages each time they were read, and when it began.
	Judged(of string, p Planned, stages []Stage, began time.Time)
	// Waiting is told which checks block a leaf, each time they change.
	Waiting(leaf string, blocked []preflight.Verdict)
	// Triggering is told which leaf is rotated next; replaced is its certificate where
	// another user rotated it meanwhile, not by the newest signer, and else nil.
	Triggering(leaf Planned, replaced *pki.Cert)
	// Rotated is told when an owner has rotated what was named.
	Rotated(Planned)
	// Concluded is told how far a rotation is when it is not tracked any more.
	Concluded(Progress) error
}

// Runner rotates what was planned, one after the other, and tracks the new CAs until every
// client trusts them. A Runner is for one run.
type Runner struct {
	Cluster  Cluster // nil: it only judges
	Observer Observer
	Hints    inspect.Hints
	Risks    []string // names of checks that are accepted
	Leaves   bool     // what the signers sign is rotated, too
	Try      bool     // Plan has the API server try it
	// Wait is for how long rotations are tracked, all together; nothing is begun after that. 0:
	// they are not.
	Wait time.Duration
	// Resume is the command that goes on, without names.
	Resume string
	// Reads are the flags about the cluster and its nodes, behind a blank: a next step takes them.
	Reads string

	deadline time.Time // when Wait is over; zero: it did not begin
}

// maxUnread is how often nothing but what can't be read may block: once may be chance, and
// what could not be read three times does not get better by asking again.
const maxUnread = 3

// status is the command that tells how far a rotation is.
func (r *Runner) status(name string) string {
	return r.Hints.Next("{} rotate status %s", name) + r.Reads
}

// Run does what was planned, after consent.
func (r *Runner) Run(ctx context.Context, plans []Planned) error {
	if r.Wait > 0 {
		r.deadline = collect.Now().Add(r.Wait)
	}
	var tracked []*tracker
	err := r.inTurn(plans, func(p Planned, later, last bool) (bool, error) {
		t, changed, err := r.one(ctx, p, later, last)
		tracked = append(tracked, t)
		return changed, err
	})
	if err != nil || r.Leaves || r.Wait == 0 { // leaves are tracked one by one
		return err
	}
	return r.trackAll(ctx, tracked)
}

// left is what is left of Wait.
func (r *Runner) left() time.Duration {
	if r.deadline.IsZero() {
		return r.Wait
	}
	return max(0, r.deadline.Sub(collect.Now()))
}

// over reports whether Wait is: nothing more is begun.
func (r *Runner) over() bool { return !r.deadline.IsZero() && r.left() == 0 }

// waitIsOver says so.
func (r *Runner) waitIsOver() string { return fmt.Sprintf("the time of --wait (%s) is over", r.Wait) }

// inTurn has one done after the other, until one fails.
func (r *Runner) inTurn(plans []Planned, one func(p Planned, later, last bool) (changed bool, err error)) error {
	var unknown error // done, as far as it is known
	begun := false    // one of those before
	for i, p := range plans {
		if p.NoChanges() {
			continue
		}
		changed, err := one(p, i > 0, i == len(plans)-1)
		err = afterChanges(err, begun)
		begun = begun || changed
		switch {
		case err == nil:
			continue
		case silent(err, Unknown):
			unknown = err
			continue
		}
		return r.stopAt(asError(err), plans, i, changed)
	}
	return unknown
}

// summary tells of several names what is done, what is on its way, and what was not begun,
// when the one at this index failed.
func summary(plans []Planned, at int, changed bool) string {
	var done, under, left []string
	for i, p := range plans {
		switch {
		case p.NoChanges():
		case i < at:
			done = append(done, p.Of.Name)
		case i == at && changed:
			under = append(under, p.Of.Name)
		default:
			left = append(left, p.Of.Name)
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

// stopAt says how far the run came when one failed, and which command goes on: with those
// that were not begun, and with --leaf with that one, too.
func (r *Runner) stopAt(failed *Error, plans []Planned, at int, changed bool) error {
	rest := plans[at:]
	if changed && !r.Leaves {
		rest = plans[at+1:] // it is on its way by itself
	}
	if len(plans) == 1 && !r.Leaves {
		rest = nil
	}
	out := *failed
	came := summary(plans, at, changed)
	if r.over() {
		came = r.waitIsOver() + ": " + came
	}
	switch told := failed.Err == nil; {
	case told && r.over():
		out.Err = errors.New(came)
	case told:
		out.Err = fmt.Errorf("not through: %s", came)
	case len(plans) > 1 && (at > 0 || r.over()):
		out.Err, out.Unchanged = fmt.Errorf("%w; %s", failed, came), false
	}
	var next, names []string
	if failed.Next != "" {
		next = append(next, failed.Next)
	}
	if changed && !r.Leaves && failed.Next == "" {
		next = append(next, r.status(plans[at].Of.Name))
	}
	for _, p := range rest {
		names = append(names, p.Of.Name)
	}
	if len(rest) > 1 || len(rest) == 1 && !strings.Contains(failed.Next, r.Resume+" ") { // else it says so itself
		next = append(next, "to go on from there:\n    "+r.Resume+" "+nodeexec.Quote(names...))
	}
	out.Next = strings.Join(next, "\n")
	return &out
}

// one has one rotated, and tracks it. later: it is not the first, last: nor are there others
// after it. changed: it was begun; t is how it is tracked from then on.
func (r *Runner) one(ctx context.Context, p Planned, later, last bool) (t *tracker, changed bool, err error) {
	t = r.track(p.Of, nil)
	t.several = later || !last
	if p.Rotates() {
		for tries := 1; ; tries++ {
			if later {
				if err := r.awaitChecks(ctx, t, &p); err != nil {
					return t, false, err
				}
			}
			changed, err := r.write(ctx, func(ctx context.Context) (Planned, error) { return r.latest(ctx, p, later) })
			if err == nil {
				break
			}
			if !later || tries == maxUnread || !retryable(ctx, err) {
				return t, changed, err
			}
		}
		r.Observer.Rotated(p)
		if r.Wait == 0 {
			return t, true, nil
		}
		t = r.track(p.Of, p.Of.Cert())
		t.several = later || !last
	}
	switch {
	case p.Left != nil:
		err := r.rotateLeaves(ctx, t, p.Rotates())
		return t, p.Rotates() || t.changed, err
	case last: // it is tracked with those before it
		return t, true, nil
	}
	return t, true, r.awaitBundles(ctx, t)
}

// write does one thing under the Lease, after what is to be done was looked at once more.
func (r *Runner) write(ctx context.Context, look func(context.Context) (Planned, error)) (changed bool, err error) {
	var p Planned
	var looked error
	changed, err = r.Cluster.Apply(ctx, func(ctx context.Context) (*remediate.Plan, error) {
		if p, looked = look(ctx); looked != nil {
			return nil, looked
		}
		if r.over() { // reading, or the Lease, took the rest of it
			return nil, &Error{Outcome: Pending, Err: errors.New(r.waitIsOver()), Next: r.Resume + " " + p.Of.Name, Unchanged: true}
		}
		return PlanOf(p.Action, p.Reading)
	})
	var e *Error
	switch {
	case looked != nil:
		return changed, looked
	case err == nil || errors.As(err, &e):
		return changed, err
	}
	return changed, r.notRotated(p, err, changed)
}

// recheck asks everything again, now that no other run of certrot changes anything: a
// question may have been on the screen for an hour, and another user rotated what signs.
func (r *Runner) recheck(ctx context.Context, planned Planned) error {
	fresh, err := r.Cluster.Recheck(ctx)
	if err != nil {
		return unchanged(err)
	}
	now := Planned{Reading: fresh}
	if now.Of, err = fresh.Find(planned.Of.At.Namespace + "/" + planned.Of.At.Name); err != nil {
		return unchanged(err)
	}
	if err := now.judge(r.Risks, nil); err != nil {
		return err
	}
	if !sameCert(now.Of.Cert(), planned.Of.Cert()) || !sameCert(now.signerCert(), planned.signerCert()) {
		return &Error{Outcome: Refused, Err: fmt.Errorf("%s, or what signs it: %w", planned.Of.At, remediate.ErrChanged), Next: "look again, and run it again", Unchanged: true}
	}
	return nil
}

// notRotated says how it failed. changed: its owner was triggered, or may have been.
func (r *Runner) notRotated(p Planned, err error, changed bool) error {
	var late *remediate.LateEffectError
	var refusal *remediate.Refusal
	status := r.status(p.Of.Name)
	switch {
	case errors.Is(err, remediate.ErrChanged):
		return &Error{Outcome: Stopped, Err: err, Next: "another client writes it: look at it, and run this again", Unchanged: !changed}
	case errors.As(err, &late):
		return &Error{Outcome: Stopped, Err: fmt.Errorf("the annotation is removed, and %s did not answer: %w", p.Owner(), err),
			Next: "check whether it runs: as soon as it does, it rotates the certificate: oc get clusteroperators; " + status}
	case errors.As(err, &refusal):
		return &Error{Outcome: Stopped, Err: err, Next: refusal.Next, Unchanged: !changed}
	case !changed:
		return &Error{Outcome: Stopped, Err: err, Next: "look at why, and run this again", Unchanged: true}
	}
	return &Error{Outcome: Stopped, Err: err, Next: "check whether it was rotated: " + status}
}

// awaitBundles waits until the next one may be begun: that all bundles have it must be seen.
func (r *Runner) awaitBundles(ctx context.Context, t *tracker) error {
	p, ok, err := t.until(ctx, r.left(), func(_ Planned, stages []Stage) bool { return inBundles(stages) })
	if err != nil || ok {
		return err
	}
	if err := t.conclude(p); !silent(err, Unknown) {
		return err
	}
	return &Error{Outcome: Unknown, Err: fmt.Errorf("%s is rotated, and whether it is in all bundles could not be read", p.Of.At), Next: t.next}
}

// awaitChecks waits until what is asked before a rotation passes: one that was begun just
// before may keep operators busy, and roll out the API server.
func (r *Runner) awaitChecks(ctx context.Context, t *tracker, p *Planned) error {
	t.begun = true
	var why error
	now, ok, err := t.until(ctx, r.left(), func(now Planned, _ []Stage) bool {
		why = now.judge(r.Risks, nil)
		return why == nil
	})
	switch {
	case err != nil:
		return err
	case !ok:
		return why
	case r.over():
		return &Error{Outcome: Pending}
	}
	p.Reading, p.Of = now.Reading, now.Of
	return nil
}

// trackAll waits for what was rotated, one after the other, and tells of each how it went.
// The outcome is the worst.
func (r *Runner) trackAll(ctx context.Context, all []*tracker) error {
	var worst *Error
	var through, under, unknown, next []string
	var told []error
	for _, t := range all {
		err := r.conclude(ctx, t)
		if ctx.Err() != nil {
			return err
		}
		e := asError(err)
		if e == nil {
			through = append(through, t.called)
			continue
		}
		if e.Err != nil {
			told = append(told, err)
		}
		if e.Outcome == Pending {
			under = append(under, t.called)
		} else {
			unknown = append(unknown, t.called)
		}
		if e.Next != "" {
			next = append(next, e.Next)
		} else {
			next = append(next, t.next)
		}
		if worst == nil || e.Outcome.worse(worst.Outcome) {
			worst = e
		}
	}
	switch {
	case worst == nil:
		return nil
	case len(under) > 0:
		told = append(told, fmt.Errorf("%s: %s", r.waitIsOver(), listed("through", through, "on its way", under, "unknown", unknown)))
	case len(told) == 0: // it was told of each
		return &Error{Outcome: worst.Outcome}
	}
	return &Error{Outcome: worst.Outcome, Err: errors.Join(told...), Next: strings.Join(next, "\n")}
}

// conclude waits for one of them.
func (r *Runner) conclude(ctx context.Context, t *tracker) error {
	p, _, err := t.until(ctx, r.left(), complete)
	if err != nil {
		return err
	}
	return t.conclude(p)
}
