package collect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// podAPI is a server that has pods, which it gives out in pages, and objects by path.
type podAPI struct {
	pods    []corev1.Pod
	objects map[string]object
	fail    func(w http.ResponseWriter, r *http.Request) bool
}

func (a podAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.fail != nil && a.fail(w, r) {
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/pods") {
		if o, ok := a.objects[r.URL.Path]; ok {
			_ = json.NewEncoder(w).Encode(o)
			return
		}
		refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "")
		return
	}
	namespace := ""
	if parts := strings.Split(r.URL.Path, "/"); len(parts) > 5 {
		namespace = parts[4]
	}
	var all []corev1.Pod
	for _, p := range a.pods {
		if namespace == "" || p.Namespace == namespace {
			all = append(all, p)
		}
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	start, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	list.Items = all[start:min(start+limit, len(all))]
	if start+limit < len(all) {
		list.Continue = strconv.Itoa(start + limit)
	}
	answer(w, r, http.StatusOK, list)
}

func (a podAPI) cluster(t *testing.T) *Cluster {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return &Cluster{REST: client, Scanner: pki.NewScanner()}
}

func aPod(namespace, name, node string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name)}, Spec: corev1.PodSpec{NodeName: node}}
}

func TestPods(t *testing.T) {
	t.Parallel()
	at := metav1.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	yes := true
	full := aPod("openshift-multus", "multus-x", "worker-0")
	full.OwnerReferences = []metav1.OwnerReference{{Kind: "Other", Name: "other"}, {Kind: "DaemonSet", Name: "multus", Controller: &yes}}
	full.DeletionTimestamp = &at
	full.Status = corev1.PodStatus{Phase: "Running", StartTime: &at, Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}, ContainerStatuses: []corev1.ContainerStatus{
		{RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at.Add(2 * time.Hour))}}},
		{RestartCount: 1, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at.Add(time.Hour))}}},
		{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
	}}
	api := podAPI{pods: []corev1.Pod{full, aPod("elsewhere", "other", "worker-0")}}
	got, gaps := api.cluster(t).Pods(t.Context(), "openshift-multus", "not-there")
	want := []inspect.Pod{{
		Namespace: "openshift-multus", Name: "multus-x", UID: "uid-of-multus-x", Node: "worker-0", OwnerKind: "DaemonSet", OwnerName: "multus",
		Accepted: at.Time, Started: at.Add(time.Hour), Phase: "Running", Ready: true, Restarts: 3, Deleting: true,
	}}
	if diff := cmp.Diff(want, got); diff != "" || len(gaps) > 0 {
		t.Errorf("%s\n%v", diff, gaps)
	}
}

func TestPodsComeInPages(t *testing.T) {
	t.Parallel()
	var api podAPI
	for i := range 1203 {
		p := aPod("n", fmt.Sprintf("pod-%04d", i), fmt.Sprintf("worker-%d", i%3))
		if i%4 == 0 {
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1.7e9, 0)}
		}
		api.pods = append(api.pods, p)
	}
	unscheduled := aPod("n", "nowhere", "")
	unscheduled.DeletionTimestamp = &metav1.Time{Time: time.Unix(1.7e9, 0)}
	api.pods = append(api.pods, unscheduled)
	if got, gaps := api.cluster(t).Pods(t.Context(), "n"); len(got) != 1204 || len(gaps) > 0 {
		t.Errorf("%d pods, %v", len(got), gaps)
	}
	got, err := api.cluster(t).DeletingPods(t.Context())
	if diff := cmp.Diff(map[string]int{"worker-0": 101, "worker-1": 100, "worker-2": 100}, got); diff != "" || err != nil {
		t.Errorf("%s\n%v", diff, err)
	}
}

func TestPodsThatMayNotBeListedAreAGap(t *testing.T) {
	t.Parallel()
	api := podAPI{pods: []corev1.Pod{aPod("a", "one", "worker-0")}, fail: func(w http.ResponseWriter, r *http.Request) bool {
		denied := !strings.Contains(r.URL.Path, "/namespaces/a/")
		if denied {
			refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
		}
		return denied
	}}
	got, gaps := api.cluster(t).Pods(t.Context(), "a", "b")
	if len(got) != 1 || len(gaps) != 1 || gaps[0].What != "pods" || gaps[0].Where != "b" || gaps[0].Next == "" {
		t.Errorf("%v %+v", got, gaps)
	}
	if count, err := api.cluster(t).DeletingPods(t.Context()); err == nil || count != nil {
		t.Errorf("%v, %v", count, err)
	}
}

func TestRollout(t *testing.T) {
	t.Parallel()
	ca := string(caPEM())
	bundle := func(key, text string) object {
		return object{"metadata": object{"managedFields": []object{
			{"manager": "kube-controller-manager", "time": "2026-03-01T12:00:00Z", "fieldsV1": object{"f:data": object{"f:" + key: object{}}}},
			{"manager": "somebody", "time": "2026-03-02T12:00:00Z", "fieldsV1": object{"f:metadata": object{"f:labels": object{}}}},
		}}, "data": object{key: text}}
	}
	const kcm, multus = "/api/v1/namespaces/openshift-kube-controller-manager/configmaps/serviceaccount-ca", "/api/v1/namespaces/openshift-multus"
	const scheduler = "/api/v1/namespaces/openshift-kube-scheduler/configmaps/serviceaccount-ca"
	operator := object{"status": object{"latestAvailableRevision": 8, "nodeStatuses": []object{
		{"nodeName": "master-1", "currentRevision": 7, "targetRevision": 8, "lastFailedRevision": 6, "lastFailedReason": "long ago"},
		{"nodeName": "master-0", "currentRevision": 8},
		{"nodeName": "master-2", "currentRevision": 7, "lastFailedRevision": 8, "lastFailedReason": "InstallerFailed", "lastFailedRevisionErrors": []string{"no space"}},
	}}}
	installer := aPod("openshift-kube-controller-manager", "installer-8-retry-1-master-1", "master-1")
	installer.Status.Phase = "Pending"
	api := podAPI{pods: []corev1.Pod{installer}, objects: map[string]object{
		"/apis/operator.openshift.io/v1/kubecontrollermanagers/cluster": operator,
		kcm: bundle("ca-bundle.crt", ca+ca), kcm + "-8": bundle("ca-bundle.crt", ca),
		multus + "/configmaps/kube-root-ca.crt":                 bundle("ca.crt", ca),
		"/api/v1/namespaces/empty":                              {},
		"/apis/operator.openshift.io/v1/kubeschedulers/cluster": {"status": object{"latestAvailableRevision": 3, "nodeStatuses": []object{{"nodeName": "master-0", "currentRevision": 3}}}},
		scheduler: bundle("ca-bundle.crt", ca+ca), scheduler + "-3": bundle("ca-bundle.crt", ca),
	}}
	if at, err := api.cluster(t).Changed(t.Context(), catalog.ServiceAccountCA()); err != nil || at.Format(time.RFC3339) != "2026-03-01T12:00:00Z" {
		t.Errorf("its value is from %s: %v", at, err)
	}
	got, err := api.cluster(t).Rollout(t.Context(), "openshift-multus", "not-there", "empty")
	if err != nil {
		t.Fatal(err)
	}
	certs := pki.NewScanner().Scan([]byte(ca))[0].Content.Certs
	want := inspect.Rollout{
		Operator: true, Source: append(certs[:1:1], certs...), Latest: 8,
		Masters: []inspect.Revision{
			{Node: "master-0", Current: 8, CA: certs},
			{Node: "master-1", Current: 7, Target: 8, Installer: "Pending"},
			{Node: "master-2", Current: 7, Failed: "InstallerFailed: no space"},
		},
		Scheduler: &inspect.Revisions{Source: append(certs[:1:1], certs...), Latest: 3, Masters: []inspect.Revision{{Node: "master-0", Current: 3, CA: certs}}},
		RootCAs:   []inspect.RootCA{{Namespace: "empty"}, {Namespace: "openshift-multus", CA: certs, Written: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}},
	}
	if diff := cmp.Diff(want, got, sameCert); diff != "" {
		t.Error(diff)
	}

	delete(api.objects, "/apis/operator.openshift.io/v1/kubecontrollermanagers/cluster")
	delete(api.objects, "/apis/operator.openshift.io/v1/kubeschedulers/cluster")
	got, err = api.cluster(t).Rollout(t.Context(), "openshift-multus")
	if want := (inspect.Rollout{RootCAs: want.RootCAs[1:]}); err != nil || cmp.Diff(want, got, sameCert) != "" {
		t.Errorf("without the operator: %v\n%s", err, cmp.Diff(want, got, sameCert))
	}

	api.fail = func(w http.ResponseWriter, r *http.Request) bool {
		refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
		return true
	}
	if _, err := api.cluster(t).Rollout(t.Context(), "openshift-multus"); err == nil {
		t.Error("what may not be read counts as absent")
	}
}
