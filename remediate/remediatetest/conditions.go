package remediatetest

import (
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"
)

// HonorConditions makes a fake client of client-go refuse, as an API server does, what is
// conditional on another version of an object, or on another object of that name. written is
// called for each write that is let through.
func HonorConditions(client interface {
	PrependReactor(verb, resource string, reaction clienttesting.ReactionFunc)
	Tracker() clienttesting.ObjectTracker
}, written func(clienttesting.Action),
) {
	client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		var name string
		var on metav1.Preconditions
		switch a := a.(type) {
		case clienttesting.PatchAction:
			var patch struct{ Metadata metav1.Preconditions }
			if err := json.Unmarshal(a.GetPatch(), &patch); err != nil {
				return true, nil, err
			}
			name, on = a.GetName(), patch.Metadata
		case clienttesting.DeleteActionImpl:
			if name = a.GetName(); a.DeleteOptions.Preconditions != nil {
				on = *a.DeleteOptions.Preconditions
			}
		default:
			return false, nil, nil
		}
		live, err := client.Tracker().Get(a.GetResource(), a.GetNamespace(), name)
		if err != nil {
			return true, nil, err
		}
		is, err := meta.Accessor(live)
		if err == nil {
			err = violated(a, is, on)
		}
		if err != nil {
			return true, nil, err
		}
		written(a)
		return false, nil, nil
	})
}

func violated(a clienttesting.Action, is metav1.Object, on metav1.Preconditions) error {
	otherUID := on.UID != nil && *on.UID != types.UID("") && *on.UID != is.GetUID()
	switch {
	case on.ResourceVersion != nil && *on.ResourceVersion != is.GetResourceVersion(), otherUID && a.GetVerb() == "delete":
		return apierrors.NewConflict(a.GetResource().GroupResource(), is.GetName(), errors.New("the object has been modified"))
	case otherUID:
		return apierrors.NewInvalid(a.GetResource().GroupVersion().WithKind("Object").GroupKind(), is.GetName(), field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), *on.UID, "field is immutable")})
	}
	return nil
}
