package remediatetest

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// networked reports whether new pods get a network.
func (n *simulated) networked() bool {
	return n.multusUp && (n.multusOn || n.trusts(n.multus))
}

// startMultus has its process read the file.
func (n *simulated) startMultus() {
	n.multus, n.multusAt, n.multusUp = n.cas[KubeletFile], n.clock, true
	n.multusOn = n.trusts(n.multus)
}

// newMultus is a new pod of it.
func (n *simulated) newMultus() {
	n.multusPod++
	if n.stuck {
		n.multusUp = true
		return
	}
	n.startMultus()
}

// reconnect breaks the connections of a node: who does not trust what is presented is lost.
func (n *simulated) reconnect() {
	n.connected = n.trusts(n.memory) && n.certified()
	n.multusOn = n.multusUp && n.trusts(n.multus)
}

// pods are multus', as they are read for a plan.
func (s *simulation) pods() (out []inspect.Pod) {
	for _, n := range s.nodes {
		if n.multusUp && !n.gone {
			out = append(out, n.pod())
		}
	}
	return out
}

func (n *simulated) pod() inspect.Pod {
	p := PodOf(RowOf("multus"), n.name, n.multusAt)
	p.UID = fmt.Sprintf("%s-%d", p.UID, n.multusPod)
	p.Name = fmt.Sprintf("%s-%d", p.Name, n.multusPod)
	return p
}

// simulatedPods are those of multus, and those that ask for a network.
type simulatedPods struct {
	coreclient.PodInterface
	s         *simulation
	namespace string
}

func (a simulatedPods) List(_ context.Context, opts metav1.ListOptions) (*corev1.PodList, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	for _, p := range a.s.pods() {
		if opts.FieldSelector == "spec.nodeName="+p.Node && a.namespace == p.Namespace {
			ready := corev1.ConditionTrue
			if n := a.s.find(p.Node); n.stuck && n.multusPod > 0 {
				ready = corev1.ConditionFalse
			}
			list.Items = append(list.Items, *DaemonPod(p, p.UID, corev1.PodRunning, ready))
		}
	}
	return list, nil
}

func (a simulatedPods) Create(_ context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	made := pod.DeepCopy()
	made.UID = types.UID("uid-" + pod.Name)
	a.s.probes[pod.Name] = made
	return made, nil
}

func (a simulatedPods) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return nil, err
	}
	p := a.s.probes[name]
	if p == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	if n := a.s.find(p.Spec.NodeName); n.connected {
		at := metav1.NewTime(a.s.clock)
		p.Status.StartTime = &at
		if n.networked() {
			p.Status.PodIP = "192.0.2.9"
		}
	}
	return p.DeepCopy(), nil
}

// Delete of a pod of multus leaves the node without one until someone makes it again.
func (a simulatedPods) Delete(_ context.Context, name string, opts metav1.DeleteOptions) error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if err := a.s.answers(); err != nil {
		return err
	}
	if a.s.probes[name] != nil {
		delete(a.s.probes, name)
		return nil
	}
	for _, n := range a.s.nodes {
		if p := n.pod(); p.Name != name || !n.multusUp || string(*opts.Preconditions.UID) != p.UID {
			continue
		}
		if slices.ContainsFunc(a.s.masters(), func(n *simulated) bool { return !n.revised }) {
			a.s.broken = append(a.s.broken, "pod "+name+" was deleted before kube-controller-manager had the CA")
		}
		a.s.ours("deleting pod "+name, func() {
			if n.multusUp, n.multusOn = false, false; n.connected && a.s.makesPods() {
				n.newMultus()
			}
		})
		return nil
	}
	return apierrors.NewNotFound(corev1.Resource("pods"), name)
}
