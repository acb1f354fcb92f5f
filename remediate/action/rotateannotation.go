package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// rotateManager is the field manager of what RemoveAnnotation writes.
const rotateManager = "certrot-rotate"

// RemoveAnnotation has a certificate rotated: it removes the annotation by which its operator
// decides. Of the Secret nothing but its metadata is ever asked for.
type RemoveAnnotation struct {
	secret catalog.Ref
	client metadata.Interface
	AnnotatedSecret
}

// AnnotatedSecret is the Secret's metadata for which a rotation was planned.
type AnnotatedSecret struct {
	Annotation           string // the key that is removed
	Previous             string // its value
	UID, ResourceVersion string
	Annotations          map[string]string // all of them
}

// Since says what another client did to the Secret since it was displayed that makes its rotation another one; empty: nothing.
func (s AnnotatedSecret) Since(displayed AnnotatedSecret) string {
	switch {
	case s.UID != displayed.UID:
		return "it was deleted, and created again"
	case s.Previous != displayed.Previous:
		return fmt.Sprintf("its annotation %s was %s, and is %s", s.Annotation, foreign.Text(displayed.Previous), foreign.Text(s.Previous))
	}
	return ""
}

// PlanRotation reads the metadata of a Secret. The error is a *Refusal where it is not
// there, may not be read, or lacks the annotation: then its owner was told already.
func PlanRotation(ctx context.Context, client metadata.Interface, of catalog.Ref, annotation string, hints inspect.Hints) (RemoveAnnotation, error) {
	r := RemoveAnnotation{secret: of, client: client}
	now, err := r.get(ctx)
	if err != nil {
		return r, r.explain("read", err)
	}
	was, ok := now.Annotations[annotation]
	if !ok {
		return r, &remediate.Refusal{Name: "already-triggered", Reason: fmt.Sprintf("%s has no annotation %s: its operator rotates it in any case, or no operator manages it", of, annotation),
			Next: hints.Next("{} rotate status %s/%s", of.Namespace, of.Name)}
	}
	r.AnnotatedSecret = AnnotatedSecret{Annotation: annotation, Previous: was, UID: string(now.UID), ResourceVersion: now.ResourceVersion, Annotations: now.Annotations}
	return r, nil
}

func (r RemoveAnnotation) secrets() metadata.ResourceInterface {
	return r.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(r.secret.Namespace)
}

func (r RemoveAnnotation) get(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, remediate.LeaseAsk, fmt.Errorf("no answer within %s", remediate.LeaseAsk))
	defer cancel()
	return r.secrets().Get(ctx, r.secret.Name, metav1.GetOptions{})
}

// DryRun has the API server do it without keeping it, and returns the annotations as they
// would be: who may not do it, or is refused by a webhook, learns that here.
func (r RemoveAnnotation) DryRun(ctx context.Context) (map[string]string, error) {
	after, err := r.patch(ctx, metav1.DryRunAll)
	if err != nil {
		return nil, r.explain("patch (as a dry run)", err)
	}
	return after.Annotations, nil
}

// patch is a merge patch: with null it removes an annotation whatever wrote it, which
// server-side apply can't.
func (r RemoveAnnotation) patch(ctx context.Context, dryRun ...string) (*metav1.PartialObjectMetadata, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": r.UID, "resourceVersion": r.ResourceVersion, "annotations": map[string]any{r.Annotation: nil},
	}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remediate.LeaseAsk, fmt.Errorf("no answer within %s", remediate.LeaseAsk))
	defer cancel()
	return r.secrets().Patch(ctx, r.secret.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: rotateManager, DryRun: dryRun})
}

// explain says what was tried on what, and the next step.
func (r RemoveAnnotation) explain(verb string, err error) error {
	err = fmt.Errorf("%s %s: %w", verb, r.secret, err)
	switch {
	case apierrors.IsForbidden(err):
		return &remediate.Refusal{Name: "rbac", Reason: err.Error(), Next: inspect.Hints{}.Unread(inspect.MayGet("secret/"+r.secret.Name, r.secret.Namespace), inspect.Permission{Verb: "patch", Resource: "secret/" + r.secret.Name, Namespace: r.secret.Namespace})}
	case apierrors.IsNotFound(err):
		return &remediate.Refusal{Name: "there", Reason: err.Error(), Next: "if it was deleted, its operator creates it again. Check that this is an OpenShift cluster, and the right one: " + foreign.Command("", "kubectl -n %s get secrets", r.secret.Namespace)}
	case apierrors.IsConflict(err), otherUID(err):
		return fmt.Errorf("%w: %w", remediate.ErrChanged, err)
	}
	return err
}

// otherUID reports whether the API server refused a patch because the object is another
// one of that name: it says so of the field.
func otherUID(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// ID is such as "rotate Secret/openshift-kube-apiserver-operator/aggregator-client-signer".
func (r RemoveAnnotation) ID() string {
	return "rotate " + r.secret.Kind + "/" + r.secret.Namespace + "/" + r.secret.Name
}

// Node is the cluster itself.
func (r RemoveAnnotation) Node() string { return "" }

// Diff tells nothing new: what is to be done was read from the API server itself. It has no deltas on purpose: right
// after it nothing but the annotation differs, and no trust edge depends on that. The certificate that its
// owner makes then is judged when it is there, stage by stage; which one that will be, no facts can say.
func (r RemoveAnnotation) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	return &remediate.Change{Summary: fmt.Sprintf("remove the annotation %s of %s", r.Annotation, r.secret)}, nil
}

// Apply removes the annotation, if the Secret is the one that was displayed, and as it was
// displayed.
func (r RemoveAnnotation) Apply(ctx context.Context, _ *remediate.Env, _ *remediate.Change) error {
	_, err := r.patch(ctx)
	if err == nil || apierrors.IsConflict(err) && r.removed(ctx) {
		return nil
	}
	return refused(err, r.explain("patch", err))
}

// removed reports whether the annotation is gone, after a conflict: client-go patches again where an API server
// answers that it can't at the moment, and the first patch may have been made.
func (r RemoveAnnotation) removed(ctx context.Context) bool {
	now, err := r.get(ctx)
	if err != nil || string(now.UID) != r.UID {
		return false
	}
	_, there := now.Annotations[r.Annotation]
	return !there
}

// rotatedTime is how long an owner may take: it looks at the Secret when it changes,
// and every minute.
const rotatedTime = 3 * time.Minute

// Verify waits until the owner has written another time there.
func (r RemoveAnnotation) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	var unread error // of the last time that it was asked for
	err := env.Until(ctx, rotatedTime, func(ctx context.Context) (bool, error) {
		now, err := r.get(ctx)
		if unread = err; err != nil {
			return false, r.explain("read", err)
		}
		value, ok := now.Annotations[r.Annotation]
		switch _, bad := time.Parse(time.RFC3339, value); {
		case !ok, bad != nil:
			return false, fmt.Errorf("%s is not rotated yet", r.secret)
		case value == r.Previous:
			return false, fmt.Errorf("another client put back the annotation of %s", r.secret)
		}
		return true, nil
	})
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return remediate.Because(context.Cause(ctx), err)
	}
	if unread != nil {
		return &remediate.UnknownEffectError{Reason: fmt.Sprintf("the annotation was removed, and whether %s was rotated is unknown: %v", r.secret, err)}
	}
	return &remediate.LateEffectError{Inner: err}
}
