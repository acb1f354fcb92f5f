package nodeexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// Exec reaches nodes by running commands in a privileged pod that is there
// already and has the node's file system mounted. It creates nothing. Who may do
// that is root on the node.
type Exec struct {
	// Config leads to the API server.
	Config *rest.Config

	// Namespaces are where pods may be taken from, the preferred first, as
	// patterns of path.Match. None: openshift-machine-config-operator, then
	// openshift-* and kube-system.
	Namespaces []string

	// Selector is what the labels of the pods must be; "" is anything, with
	// k8s-app=machine-config-daemon preferred.
	Selector string

	// MaxOutput is how many bytes of a command's stdout are held; 0 is 64 MiB.
	MaxOutput int64
}

// Name is "exec".
func (Exec) Name() string { return ViaExec }

// Dial finds a pod on that node and proves by a command that does nothing that
// commands can be run there. Where there is none, the error is ErrNoTransport.
func (e Exec) Dial(ctx context.Context, node string) (Node, error) {
	api, err := newPodAPI(e.Config)
	if err != nil {
		return nil, err
	}
	found, err := e.candidates(ctx, api, node)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: no pod runs on node %s that is privileged and has the node's / mounted (looked in namespaces %s); "+
			"on OpenShift that is machine-config-daemon: is it there, and is %s the name of a node?", ErrNoTransport, node, strings.Join(e.namespaces(), ", "), node)
	}
	var failed []error
	for _, c := range found[:min(len(found), 3)] {
		r := &podRemote{name: node, way: e.Name(), api: api, pod: c.pod, root: c.root}
		n := newShellNode(ctx, node, r, e.MaxOutput)
		n.noNet = !c.net
		if err = r.canRun(ctx, n, c.pid); err == nil {
			return n, nil
		}
		_ = n.Close() // nothing runs
		failed = append(failed, err)
		if ctx.Err() != nil || isRBAC(err) {
			break
		}
	}
	return nil, errors.Join(failed...)
}

func (e Exec) namespaces() []string {
	if len(e.Namespaces) > 0 {
		return e.Namespaces
	}
	return []string{"openshift-machine-config-operator", "openshift-*", "kube-system"}
}

// candidate is a container through which a node can be reached.
type candidate struct {
	pod      podRef
	image    string
	root     string
	pid, net bool // it has the node's processes, its network
	rank     int  // the lower the better
}

// candidates are the pods on a node that will do, the best first.
func (e Exec) candidates(ctx context.Context, api *podAPI, node string) ([]candidate, error) {
	selector, err := labels.Parse(e.Selector)
	if err != nil {
		return nil, fmt.Errorf("labels %q of pods to go through: %w", e.Selector, err)
	}
	pods, err := api.podsOn(ctx, node, e.namespaces(), e.Selector)
	if err != nil {
		return nil, notAllowed(err, e.Name(), "list pods, and create and get pods/exec")
	}
	var found []candidate
	for i := range pods {
		p := &pods[i]
		where := slices.IndexFunc(e.namespaces(), func(pattern string) bool {
			ok, err := path.Match(pattern, p.Metadata.Namespace)
			return ok && err == nil
		})
		if where < 0 || !selector.Matches(labels.Set(p.Metadata.Labels)) || p.Status.Phase != "Running" || p.Metadata.DeletionTimestamp != nil {
			continue
		}
		for _, c := range p.Spec.Containers {
			if root := p.hostRoot(c); root != "" && p.running(c.Name) {
				found = append(found, candidate{p.ref(c.Name), c.Image, root, p.Spec.HostPID, p.Spec.HostNetwork, p.rank(where)})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.pod.String(), b.pod.String()))
	})
	return found, nil
}

// rank orders pods: what commands can do there matters more than whose pod it is.
func (p *podObject) rank(namespace int) int {
	rank := namespace
	if p.Metadata.Labels["k8s-app"] != "machine-config-daemon" {
		rank += 100
	}
	if !p.ownedBy("DaemonSet") {
		rank += 1000
	}
	if !p.Spec.HostNetwork {
		rank += 10_000
	}
	if !p.Spec.HostPID {
		rank += 100_000
	}
	return rank
}
