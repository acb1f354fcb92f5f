package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metadatafake "k8s.io/client-go/metadata/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestInterruptedOnce: why a wait ended is said once, whether it was asked or waited then.
func TestInterruptedOnce(t *testing.T) {
	t.Parallel()
	interrupt := errors.New("interrupt signal received")
	at := catalog.Ref{Kind: catalog.Secret, Namespace: "ns", Name: "signer"}
	for title, asking := range map[string]bool{"while it waits": false, "while it asks": true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		scheme := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		client := metadatafake.NewSimpleMetadataClient(scheme, &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name},
		})
		client.PrependReactor("get", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
			if asking {
				cancel(interrupt)
				return true, nil, fmt.Errorf("get: %w", interrupt)
			}
			return false, nil, nil
		})
		env := &remediate.Env{Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error {
			cancel(interrupt)
			return context.Cause(ctx)
		}}
		err := RemoveAnnotation{secret: at, client: client}.Verify(ctx, env, nil)
		if err == nil || strings.Count(err.Error(), interrupt.Error()) != 1 || !asking && !strings.Contains(err.Error(), "is not rotated yet") {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// TestWhatCouldNotBeAskedIsNotLate: an API server that is away for as long says nothing of the owner.
func TestWhatCouldNotBeAskedIsNotLate(t *testing.T) {
	t.Parallel()
	at := catalog.Ref{Kind: catalog.Secret, Namespace: "ns", Name: "signer"}
	for title, away := range map[string]bool{"the API server is away": true, "the owner does nothing": false} {
		scheme := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		client := metadatafake.NewSimpleMetadataClient(scheme, &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name},
		})
		client.PrependReactor("get", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
			return away, nil, errors.New("connection refused")
		})
		now := time.Unix(1.7e9, 0)
		env := &remediate.Env{Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error {
			now = now.Add(d)
			return nil
		}}
		err := RemoveAnnotation{secret: at, client: client}.Verify(t.Context(), env, nil)
		var late *remediate.LateEffectError
		var unknown *remediate.UnknownEffectError
		if errors.As(err, &late) == away || errors.As(err, &unknown) != away {
			t.Errorf("%s: %v", title, err)
		}
	}
}
