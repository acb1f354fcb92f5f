package action

import (
	runtimestats "runtime"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestAPageOfTheLargestPodsFitsIntoMemory: a mirror pod of 1.4 MB, which etcd takes, may have a hundred thousand volumes.
func TestAPageOfTheLargestPodsFitsIntoMemory(t *testing.T) { // alone: it measures the heap
	largest := &corev1.Pod{}
	for i := range 100_000 {
		largest.Spec.Volumes = append(largest.Spec.Volumes, corev1.Volume{Name: strconv.FormatInt(int64(i), 36), VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	wire, err := largest.Marshal()
	if err != nil || len(wire) > 1_500_000 {
		t.Fatalf("%d bytes, %v", len(wire), err)
	}
	largest = nil
	heap := func() uint64 {
		var m runtimestats.MemStats
		runtimestats.GC()
		runtimestats.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var p corev1.Pod
	if err := p.Unmarshal(wire); err != nil {
		t.Fatal(err)
	}
	const most = 256 << 20 // before the garbage of decoding it
	if page := (heap() - before) * largePage; page > most {
		t.Errorf("a page takes %d MB", page>>20)
	}
	runtimestats.KeepAlive(&p)
}

// TestListsOfANodeComeInPages: a kubelet may make mirror pods and events of a megabyte each, as many as it likes,
// so few are listed at once. What is asked for is on the second page.
func TestListsOfANodeComeInPages(t *testing.T) {
	t.Parallel()
	row := remediatetest.RowOf("multus")
	old := remediatetest.PodOf(row, "worker-0", remediatetest.TestNow)
	real := *remediatetest.DaemonPod(old, old.UID, "Running", "True")
	real.Spec.Containers = []corev1.Container{{Image: "platforms"}}
	mirror := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: real.Namespace, Name: "mirror"}, Spec: corev1.PodSpec{NodeName: "worker-0"}}
	event := func(message string, at int64) corev1.Event {
		return corev1.Event{Reason: "FailedCreatePodSandBox", Message: message, LastTimestamp: metav1.Unix(at, 0), InvolvedObject: corev1.ObjectReference{UID: "probe"}}
	}
	api := remediatetest.NewFakeAPI()
	api.Resources = remediatetest.OpenShiftAPI()
	var limits []int64
	first := func(a clienttesting.Action) bool {
		opts := a.(clienttesting.ListActionImpl).ListOptions
		limits = append(limits, opts.Limit)
		return opts.Continue == ""
	}
	api.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if first(a) {
			return true, &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "2"}, Items: []corev1.Pod{mirror}}, nil
		}
		return true, &corev1.PodList{Items: []corev1.Pod{real}}, nil
	})
	api.PrependReactor("list", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if first(a) {
			return true, &corev1.EventList{ListMeta: metav1.ListMeta{Continue: "2"}, Items: []corev1.Event{event("earlier", 1), event("same time, first", 5)}}, nil
		}
		return true, &corev1.EventList{Items: []corev1.Event{event("same time, second", 5), event("earliest", 0)}}, nil
	})
	pods, err := RestartPods{NodeName: "worker-0", Row: row, Pods: []inspect.Pod{old}}.onNode(t.Context(), api.Env)
	if err != nil || len(pods) != 1 || pods[0].Name != real.Name {
		t.Errorf("%v, %v", pods, err)
	}
	probe := NetworkProbe{NodeName: "worker-0"}
	if row.Namespace == "openshift-multus" {
		if image, err := probe.imageOf(t.Context(), api.Env); err != nil || image != "platforms" {
			t.Errorf("%q, %v", image, err)
		}
	}
	said, err := probe.failure(t.Context(), api.Env, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "probe"}})
	if err != nil || !strings.Contains(said, "same time, first") {
		t.Errorf("%q, %v", said, err)
	}
	for _, l := range limits {
		if l != largePage {
			t.Errorf("limits %v", limits)
		}
	}
}
