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
	// halfway is a rotation in which the node met a master that shows the old certificate.
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
	// unwritten is a kubeconfig of the kubelet that nobody wrote since long.
	unwritten := func(f *remediatetest.Fixture, _ *RestartPods) {
		for i := range f.FirstNode().Files {
			f.FirstNode().Files[i].Modified = long
		}
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
			f.FirstNode().Processes = []inspect.Process{{Command: "multus-daemon", Started: since}}
		}, ""},
		"a process that is older than the pod says": {"multus", since, func(f *remediatetest.Fixture, _ *RestartPods) {
			f.FirstNode().Processes = []inspect.Process{{Command: "multus-daemon", Started: long}}
		}, "before the CA was made"},
		"no multus on the node":   {"multus", long, func(_ *remediatetest.Fixture, a *RestartPods) { a.Pods = nil }, ""},
		"thin multus":             {"multus-thin", long, nil, ""},
		"thin multus, and always": {"multus-thin", long, func(_ *remediatetest.Fixture, a *RestartPods) { a.always = true }, ""},
		"a kubelet that is not right yet": {"multus", long, func(f *remediatetest.Fixture, _ *RestartPods) { f.Embed(node, remediatetest.KubeletFile, f.Before) },
			"kubelet-trusts on worker-0: openshift-multus/multus is not restarted before the node's kubelet is right"},
		"a kubelet that is not right yet, and always": {"multus", long, func(f *remediatetest.Fixture, a *RestartPods) {
			a.always = true
			f.Embed(node, remediatetest.KubeletFile, f.Before)
		}, "kubelet-trusts"},
		"a kubelet that has not read its file": {"multus", long, func(f *remediatetest.Fixture, _ *RestartPods) { f.FirstNode().Kubelet.Started = long }, "the kubelet has not read"},
		"a kubelet that is down":               {"multus", long, func(f *remediatetest.Fixture, _ *RestartPods) { f.FirstNode().Kubelet.Active = "failed" }, `the kubelet is "failed"`},
		"a node that was not read":             {"multus", long, func(f *remediatetest.Fixture, _ *RestartPods) { f.FirstNode().Via = "" }, "node-read on worker-0"},
		"the daemon from before the CA":        {"machine-config-daemon", long, nil, "it runs since before the CA was made"},
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
			f.FirstNode().Processes = []inspect.Process{{Command: "machine-config-daemon", Started: remediatetest.TestNow.Add(-20 * time.Minute)}}
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
			f := remediatetest.Mended()
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

func TestRestartPods(t *testing.T) {
	t.Parallel()
	f := remediatetest.Mended()
	row := remediatetest.RowOf("multus")
	a := RestartPods{NodeName: "worker-0", Row: row, Pods: []inspect.Pod{remediatetest.PodOf(row, "worker-0", remediatetest.TestNow.Add(-25*time.Hour))}, CA: f.CaOf()}
	old := a.Pods[0]
	api := remediatetest.NewFakeAPI(remediatetest.NodeThat("worker-0", "False"), remediatetest.DaemonPod(old, old.UID, "Running", "True"))
	c, err := a.Diff(f.Snapshot, remediatetest.TestNow)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	// The DaemonSet's controller, whose pod takes three looks to be ready.
	looks := 0
	api.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		looks++
		list := &corev1.PodList{Items: []corev1.Pod{*remediatetest.DaemonPod(remediatetest.PodOf(row, "worker-1", remediatetest.TestNow), "elsewhere", "Pending", "False")}}
		switch {
		case looks == 2:
			list.Items = append(list.Items, *remediatetest.DaemonPod(old, "new", "Pending", "False"))
		case looks > 2:
			list.Items = append(list.Items, *remediatetest.DaemonPod(old, "new", "Running", "True"))
		}
		return true, list, nil
	})
	if err := a.Apply(t.Context(), api.Env, c); err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context(), api.Env, c); err != nil || looks != 3 {
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
	if err := a.Apply(t.Context(), api.Env, c); err != nil {
		t.Errorf("a pod that is gone: %v", err)
	}
	if err := a.Undo(t.Context(), api.Env, c); err != nil || len(api.Did()) != 2 {
		t.Errorf("undo: %v, did %v", err, api.Did())
	}
}

func TestRestartPodsThatMustNotBe(t *testing.T) {
	t.Parallel()
	f := remediatetest.Mended()
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
	f := remediatetest.Mended("master-0", "worker-0")
	f.Cluster.Versions = catalog.Versions{Cluster: "4.15.0"}
	long := remediatetest.TestNow.Add(-25 * time.Hour)
	r := NetworkRestarts{CA: f.CaOf()}
	for _, row := range catalog.NetworkPodsIn(f.Cluster.Versions) {
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
	for _, ns := range catalog.NetworkNamespaces(f.Cluster.Versions) {
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
	if _, notes, err := r.OnNode(f.Snapshot, remediatetest.TestNow, "worker-0"); err != nil || len(notes) != 2 || !strings.Contains(notes[1], "--restart-network=always restarts it all the same.") {
		t.Errorf("not known: %q, %v", notes, err)
	}
	f.Embed("worker-0", remediatetest.KubeletFile, f.Before)
	var refusal *remediate.Refusal
	if _, _, err := r.OnNode(f.Snapshot, remediatetest.TestNow, "worker-0"); !errors.As(err, &refusal) || refusal.Name != kubeletTrusts {
		t.Errorf("a node that is not right: %v", err)
	}
}

func TestAwaitRootCA(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	old, now := pki.LoadedPEM(f.Sc, f.Before), f.CaOf()
	behind := func(revision int, ready string) inspect.Rollout {
		return inspect.Rollout{
			Operator: true, Source: now, Latest: 8, Masters: []inspect.Revision{{Node: "master-0", Current: revision, CA: old, Ready: ready}},
			RootCAs: []inspect.RootCA{{Namespace: "openshift-multus", CA: old}},
		}
	}
	done := inspect.Rollout{Operator: true, Source: now, Latest: 8, Masters: []inspect.Revision{{Node: "master-0", Current: 8, CA: now}}, RootCAs: []inspect.RootCA{{Namespace: "openshift-multus", CA: now}}}
	verify := func(a AwaitRootCA) (string, error) {
		api := remediatetest.NewFakeAPI()
		var said []string
		a.CA, a.Print = now, func(text string) { said = append(said, text) }
		err := a.Verify(t.Context(), api.Env, nil)
		return strings.Join(said, "\n"), err
	}
	waits := behind(7, "True")
	waits.Masters[0].Installer = "Pending"
	looks := 0
	said, err := verify(AwaitRootCA{Read: func(context.Context) (inspect.Rollout, error) {
		looks++
		switch {
		case looks == 5:
			return inspect.Rollout{}, errors.New("kube-apiserver is being rolled out")
		case looks > 400:
			return done, nil
		case looks > 200:
			return behind(7, "True"), nil
		}
		return behind(6, "True"), nil
	}})
	if err != nil || strings.Count(said, "\n") != 1 || !strings.Contains(said, "master-0 runs revision 7, whose serviceaccount-ca lacks a CA; the latest is 8") {
		t.Errorf("it goes on: %v, said\n%s", err, said)
	}
	for name, c := range map[string]struct {
		read inspect.Rollout
		want string
	}{
		"a master that is away":             {behind(7, "Unknown"), "Installer pods can't run on master-0, and the rollout to all control plane nodes waits for that. Repair it first: oc describe node master-0"},
		"nobody knows why":                  {behind(7, "True"), "forceRedeploymentReason"},
		"an installer pod waits":            {waits, "Its multus (network 4.14+) may still be outdated in memory, with only the previous CA"},
		"and how multus is restarted":       {waits, "On master-0: sudo kill $(pidof multus-daemon). What the operator says"},
		"and for how long it may be":        {waits, "-enddate -in /etc/cni/multus/certs/multus-client-current.pem"},
		"the operator does nothing":         {inspect.Rollout{Operator: true, Source: old, RootCAs: done.RootCAs}, "logs deployment/kube-controller-manager-operator"},
		"a plain kube-controller-manager":   {inspect.Rollout{RootCAs: behind(7, "").RootCAs}, "reads it when it starts"},
		"no namespace has kube-root-ca.crt": {inspect.Rollout{}, "there is no kube-root-ca.crt in any of the namespaces"},
	} {
		var late *remediate.LateEffectError
		if _, err := verify(AwaitRootCA{Read: func(context.Context) (inspect.Rollout, error) { return c.read, nil }}); !errors.As(err, &late) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nothing has changed for 6m") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := verify(AwaitRootCA{Read: func(context.Context) (inspect.Rollout, error) { return done, errors.New("forbidden") }}); !remediatetest.IsUnknown(err) || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("an API that does not say: %v", err)
	}
	if _, err := verify(AwaitRootCA{}); !remediatetest.IsUnknown(err) {
		t.Errorf("without an API: %v", err)
	}

	read := func(context.Context) (inspect.Rollout, error) { return done, nil }
	for name, c := range map[string]struct {
		a    AwaitRootCA
		want bool
	}{
		"it is everywhere":        {AwaitRootCA{CA: now, Planned: done, Read: read}, false},
		"it is not":               {AwaitRootCA{CA: now, Planned: behind(7, "True"), Read: read}, true},
		"nothing was read":        {AwaitRootCA{CA: now, Read: read}, true},
		"an ended CA is left out": {AwaitRootCA{CA: append(now[:len(now):len(now)], &pki.Cert{NotAfter: remediatetest.TestNow.Add(-time.Hour)}), Planned: done, Read: read}, false},
	} {
		if got, err := c.a.Diff(f.Snapshot, remediatetest.TestNow); err != nil || (got != nil) != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

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

func TestPatchKubeRootCA(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	published := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-multus", Name: "kube-root-ca.crt", ResourceVersion: "7"}, Data: map[string]string{"ca.crt": string(f.Before)}}
	api := remediatetest.NewFakeAPI(published)
	var patches []string
	// The fake takes a dry run for real.
	api.PrependReactor("patch", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchActionImpl)
		patches = append(patches, fmt.Sprintf("%v %s %t", p.PatchOptions.DryRun, p.PatchOptions.FieldManager, strings.Contains(string(p.GetPatch()), `"resourceVersion":"7"`)))
		if len(p.PatchOptions.DryRun) == 0 {
			return false, nil, nil
		}
		tried := published.DeepCopy()
		tried.Data["ca.crt"] = string(f.Before) + string(f.Young.CertPEM)
		return true, tried, nil
	})
	a, err := NewPatchKubeRootCA(t.Context(), api, "openshift-multus", f.CaOf())
	kept := ""
	a.Keep = func(manifest []byte) error { kept = string(manifest); return nil }
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Diff(f.Snapshot, remediatetest.TestNow)
	if err != nil || c == nil || !strings.Contains(c.Summary, "add to ConfigMap/openshift-multus/kube-root-ca.crt[ca.crt]: CN=loadbalancer-serving-signer (sha256 ") {
		t.Fatal(c, err)
	}
	if err := a.Apply(t.Context(), api.Env, c); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(kept, "patch configmap kube-root-ca.crt --type merge --patch-file FILE\ndata:\n  ca.crt: |\n    -----BEGIN") || strings.Contains(kept, string(f.Young.CertPEM)) {
		t.Errorf("what is kept is %q", kept)
	}
	if want := []string{"[All] certrot true", "[] certrot true"}; !slices.Equal(patches, want) {
		t.Errorf("patches %v", patches)
	}
	if err := a.Verify(t.Context(), api.Env, c); err != nil {
		t.Errorf("nobody puts it back: %v", err)
	}
	now := func() string {
		m, err := api.CoreV1().ConfigMaps("openshift-multus").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m.Data["ca.crt"]
	}
	if now() != string(f.Before)+string(f.Young.CertPEM) {
		t.Errorf("wrote %q", now())
	}
	if again, err := NewPatchKubeRootCA(t.Context(), api, "openshift-multus", f.CaOf()); err != nil {
		t.Error(err)
	} else if c, err := again.Diff(f.Snapshot, remediatetest.TestNow); c != nil || err != nil {
		t.Errorf("a second time: %v, %v", c, err)
	}
	if err := a.Undo(t.Context(), api.Env, c); err != nil || now() != string(f.Before) {
		t.Errorf("undone: %v, %q", err, now())
	}
	var bad *remediate.BadEffectError
	if err := a.Verify(t.Context(), api.Env, c); !errors.As(err, &bad) || !strings.Contains(err.Error(), "was put back within 0.0 s") || !strings.Contains(err.Error(), "serviceaccount-ca") {
		t.Errorf("put back: %v", err)
	}
	published.Data["ca.crt"] = string(f.Service.CertPEM)
	if _, err := api.CoreV1().ConfigMaps("openshift-multus").Update(t.Context(), published, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Undo(t.Context(), api.Env, c); !errors.Is(err, remediate.ErrChanged) || now() != string(f.Service.CertPEM) {
		t.Errorf("undo of what somebody changed: %v", err)
	}
	if _, err := NewPatchKubeRootCA(t.Context(), api, "nowhere", f.CaOf()); err == nil {
		t.Error("a namespace that is not there")
	}
}

// TestSchedulersLever: a new revision of kube-scheduler brings what its source has, and
// helps where it is the one that is behind.
func TestSchedulersLever(t *testing.T) {
	t.Parallel()
	f := remediatetest.Mended("master-0")
	ca := f.CaOf()
	r := inspect.Rollout{Operator: true, Source: ca, Latest: 3, Masters: []inspect.Revision{{Node: "master-0", Current: 3, CA: ca, Ready: "True"}}, Scheduler: &inspect.Revisions{Latest: 4}}
	for _, c := range []struct {
		source, held []*pki.Cert
		says         string
		not          string
	}{
		{nil, nil, "kube-scheduler's serviceaccount-ca is put together by its operator", "kubecontrollermanager"},
		{ca, nil, "oc patch kubescheduler cluster", "kubecontrollermanager"},
		{ca, ca, "oc patch kubecontrollermanager cluster", "kubescheduler"}, // it is kube-root-ca.crt that is waited for
	} {
		r.Scheduler.Source, r.Scheduler.Masters = c.source, []inspect.Revision{{Node: "master-0", Current: 3, CA: c.held, Ready: "True"}}
		if got := RolloutHint(r, ca); !strings.Contains(got, c.says) || strings.Contains(got, c.not) {
			t.Errorf("source %d, held %d: %s", len(c.source), len(c.held), got)
		}
	}
	r.Masters[0].CA, r.Scheduler.Masters[0].CA = []*pki.Cert{}, nil
	if got := RolloutHint(r, ca); !strings.Contains(got, "oc patch kubecontrollermanager cluster") {
		t.Errorf("kube-controller-manager is behind, too: %s", got)
	}
}

// TestARolloutsNodeForgesNoCommand: an API server that is not what it is taken for has any name.
func TestARolloutsNodeForgesNoCommand(t *testing.T) {
	t.Parallel()
	const name = "worker-0;reboot"
	text := RolloutHint(inspect.Rollout{Operator: true, Masters: []inspect.Revision{{Node: name, Ready: "False"}}}, nil)
	if strings.Contains(text, "drain "+name) || strings.Contains(text, "describe node "+name) {
		t.Error(text)
	}
}
