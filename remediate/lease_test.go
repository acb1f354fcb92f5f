package remediate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

// A real API server is in test/e2e; the fake one here says no when it is told to.

func leaseOf(kube *fake.Clientset, holder string) Lease {
	return Lease{Kube: kube, Holder: holder, Now: time.Now, Sleep: func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(d):
			return nil
		}
	}}
}

func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset()
		alice, bob := leaseOf(kube, "alice@a (pid 1 of x) run 1"), leaseOf(kube, "bob@b (pid 2 of y) run 2")
		if _, err := alice.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept, release := alice.Keep(t.Context())
		time.Sleep(10 * time.Minute) // renewed all the time
		var refused *Refusal
		if _, err := bob.Take(t.Context()); !errors.As(err, &refused) || refused.Name != "lease-held" || refused.Risk || !strings.Contains(refused.Reason, "alice@a") {
			t.Errorf("while alice holds it: %v", err)
		}
		if kept.Err() != nil {
			t.Errorf("alice lost it: %v", context.Cause(kept))
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		if _, err := bob.Take(t.Context()); err != nil {
			t.Errorf("after alice released it: %v", err)
		}
		time.Sleep(leaseTime) // bob does not renew it
		if _, err := alice.Take(t.Context()); err != nil {
			t.Errorf("after bob was silent: %v", err)
		}
		if err := bob.release(t.Context()); err != nil {
			t.Error(err)
		}
		if held, err := kube.CoordinationV1().Leases(LeaseNamespace).Get(t.Context(), LeaseName, metav1.GetOptions{}); err != nil || *held.Spec.HolderIdentity != alice.Holder {
			t.Errorf("bob released what is alice's: %v", err)
		}
	})
}

func TestLeaseThatMayNotBeWritten(t *testing.T) {
	kube := fake.NewClientset()
	kube.PrependReactor("create", "leases", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(coordinationv1.Resource("leases"), LeaseName, errors.New("no"))
	})
	var refused *Refusal
	if _, err := leaseOf(kube, "alice").Take(t.Context()); !errors.As(err, &refused) || refused.Name != NoLease || !refused.Risk || refused.Next == "" {
		t.Errorf("%v", err)
	}
}

func TestLeaseThatIsLost(t *testing.T) {
	for title, lose := range map[string]func(*fake.Clientset){
		"the API is away": func(kube *fake.Clientset) {
			kube.PrependReactor("get", "leases", func(ktesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("connection refused")
			})
		},
		"somebody else has it": func(kube *fake.Clientset) {
			bob := leaseOf(kube, "bob")
			held, _ := kube.CoordinationV1().Leases(LeaseNamespace).Get(context.Background(), LeaseName, metav1.GetOptions{})
			bob.fill(held)
			_, _ = kube.CoordinationV1().Leases(LeaseNamespace).Update(context.Background(), held, metav1.UpdateOptions{})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			kube := fake.NewClientset()
			alice := leaseOf(kube, "alice")
			if _, err := alice.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
			kept, release := alice.Keep(t.Context())
			time.Sleep(renewAfter / 2)
			lose(kube)
			time.Sleep(renewAfter + time.Second)
			if title == "the API is away" {
				if kept.Err() != nil {
					t.Errorf("%s: lost at the first failure: %v", title, context.Cause(kept))
				}
				time.Sleep(leaseTime)
			}
			if !errors.Is(context.Cause(kept), ErrLeaseLost) {
				t.Errorf("%s: %v", title, context.Cause(kept))
			}
			_ = release()
		})
	}
}
