package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
)

// Debug reaches nodes through a pod of its own on each, as `oc debug node/…` and
// `kubectl debug node/… --profile=sysadmin` do: privileged, with the node's
// processes, network and file system. It is for nodes whose kubelet is well and
// that have no pod that Exec could use.
//
// The pods of one Debug share a namespace, which Close removes. It must
// not be copied after its first Dial.
type Debug struct {
	// Config leads to the API server.
	Config *rest.Config

	// Namespace is where the pods are made; "" is one of their own.
	Namespace string

	Image DebugImage

	// Deadline is how long a pod may live, whatever happens to this program; 0
	// is an hour.
	Deadline time.Duration

	// Start is how long a pod may take to run; 0 is a minute.
	Start time.Duration

	// MaxOutput is how many bytes of a command's stdout are held; 0 is 64 MiB.
	MaxOutput int64

	// Notice is told what a user should know although nothing failed, such as
	// what was left by another run; may be nil. It may be called from several
	// goroutines.
	Notice func(string)

	run debugRun
}

// DebugImage is what the container of a debug pod is made of. Of it, only the
// program chroot is used.
type DebugImage struct {
	// Name is the image; "" is one that a pod on the node has, so that nothing
	// is pulled, or else OpenShift's tools.
	Name string

	// Pull is Always, IfNotPresent or Never; "" is IfNotPresent for a Name.
	Pull string

	// Secret is the name of a pull secret in the Namespace.
	Secret string
}

const (
	defaultDeadline = time.Hour
	defaultStart    = time.Minute

	// cleanUpLimit is for each removal, of a pod or of a namespace. Those of
	// many nodes run at the same time.
	cleanUpLimit = 45 * time.Second
)

// debugRun is what the nodes of one Debug share.
type debugRun struct {
	mu        sync.Mutex
	api       *podAPI
	namespace string // of our own, once it is made
	closed    bool
	open      map[*shellNode]bool
	sweep     sync.Once
	sweeping  sync.WaitGroup
}

// Name is "debug".
func (*Debug) Name() string { return ViaDebug }

// Dial starts a pod on that node and proves by a command that does nothing that
// commands can be run there. If it fails, the pod is gone when it returns. The
// first Dial also begins to remove what killed runs have left: see sweep.
func (d *Debug) Dial(ctx context.Context, node string) (Node, error) {
	api, err := d.connect()
	if err != nil {
		return nil, err
	}
	d.run.sweep.Do(func() { d.sweepBeside(ctx, api) })
	if err := mustExist(ctx, api, node); err != nil {
		return nil, err
	}
	image, err := d.image(ctx, api, node)
	if err != nil {
		return nil, err
	}
	p, err := d.start(ctx, api, node, image)
	if err != nil {
		return nil, err
	}
	r := &podRemote{name: node, way: d.Name(), api: api, pod: p.pod, root: hostMount}
	n := newShellNode(ctx, node, r, d.MaxOutput)
	n.leave = func() error {
		d.forget(n)
		return d.removePod(ctx, api, p)
	}
	if !d.remember(n) {
		err = errClosed
	} else if err = d.await(ctx, api, p); err == nil {
		err = r.canRun(ctx, n, true)
	}
	if err != nil {
		return nil, onOneLine(err, n.Close())
	}
	return n, nil
}

// Close closes all nodes and removes the namespace. It is bounded by itself: it
// has to work after the program was interrupted.
func (d *Debug) Close() error {
	r := &d.run
	r.mu.Lock()
	r.closed = true
	namespace, api := r.namespace, r.api
	r.namespace = ""
	var mu sync.Mutex
	var failed []error
	var all sync.WaitGroup
	for n := range r.open {
		all.Go(func() {
			err := n.Close()
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
		})
	}
	r.mu.Unlock()
	all.Wait()
	r.sweeping.Wait()
	if namespace != "" {
		failed = append(failed, d.removeNamespace(context.Background(), api, namespace))
	}
	return errors.Join(failed...)
}

// connect makes the client for the API server, the first time.
func (d *Debug) connect() (*podAPI, error) {
	r := &d.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("debug: %w", errClosed)
	}
	if r.api == nil {
		api, err := newPodAPI(d.Config)
		if err != nil {
			return nil, err
		}
		r.api, r.open = api, map[*shellNode]bool{}
	}
	return r.api, nil
}

// sweepBeside removes what killed runs have left, while this one begins.
func (d *Debug) sweepBeside(ctx context.Context, api *podAPI) {
	d.run.sweeping.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*cleanUpLimit)
		defer cancel()
		removed, err := d.sweep(ctx, api)
		for _, l := range removed {
			d.notice("removed what was left by another run: %s", l)
		}
		if err != nil && !isRBAC(err) { // who may not look has nothing to clear away
			d.notice("what other runs have left could not be removed: %v", err)
		}
	})
}

// remember notes a node to close; false if the Debug was closed meanwhile.
func (d *Debug) remember(n *shellNode) bool {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	if !d.run.closed {
		d.run.open[n] = true
	}
	return !d.run.closed
}

func (d *Debug) forget(n *shellNode) {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	delete(d.run.open, n)
}

func (d *Debug) notice(format string, args ...any) {
	if d.Notice != nil {
		d.Notice(fmt.Sprintf(format, args...))
	}
}

// mustExist refuses a node that is not there: a pod for it would wait for ever.
func mustExist(ctx context.Context, api *podAPI, node string) error {
	err := api.get(ctx, nodePathOf(node), &nodeObject{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: the cluster has no node %s: %w", ErrNoTransport, node, err)
	case isRBAC(err):
		return nil // it is needed for better errors only
	}
	return err
}

func nodePathOf(node string) string { return "/api/v1/nodes/" + node }

// home is the namespace for pods, made when it is first needed.
func (d *Debug) home(ctx context.Context, api *podAPI) (string, error) {
	if d.Namespace != "" {
		return d.Namespace, nil
	}
	r := &d.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return "", errClosed
	}
	if r.namespace != "" {
		return r.namespace, nil
	}
	// The name is made here, and known even if the server's answer gets lost.
	name := debugPrefix + utilrand.String(8)
	err := api.create(ctx, namespacesPath, namespaceFor(name), &struct{}{})
	if err != nil {
		err = fmt.Errorf("make namespace %s for debug pods: %w", name, err)
		if mayHaveHappened(err) {
			err = onOneLine(err, d.removeNamespace(ctx, api, name))
		}
		return "", notAllowed(err, d.Name(), "create and delete namespaces, or the name of one that is there already")
	}
	r.namespace = name
	return name, nil
}

// abandon forgets a namespace that another run is removing.
func (d *Debug) abandon(namespace string) {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	if d.run.namespace == namespace {
		d.run.namespace = ""
	}
}

// onOneLine is errors.Join without its newline: an error is one line, and what follows one is quoted as foreign.
func onOneLine(err, more error) error {
	if err == nil || more == nil {
		return errors.Join(err, more)
	}
	return fmt.Errorf("%w; %w", err, more)
}
