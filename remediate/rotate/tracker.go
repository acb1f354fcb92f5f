package rotate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// pollEvery is how long it waits between two readings.
const pollEvery = 10 * time.Second

// tracker follows one rotation by reading again and again.
type tracker struct {
	cluster  Cluster
	observer Observer
	name     string // as Reading.Find takes it
	called   string // as it is typed
	several  bool   // others are tracked beside it
	next     string // the command that tells more, or goes on, once it is not tracked any more
	// before is the certificate that is to be replaced; nil: whichever is there counts.
	before *pki.Cert
	// signer is the signer's certificate that is to be replaced; nil: unknown.
	signer *pki.Cert
	// begun: something was changed, which goes on by itself. That something can't be read for
	// a while is no reason to give up: the API server may be rolled out.
	begun   bool
	rotated []string // leaves that the same run had rotated
	changed bool     // the same run changed something else before
	quiet   bool     // it waits for nothing, so it tells nothing meanwhile
	began   time.Time
	told    map[string]assess.Status
	took    map[string]time.Duration // from the begin to when a stage was first seen reached, by its name
}

// track begins to follow what was just triggered, or what is there.
func (r *Runner) track(of Rotatable, before *pki.Cert) *tracker {
	t := &tracker{
		cluster: r.Cluster, observer: r.Observer,
		name: of.At.Namespace + "/" + of.At.Name, called: of.Name, before: before, begun: before != nil, quiet: r.Wait == 0,
		next:  r.status(of.Name),
		began: collect.Now(), told: map[string]assess.Status{}, took: map[string]time.Duration{},
	}
	if of.Signer() {
		t.signer = before
	}
	return t
}

// clientAuthenticates reports whether what is named, as Reading.Find takes it, is a client
// certificate, or signs one, with which requests can be made: those are made while it is
// tracked, and at no other time.
func clientAuthenticates(name string) bool {
	name = strings.TrimPrefix(name, "secret/")
	is := func(at catalog.Ref) bool { return name == at.Name || name == at.Namespace+"/"+at.Name }
	return slices.ContainsFunc(catalog.Callers(), func(row catalog.Caller) bool {
		return is(row.Presented) || slices.ContainsFunc(catalog.Rotations(), func(r catalog.Rotation) bool {
			return is(r.Signer) && slices.Contains(r.Targets, row.Presented)
		})
	})
}

// nameIn is the Secret of a certificate that is called by its subject; else the name as it is.
func nameIn(s *inspect.Snapshot, name string) string {
	if !maySubject(name) {
		return name
	}
	of, err := FindRotatable(rotatables(inspect.NewFacts(*s, s.Taken, 0)), name)
	if err != nil {
		return name
	}
	return of.At.Namespace + "/" + of.At.Name
}

// signsClients reports whether the newest signer has signed a client certificate with which
// requests can be made: before that, they would tell of the previous signer.
func signsClients(s *inspect.Snapshot) bool {
	facts := inspect.NewFacts(*s, s.Taken, 0)
	all := rotatables(facts)
	return slices.ContainsFunc(catalog.Callers(), func(row catalog.Caller) bool {
		of, err := FindRotatable(all, row.Presented.Namespace+"/"+row.Presented.Name)
		if err != nil {
			return false
		}
		signed, _ := Chain{Facts: facts, Of: of}.Signed()
		return signed == catalog.Yes
	})
}

// until reads again and again until it is done, and for no longer than limit from now on.
func (t *tracker) until(ctx context.Context, limit time.Duration, done func(Planned, []Stage) bool) (Planned, bool, error) {
	began := collect.Now()
	for {
		asked := collect.Now()
		p, stages, err := t.look(ctx)
		now := collect.Now()
		over := now.Sub(began) >= limit
		switch {
		case ctx.Err() != nil:
		case err != nil && (over || !t.begun):
			return p, false, t.unread(err)
		case err == nil:
			t.begun = t.begun || limit > 0 // it could be read once
			t.tell(stages, now.Sub(t.began))
			if !t.quiet {
				t.observer.Judged(t.inTurn(), p, stages, t.began)
			}
			if ok := done(p, stages); ok || over {
				return p, ok, nil
			}
		}
		pause := max(pollEvery, now.Sub(asked)) // asking is work for a cluster that may have enough to do
		select {
		case <-ctx.Done():
			return p, false, &Error{Outcome: Unknown, Err: errors.New("interrupted while following it; what was begun goes on by itself"), Next: t.next}
		case <-time.After(min(pause, max(0, limit-now.Sub(began)))):
		}
	}
}

// unread says that nothing is known of how far it is.
func (t *tracker) unread(err error) error {
	if t.before == nil && !t.changed {
		return asError(err)
	}
	return &Error{Outcome: Unknown, Err: fmt.Errorf("it is done, and how far it is could not be read: %w", err), Next: t.next}
}

// look reads, and judges what was named.
func (t *tracker) look(ctx context.Context) (Planned, []Stage, error) {
	r, err := t.cluster.Read(ctx, func(s *inspect.Snapshot) bool { return clientAuthenticates(nameIn(s, t.name)) && signsClients(s) })
	if err != nil {
		return Planned{}, nil, err
	}
	r.since = t.signer
	p := Planned{Reading: r}
	if p.Of, err = r.Find(t.name); err != nil {
		return p, nil, err
	}
	t.name = p.Of.At.Namespace + "/" + p.Of.At.Name // the next certificate may have another subject
	stages := p.stages()
	itself := StageLeaf
	if p.Of.Signer() {
		itself = StageSigner
	}
	for i, s := range stages {
		if s.ID == itself && sameCert(p.Of.Cert(), t.before) { // its owner was triggered, and did nothing yet
			stages[i].pending(p.Of.At.String() + " is still the previous certificate")
		}
	}
	return p, stages, nil
}

// stages are those of what was named.
func (p Planned) stages() []Stage { return p.Chain(p.Of).stages() }

// tell tells which stages are new, and keeps when they were reached.
func (t *tracker) tell(stages []Stage, after time.Duration) {
	for _, s := range stages {
		before, seen := t.told[s.ID]
		if seen && before == s.Status {
			continue
		}
		switch {
		case s.Status != assess.Pass:
			delete(t.took, s.ID)
		case seen || t.before != nil: // else it was so before it was tracked
			t.took[s.ID] = after
		}
		t.told[s.ID] = s.Status
		if t.quiet {
			continue
		}
		t.observer.Stage(t.inTurn(), s, after)
	}
}

// inTurn is what is tracked, where several are; else empty.
func (t *tracker) inTurn() string {
	if t.several {
		return t.called
	}
	return ""
}

// complete reports whether there is nothing more to wait for. Leaves may follow days later,
// and what servers present with them.
func complete(p Planned, stages []Stage) bool {
	return !slices.ContainsFunc(p.required(stages), func(s Stage) bool { return s.Status == assess.Warn })
}

// required are the stages without those that follow by themselves, days later.
func (p Planned) required(stages []Stage) []Stage {
	i := slices.IndexFunc(stages, func(s Stage) bool { return s.ID == StageLeaf })
	if i < 0 || !p.Of.Signer() || stages[i].Status != assess.Warn || stages[i].Settling {
		return stages
	}
	return stages[:i]
}

// inBundles reports whether a signer is rotated, and in all bundles.
func inBundles(stages []Stage) bool {
	for _, s := range stages {
		switch s.ID {
		case StageSigner, StageBundle, StageAggregates:
			if s.Status != assess.Pass {
				return false
			}
		}
	}
	return len(stages) > 1
}

// conclude tells how far it is at the end, and when each stage was reached. The error is the
// outcome of all stages that are required.
func (t *tracker) conclude(p Planned) error {
	stages := p.stages()
	if err := t.observer.Concluded(Progress{Planned: p, Stages: stages, Took: t.took}); err != nil {
		return err
	}
	if sameCert(p.Of.Cert(), t.before) {
		return &Error{Outcome: Pending, Err: fmt.Errorf("%s is still the previous certificate", p.Of.At)}
	}
	return outcomeOf(p.required(stages))
}

// outcomeOf is what stages come to; nil: all are reached.
func outcomeOf(stages []Stage) error {
	var out *Error
	for _, s := range stages {
		switch s.Status {
		case assess.Warn:
			return &Error{Outcome: Pending}
		case assess.Unknown:
			out = &Error{Outcome: Unknown}
		}
	}
	if out == nil {
		return nil
	}
	return out
}

func sameCert(a, b *pki.Cert) bool { return a != nil && b != nil && a.Fingerprint == b.Fingerprint }

// Status tells how far the newest certificate is that a name means, and waits for as long as
// Wait says until it is complete.
func (r *Runner) Status(ctx context.Context, name string) (Progress, error) {
	t := r.track(Rotatable{}, nil)
	t.name, t.next = name, r.status(name)
	p, _, err := t.until(ctx, r.Wait, complete)
	if err != nil {
		return Progress{}, err
	}
	return Progress{Planned: p, Stages: p.stages(), Took: t.took}, nil
}

// Progress is how far a rotation is.
type Progress struct {
	Planned Planned
	Stages  []Stage
	// Took is the time from the begin to when a stage was first seen reached, by its name. One
	// that was so before is not in it.
	Took map[string]time.Duration
}

// Outcome is nil where every stage is reached, and else an Error.
func (p Progress) Outcome() error { return outcomeOf(p.Stages) }
