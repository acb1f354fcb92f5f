package remediate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

// leftOut are the nodes that were taken out of a run: by the gate, since another run holds them, or by what
// pastWorker says. Several nodes of a wave may be asked about at once.
type leftOut struct {
	mu      sync.Mutex
	names   []string
	workers map[string]*workersOfRun // by what is done to them, as sameWork says
}

// workersOfRun are how many workers there are, of which some were done, and some failed.
type workersOfRun struct{ all, done, failed int }

// sameWork is what a wave does to workers: those of one kind count together.
func sameWork(wave string) string {
	switch wave {
	case WaveNotReady, WaveFirst:
		return WaveWorkers
	}
	return wave
}

// leftOutOf are the nodes that a run leaves out, none so far.
func leftOutOf(p *Plan) *leftOut {
	o := &leftOut{workers: map[string]*workersOfRun{}}
	for _, w := range p.Waves {
		for _, n := range w.Due() {
			if isWorker(p, n.Name) {
				o.workersOf(w.Name).all++
			}
		}
	}
	return o
}

func (o *leftOut) workersOf(wave string) *workersOfRun {
	work := sameWork(wave)
	if o.workers[work] == nil {
		o.workers[work] = &workersOfRun{}
	}
	return o.workers[work]
}

// done takes down that a worker was done.
func (o *leftOut) done(wave string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.workersOf(wave).done++
}

// mayPass takes down that a worker failed, and reports whether it may be left out: two, or one of ten, may. Before one
// was done, only one may: two may fail for a reason that all of them share.
func (o *leftOut) mayPass(wave string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.workersOf(wave)
	w.failed++
	if w.done == 0 {
		return w.failed == 1
	}
	return w.failed <= max(2, w.all/10)
}

func (o *leftOut) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = append(o.names, name)
}

func (o *leftOut) has(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.names, name)
}

// without are the nodes that were not left out: later waves have more for the same nodes, which
// rests on what was not done.
func (o *leftOut) without(nodes []NodePlan) (out []NodePlan) {
	for _, n := range nodes {
		if !o.has(n.Name) {
			out = append(out, n)
		}
	}
	return out
}

// anotherFirst are the waves where the one at this index was to prove the repair on one worker, and that one was left
// out: the next worker is repaired alone, in its place.
func (o *leftOut) anotherFirst(waves []Wave, i int) []Wave {
	w := waves[i]
	if w.Name != WaveFirst || i+1 == len(waves) || waves[i+1].Name != WaveWorkers || len(o.without(w.Due())) == len(w.Due()) {
		return waves
	}
	next := waves[i+1]
	due := o.without(next.Due())
	if len(due) == 0 {
		return waves
	}
	w.Nodes, next.Nodes = due[:1], slices.DeleteFunc(slices.Clone(next.Nodes), func(n NodePlan) bool { return n.Name == due[0].Name })
	return slices.Concat(waves[:i+1], []Wave{w, next}, waves[i+2:])
}

// leaveOut takes down that nodes are left out, and tells it.
func (r Runner) leaveOut(nodes []NodePlan, left []*Refusal) error {
	for _, refusal := range left {
		i := slices.IndexFunc(nodes, func(n NodePlan) bool { return n.Name == refusal.Node })
		if i < 0 {
			continue
		}
		r.out.add(refusal.Node)
		r.tell(nodes[i].Due()[0].Action, LeftOut, nil, refusal)
		if err := r.Journal.Add(Record{Event: LeftOut, Node: refusal.Node, Error: refusal.Reason}); err != nil {
			return err
		}
	}
	return nil
}

// NodeLocked is the check that no other run changes a node.
const NodeLocked = "node-locked"

// lockedApart is why a worker is left out that another run holds, as the worker itself says: its root can write that,
// and it may be so. Either way it is not touched, and stops no other. nil: what is wrong stops all.
func lockedApart(p *Plan, node string, err error) *Refusal {
	if !isWorker(p, node) || !errors.Is(err, host.ErrBusy) {
		return nil
	}
	reason := err.Error()
	var other *host.LockedError
	if errors.As(err, &other) {
		reason = other.Error() // without the node's name, which is said in any case
	}
	return &Refusal{Name: NodeLocked, Node: node, Reason: reason, Next: "wait until that run is over", Cause: err}
}

// stepApart is why a worker is left out at a step, after so many that were done: it is refused there before anything was
// done to it, or it changes each time after it was read, which its root decides. nil: what is wrong stops all.
func (r Runner) stepApart(p *Plan, s Step, done int, err error) *Refusal {
	var refusal *Refusal
	var stopped *Stopped
	node := s.Action.Node()
	begun := errors.As(err, &stopped)
	switch {
	case !isWorker(p, node):
		return nil
	case errors.Is(err, ErrChanged) && r.LeaveChanged:
		if begun {
			err = stopped.Inner
		}
		return &Refusal{Name: ChangedSince, Node: node, Reason: s.Action.ID() + ": " + err.Error() + ", each time", Next: "look what changes it there"}
	case begun || done > 0 || errors.Is(err, ErrChanged) || !errors.As(err, &refusal) || refusal.Node != node:
		return nil
	}
	return refusal
}

// recheck asks an action that does so once more whether it may be begun.
func (r Runner) recheck(ctx context.Context, a Action, c *Change) error {
	again, ok := a.(Rechecker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stepTime, fmt.Errorf("no answer within %s", stepTime))
	defer cancel()
	return again.Recheck(ctx, r.Env, c)
}

// isWorker reports whether a node of a plan is a worker, by its labels.
func isWorker(p *Plan, node string) bool {
	n, ok := p.Basis.Node(node)
	return ok && n.Role == catalog.RoleWorker
}

const (
	// NetworkBack is the check that the network's pods come back on a node.
	NetworkBack = "network-back"
	// CertificateBack is the check that a kubelet has its certificates again.
	CertificateBack = "certificate-back"
	// NodeReached is the check that a node can be read at its turn.
	NodeReached = "node-reached"
)

// pastWorker leaves out a worker on which the network's pods do not come back, or that can't be looked at any more:
// its root can bring that about, and its kubelet is right by then. So it does one that can't be reached or read at its
// turn, before anything was done to it, and one whose kubelet does not ask for the certificate that it had lost before,
// or does not take it. More than mayPass allows stop all, as a control plane node does. An error that is left is why the
// wave stops; nil: go on.
func (r Runner) pastWorker(ctx context.Context, p *Plan, n NodePlan, c *waveRun, err error) error {
	if !isWorker(p, n.Name) {
		return err
	}
	if err == nil {
		r.out.done(c.name)
		return nil
	}
	var stopped *Stopped
	if ctx.Err() != nil || !errors.As(err, &stopped) || stopped.Interrupted {
		return err
	}
	left := &Refusal{Name: NetworkBack, Node: n.Name, Reason: stopped.Error(), Cause: stopped.Inner,
		Next: foreign.Command(inspect.NodeNames, "kubectl describe node %s; on the node: journalctl -u kubelet -n 50", n.Name)}
	switch {
	case c.name == WaveNetwork && ownFailure(n.Name, stopped.Inner):
	case sameWork(c.name) == WaveWorkers && stopped.untouched && ownFailure(n.Name, stopped.Inner):
		left.Name = NodeReached
	case sameWork(c.name) == WaveWorkers && ownLate(stopped.Inner):
		left.Name, left.Next = CertificateBack, "kubectl get csr; on the node: journalctl -u kubelet -n 50"
	default:
		return err
	}
	if !r.out.mayPass(c.name) {
		return err
	}
	return r.leaveOut([]NodePlan{n}, []*Refusal{left})
}

// ownLate reports whether all was done, and the node itself does not do its part.
func ownLate(err error) bool {
	var own *OwnFailureError
	var late *LateEffectError
	return errors.As(err, &own) && errors.As(own.Inner, &late)
}

// ownFailure reports whether what failed is the node's alone, or changes there again and again.
func ownFailure(node string, err error) bool {
	var own *OwnFailureError
	var r *Refusal
	return errors.As(err, &own) || errors.Is(err, ErrChanged) || errors.As(err, &r) && r.Node == node
}
