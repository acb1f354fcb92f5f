package rotate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Left is what is still to be done of a rotation that goes on to what the signer signs.
type Left struct {
	// Signer: it is to be rotated, too. Why says why it is not, where it is not.
	Signer bool
	Why    string
	// Leaves are those that the signer's newest certificate has not signed, or of which
	// that was not read; all that are there where it is to come.
	Leaves []Rotatable
}

// justMade is how new a signer is that the same command may have had made, before it
// was interrupted: a day and a half, a tenth of the time after which most of what it signs
// is renewed, for which its owner brings new CAs to every verifier (library-go
// pkg/operator/certrotation/target.go, needNewTargetCertKeyPair).
const justMade = 36 * time.Hour

// left tells what is left to do, by the certificates alone: so it goes on wherever it was
// interrupted, and makes no second signer.
func (c Chain) left(all []Rotatable) (l Left) {
	ca := c.signer()
	// What the signer signs, as far as it is there: a leaf that was named is none of these.
	var there []Rotatable
	var old, unread []string
	for _, at := range c.leaves() {
		entries := entriesAt(c.Facts, at)
		read := len(entries) > 0 && len(entries[0].Content.Certs) > 0
		if !read && notThere(c.Facts, at) {
			continue // its owner makes it when it needs it, by the signer of then
		}
		there = append(there, among(all, at)...)
		switch {
		case !read:
			unread = append(unread, at.String())
		case ca != nil && signed(entries[0].Content.Certs[0], ca) && !rotatable(c.Facts, c.Of.Rotation, at).Triggered():
			continue
		default:
			old = append(old, at.Name)
		}
		l.Leaves = append(l.Leaves, among(all, at)...)
	}
	defer func() { l.Leaves = outsideLast(l.Leaves) }()
	entries := entriesAt(c.Facts, c.Of.Rotation.Signer)
	switch {
	case ca == nil:
		l.Signer = true // the checks say what was not read
	case entries[0].Object != nil && !timeIn(entries[0].Object.Annotations, catalog.AnnotationNotAfter):
		l.Why = "its annotation is gone, so its operator rotates it in any case"
		l.Leaves = there
	case len(old) > 0:
		l.Why = fmt.Sprintf("it was made %s, and has not signed all that it signs yet", remediate.Timestamp(ca.NotBefore))
	case len(unread) > 0:
		l.Why = fmt.Sprintf("it was made %s, and whether it has signed all that it signs is unknown: %s was not read", remediate.Timestamp(ca.NotBefore), few(unread))
	case c.now().Sub(ca.NotBefore) < justMade:
		l.Why = fmt.Sprintf("it was made %s, less than %d hours ago, and has signed all that it signs", remediate.Timestamp(ca.NotBefore), int(justMade.Hours()))
	default:
		l.Signer, l.Leaves = true, there
	}
	return l
}

// outsideLast puts what only people from outside verify behind what the cluster does:
// whether they trust the signer can't be seen, and no other leaf is to wait for it.
func outsideLast(leaves []Rotatable) []Rotatable {
	out := slices.Clone(leaves)
	slices.SortStableFunc(out, func(a, b Rotatable) int {
		switch outsideA, outsideB := catalog.IsExternalServingCert(a.At), catalog.IsExternalServingCert(b.At); {
		case outsideA == outsideB:
			return 0
		case outsideB:
			return -1
		}
		return 1
	})
	return out
}

// Triggered reports whether its owner is to rotate it already, as its annotation is gone,
// and has not done so yet.
func (r Rotatable) Triggered() bool {
	return r.Trigger.Annotation != "" && r.Entry != nil && r.Entry.Object != nil && !timeIn(r.Entry.Object.Annotations, r.Trigger.Annotation)
}

func among(all []Rotatable, at catalog.Ref) []Rotatable {
	i := slices.IndexFunc(all, func(r Rotatable) bool { return r.At == at })
	if i < 0 {
		return nil
	}
	return all[i : i+1]
}

func timeIn(annotations map[string]string, key string) bool {
	_, err := time.Parse(time.RFC3339, annotations[key])
	return err == nil
}

// rotateLeaves has what a signer signs rotated, one after the other, each when all who verify
// it are seen to trust the signer. changed: the signer was rotated before.
func (r *Runner) rotateLeaves(ctx context.Context, t *tracker, changed bool) error {
	_, name, _ := strings.Cut(t.name, "/")
	t.next = r.Resume + " " + name
	return r.eachLeaf(ctx, t, changed, func(leaf Planned) (bool, error) { return r.rotateLeaf(ctx, leaf) })
}

// eachLeaf has them rotated, by one, until there is none left or one fails. changed:
// something was, before; one tells whether it changed something.
func (r *Runner) eachLeaf(ctx context.Context, t *tracker, changed bool, one func(Planned) (changed bool, err error)) error {
	done := map[catalog.Ref]bool{}
	tries := 0
	for {
		leaf, err := r.nextLeaf(ctx, t)
		if err != nil {
			return afterChanges(err, changed)
		}
		if leaf == nil {
			break
		}
		if done[leaf.Of.At] {
			return &Error{Outcome: Stopped, Err: fmt.Errorf("%s was rotated, and not by the newest signer", leaf.Of.At), Next: r.status(leaf.Of.Name)}
		}
		did, err := one(*leaf)
		before := changed
		changed, t.changed = changed || did, t.changed || did
		if tries++; err != nil && (tries == maxUnread || !retryable(ctx, err)) {
			return afterChanges(err, before)
		} else if err != nil {
			continue
		}
		done[leaf.Of.At], tries = true, 0
		t.rotated = append(t.rotated, leaf.Of.Name)
	}
	return r.conclude(ctx, t)
}

// retryable reports whether a step failed only because something could not be read, before it
// changed anything: what was done before it may have the API server rolled out.
func retryable(ctx context.Context, err error) bool {
	e := asError(err)
	return e != nil && e.Outcome == Unread && ctx.Err() == nil
}

// nextLeaf waits until the next one may be rotated; nil: there is none.
func (r *Runner) nextLeaf(ctx context.Context, t *tracker) (*Planned, error) {
	var next *Planned
	var why error
	unread, told := 0, ""
	p, ok, err := t.until(ctx, r.left(), func(now Planned, stages []Stage) bool {
		leaf, none := now.pendingLeaf(stages)
		next, why = nil, nil
		switch {
		case none == catalog.Yes:
			return true
		case leaf == nil && none == catalog.Unknown:
			why, unread = errors.New("the signer was not read, or what it signs"), unread+1
			return unread >= maxUnread
		case leaf == nil:
			unread = 0
			return false
		}
		if why = leaf.judgeLeaf(r.Risks, nil); why == nil && (leaf.Of.Triggered() || inBundles(stages)) {
			next = leaf
			return true
		}
		blocked := stopping(leaf.Checks)
		if unread++; why == nil || slices.ContainsFunc(blocked, func(v preflight.Verdict) bool { return v.Status == assess.Fail }) {
			unread = 0
		}
		if text := (&preflight.Blocked{Checks: blocked}).Error(); text != told && text != "" {
			told = text
			r.Observer.Waiting(leaf.Of.Name, blocked)
		}
		return unread >= maxUnread
	})
	switch {
	case err != nil:
		return nil, err
	case next != nil && r.over():
		why = errors.New(r.waitIsOver())
	case next != nil:
		return next, nil
	case ok && unread < maxUnread:
		return nil, nil
	}
	outcome := Pending
	if unread >= maxUnread {
		outcome = Unknown
	}
	if e := asError(t.conclude(p)); e != nil && e.Outcome == Unread {
		return nil, e
	}
	var waiting []string
	for _, leaf := range p.Preflight(p.Of).left(p.All).Leaves {
		waiting = append(waiting, leaf.Name)
	}
	return nil, notRotatedYet(why, outcome, t.rotated, waiting)
}

// pendingLeaf is the first of those that are to be rotated; nil: there is none, for good
// (Yes), not yet (No), or as far as it was read (Unknown).
func (p Planned) pendingLeaf(stages []Stage) (leaf *Planned, none catalog.Tristate) {
	left := p.Preflight(p.Of).left(p.All)
	if !left.Signer && len(left.Leaves) > 0 {
		return &Planned{Reading: p.Reading, Of: left.Leaves[0]}, catalog.No
	}
	none = catalog.Yes
	for _, s := range stages {
		switch {
		case s.ID != StageSigner && s.ID != StageLeaf:
		case s.Status == assess.Warn:
			return nil, catalog.No
		case s.Status == assess.Unknown:
			none = catalog.Unknown
		}
	}
	return nil, none
}

// notRotatedYet says for what it was waited, when the time is over, what was rotated before
// and what is waiting.
func notRotatedYet(why error, outcome Outcome, done, waiting []string) error {
	inner, next := errors.New("the signer is not in all bundles yet"), ""
	if e := asError(why); e != nil {
		inner, next = e.Err, e.Next
	}
	what := cmp.Or(strings.Join(waiting, ", "), "what the signer signs")
	if len(done) > 0 {
		what = strings.Join(done, ", ") + " is done; " + what
	}
	return &Error{Outcome: outcome, Err: fmt.Errorf("%s is not rotated yet: %w", what, inner), Next: next}
}

// stopping are the checks that block.
func stopping(checks []preflight.Verdict) []preflight.Verdict {
	return slices.DeleteFunc(slices.Clone(checks), func(v preflight.Verdict) bool { return !v.Blocks() })
}

// rotateLeaf has one rotated, and waits until it is signed and presented. changed: its owner
// was triggered.
func (r *Runner) rotateLeaf(ctx context.Context, leaf Planned) (changed bool, err error) {
	t := r.track(leaf.Of, leaf.Of.Cert())
	t.signer, t.next = leaf.since, r.Resume+" "+leaf.Of.Rotation.Signer.Name
	if !leaf.Of.Triggered() {
		if changed, err = r.triggerLeaf(ctx, t, leaf); err != nil {
			return changed, err
		}
	}
	return changed, r.awaitLeaf(ctx, t)
}

// awaitLeaf waits until what was triggered is signed by the newest signer, and no server
// presents what was there before.
func (r *Runner) awaitLeaf(ctx context.Context, t *tracker) error {
	var unread *Stage // without which it is unknown who has signed it
	blind := 0
	p, ok, err := t.until(ctx, r.left(), func(_ Planned, stages []Stage) bool {
		unread = nil
		for i, s := range stages {
			itself := s.ID == StageLeaf || s.ID == StageSigner
			switch {
			case s.Status == assess.Warn && (itself || s.ID == StageServed):
				blind = 0
				return false
			case s.Status == assess.Unknown && itself && unread == nil:
				unread = &stages[i]
			}
		}
		if unread == nil {
			return true
		}
		blind++
		return blind >= maxUnread
	})
	switch {
	case err != nil:
		return err
	case unread != nil:
		return &Error{Outcome: Unknown, Err: fmt.Errorf("%s is to be rotated, and whether the newest signer has signed it is unknown: %s: %s", p.Of.At, unread.ID, unread.Reason), Next: unread.Remediation.Text + "; then: " + t.next}
	case ok:
		return nil
	}
	err = t.conclude(p)
	e := asError(err)
	if e == nil || e.Err != nil {
		return err
	}
	return &Error{Outcome: e.Outcome, Err: fmt.Errorf("%s is to be rotated, and not all servers present one that the newest signer has signed, or it is not signed yet", p.Of.At), Next: t.next}
}

// triggerLeaf has its owner rotate it, when all that was asked still passes. changed is false
// where there was nothing to do.
func (r *Runner) triggerLeaf(ctx context.Context, t *tracker, leaf Planned) (changed bool, err error) {
	changed, err = r.write(ctx, func(ctx context.Context) (Planned, error) {
		now, _, err := t.look(ctx)
		if err != nil {
			return now, unchanged(err)
		}
		if err := recheckLeaf(now, leaf); err != nil {
			return now, err
		}
		// Who trusted the signer a minute ago may not.
		if err := now.judgeLeaf(r.Risks, nil); err != nil {
			return now, err
		}
		if err := r.try(ctx, &now); err != nil {
			return now, err
		}
		var replaced *pki.Cert
		if !sameCert(now.Of.Cert(), leaf.Of.Cert()) {
			replaced = now.Of.Cert()
			t.before = replaced
		}
		r.Observer.Triggering(now, replaced)
		return now, nil
	})
	if errors.Is(err, errRotated) {
		return false, nil
	}
	return changed, err
}

// recheckLeaf asks whether what was to be rotated a moment ago still is: its owner may have
// been quicker, or another user, and the signer of then may be the previous one.
// errRotated: nothing is left to do but to wait.
func recheckLeaf(now, leaf Planned) error {
	signed, why := now.Chain(now.Of).Signed()
	switch {
	case now.Of.Triggered(), signed == catalog.Yes:
		return errRotated
	case signed == catalog.Unknown:
		return &Error{Outcome: Unread, Err: errors.New(why), Next: inspect.Hints{}.Unread(inspect.MayList("secrets", "")), Unchanged: true}
	case !sameCert(now.signerCert(), leaf.signerCert()):
		return &Error{Outcome: Refused, Err: fmt.Errorf("what signs %s: %w", leaf.Of.At, remediate.ErrChanged), Next: "look again, and run it again", Unchanged: true}
	}
	return nil
}

// errRotated ends a step in which nothing is left to do.
var errRotated = errors.New("it is signed by the newest signer already, or its owner is told to")
