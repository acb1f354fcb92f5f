package collect

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// movingObjects are what a server has of what moves nodes, by the list's path.
func movingObjects() map[string]string {
	return map[string]string{
		"/api/v1/nodes": `{"metadata":{"name":"master-0","labels":{"node-role.kubernetes.io/master":""},"annotations":{"machineconfiguration.openshift.io/currentConfig":"a","machineconfiguration.openshift.io/desiredConfig":"b","machineconfiguration.openshift.io/state":"Working"}},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`,
		nodeLeases:      `{"metadata":{"name":"master-0"},"spec":{"renewTime":"2026-03-01T12:00:00.000000Z","leaseDurationSeconds":40}}`,
		"/apis/config.openshift.io/v1/clusterversions":     `{"metadata":{"name":"version"},"status":{"desired":{"version":"4.16.1"},"conditions":[{"type":"Progressing","status":"True","message":"Working"},{"type":"Failing","status":"True","message":"stuck"}]}}`,
		"/apis/config.openshift.io/v1/clusteroperators":    `{"metadata":{"name":"etcd"},"status":{"conditions":[{"type":"Available","status":"True"},{"type":"Degraded","status":"True","message":"NodeControllerDegraded"}]}}`,
		"/apis/operator.openshift.io/v1/etcds":             `{"metadata":{"name":"cluster"},"status":{"latestAvailableRevision":8,"nodeStatuses":[{"nodeName":"master-0","currentRevision":7,"targetRevision":8}],"conditions":[{"type":"EtcdMembersDegraded","status":"False","message":"none"}]}}`,
		"/api/v1/namespaces/openshift-etcd/pods":           `{"metadata":{"name":"installer-8-master-0","namespace":"openshift-etcd"},"spec":{"nodeName":"master-0"},"status":{"phase":"Pending"}},{"metadata":{"name":"installer-7-master-0"},"status":{"phase":"Succeeded"}},{"metadata":{"name":"etcd-master-0"},"status":{"phase":"Running"}}`,
		"/api/v1/namespaces/openshift-kube-apiserver/pods": ``, "/api/v1/namespaces/openshift-kube-controller-manager/pods": ``, "/api/v1/namespaces/openshift-kube-scheduler/pods": ``,
		"/apis/machineconfiguration.openshift.io/v1/machineconfigpools":        `{"metadata":{"name":"worker"},"spec":{"paused":true,"configuration":{"name":"b"}},"status":{"configuration":{"name":"a"},"machineCount":3,"updatedMachineCount":1,"conditions":[{"type":"Updating","status":"True"},{"type":"Degraded","status":"False"}]}}`,
		"/apis/machine.openshift.io/v1beta1/machinehealthchecks":               `{"metadata":{"name":"spot","namespace":"openshift-machine-api"},"spec":{"unhealthyConditions":[{"type":"Terminating","status":"True"}]}},{"metadata":{"name":"all","namespace":"openshift-machine-api","annotations":{"cluster.x-k8s.io/paused":""}},"spec":{"unhealthyConditions":[{"type":"MemoryPressure","status":"Unknown"}]}}`,
		"/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks":               `{"metadata":{"name":"nhc"},"spec":{"pauseRequests":["ops"]}}`,
		"/apis/self-node-remediation.medik8s.io/v1alpha1/selfnoderemediations": `{"metadata":{"name":"worker-1","namespace":"x"}}`,
		"/apis/autoscaling.openshift.io/v1/clusterautoscalers":                 `{"metadata":{"name":"default"},"spec":{"scaleDown":{"enabled":true}}}`,
		"/apis/machine.openshift.io/v1/controlplanemachinesets":                `{"metadata":{"name":"cluster","namespace":"openshift-machine-api"},"spec":{"state":"Active","replicas":3},"status":{"replicas":4,"updatedReplicas":1}}`,
		"/apis/apiregistration.k8s.io/v1/apiservices":                          `{"metadata":{"name":"v1.route.openshift.io"},"status":{"conditions":[{"type":"Available","status":"False"}]}},{"metadata":{"name":"v1."},"status":{"conditions":[{"type":"Available","status":"True"}]}}`,
	}
}

func machineryOf(t *testing.T, forbidden ...string) *inspect.ControlPlaneStatus {
	t.Helper()
	return movingCluster(t, forbidden...).ControlPlaneStatus(t.Context())
}

func movingCluster(t *testing.T, forbidden ...string) *Cluster {
	t.Helper()
	objects := movingObjects()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items, ok := objects[r.URL.Path]
		for _, f := range forbidden {
			if strings.HasSuffix(r.URL.Path, "/"+f) {
				refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case ok:
			_, _ = w.Write([]byte(`{"kind":"List","metadata":{},"items":[` + items + `]}`))
		case r.URL.Path == "/apis/remediation.medik8s.io/v1alpha1":
			_, _ = w.Write([]byte(`{"kind":"APIResourceList"}`))
		default:
			refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "")
		}
	}))
	t.Cleanup(server.Close)
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return &Cluster{REST: client, Scanner: pki.NewScanner()}
}

// TestStaticPodNodes: where one operator could not be asked, another's nodes may not be all of them.
func TestStaticPodNodes(t *testing.T) {
	t.Parallel()
	for forbidden, want := range map[string][]string{"": {"master-0"}, "etcds": nil, "machinehealthchecks": {"master-0"}} {
		c := movingCluster(t, forbidden)
		if got := c.StaticPodNodes(t.Context()); !slices.Equal(got, want) {
			t.Errorf("without %q: %q, want %q", forbidden, got, want)
		}
		if got := c.ControlPlaneStatus(t.Context()).StaticPodNodes(); !slices.Equal(got, want) {
			t.Errorf("without %q, of the status: %q, want %q", forbidden, got, want)
		}
	}
}

func TestMachinery(t *testing.T) {
	t.Parallel()
	want := &inspect.ControlPlaneStatus{
		Update:     inspect.Update{Progressing: "True", Message: "Working", Desired: "4.16.1", Failing: "stuck"},
		Operators:  []inspect.OperatorState{{Name: "etcd", Available: "True", Degraded: "True", Message: "NodeControllerDegraded"}},
		StaticPods: []inspect.StaticPods{{Resource: "etcds", Latest: 8, Masters: []inspect.StaticPodState{{Node: "master-0", Current: 7, Target: 8}}, Conditions: map[string]string{"EtcdMembersDegraded": "False"}, Messages: map[string]string{"EtcdMembersDegraded": "none"}}},
		Installers: []inspect.Installer{{Namespace: "openshift-etcd", Name: "installer-8-master-0", Node: "master-0", Phase: "Pending"}},
		Pools:      []inspect.Pool{{Name: "worker", Paused: true, Updating: "True", Degraded: "False", Current: "a", Desired: "b", Machines: 3, Updated: 1}},
		Actors: []inspect.Actor{
			{Resource: "clusterautoscalers", Name: "default", Active: catalog.Yes, Why: "it scales down"},
			{Resource: "controlplanemachinesets", Namespace: "openshift-machine-api", Name: "cluster", Active: catalog.Yes, Why: "it is replacing machines: 1 of 3 are as it wants, and there are 4"},
			{Resource: "machinehealthchecks", Namespace: "openshift-machine-api", Name: "all", Active: catalog.Yes, Why: "it heeds MemoryPressure Unknown", Paused: []string{""}},
			{Resource: "machinehealthchecks", Namespace: "openshift-machine-api", Name: "spot", Active: catalog.No, Why: "it heeds Terminating True"},
			{Resource: "nodehealthchecks", Name: "nhc", Active: catalog.Yes, Why: "it heeds Ready False, Ready Unknown", Paused: []string{"ops"}},
			{Resource: "selfnoderemediations", Namespace: "x", Name: "worker-1", Active: catalog.Yes, Why: "it is at work on node worker-1"},
		},
		Nodes:           []inspect.NodeState{{Name: "master-0", Ready: "Unknown", Master: true, Heartbeat: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Lease: inspect.Lease{Duration: 40 * time.Second}, Config: catalog.PoolState{Current: "a", Desired: "b", State: "Working"}}},
		UnavailableAPIs: []string{"v1.route.openshift.io"},
	}
	if diff := cmp.Diff(want, machineryOf(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAutoscalerScalesDownByDefault: without spec.scaleDown its operator gives no flag, and the autoscaler's own default is to
// scale down.
func TestAutoscalerScalesDownByDefault(t *testing.T) {
	t.Parallel()
	row, _ := catalog.ControlPlaneResourceOf(catalog.ClusterAutoscalers)
	for spec, want := range map[string]inspect.Actor{
		`{}`:                              {Active: catalog.Yes, Why: "it scales down, as by default"},
		`{"scaleDown":null}`:              {Active: catalog.Yes, Why: "it scales down, as by default"},
		`{"scaleDown":{"enabled":true}}`:  {Active: catalog.Yes, Why: "it scales down"},
		`{"scaleDown":{"enabled":false}}`: {Active: catalog.No, Why: "it does not scale down"},
	} {
		var o movingObject
		if err := json.Unmarshal([]byte(`{"metadata":{"name":"default"},"spec":`+spec+`}`), &o); err != nil {
			t.Fatal(err)
		}
		want.Resource, want.Name = catalog.ClusterAutoscalers, "default"
		if diff := cmp.Diff(want, actor(row, &o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

// What may not be listed is a gap, unless its API is not served at all: RBAC answers
// the same for both.
func TestMachineryThatMayNotBeListed(t *testing.T) {
	t.Parallel()
	m := machineryOf(t, "nodehealthchecks", "machineautoscalers", "nodes")
	var gaps []string
	for _, g := range m.Gaps {
		if g.Reason == "" || g.Next == "" {
			t.Errorf("%+v", g)
		}
		gaps = append(gaps, g.What)
	}
	if diff := cmp.Diff([]string{"nodehealthchecks", "nodes"}, gaps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A group that is not served is answered without an API's words, and asked for once.
func TestWhatIsNotServedIsAskedForOnce(t *testing.T) {
	t.Parallel()
	var asked sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := asked.LoadOrStore(r.URL.Path, true); again {
			t.Errorf("%s is asked for again", r.URL.Path)
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	(&Cluster{REST: client, Scanner: pki.NewScanner()}).ControlPlaneStatus(t.Context())
	if _, ok := asked.Load("/apis/machine.openshift.io/v1beta1/machinehealthchecks"); !ok {
		t.Error("nobody asked for what may delete machines")
	}
}

// TestWhichNodeIsRebooted: a SelfNodeRemediation may have a generated name, or that of a Machine.
func TestWhichNodeIsRebooted(t *testing.T) {
	t.Parallel()
	row, ok := catalog.ControlPlaneResourceOf("selfnoderemediations")
	if !ok {
		t.Fatal("no row")
	}
	named := map[string]string{catalog.AnnotationRemediatedNode: "worker-1"}
	machine, check := metav1.OwnerReference{Kind: "Machine", Name: "m-1"}, metav1.OwnerReference{Kind: "NodeHealthCheck", Name: "nhc"}
	for name, c := range map[string]struct {
		meta metav1.ObjectMeta
		want string
	}{
		"its name":                   {metav1.ObjectMeta{Name: "worker-0"}, "node worker-0"},
		"an annotation":              {metav1.ObjectMeta{Name: "worker-1-x7abc", Annotations: named}, "node worker-1"},
		"a Machine":                  {metav1.ObjectMeta{Name: "m-1", Annotations: named, OwnerReferences: []metav1.OwnerReference{machine}}, "the node of Machine m-1"},
		"a NodeHealthCheck's":        {metav1.ObjectMeta{Name: "x", Annotations: named, OwnerReferences: []metav1.OwnerReference{check, machine}}, "node worker-1"},
		"a NodeHealthCheck's, after": {metav1.ObjectMeta{Name: "x", Annotations: named, OwnerReferences: []metav1.OwnerReference{machine, check}}, "node worker-1"},
	} {
		if got := actor(row, &movingObject{Metadata: c.meta}).Why; got != "it is at work on "+c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestOnDeleteReplacesDeletedMachinesAlone: those that differ stay.
func TestOnDeleteReplacesDeletedMachinesAlone(t *testing.T) {
	t.Parallel()
	row, _ := catalog.ControlPlaneResourceOf(catalog.ControlPlaneMachines)
	for _, c := range []struct {
		strategy           string
		replicas, upToDate int
		want               catalog.Tristate
	}{{"RollingUpdate", 3, 2, catalog.Yes}, {"", 3, 2, catalog.Yes}, {"OnDelete", 3, 2, catalog.No}, {"OnDelete", 4, 2, catalog.Yes}, {"RollingUpdate", 3, 3, catalog.No}} {
		var o movingObject
		o.Spec.State, o.Spec.Replicas, o.Spec.Strategy.Type = "Active", 3, c.strategy
		o.Status.Replicas, o.Status.UpToDate = c.replicas, c.upToDate
		if got := actor(row, &o); got.Active != c.want {
			t.Errorf("%+v: %s", c, got.Why)
		}
	}
}
