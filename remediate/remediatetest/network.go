package remediatetest

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient/kubeclienttest"
)

// FakeAPI is client-go's fake clientset: it filters nothing by fields, checks no
// preconditions and takes dry runs for real. What an API server really does to these
// actions is seen in test/e2e.
type FakeAPI struct {
	*fake.Clientset
	Env *remediate.Env
}

// NewFakeAPI is a fake API server, and a clock that moves on when someone waits.
func NewFakeAPI(objects ...runtime.Object) *FakeAPI {
	now := TestNow
	f := &FakeAPI{Clientset: fake.NewClientset(objects...)}
	f.Env = &remediate.Env{RunID: "run-1", Kube: kubeclienttest.Of(f), Now: func() time.Time { return now }, Sleep: func(ctx context.Context, d time.Duration) error {
		now = now.Add(d)
		return context.Cause(ctx)
	}}
	return f
}

// Did are the verbs and resources that were asked for and change something.
func (f *FakeAPI) Did() (out []string) {
	for _, a := range f.Actions() {
		if v := a.GetVerb(); v != "get" && v != "list" && v != "watch" {
			out = append(out, v+" "+a.GetResource().Resource)
		}
	}
	return out
}

// RepairedFixture is the facts after a repair at TestNow: the kubelets have read the new CA.
func RepairedFixture(names ...string) *Fixture {
	f := NewFixture(names...)
	for i := range f.Nodes {
		n := &f.Nodes[i]
		f.Embed(n.Name, BootstrapFile, f.ConfigMap, f.Before)
		f.Embed(n.Name, KubeletFile, f.ConfigMap, f.Before)
		for j := range n.Files {
			n.Files[j].Modified = TestNow.Add(-2 * time.Minute)
		}
		n.Kubelet.Started = TestNow.Add(-time.Minute)
	}
	return f
}

// OpenShiftAPI is what tells OpenShift from other clusters.
func OpenShiftAPI() []*metav1.APIResourceList {
	return []*metav1.APIResourceList{{GroupVersion: nodeexec.OpenShiftAPI}}
}

// RowOf is a row of the catalog.
func RowOf(id string) catalog.NodeDaemonSet {
	rows := catalog.NodeDaemonSets()
	return rows[slices.IndexFunc(rows, func(p catalog.NodeDaemonSet) bool { return p.ID == id })]
}

// PodOf is a pod of a row's DaemonSet, as the facts have it.
func PodOf(row catalog.NodeDaemonSet, node string, started time.Time) inspect.Pod {
	name := row.DaemonSet + "-" + node
	return inspect.Pod{Namespace: row.Namespace, Name: name, UID: "uid-" + name, Node: node, OwnerKind: "DaemonSet", OwnerName: row.DaemonSet, Accepted: started, Started: started, Phase: "Running", Ready: true}
}

// ProcessOf is the process of the pod that PodOf returns.
func ProcessOf(row, node string, started time.Time) inspect.Process {
	p := PodOf(RowOf(row), node, started)
	return inspect.Process{Command: RowOf(row).Command, Started: started, Namespace: p.Namespace, Pod: p.Name, PodUID: p.UID}
}

// DaemonPod is a pod as the API has it.
func DaemonPod(p inspect.Pod, uid string, phase corev1.PodPhase, ready corev1.ConditionStatus) *corev1.Pod {
	yes := true
	name := p.Name
	if uid != p.UID {
		name += "-new"
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, UID: types.UID(uid), Labels: map[string]string{"app": p.OwnerName}, OwnerReferences: []metav1.OwnerReference{{Kind: p.OwnerKind, Name: p.OwnerName, Controller: &yes}}},
		Spec:       corev1.PodSpec{NodeName: p.Node},
		Status:     corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

// NodeThat is a Node with a condition.
func NodeThat(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
}
