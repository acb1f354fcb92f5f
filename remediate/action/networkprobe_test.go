package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func TestNetworkProbe(t *testing.T) {
	t.Parallel()
	yes := true
	runs := func(namespace, name, image, owner string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{NodeName: "worker-0", Containers: []corev1.Container{{Image: image}}}, Status: corev1.PodStatus{Phase: "Running"}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Controller: &yes}}
		}
		return p
	}
	elsewhere := runs("openshift-multus", "elsewhere", "on-another-node", "DaemonSet")
	elsewhere.Spec.NodeName = "worker-1"
	there := []runtime.Object{elsewhere, runs("default", "mine", "users", ""), runs("openshift-dns", "dns", "platforms", "DaemonSet"), runs("shop", "agent", "agents", "DaemonSet")}
	started := metav1.NewTime(remediatetest.TestNow)
	for name, c := range map[string]struct {
		probe   NetworkProbe
		kubelet func(p *corev1.Pod, looks int) // the kubelet's part, and what becomes of the pod
		event   string
		ends    bool // the user gives up
		want    string
		unlike  string
	}{
		"a network": {NetworkProbe{}, func(p *corev1.Pod, looks int) {
			if looks > 3 {
				p.Status.StartTime, p.Status.PodIP = &started, "10.128.0.7"
			}
		}, "", false, "", ""},
		"no network":                        {NetworkProbe{}, func(p *corev1.Pod, _ int) { p.Status.StartTime = &started }, "x509: certificate signed by unknown authority", false, "a new pod on worker-0 gets no network: “x509: certificate signed by unknown authority”", "last time"},
		"no word of why":                    {NetworkProbe{}, func(p *corev1.Pod, _ int) { p.Status.StartTime, p.Status.Phase = &started, "Pending" }, "", false, "gets no network: Pending", ""},
		"a kubelet that does not look":      {NetworkProbe{}, func(*corev1.Pod, int) {}, "", false, "the kubelet of worker-0 has not looked at a new pod: it is down, or does not trust api-int", ""},
		"somebody deletes it":               {NetworkProbe{}, func(p *corev1.Pod, _ int) { p.UID = "another" }, "", false, "another client deleted pod ", "not within"},
		"interrupted":                       {NetworkProbe{}, func(*corev1.Pod, int) {}, "", true, "interrupted by the user", ""},
		"in a namespace that is there":      {NetworkProbe{Namespace: "mine"}, func(p *corev1.Pod, _ int) { p.Status.PodIP = "10.128.0.7" }, "", false, "", ""},
		"of an image that is to be fetched": {NetworkProbe{Image: "mine"}, func(p *corev1.Pod, _ int) { p.Status.PodIP = "10.128.0.7" }, "", false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := remediatetest.NewFakeAPI(there...)
			api.Resources = remediatetest.OpenShiftAPI()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var made *corev1.Pod
			looks, deleted := 0, false
			api.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				deleted = true
				return false, nil, nil
			})
			api.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
				made = a.(clienttesting.CreateAction).GetObject().(*corev1.Pod).DeepCopy()
				made.UID = "probe"
				if c.ends {
					cancel(errors.New("interrupted by the user"))
				}
				return false, nil, nil
			})
			api.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if deleted {
					return false, nil, nil
				}
				looks++
				p := made.DeepCopy()
				p.UID = "" // as the fake gives none
				c.kubelet(p, looks)
				return true, p, nil
			})
			api.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
				list := &corev1.EventList{Items: []corev1.Event{{Reason: "FailedCreatePodSandBox", Message: "last time", InvolvedObject: corev1.ObjectReference{UID: "before"}}}}
				if c.event != "" {
					list.Items = append(list.Items, corev1.Event{Reason: "FailedCreatePodSandBox", Message: c.event})
				}
				return true, list, nil
			})
			c.probe.NodeName = "worker-0"
			err := c.probe.Verify(ctx, api.Env, nil)
			text := fmt.Sprint(err)
			if c.want == "" && err != nil || !strings.Contains(text, c.want) || c.unlike != "" && strings.Contains(text, c.unlike) {
				t.Errorf("says %v", err)
			}
			want, image, pull := []string{"create namespaces", "create pods", "delete pods", "delete namespaces"}, "platforms", corev1.PullNever
			if c.probe.Namespace != "" {
				want = []string{"create pods", "delete pods"}
			}
			if c.probe.Image != "" {
				image, pull = c.probe.Image, corev1.PullIfNotPresent
			}
			did := api.Did()
			if n := len(did); n > len(want) && did[len(want)-2] == "delete pods" { // at once, where the kubelet never saw it
				did = slices.Compact(did)
			}
			if !slices.Equal(did, want) {
				t.Errorf("did %v", api.Did())
			}
			s := made.Spec
			if s.Containers[0].Image != image || s.Containers[0].ImagePullPolicy != pull || s.NodeName != "worker-0" || s.HostNetwork || *s.AutomountServiceAccountToken || *s.ActiveDeadlineSeconds != 300 {
				t.Errorf("made %+v", s)
			}
			left, _ := api.Tracker().List(corev1.SchemeGroupVersion.WithResource("namespaces"), corev1.SchemeGroupVersion.WithKind("Namespace"), "")
			if l, ok := left.(*corev1.NamespaceList); !ok || len(l.Items) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
	tenants := []runtime.Object{elsewhere, runs("default", "mine", "users", ""), runs("shop", "agent", "agents", "DaemonSet"), runs("openshift-gitops", "agent", "add-ons", "DaemonSet")}
	for name, c := range map[string]struct {
		objects []runtime.Object
		plain   bool
		want    string // the image; empty: none is taken
	}{
		"tenants alone":                                {tenants, false, ""},
		"tenants alone, without operators":             {tenants, true, ""},
		"a tenant's namespace called like OpenShift's": {append(slices.Clone(tenants), runs("openshift-multus", "multus-x", "tenants", "DaemonSet")), true, ""},
		"kube-proxy":                                   {append(slices.Clone(tenants), runs("kube-system", "kube-proxy-x", "proxys", "DaemonSet")), true, "proxys"},
		"multus":                                       {append(slices.Clone(tenants), runs("openshift-multus", "multus-x", "multus", "DaemonSet")), false, "multus"},
	} {
		api := remediatetest.NewFakeAPI(c.objects...)
		if !c.plain {
			api.Resources = remediatetest.OpenShiftAPI()
		}
		image, err := NetworkProbe{NodeName: "worker-0"}.imageOf(t.Context(), api.Env)
		if image != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: takes %q, %v", name, image, err)
		}
		if c.want != "" {
			continue
		}
		if err := (NetworkProbe{NodeName: "worker-0"}).Verify(t.Context(), api.Env, nil); err == nil || !strings.Contains(err.Error(), "--debug-image") || len(api.Did()) > 0 {
			t.Errorf("%s: %v, did %v", name, err, api.Did())
		}
	}
	if err := (NetworkProbe{}).Verify(t.Context(), &remediate.Env{}, nil); !remediatetest.IsUnknown(err) {
		t.Errorf("without an API: %v", err)
	}
}
