package csr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// ApproveLeft are the requests of nodes that are pending at the end of a run: they are
// shown; and approved, where they match, if that is wanted.
type ApproveLeft struct {
	Nodes   []string
	Approve bool
	// After: the plan restarts kubelets, of whose requests nothing is known yet.
	After bool
	state *State
}

// NewApproveLeft returns the step of the cluster for these nodes. It belongs behind all
// of theirs.
func NewApproveLeft(nodes []string, approve, after bool) ApproveLeft {
	return ApproveLeft{Nodes: nodes, Approve: approve, After: after, state: newApproving()}
}

// ID is "left-over-requests".
func (a ApproveLeft) ID() string { return "left-over-requests" }

// Node is none: it is about the cluster.
func (a ApproveLeft) Node() string { return "" }

// Diff names what is pending.
func (a ApproveLeft) Diff(facts inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	names := PendingRequests(facts, a.Nodes...)
	if len(names) == 0 && !a.After {
		return nil, nil //nolint:nilnil // so already, as Action says
	}
	what := "show what certificate requests of these nodes are pending"
	if a.Approve {
		what = "approve what certificate requests of these nodes are pending and match them"
	}
	if len(names) > 0 {
		what += " (now: " + called(names) + ")"
	}
	ca, asked := PlainSigner(facts, now)
	return &remediate.Change{Signer: ca, SignerAsked: asked, Summary: what, Versions: facts.Cluster.Versions, Certified: Certified(facts, now, a.Nodes...)}, nil
}

// Apply prints and approves.
func (a ApproveLeft) Apply(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if env.Kube == nil {
		return &remediate.Unknown{Reason: "pending certificate requests were not read: no API server could be asked"}
	}
	if !a.Approve {
		return nil // Verify prints them
	}
	if err := a.each(ctx, sightTime, func(ctx context.Context, node string) error { return a.sight(ctx, env, c, node) }); hopeless(err) || ctx.Err() != nil {
		return err // another error comes again, where it is asked again
	}
	return a.each(ctx, answerTime, func(ctx context.Context, node string) error { return a.answer(ctx, env, c, node) })
}

var _ remediate.Slow = ApproveLeft{}

// Takes is how long all of it may take.
func (a ApproveLeft) Takes() time.Duration {
	return time.Duration(len(a.Nodes)) * (sightTime + answerTime)
}

// each does something for each node, whatever becomes of the others: a request in the name of
// one keeps no other one from its certificate.
func (a ApproveLeft) each(ctx context.Context, limit time.Duration, do func(context.Context, string) error) error {
	var failed []error
	var last error
	for _, node := range a.Nodes {
		own, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", limit))
		err := do(own, node)
		cancel()
		if err == nil {
			continue
		}
		failed = append(failed, fmt.Errorf("requests of node %s: %w", node, err))
		forAll := hopeless(err) && last != nil && last.Error() == err.Error() // forbidden for one node after the other
		if forAll || ctx.Err() != nil {
			break
		}
		last = err
	}
	return errors.Join(failed...)
}

// sight notes of a node that it asks to join. It is done for all before the first one is
// answered: they settle at the same time.
func (a ApproveLeft) sight(ctx context.Context, env *remediate.Env, c *remediate.Change, node string) error {
	requests, n, err := leftOf(ctx, env, Asker{Name: node, Versions: c.Versions, Certified: c.Certified[node], Hints: env.Hints})
	if err == nil && slices.ContainsFunc(requests, func(r *Request) bool { return r.joins(n) }) {
		a.state.settled(node, env.Now())
	}
	return err
}

// answer approves what is pending of a node, and waits for who signs it.
func (a ApproveLeft) answer(ctx context.Context, env *remediate.Env, c *remediate.Change, node string) (failed error) {
	_ = env.Until(ctx, askingClient, func(ctx context.Context) (bool, error) {
		requests, n, err := leftOf(ctx, env, Asker{Name: node, Versions: c.Versions, Certified: c.Certified[node], Hints: env.Hints})
		if err == nil {
			err = a.state.approve(ctx, env, c, n, requests)
		}
		failed = err
		var late *remediate.Late
		return !errors.As(err, &late) && !a.state.settles || hopeless(err), err
	}) // the last failure says more
	return failed
}

// leftOf reads the pending requests about a node. Where one asks by a bootstrapper's token,
// the node is read now: its kubelet may have got its certificate since the plan was made.
func leftOf(ctx context.Context, env *remediate.Env, n Asker) ([]*Request, Asker, error) {
	n.read = originsBy(env)
	requests, err := PendingOf(ctx, env.Kube, n)
	if err != nil || !slices.ContainsFunc(requests, func(r *Request) bool { return r.why == errUnlooked.Error() }) {
		return requests, n, err
	}
	n.kubelet, n.Certified = newJoiner(ctx, env, n)
	requests, err = PendingOf(ctx, env.Kube, n)
	return requests, n, err
}

// Verify says what is still pending.
func (a ApproveLeft) Verify(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if err := a.state.issued(ctx, env); err != nil {
		return err
	}
	for _, node := range a.Nodes {
		if a.state.joined[node] == nil {
			continue
		}
		if _, err := a.state.arrived(ctx, env, node); err != nil {
			return err
		}
	}
	var left strings.Builder
	for _, node := range a.Nodes {
		if text := Waiting(ctx, env, Asker{Name: node, Versions: c.Versions, Certified: c.Certified[node], Hints: env.Hints}); text != "" {
			fmt.Fprintf(&left, "node %s%s\n", node, text)
		}
	}
	if left.Len() > 0 {
		return &remediate.Late{Inner: errors.New(strings.TrimSpace(left.String()))}
	}
	return nil
}

// Undo does nothing: a certificate that was issued can't be called back.
func (a ApproveLeft) Undo(context.Context, *remediate.Env, *remediate.Change) error { return nil }
