package action

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestRotateOnlyWhatWasShown: the Secret is another version, or another Secret, than the one
// that was planned.
func TestRotateOnlyWhatWasShown(t *testing.T) {
	t.Parallel()
	at := catalog.Ref{Kind: catalog.Secret, Namespace: "ns", Name: "signer"}
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	secret := func(uid types.UID, version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{
			Namespace: at.Namespace, Name: at.Name, UID: uid, ResourceVersion: version, Annotations: map[string]string{catalog.AnnotationNotAfter: "then"},
		}}
	}
	for title, c := range map[string]struct {
		now     *metav1.PartialObjectMetadata
		changed bool
	}{
		"as it was shown":         {secret("a", "7"), false},
		"another client wrote it": {secret("a", "8"), true},
		"it was created again":    {secret("b", "7"), true},
	} {
		scheme := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		client := metadatafake.NewSimpleMetadataClient(scheme, secret("a", "7"))
		writes := 0
		remediatetest.HonorConditions(client, func(clienttesting.Action) { writes++ })
		a, err := PlanRotation(t.Context(), client, at, catalog.AnnotationNotAfter, inspect.Hints{})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Tracker().Update(secrets, c.now, at.Namespace); err != nil {
			t.Fatal(err)
		}
		if err := a.Apply(t.Context(), nil, nil); errors.Is(err, remediate.ErrChanged) != c.changed || (err != nil) != c.changed || (writes == 0) != c.changed {
			t.Errorf("%s: %v, %d writes", title, err, writes)
		}
	}
}

// TestPatchOnlyTheConfigMapThatWasShown: what another client wrote after the dry run stays.
func TestPatchOnlyTheConfigMapThatWasShown(t *testing.T) {
	t.Parallel()
	at := catalog.RootCAOf("ns")
	object := func(version, value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name, ResourceVersion: version}, Data: map[string]string{at.Key: value}}
	}
	for title, c := range map[string]struct {
		now     *corev1.ConfigMap
		changed bool
	}{
		"as it was shown":         {object("7", "before"), false},
		"another client wrote it": {object("8", "other"), true},
	} {
		api := remediatetest.NewFakeAPI(c.now)
		writes := 0
		remediatetest.HonorConditions(api, func(clienttesting.Action) { writes++ })
		a := PatchKubeRootCA{ConfigMapValue: ConfigMapValue{Object: at, Version: "7", Before: "before", After: "after"}, Keep: func([]byte) error { return nil }}
		err := a.Apply(t.Context(), api.Env, nil)
		var unchanged *remediate.NotAppliedError
		if errors.Is(err, remediate.ErrChanged) != c.changed || errors.As(err, &unchanged) != c.changed || (writes == 0) != c.changed {
			t.Errorf("%s: %v, %d writes", title, err, writes)
		}
	}
}

// TestRestartOnlyThePodsThatWereShown: a pod that the DaemonSet has instead may have loaded the
// old CA, and is not deleted unseen.
func TestRestartOnlyThePodsThatWereShown(t *testing.T) {
	t.Parallel()
	row := remediatetest.RowOf("multus")
	old := remediatetest.PodOf(row, "worker-0", remediatetest.TestNow)
	same := remediatetest.DaemonPod(old, "another", corev1.PodRunning, corev1.ConditionTrue)
	same.Name = old.Name
	ending := remediatetest.DaemonPod(old, "ending", corev1.PodRunning, corev1.ConditionTrue)
	ending.DeletionTimestamp = &metav1.Time{Time: remediatetest.TestNow}
	other := remediatetest.DaemonPod(old, "others", corev1.PodRunning, corev1.ConditionTrue)
	other.OwnerReferences[0].Name = "another"
	shown := remediatetest.DaemonPod(old, old.UID, corev1.PodRunning, corev1.ConditionTrue)
	for title, c := range map[string]struct {
		now     []runtime.Object
		changed bool
		deletes int
	}{
		"as it was shown":                    {[]runtime.Object{shown}, false, 1},
		"beside one that ends":               {[]runtime.Object{shown, ending}, false, 1},
		"beside one of another DaemonSet":    {[]runtime.Object{shown, other}, false, 1},
		"it is gone, and there is no other":  {nil, false, 0},
		"another one took its place":         {[]runtime.Object{remediatetest.DaemonPod(old, "new", corev1.PodRunning, corev1.ConditionTrue)}, true, 0},
		"another one with its name":          {[]runtime.Object{same}, true, 0},
		"another one came while it is there": {[]runtime.Object{shown, remediatetest.DaemonPod(old, "new", corev1.PodPending, corev1.ConditionFalse)}, true, 0},
	} {
		api := remediatetest.NewFakeAPI(append(c.now, remediatetest.NodeThat("worker-0", corev1.ConditionTrue))...)
		deletes := 0
		remediatetest.HonorConditions(api, func(clienttesting.Action) { deletes++ })
		err := RestartPods{NodeName: "worker-0", Row: row, Pods: []inspect.Pod{old}}.Apply(t.Context(), api.Env, nil)
		if errors.Is(err, remediate.ErrChanged) != c.changed || (err != nil) != c.changed || deletes != c.deletes {
			t.Errorf("%s: %v, deleted %d", title, err, deletes)
		}
	}
}

// TestPauseWritesOneFieldOnly: what others wrote meanwhile stays, and what they paused is theirs.
func TestPauseWritesOneFieldOnly(t *testing.T) {
	t.Parallel()
	const key = "cluster.x-k8s.io/paused"
	checks := schema.GroupVersionResource{Group: "machine.openshift.io", Version: "v1beta1", Resource: catalog.MachineHealthChecks}
	health := schema.GroupVersionResource{Group: "remediation.medik8s.io", Version: "v1alpha1", Resource: catalog.NodeHealthChecks}
	object := func(kind, version string, annotations map[string]string, requests ...any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"pauseRequests": requests}}}
		u.SetNamespace("ns")
		if kind == "NodeHealthCheck" {
			u.SetNamespace("")
			u.SetGroupVersionKind(health.GroupVersion().WithKind(kind))
		} else {
			u.SetGroupVersionKind(checks.GroupVersion().WithKind(kind))
		}
		u.SetName("workers")
		u.SetResourceVersion(version)
		u.SetAnnotations(annotations)
		return u
	}
	check := inspect.Actor{Resource: catalog.MachineHealthChecks, Namespace: "ns", Name: "workers"}
	lists := inspect.Actor{Resource: catalog.NodeHealthChecks, Name: "workers"}
	for title, c := range map[string]struct {
		a          Pause
		meanwhile  *unstructured.Unstructured // written by another client after it was read; nil: nothing
		always     bool                       // at each try
		writes     int
		annotation string
		requests   []string
		fails      bool
	}{
		"pause":                                   {a: Pause{actor: check, runs: []string{"1"}}, writes: 1, annotation: "certrot 1"},
		"pause what another client paused":        {a: Pause{actor: check, runs: []string{"1"}}, meanwhile: object("MachineHealthCheck", "8", map[string]string{key: "theirs"}), annotation: "theirs"},
		"pause what another client wrote":         {a: Pause{actor: check, runs: []string{"1"}}, meanwhile: object("MachineHealthCheck", "8", map[string]string{"other": "x"}), writes: 1, annotation: "certrot 1"},
		"pause what is written at each try":       {a: Pause{actor: check, runs: []string{"1"}}, meanwhile: object("MachineHealthCheck", "8", nil), always: true, fails: true},
		"resume what another client paused again": {a: Pause{actor: check, runs: []string{"1"}, resume: true}, meanwhile: object("MachineHealthCheck", "8", map[string]string{key: "theirs"}), annotation: "theirs"},
		"pause beside another request":            {a: Pause{actor: lists, runs: []string{"1"}}, meanwhile: object("NodeHealthCheck", "8", nil, "theirs"), writes: 1, requests: []string{"theirs", "certrot 1"}},
		"resume beside another request":           {a: Pause{actor: lists, runs: []string{"1"}, resume: true}, meanwhile: object("NodeHealthCheck", "8", nil, "certrot 1", "theirs"), writes: 1, requests: []string{"theirs"}},
	} {
		before := object("MachineHealthCheck", "7", nil)
		if c.a.resume {
			before.SetAnnotations(map[string]string{key: "certrot 1"})
		}
		beforeList := object("NodeHealthCheck", "7", nil)
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{checks: "MachineHealthCheckList", health: "NodeHealthCheckList"}, before, beforeList)
		if c.a.actor.Resource == catalog.NodeHealthChecks && c.a.resume {
			_ = unstructured.SetNestedStringSlice(beforeList.Object, []string{"certrot 1"}, "spec", "pauseRequests")
			if err := client.Tracker().Update(health, beforeList, ""); err != nil {
				t.Fatal(err)
			}
		}
		writes, met := 0, false
		remediatetest.HonorConditions(client, func(clienttesting.Action) { writes++ })
		client.PrependReactor("patch", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if c.meanwhile != nil && (!met || c.always) {
				if met {
					c.meanwhile.SetResourceVersion(c.meanwhile.GetResourceVersion() + "0")
				}
				met = true
				return false, nil, client.Tracker().Update(a.GetResource(), c.meanwhile, c.meanwhile.GetNamespace())
			}
			return false, nil, nil
		})
		err := c.a.Apply(t.Context(), &remediate.Env{Dynamic: client}, nil)
		api := client.Resource(checks).Namespace("ns")
		if c.a.actor.Namespace == "" {
			api = client.Resource(health)
		}
		live, gone := api.Get(t.Context(), "workers", metav1.GetOptions{})
		if gone != nil {
			t.Fatal(gone)
		}
		requests, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "pauseRequests")
		if (err != nil) != c.fails || writes != c.writes || live.GetAnnotations()[key] != c.annotation || !slices.Equal(requests, c.requests) {
			t.Errorf("%s: %v, %d writes, annotation %q, requests %q", title, err, writes, live.GetAnnotations()[key], requests)
		}
	}
}

// TestPausingByHandLeavesOthersRequests: the commands for people add and remove one entry of the list.
func TestPausingByHandLeavesOthersRequests(t *testing.T) {
	t.Parallel()
	const own = "certificates are being repaired"
	row, _ := catalog.ControlPlaneResourceOf(catalog.NodeHealthChecks)
	health := schema.GroupVersionResource{Group: "remediation.medik8s.io", Version: "v1alpha1", Resource: catalog.NodeHealthChecks}
	for title, c := range map[string]struct {
		command string
		spec    map[string]any
		want    []string
		fails   bool
	}{
		"no list":                  {row.Pause, map[string]any{}, []string{own}, false},
		"an empty list":            {row.Pause, map[string]any{"pauseRequests": []any{}}, []string{own}, false},
		"another's request":        {row.Pause, map[string]any{"pauseRequests": []any{"an upgrade"}}, []string{"an upgrade", own}, false},
		"alone":                    {row.Resume, map[string]any{"pauseRequests": []any{own}}, nil, false},
		"before another's request": {row.Resume, map[string]any{"pauseRequests": []any{own, "an upgrade"}}, []string{"an upgrade"}, false},
		"behind another's request": {row.Resume, map[string]any{"pauseRequests": []any{"an upgrade", own}}, []string{"an upgrade", own}, true},
		"another's request alone":  {row.Resume, map[string]any{"pauseRequests": []any{"an upgrade"}}, []string{"an upgrade"}, true},
	} {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": c.spec}}
		u.SetGroupVersionKind(health.GroupVersion().WithKind("NodeHealthCheck"))
		u.SetName("workers")
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{health: "NodeHealthCheckList"}, u)
		var err error
		for _, one := range strings.Split(c.command, " || ") { // as a shell does
			before, patch, _ := strings.Cut(strings.TrimSuffix(one, "'"), " --type json -p '")
			if before != "oc patch nodehealthcheck NAME" {
				t.Fatal(one)
			}
			if _, err = client.Resource(health).Patch(t.Context(), "workers", types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err == nil {
				break
			}
		}
		live, failed := client.Resource(health).Get(t.Context(), "workers", metav1.GetOptions{})
		if failed != nil {
			t.Fatal(failed)
		}
		requests, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "pauseRequests")
		if !slices.Equal(requests, c.want) || (err != nil) != c.fails {
			t.Errorf("%s: %q, want %q: %v", title, requests, c.want, err)
		}
	}
}
