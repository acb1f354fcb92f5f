package remediate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// Runner runs a plan.
type Runner struct {
	Env     *Env
	Journal *Journal
	Gate    Gate // nil: there is no API server to ask
	// LeaveChanged leaves workers out that change after they were read, in place of ending with ErrChanged: a plan that
	// is made again would find them changed again.
	LeaveChanged bool
	// Observe is told what is about to be done, and how it went.
	// One call at a time, though several nodes may be worked on.
	Observe func(a Action, e Event, c *Change, err error)
	telling *sync.Mutex
	out     *leftOut
}

// Gate is asked again, while a plan runs, whether it may go on: what the plan was checked
// against may have changed since. An error stops the run before anything is begun. Nodes that it
// leaves out, each with why, are begun no more in this run: the others go on.
type Gate interface {
	// Wave is asked before a wave. nodes are those of it, in order.
	Wave(ctx context.Context, env *Env, nodes []NodePlan) (leftOut []*Refusal, err error)
	// Node is asked before each node of a wave but the first.
	Node(ctx context.Context, env *Env, p *Plan, n NodePlan) (leftOut []*Refusal, err error)
}

// ask asks the gate, and takes down which of these nodes it leaves out. nil: go on with the others.
func (r Runner) ask(nodes []NodePlan, gate func() ([]*Refusal, error)) error {
	if r.Gate == nil || len(nodes) == 0 {
		return nil
	}
	left, err := gate()
	if err != nil {
		return &Stopped{Action: nodes[0].Due()[0].Action, Inner: fmt.Errorf("not begun: %w", err), idle: true}
	}
	return r.leaveOut(nodes, left)
}

// Stopped says where a run ended before its end. What was done before stays done.
type Stopped struct {
	Action Action
	Undone bool // the action was put back
	Inner  error
	// PartlyDone are nodes with steps that were done and others that were not begun, NotStarted
	// those of which none was. A NodePlan of the cluster itself is in them by its ID. What
	// a later wave is to do to a node of an earlier one is in NotStarted with that wave's name.
	PartlyDone, NotStarted []string
	// OtherFailures failed at the same time.
	OtherFailures []*Stopped
	// UndoFailed is why it could not be put back.
	UndoFailed error
	// Interrupted: by who runs it, before the action, or while its effect was waited for.
	Interrupted bool
	idle        bool // the action was not begun
	untouched   bool // nothing was done to its node, which could not be reached or read
}

func (e *Stopped) Error() string {
	text := fmt.Sprintf("%s: %v", e.Action.ID(), e.Inner)
	switch {
	case e.UndoFailed != nil:
		text += fmt.Sprintf("; and it could not be put back: %v", e.UndoFailed)
	case e.Undone:
		text += "; it was put back"
	}
	for _, o := range e.OtherFailures {
		text += "; and " + o.Error()
	}
	return text
}

func (e *Stopped) Unwrap() error { return e.Inner }

// stepTime bounds what an action does to a node, where TimeLimited.Timeout does not say more.
const stepTime = 2 * time.Minute

// Run does what the plan says, wave by wave, and on each node step by step. At the
// first failure it begins nothing more, lets what was begun come to its end, and
// returns a *Stopped. Before each step the node is read again: if what would be done to a
// file is no longer what was planned, the error is ErrChanged and the step is not done. For
// an object, Apply sees to that. When ctx ends, steps that were begun are done to their end.
func (r Runner) Run(ctx context.Context, p *Plan) error {
	r.telling, r.out = &sync.Mutex{}, leftOutOf(p)
	var unknown error // done as far as is known
	waves := slices.Clone(p.Waves)
	for i := 0; i < len(waves); i++ {
		c := &waveRun{name: waves[i].Name, queue: r.out.without(waves[i].Due()), later: func() []string { return r.later(waves, i) }}
		if err := r.wave(ctx, p, waves[i].Parallel, c); err != nil {
			return withUnknown(err, unknown)
		}
		unknown = bothUnknown(unknown, c.unknown)
		waves = r.out.anotherFirst(waves, i)
	}
	if unknown != nil {
		return unknown
	}
	return r.Journal.Add(Record{Event: Finished})
}

// later are the names of what comes in the waves after the one at this index.
func (r Runner) later(waves []Wave, i int) (out []string) {
	named := Titles(waves[i].Nodes)
	for _, w := range waves[:i] {
		named = append(named, Titles(w.Nodes)...)
	}
	for _, w := range waves[i+1:] {
		for _, title := range Titles(r.out.without(w.Due())) {
			if slices.Contains(named, title) {
				title += " (wave " + w.Name + ")"
			}
			out = append(out, title)
		}
		named = append(named, Titles(w.Nodes)...)
	}
	return out
}

// wave does a wave, on several nodes at once.
func (r Runner) wave(ctx context.Context, p *Plan, parallel int, c *waveRun) error {
	if err := r.ask(c.queue, func() ([]*Refusal, error) { return r.Gate.Wave(ctx, r.Env, c.queue) }); err != nil {
		var stopped *Stopped
		if errors.As(err, &stopped) {
			stopped.NotStarted = append(Titles(c.queue), c.later()...)
		}
		return err
	}
	c.queue = r.out.without(c.queue)
	var workers sync.WaitGroup
	for range min(max(parallel, 1), len(c.queue)) {
		workers.Go(func() {
			for n, ok := c.next(); ok; n, ok = c.next() {
				var refused error
				if !c.first() { // for the first node the wave was just asked
					refused = r.ask([]NodePlan{n}, func() ([]*Refusal, error) { return r.Gate.Node(ctx, r.Env, p, n) })
				}
				switch {
				case refused != nil:
					c.ended(n, 0, refused)
				case !r.out.has(n.Name):
					done, err := r.node(ctx, p, n, c.stop)
					if err != nil || done == len(n.Due()) {
						err = r.pastWorker(ctx, p, n, c, err)
					}
					if err != nil || !r.out.has(n.Name) {
						c.ended(n, done, err)
					}
				}
			}
		})
	}
	workers.Wait()
	if len(c.failed) == 0 {
		return c.journalErr
	}
	first := c.failed[0]
	first.OtherFailures, first.PartlyDone, first.NotStarted = c.failed[1:], c.partlyDone, append(Titles(c.queue), c.later()...)
	var unknown *Stopped
	if errors.As(c.unknown, &unknown) { // not the last steps after all
		first.OtherFailures = append(first.OtherFailures, unknown)
	}
	if c.journalErr != nil {
		first.Inner = errors.Join(first.Inner, c.journalErr)
	}
	return first
}

// node does the steps of a node, and tells how many were done. A worker that another run holds is left out.
func (r Runner) node(ctx context.Context, p *Plan, n NodePlan, stop func() bool) (done int, err error) {
	release, holds := func() {}, false
	defer func() { release() }()
	for i, s := range n.Due() {
		if stop() {
			return i, nil
		}
		if ctx.Err() != nil {
			return i, interrupted(ctx, s.Action)
		}
		if !holds {
			letGo, err := r.Env.Hold(ctx, n.Name)
			if refusal := lockedApart(p, n.Name, err); refusal != nil {
				return i, r.leaveOut([]NodePlan{n}, []*Refusal{refusal})
			}
			if err != nil {
				return i, &Stopped{Action: s.Action, Inner: fmt.Errorf("not begun: %w", &OwnFailureError{err}), untouched: i == 0}
			}
			release, holds = letGo, true
		}
		if err := r.step(ctx, p, s, i); err != nil {
			if refusal := r.stepApart(p, s, i, err); refusal != nil {
				return i, r.leaveOut([]NodePlan{n}, []*Refusal{refusal})
			}
			return i, err
		}
	}
	return len(n.Due()), nil
}

func interrupted(ctx context.Context, a Action) error {
	return &Stopped{Action: a, Inner: fmt.Errorf("not begun: %w", context.Cause(ctx)), Interrupted: true, idle: true}
}

// step does a step. done are those of its node that were done before.
func (r Runner) step(ctx context.Context, p *Plan, s Step, done int) error {
	a := s.Action
	stop := func(err error) *Stopped {
		event := Failed
		if effectNotSeen(err) {
			event = Unseen
		}
		r.tell(a, event, s.Change, err)
		return &Stopped{Action: a, Inner: errors.Join(err, r.Journal.Add(r.record(s, event, err))), Interrupted: ctx.Err() != nil}
	}
	notBegun := func(err error) error {
		if r.stepApart(p, s, done, err) != nil {
			return err // what is left out did not fail
		}
		return stop(err)
	}
	snapshot := p.Basis
	if a.Node() != "" {
		fresh, err := r.Env.Read(ctx, a.Node())
		if ctx.Err() != nil { // what was read may be half of what there is
			return interrupted(ctx, a)
		}
		if err != nil {
			failed := stop(&OwnFailureError{err})
			failed.untouched = done == 0
			return failed
		}
		if err := Identified(fresh, a.Node()); err != nil {
			return notBegun(&OwnFailureError{err})
		}
		snapshot = renewed(p.Basis, fresh, a.Node())
	}
	c, err := a.Diff(snapshot, r.Env.Now())
	var refusal *Refusal
	if errors.As(err, &refusal) && (refusal.Name == FileRead || refusal.Name == FileShape || refusal.Name == ChangedSince) {
		return notBegun(fmt.Errorf("%w: %w", ErrChanged, err))
	}
	if err != nil {
		return notBegun(err)
	}
	if c == nil {
		r.tell(a, Done, nil, nil)
		return nil
	}
	if !s.Change.same(c) {
		return notBegun(ErrChanged)
	}
	if err := r.recheck(ctx, a, c); ctx.Err() != nil {
		return interrupted(ctx, a)
	} else if err != nil {
		return notBegun(err)
	}
	if err := r.Journal.Add(r.record(s, Begun, nil)); err != nil {
		return &Stopped{Action: a, Inner: fmt.Errorf("not begun: %w", err)}
	}
	r.tell(a, Begun, c, nil)
	// Begun, it goes on to its end: half of a step is no state to leave a node in.
	limit := stepTime
	if long, ok := a.(TimeLimited); ok {
		limit = max(limit, long.Timeout())
	}
	whole, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, fmt.Errorf("not done within %s", limit))
	defer cancel()
	if err := a.Apply(whole, r.Env, c); err != nil {
		return stop(notApplied(err))
	}
	if c.File == nil {
		whole = ctx // nothing but waiting is left, which may stop
	}
	err = a.Verify(whole, r.Env, c)
	var bad *BadEffectError
	if reverter, ok := a.(Reverter); ok && errors.As(err, &bad) {
		return r.revert(ctx, reverter, s, c, err)
	}
	if err != nil {
		return stop(err)
	}
	r.tell(a, Done, c, nil)
	return r.Journal.Add(r.record(s, Done, nil))
}

// effectNotSeen reports whether everything was done, and only its effect does not show.
func effectNotSeen(err error) bool {
	var late *LateEffectError
	var unknown *UnknownEffectError
	return errors.As(err, &late) || errors.As(err, &unknown)
}

// revert puts back a file that fails its own check.
func (r Runner) revert(ctx context.Context, a Reverter, s Step, c *Change, bad error) error {
	whole, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stepTime, fmt.Errorf("not done within %s", stepTime))
	defer cancel()
	err := a.Revert(whole, r.Env, c)
	event := Undone
	if err != nil {
		event = Failed
	}
	r.tell(a, event, c, errors.Join(bad, err))
	return &Stopped{Action: a, Undone: err == nil, UndoFailed: err, Inner: errors.Join(bad, r.Journal.Add(r.record(s, event, errors.Join(bad, err))))}
}

func (r Runner) tell(a Action, e Event, c *Change, err error) {
	r.telling.Lock()
	defer r.telling.Unlock()
	if r.Observe != nil {
		r.Observe(a, e, c, err)
	}
}

func (r Runner) record(s Step, e Event, err error) Record {
	rec := Record{Event: e, Action: s.Action.ID(), Node: s.Action.Node()}
	if f := s.Change.File; f != nil {
		rec.Path, rec.Before = f.Path, &f.SHA256
	}
	if err != nil {
		var before *NotAppliedError
		rec.Error, rec.Unchanged = err.Error(), errors.As(err, &before)
	}
	return rec
}

// renewed returns the plan's facts with those of a node replaced by fresh ones.
// What only the API tells stays.
func renewed(basis, fresh inspect.Snapshot, node string) inspect.Snapshot {
	var rest inspect.Snapshot
	rest.Cluster, rest.Taken = basis.Cluster, basis.Taken
	for _, b := range basis.Bundles {
		if b.At.Node != node {
			rest.Bundles = append(rest.Bundles, b)
		}
	}
	for _, n := range basis.Nodes {
		if n.Name != node {
			rest.Nodes = append(rest.Nodes, n)
			continue
		}
		if now, ok := fresh.Node(node); ok && now.Heartbeat.IsZero() {
			now.Heartbeat, now.Lease, now.Ready, now.Role = n.Heartbeat, n.Lease, n.Ready, n.Role
		}
	}
	for _, v := range basis.Served {
		if v.Node != node {
			rest.Served = append(rest.Served, v)
		}
	}
	rest.Requests = basis.Requests
	s := inspect.Merge(rest, fresh)
	s.Cluster, s.Taken = basis.Cluster, basis.Taken
	s.Sort()
	return s
}
