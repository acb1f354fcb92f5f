package remediate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
)

// Env is what actions act through, several at a time. Close gives back what it
// holds.
type Env struct {
	RunID string // ID of the run to which changes belong
	// Holder says on nodes who is at work there; empty: no one is kept off.
	Holder string
	// ExpiredHolder is the holder from which the Lease was just taken over, since they were silent
	// for too long: what they hold on nodes is taken over, too. Empty: there is none.
	ExpiredHolder string
	// EarlierHolders are those from which earlier runs of this user took it over; their holds on nodes are no one's.
	EarlierHolders []string
	// Hints write next steps.
	Hints inspect.Hints
	// Open gets onto a node.
	Open func(ctx context.Context, node string) (nodeexec.Node, error)
	// ReadNode reads what a plan is made of from a node that is open: its files, its
	// kubelet, and what is served to it.
	ReadNode func(ctx context.Context, n nodeexec.Node) (inspect.Snapshot, error)
	// Heartbeat asks the API for a node's sign of life; nil: there is no API to ask.
	Heartbeat func(ctx context.Context, node string) (collect.Heartbeat, error)
	// Signer reads the certificate of a Secret that signs, and not its key; nil: there is no
	// API to ask.
	Signer func(ctx context.Context, of catalog.Ref) (collect.Signer, error)
	// APIClock is the API server's clock against this machine's; nil: unknown.
	APIClock func() inspect.Clock
	// RestartProbe asks on a node that is open what the API server says to its kubelet's own
	// credentials, which do not leave it; nil: it is not asked.
	RestartProbe func(ctx context.Context, n nodeexec.Node) (*inspect.RestartProbe, error)
	// Kube and Dynamic are the API for actions that change objects; nil: there is none.
	Kube    kubeclient.Client
	Dynamic dynamic.Interface
	// Tell is told what people are to see of a node beside the steps, in lines; nil: no one.
	Tell func(node, text string)
	// Servers are the API servers in the user's kubeconfig, as URLs: their names are no
	// node's.
	Servers []string
	Now     func() time.Time // this machine's clock
	// Sleep waits, and returns why it was ended early.
	Sleep func(context.Context, time.Duration) error
	// EffectTimeout is how long an effect may take; zero: what is usual.
	EffectTimeout time.Duration
	// Joins is what this run saw of requests to join.
	Joins JoinRequests

	mu    sync.Mutex
	conns map[string]*conn
}

// conn is how a node is reached; nil: no one is there. Nodes do not wait for each
// other.
type conn struct {
	mu   sync.Mutex
	open nodeexec.Node
}

func (e *Env) conn(node string) *conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conns == nil {
		e.conns = map[string]*conn{}
	}
	if e.conns[node] == nil {
		e.conns[node] = &conn{}
	}
	return e.conns[node]
}

// Connect returns a node, on the way that is open already if there is one.
func (e *Env) Connect(ctx context.Context, node string) (nodeexec.Node, error) {
	w := e.conn(node)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open != nil {
		return w.open, nil
	}
	n, err := e.Open(ctx, node)
	if err == nil {
		w.open = n
	}
	return n, err
}

// Note tells people what they are to see of a node.
func (e *Env) Note(node, text string) {
	if e.Tell != nil {
		e.Tell(node, text)
	}
}

// Disconnect forgets the way onto a node: it may have died with the kubelet.
func (e *Env) Disconnect(node string) {
	w := e.conn(node)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open != nil {
		_ = w.open.Close() // of a way that is of no more use
		w.open = nil
	}
}

// Close closes the ways that are open.
func (e *Env) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, w := range e.conns {
		w.mu.Lock()
		if w.open != nil {
			errs = append(errs, w.open.Close())
		}
		w.mu.Unlock()
	}
	e.conns = nil
	return errors.Join(errs...)
}

// Read reads a node's facts again. A way that broke is opened once more.
func (e *Env) Read(ctx context.Context, node string) (inspect.Snapshot, error) {
	var snapshot inspect.Snapshot
	err := e.Retry(ctx, node, func(ctx context.Context, n nodeexec.Node) (err error) {
		snapshot, err = e.ReadNode(ctx, n)
		return err
	})
	return snapshot, err
}

// ReadTime bounds reading a node, the way there included.
const ReadTime = 2 * time.Minute

// Retry does something that only reads, and does it again by a new way onto the
// node if the first one may be dead.
func (e *Env) Retry(ctx context.Context, node string, do func(context.Context, nodeexec.Node) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ReadTime, fmt.Errorf("no answer within %s", ReadTime))
	defer cancel()
	n, err := e.Connect(ctx, node)
	if err == nil {
		if err = do(ctx, n); err == nil || ctx.Err() != nil {
			return err
		}
	}
	e.Disconnect(node)
	n, again := e.Connect(ctx, node)
	if again != nil {
		return errors.Join(err, again)
	}
	return do(ctx, n)
}

// Stat returns a file as it is now, and what the run knows of it; nil: nothing.
func (e *Env) Stat(ctx context.Context, node, path string) (now host.File, of *host.Backup, err error) {
	err = e.Retry(ctx, node, func(ctx context.Context, n nodeexec.Node) error {
		files, err := host.Look(ctx, n, path)
		if err != nil {
			return err
		}
		now = files[0]
		entries, err := host.RunFolder{ID: e.RunID}.Backups(ctx, n)
		if err != nil && !errors.Is(err, host.ErrNoRun) {
			return err
		}
		for i := range entries {
			if entries[i].Before.Path == path {
				of = &entries[i]
			}
		}
		return nil
	})
	return now, of, err
}

// Until asks again and again whether something is so, for as long as it may take.
// done returns false and why while it is not so yet.
func (e *Env) Until(ctx context.Context, usual time.Duration, done func(context.Context) (bool, error)) error {
	if e.EffectTimeout > 0 {
		usual = e.EffectTimeout
	}
	end := e.Now().Add(usual)
	for {
		ok, err := done(ctx)
		if ok {
			return nil
		}
		if e.Now().After(end) {
			return fmt.Errorf("not within %s: %w", usual, err)
		}
		if ended := e.Sleep(ctx, time.Second); ended != nil {
			return Because(ended, err)
		}
	}
}

// Because adds why it ended to an error that does not say so itself. err may be nil.
func Because(ended, err error) error {
	if errors.Is(err, ended) {
		return err
	}
	return errors.Join(ended, err)
}

// releaseTime bounds what is done after the end of a node's steps.
const releaseTime = 30 * time.Second

// Hold keeps others off a node, those too who have no API to ask for the Lease, until
// release.
func (e *Env) Hold(ctx context.Context, node string) (release func(), err error) {
	if e.Holder == "" || node == "" {
		return func() {}, nil
	}
	take := func(over string) error {
		return e.Retry(ctx, node, func(ctx context.Context, n nodeexec.Node) error {
			return host.RunFolder{ID: e.RunID}.Hold(ctx, n, e.Holder, over)
		})
	}
	err = take("")
	var other *host.LockedError
	if errors.As(err, &other) && (nodeexec.Gone(other.By) || other.By == e.ExpiredHolder || slices.Contains(e.EarlierHolders, other.By)) { // killed, here or elsewhere
		err = take(other.By)
	}
	if err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), releaseTime, fmt.Errorf("not done within %s", releaseTime))
		defer cancel()
		// If not, it ends by itself.
		_ = e.Retry(ctx, node, func(ctx context.Context, n nodeexec.Node) error {
			return host.RunFolder{ID: e.RunID}.Release(ctx, n, e.Holder)
		})
	}, nil
}
