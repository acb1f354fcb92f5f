package preflight

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// RecheckGate asks once more, while a plan is carried out, what may have changed since it was
// made: upgrades, pools, what reboots nodes, rollouts of static pods. It asks before each
// wave in which kubelets are restarted, before each master, and where it is long ago.
type RecheckGate struct {
	Snapshot     inspect.Snapshot // of the plan: they tell which checks its cluster has
	Planned      []string         // all nodes of the plan
	ControlPlane func(context.Context) *inspect.ControlPlaneStatus
	// StaticPods reads those of kube-system, where no operator tells of them.
	StaticPods func(context.Context) *inspect.PodList
	Accept     []string          // names of checks that are accepted
	Only       []string          // names of checks; none: all that may change meanwhile
	Print      func(text string) // is told what is waited for; nil: it is not told

	mu   sync.Mutex
	last time.Time
}

const (
	askedLately = 5 * time.Minute  // how long an answer is good for other workers of a wave
	askPause    = 10 * time.Second // between two questions
	unreadTime  = 2 * time.Minute  // for which it may not be known: kube-apiserver restarts in a rollout
)

// settles tells which checks are asked again, and how long is waited for them to hold. A
// rollout or an update that waited for a master goes on when that is back: it ends by
// itself. An upgrade, or who reboots nodes, does not.
func settles(check string) (wait time.Duration, ok bool) {
	switch check {
	case StaticPodsSettled, PoolsSettled:
		return action.RolloutTime, true
	case upgradeRunning, remediationActive:
		return 0, true
	}
	return 0, false
}

// ask returns as soon as all of it holds, and a *Refusal where it does not for longer
// than it may. nodes are those whose kubelets are to be restarted next. Those that are left out say
// of themselves that they are being changed: nothing is waited for, since it is their own word.
func (a *RecheckGate) ask(ctx context.Context, env *remediate.Env, nodes []string) (leftOut []*remediate.Refusal, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	begin, said := env.Now(), ""
	for {
		v, left, holds := a.verdict(ctx, env, nodes)
		switch {
		case ctx.Err() != nil: // what was read may be half of what there is
			return nil, context.Cause(ctx)
		case holds:
			a.last = env.Now()
			return left, nil
		}
		wait, _ := settles(v.ID)
		if v.Status == assess.Unknown {
			wait = max(wait, unreadTime)
		}
		if env.EffectTimeout > 0 {
			wait = min(wait, env.EffectTimeout)
		}
		if waited := env.Now().Sub(begin); waited >= wait {
			reason := v.Reason
			if wait > 0 {
				reason = fmt.Sprintf("not within %s: %s", wait, reason)
			}
			return nil, &remediate.Refusal{Name: v.ID, Reason: reason, Next: v.Remediation.Text, Risk: v.Risk}
		}
		if text := v.ID + ": " + v.Reason; text != said && a.Print != nil {
			a.Print(fmt.Sprintf("waits, for %s at most: %s", wait, text))
			said = text
		}
		if err := env.Sleep(ctx, askPause); err != nil {
			return nil, err
		}
	}
}

// asks reports whether a check is asked again.
func (a *RecheckGate) asks(check string) bool {
	_, asked := settles(check)
	return asked && !slices.Contains(a.Accept, check) && (len(a.Only) == 0 || slices.Contains(a.Only, check))
}

// verdict is the first one that stops; holds: there is none, where the workers in leftOut are left out.
func (a *RecheckGate) verdict(ctx context.Context, env *remediate.Env, nodes []string) (v Verdict, leftOut []*remediate.Refusal, holds bool) {
	p := Preflight{Snapshot: a.Snapshot, ControlPlane: a.ControlPlane(ctx), Nodes: nodes, Planned: a.Planned, Now: env.Now()}
	if !p.hasOperators() && a.StaticPods != nil {
		p.StaticPods = a.StaticPods(ctx)
	}
	if a.asks(PoolsSettled) {
		leftOut = p.BusyWorkers()
		p.Nodes = slices.DeleteFunc(slices.Clone(nodes), func(name string) bool {
			return slices.ContainsFunc(leftOut, func(r *remediate.Refusal) bool { return r.Node == name })
		})
	}
	for _, v := range p.Check() {
		if v.Blocks() && a.asks(v.ID) {
			return v, nil, false
		}
	}
	return v, leftOut, true
}

var _ remediate.Gate = (*RecheckGate)(nil)

// Wave asks before a wave in which kubelets are restarted.
func (a *RecheckGate) Wave(ctx context.Context, env *remediate.Env, nodes []remediate.NodePlan) (leftOut []*remediate.Refusal, err error) {
	var names []string
	for _, n := range nodes {
		if slices.ContainsFunc(n.Due(), func(s remediate.Step) bool { return remediate.RestartsKubelet(s.Action) }) {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return a.ask(ctx, env, names)
}

// Node asks before each control plane node, and before other nodes where it is long ago.
func (a *RecheckGate) Node(ctx context.Context, env *remediate.Env, p *remediate.Plan, n remediate.NodePlan) (leftOut []*remediate.Refusal, err error) {
	node, ok := p.Basis.Node(n.Name)
	master := ok && (inspect.RunsAPIServer(p.Basis, node) || node.Role == catalog.RoleArbiter)
	a.mu.Lock()
	lately := env.Now().Sub(a.last) < askedLately
	a.mu.Unlock()
	if !master && lately {
		return nil, nil
	}
	return a.Wave(ctx, env, []remediate.NodePlan{n})
}
