package csr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// ApprovePending are the requests of nodes that are pending at the end of a run: they are
// printed; and approved, where they match, if that is wanted.
type ApprovePending struct {
	nodes   []string
	approve bool
	// afterRestart: the plan restarts kubelets, of whose requests nothing is known yet.
	afterRestart bool
	state        *State
}

// NewApprovePending returns the step of the cluster for these nodes. It belongs behind all
// of theirs.
func NewApprovePending(nodes []string, approve, after bool) ApprovePending {
	return ApprovePending{nodes: nodes, approve: approve, afterRestart: after, state: newApproving()}
}

// ID is "left-over-requests".
func (a ApprovePending) ID() string { return "left-over-requests" }

// Node is none: it is about the cluster.
func (a ApprovePending) Node() string { return "" }

// Diff names what is pending.
func (a ApprovePending) Diff(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	names := PendingRequests(snapshot, a.nodes...)
	if len(names) == 0 && !a.afterRestart {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	what := "list the CSRs of these nodes that are pending"
	if a.approve {
		what = "approve the CSRs of these nodes that are pending and match"
	}
	if len(names) > 0 {
		what += " (now: " + called(names) + ")"
	}
	return &remediate.Change{Summary: what, Versions: snapshot.Cluster.Versions, Own: Expect(snapshot, now, a.nodes...)}, nil
}

// Apply prints and approves.
func (a ApprovePending) Apply(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if env.Kube == nil {
		return &remediate.UnknownEffectError{Reason: "pending certificate requests were not read: no API server could be asked"}
	}
	err := a.each(ctx, sightTime, func(ctx context.Context, node string) error { return a.noteFirstSeen(ctx, env, c, node) })
	if !a.approve {
		return nil // Verify prints them, and what was not read
	}
	if hopeless(err) || ctx.Err() != nil {
		return err // another error comes again, where it is asked again
	}
	return a.each(ctx, answerTime, func(ctx context.Context, node string) error { return a.answer(ctx, env, c, node) })
}

var _ remediate.TimeLimited = ApprovePending{}

// Timeout is how long all of it may take.
func (a ApprovePending) Timeout() time.Duration {
	return time.Duration(len(a.nodes)) * (sightTime + answerTime)
}

// each does something for each node, whatever becomes of the others: a request in the name of
// one keeps no other one from its certificate.
func (a ApprovePending) each(ctx context.Context, limit time.Duration, do func(context.Context, string) error) error {
	var failed []error
	var last error
	for _, node := range a.nodes {
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

// noteFirstSeen has the run see who asks to join in a node's name. It is done for all before the first
// one is answered: they settle at the same time.
func (a ApprovePending) noteFirstSeen(ctx context.Context, env *remediate.Env, c *remediate.Change, node string) error {
	_, _, err := pendingNow(ctx, env, Requested(env, c, node))
	return err
}

// answer approves what is pending of a node, and waits for who signs it.
func (a ApprovePending) answer(ctx context.Context, env *remediate.Env, c *remediate.Change, node string) (failed error) {
	_ = env.Until(ctx, askingClient, func(ctx context.Context) (bool, error) {
		requests, n, err := pendingNow(ctx, env, Requested(env, c, node))
		if err == nil {
			err = a.state.approve(ctx, env, c, n, requests)
		}
		failed = err
		var late *remediate.LateEffectError
		return !errors.As(err, &late) && !a.state.unsettled || hopeless(err) || isTooMany(err), err
	}) // the last failure says more
	return failed
}

// Verify says what is still pending.
func (a ApprovePending) Verify(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if err := a.state.issued(ctx, env); err != nil {
		return err
	}
	for _, node := range a.nodes {
		if a.state.bootstrapped[node] == nil {
			continue
		}
		if _, err := a.state.arrived(ctx, env, node); err != nil {
			return err
		}
	}
	var left strings.Builder
	for _, node := range a.nodes {
		if text := PendingText(ctx, env, Requested(env, c, node)); text != "" {
			fmt.Fprintf(&left, "node %s%s\n", node, text)
		}
	}
	if left.Len() > 0 {
		return &remediate.LateEffectError{Inner: errors.New(strings.TrimSpace(left.String()))}
	}
	return nil
}
