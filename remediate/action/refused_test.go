package action

import (
	"errors"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// patchers are the actions that patch an object, each with what to do of its patch instead.
func patchers(t *testing.T, instead func(clienttesting.ObjectTracker) clienttesting.ReactionFunc) map[string]func() error {
	t.Helper()
	secret := catalog.Ref{Kind: catalog.Secret, Namespace: "ns", Name: "signer"}
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	annotated := metadatafake.NewSimpleMetadataClient(scheme, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{
		Namespace: secret.Namespace, Name: secret.Name, UID: "a", ResourceVersion: "7", Annotations: map[string]string{catalog.AnnotationNotAfter: "then"},
	}})
	rotate, err := PlanRotation(t.Context(), annotated, secret, catalog.AnnotationNotAfter, inspect.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	annotated.PrependReactor("patch", "*", instead(annotated.Tracker()))

	root := catalog.RootCAOf("ns")
	api := remediatetest.NewFakeAPI(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: root.Namespace, Name: root.Name, ResourceVersion: "7"}, Data: map[string]string{root.Key: "before"}})
	api.PrependReactor("patch", "*", instead(api.Tracker()))
	patch := PatchKubeRootCA{ConfigMapValue: ConfigMapValue{Object: root, Version: "7", Before: "before", After: "after"}, Keep: func([]byte) error { return nil }}

	checks := schema.GroupVersionResource{Group: "machine.openshift.io", Version: "v1beta1", Resource: catalog.MachineHealthChecks}
	check := &unstructured.Unstructured{}
	check.SetGroupVersionKind(checks.GroupVersion().WithKind("MachineHealthCheck"))
	check.SetNamespace("ns")
	check.SetName("workers")
	health := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{checks: "MachineHealthCheckList"}, check)
	health.PrependReactor("patch", "*", instead(health.Tracker()))
	pause := Pause{actor: inspect.Actor{Resource: catalog.MachineHealthChecks, Namespace: "ns", Name: "workers"}, runs: []string{"1"}}

	return map[string]func() error{
		"rotate a Secret":   func() error { return rotate.Apply(t.Context(), nil, nil) },
		"patch a ConfigMap": func() error { return patch.Apply(t.Context(), api.Env, nil) },
		"pause a check":     func() error { return pause.Apply(t.Context(), &remediate.Env{Dynamic: health}, nil) },
	}
}

// TestARefusedPatchChangedNothing: what an API server refuses is not said to be begun, and what it did not answer may be.
func TestARefusedPatchChangedNothing(t *testing.T) {
	t.Parallel()
	of := schema.GroupResource{Resource: "things"}
	for title, c := range map[string]struct {
		said    error
		refused bool
	}{
		"a conflict":                 {apierrors.NewConflict(of, "a", errors.New("the object has been modified")), true},
		"forbidden":                  {apierrors.NewForbidden(of, "a", errors.New("by a webhook")), true},
		"not found":                  {apierrors.NewNotFound(of, "a"), true},
		"another object":             {apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "a", nil), true},
		"a bad request":              {apierrors.NewBadRequest("denied"), true},
		"not authenticated":          {apierrors.NewUnauthorized("expired"), true},
		"a timeout":                  {apierrors.NewTimeoutError("etcd", 0), false},
		"an API server that can not": {apierrors.NewServerTimeout(of, "patch", 0), false},
		"an internal error":          {apierrors.NewInternalError(errors.New("etcd")), false},
		"not available":              {apierrors.NewServiceUnavailable("starting"), false},
		"a connection that is lost":  {io.ErrUnexpectedEOF, false},
	} {
		says := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.said }
		for action, apply := range patchers(t, func(clienttesting.ObjectTracker) clienttesting.ReactionFunc { return says }) {
			err := apply()
			var before *remediate.NotAppliedError
			if err == nil || errors.As(err, &before) != c.refused {
				t.Errorf("%s, %s: nothing was changed: %t, want %t: %v", action, title, before != nil, c.refused, err)
			}
		}
	}
}

// TestAPatchThatConflictsWithItself: client-go patches again after an answer that asks for it, and the first one may have been made.
func TestAPatchThatConflictsWithItself(t *testing.T) {
	t.Parallel()
	for action, apply := range patchers(t, func(api clienttesting.ObjectTracker) clienttesting.ReactionFunc {
		return func(a clienttesting.Action) (bool, runtime.Object, error) {
			if _, _, err := clienttesting.ObjectReaction(api)(a); err != nil {
				return true, nil, err
			}
			return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), "a", errors.New("the object has been modified"))
		}
	}) {
		if err := apply(); err != nil {
			t.Errorf("%s: %v", action, err)
		}
	}
}

// TestARefusedPauseIsNothingToResume: the run that was refused it paused nothing.
func TestARefusedPauseIsNothingToResume(t *testing.T) {
	t.Parallel()
	for refused, want := range map[bool]bool{true: false, false: true} {
		id := Pause{actor: inspect.Actor{Resource: catalog.MachineHealthChecks, Namespace: "ns", Name: "workers"}}.ID()
		run := remediate.RunRecord{Records: []remediate.Record{{Event: remediate.Begun, Action: id}, {Event: remediate.Failed, Action: id, Unchanged: refused}}}
		if got := Paused(run); got != want {
			t.Errorf("it was refused %t: it paused something: %t", refused, got)
		}
	}
}
