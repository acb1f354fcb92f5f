package remediate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// Runner runs a plan.
type Runner struct {
	Env     *Env
	Journal *Journal
	// Observe is told what is about to be done, and how it went.
	Observe func(a Action, e Event, c *Change, err error)
}

// Stopped says where a run ended before its end. What was done before stays done.
type Stopped struct {
	Action Action
	Undone bool // the action was put back
	Inner  error
	Left   []string // nodes that were not begun
	// UndoFailed is why it could not be put back.
	UndoFailed error
}

func (e *Stopped) Error() string {
	text := fmt.Sprintf("%s: %v", e.Action.ID(), e.Inner)
	switch {
	case e.UndoFailed != nil:
		text += fmt.Sprintf("; and it could not be put back: %v", e.UndoFailed)
	case e.Undone:
		text += "; it was put back"
	}
	return text
}

func (e *Stopped) Unwrap() error { return e.Inner }

// stepTime bounds what an action does to a node.
const stepTime = 2 * time.Minute

// Run does what the plan says, node by node and step by step, and stops at the
// first failure with a *Stopped. Before each step the node is read again: if the
// change is no longer the one that was shown, the error is ErrChanged and the step
// is not done. When ctx ends, the step that was begun is done to its end.
func (r Runner) Run(ctx context.Context, p *Plan) error {
	var unknown error
	for i, n := range p.Nodes {
		err := r.node(ctx, p, n)
		last := i == len(p.Nodes)-1
		var u *Unknown
		if errors.As(err, &u) && last {
			unknown = err // done as far as is known
			continue
		}
		var stopped *Stopped
		if errors.As(err, &stopped) {
			for _, left := range p.Nodes[i+1:] {
				stopped.Left = append(stopped.Left, cmp.Or(left.Name, "the cluster's own steps"))
			}
		}
		if err != nil {
			return err
		}
	}
	if unknown != nil {
		return unknown
	}
	return r.Journal.Add(Record{Event: Finished})
}

// node does the steps of a node.
func (r Runner) node(ctx context.Context, p *Plan, n NodePlan) error {
	release := func() {}
	defer func() { release() }()
	held := false
	for _, s := range n.Steps {
		if s.Change == nil {
			continue
		}
		if ctx.Err() != nil {
			return &Stopped{Action: s.Action, Inner: fmt.Errorf("not begun: %w", context.Cause(ctx))}
		}
		if !held {
			letGo, err := r.Env.hold(ctx, n.Name)
			if err != nil {
				return &Stopped{Action: s.Action, Inner: fmt.Errorf("not begun: %w", err)}
			}
			release, held = letGo, true
		}
		if err := r.step(ctx, p, s); err != nil {
			return err
		}
	}
	return nil
}

func (r Runner) step(ctx context.Context, p *Plan, s Step) error {
	a := s.Action
	stop := func(err error) error {
		event := Failed
		if notSeen(err) {
			event = Unseen
		}
		r.tell(a, event, s.Change, err)
		return &Stopped{Action: a, Inner: errors.Join(err, r.Journal.Add(r.record(s, event, err)))}
	}
	interrupted := func() error {
		return &Stopped{Action: a, Inner: fmt.Errorf("not begun: %w", context.Cause(ctx))}
	}
	facts := p.Basis
	if a.Node() != "" {
		fresh, err := r.Env.Read(ctx, a.Node())
		if ctx.Err() != nil { // what was read may be half of what there is
			return interrupted()
		}
		if err != nil {
			return stop(err)
		}
		if err := identified(fresh, a.Node()); err != nil {
			return stop(err)
		}
		facts = renewed(p.Basis, fresh, a.Node())
	}
	c, err := a.Diff(facts, r.Env.Now())
	var refusal *Refusal
	if errors.As(err, &refusal) && (refusal.Name == fileRead || refusal.Name == fileShape || refusal.Name == changedSince) {
		return stop(fmt.Errorf("%w: %w", ErrChanged, err))
	}
	if err != nil {
		return stop(err)
	}
	if c == nil {
		r.tell(a, Done, nil, nil)
		return nil
	}
	if !s.Change.same(c) {
		return stop(ErrChanged)
	}
	if err := r.Journal.Add(r.record(s, Begun, nil)); err != nil {
		return &Stopped{Action: a, Inner: fmt.Errorf("not begun: %w", err)}
	}
	r.tell(a, Begun, c, nil)
	// Begun, it goes on to its end: half of a step is no state to leave a node in.
	whole, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stepTime, fmt.Errorf("not done within %s", stepTime))
	defer cancel()
	if err := a.Apply(whole, r.Env, c); err != nil {
		return stop(err)
	}
	if c.File == nil {
		whole = ctx // nothing but waiting is left, which may be given up
	}
	err = a.Verify(whole, r.Env, c)
	var bad *BadEffect
	if errors.As(err, &bad) && c.File != nil {
		return r.undo(ctx, s, c, err)
	}
	if err != nil {
		return stop(err)
	}
	r.tell(a, Done, c, nil)
	return r.Journal.Add(r.record(s, Done, nil))
}

// notSeen reports whether everything was done, and only its effect does not show.
func notSeen(err error) bool {
	var late *Late
	var unknown *Unknown
	return errors.As(err, &late) || errors.As(err, &unknown)
}

// undo puts back a file that fails its own check.
func (r Runner) undo(ctx context.Context, s Step, c *Change, bad error) error {
	whole, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stepTime, fmt.Errorf("not done within %s", stepTime))
	defer cancel()
	err := s.Action.Undo(whole, r.Env, c)
	event := Undone
	if err != nil {
		event = Failed
	}
	r.tell(s.Action, event, c, errors.Join(bad, err))
	return &Stopped{Action: s.Action, Undone: err == nil, UndoFailed: err, Inner: errors.Join(bad, r.Journal.Add(r.record(s, event, errors.Join(bad, err))))}
}

func (r Runner) tell(a Action, e Event, c *Change, err error) {
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
		rec.Error = err.Error()
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
			now.Heartbeat, now.Ready = n.Heartbeat, n.Ready
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
