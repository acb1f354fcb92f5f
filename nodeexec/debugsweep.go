package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// sweepAge is how long beyond its deadline a pod has to be before it is taken for
// left by another user's run, and emptyAge how old a namespace in which no pod
// runs: that run may be between two nodes, or wait for an answer.
const (
	sweepAge = 2 * time.Minute
	emptyAge = 2 * time.Hour
)

// sweepAtOnce bounds how many pods are removed at the same time.
const sweepAtOnce = 10

// Leftover is a namespace, or a pod in a namespace that is not ours, that a run
// made and did not remove.
type Leftover struct {
	Namespace string
	Pod       string // "" for a whole namespace
	User      string // who made it, and where
	Host      string
	Age       time.Duration
	Why       string // it counts as left

	pods []debugPod
}

func (l Leftover) String() string {
	what := "namespace " + l.Namespace
	if l.Pod != "" {
		what = "pod " + l.Namespace + "/" + l.Pod
	}
	return fmt.Sprintf("%s, made %s ago by %s on %s: %s", what, l.Age.Round(time.Second), foreign.Name(l.User), foreign.Name(l.Host), l.Why)
}

// Leftovers finds what runs have left that were killed. It counts as left
//
//   - at once: what was made on this machine (this boot of it, and this PID
//     namespace) by a process that is not there any more;
//   - two minutes after it was made: a namespace without a pod that runs or is
//     to run. Should a run still want it, it makes another;
//   - two minutes after its deadline: a pod. By then the kubelet has stopped it,
//     if there is one.
//
// So another user's run is left alone for as long as it has a pod. With a
// Namespace, only pods in there are looked at.
func (d *Debug) Leftovers(ctx context.Context) ([]Leftover, error) {
	api, err := d.connect()
	if err != nil {
		return nil, err
	}
	return d.leftovers(ctx, api)
}

func (d *Debug) sweep(ctx context.Context, api *podAPI) ([]Leftover, error) {
	left, err := d.leftovers(ctx, api)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var removed []Leftover
	var failed []error
	var all sync.WaitGroup
	slots := make(chan struct{}, sweepAtOnce)
	for _, l := range left {
		all.Go(func() {
			err := d.clear(ctx, api, l, slots)
			mu.Lock()
			defer mu.Unlock()
			if failed = append(failed, err); err == nil {
				removed = append(removed, l)
			}
		})
	}
	all.Wait()
	return removed, errors.Join(failed...)
}

// clear removes pods one by one: a namespace would wait for ever for one whose
// kubelet does not answer.
func (d *Debug) clear(ctx context.Context, api *podAPI, l Leftover, slots chan struct{}) error {
	var mu sync.Mutex
	var failed []error
	var all sync.WaitGroup
	for _, p := range l.pods {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			err := d.removePod(ctx, api, p)
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
		})
	}
	all.Wait()
	if l.Pod == "" {
		failed = append(failed, d.removeNamespace(ctx, api, l.Namespace))
	}
	return errors.Join(failed...)
}

func (d *Debug) leftovers(ctx context.Context, api *podAPI) ([]Leftover, error) {
	me := thisOwner()
	if d.Namespace != "" {
		pods, err := api.ourPods(ctx, d.Namespace)
		if err != nil {
			return nil, notAllowed(err, d.Name(), "list pods in namespace "+d.Namespace)
		}
		var left []Leftover
		for i := range pods {
			if why := me.leftPod(&pods[i], api.age(pods[i].Metadata.CreationTimestamp)); why != "" {
				left = append(left, leftover(api, pods[i].Metadata, why, pods[i:i+1]))
			}
		}
		return left, nil
	}
	var namespaces struct {
		Items []struct {
			Metadata objectMeta `json:"metadata"`
		} `json:"items"`
	}
	if err := api.get(ctx, namespacesPath, &namespaces, "labelSelector", debugLabel); err != nil {
		return nil, notAllowed(err, d.Name(), "list namespaces")
	}
	var left []Leftover
	for _, ns := range namespaces.Items {
		name := ns.Metadata.Name
		// The prefix as well as the label: what a user labelled by mistake
		// must not be deleted.
		if !strings.HasPrefix(name, debugPrefix) || d.isHome(name) || ns.Metadata.DeletionTimestamp != nil {
			continue
		}
		pods, err := api.ourPods(ctx, name)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		if why := me.leftNamespace(api, ns.Metadata, pods); why != "" {
			left = append(left, leftover(api, ns.Metadata, why, pods))
		}
	}
	return left, nil
}

func (d *Debug) isHome(namespace string) bool {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	return d.run.namespace == namespace
}

func (a *podAPI) ourPods(ctx context.Context, namespace string) ([]podObject, error) {
	return a.listPods(ctx, namespace, "", debugLabel)
}

func leftover(api *podAPI, m objectMeta, why string, pods []podObject) Leftover {
	l := Leftover{Namespace: m.Namespace, Pod: m.Name, User: m.Annotations[debugUser], Host: m.Annotations[debugHost], Age: api.age(m.CreationTimestamp), Why: why}
	if m.Namespace == "" {
		l.Namespace, l.Pod = m.Name, ""
	}
	for i := range pods {
		p := &pods[i]
		l.pods = append(l.pods, debugPod{
			pod: p.ref("node"), uid: p.Metadata.UID, node: p.Spec.NodeName,
			lifetime: time.Duration(p.Spec.ActiveDeadlineSeconds) * time.Second,
		})
	}
	return l
}

// leftNamespace is why a namespace is left; "" if it is not.
func (o owner) leftNamespace(api *podAPI, m objectMeta, pods []podObject) string {
	if o.dead(m) {
		return "the process that made it is gone"
	}
	if api.age(m.CreationTimestamp) < emptyAge {
		return ""
	}
	for i := range pods {
		if o.leftPod(&pods[i], api.age(pods[i].Metadata.CreationTimestamp)) == "" {
			return ""
		}
	}
	return "no pod runs in it"
}

// leftPod is why a pod of that age is left; "" if it is not.
func (o owner) leftPod(p *podObject, age time.Duration) string {
	deadline := time.Duration(p.Spec.ActiveDeadlineSeconds) * time.Second
	switch {
	case o.dead(p.Metadata):
		return "the process that made it is gone"
	case p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed":
		return "it has terminated"
	case age > deadline+sweepAge:
		return "its time is over"
	}
	return ""
}
