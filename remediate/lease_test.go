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

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient/kubeclienttest"
)

// A real API server is in test/e2e; the fake one here says no when it is told to.

func leaseOf(kube *fake.Clientset, holder string) Lease {
	return Lease{Kube: kubeclienttest.Of(kube), Holder: holder, Now: time.Now, Sleep: func(ctx context.Context, d time.Duration) error {
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
		if lapsed, err := alice.Take(t.Context()); err != nil || lapsed != bob.Holder {
			t.Errorf("after bob was silent: %v, taken over from %q", err, lapsed)
		}
		if lapsed, err := alice.Take(t.Context()); err != nil || lapsed != "" {
			t.Errorf("once more: %v, taken over from %q", err, lapsed)
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

// An API server that restarts is asked again, and one that stays away for less than the
// time after which someone else could take the Lease.
func TestLeaseWhileTheAPIRestarts(t *testing.T) {
	refused, down := apierrors.NewForbidden(coordinationv1.Resource("leases"), LeaseName, errors.New("no")), errors.New("connection refused")
	for title, c := range map[string]struct {
		with error
		back time.Duration
		ok   bool
		most time.Duration
	}{
		"it is back soon":          {down, 20 * time.Second, true, 20*time.Second + retryAfter},
		"it says that it restarts": {apierrors.NewServiceUnavailable("shutting down"), 20 * time.Second, true, 20*time.Second + retryAfter},
		"it stays away":            {down, time.Hour, false, giveUp},
		"it refuses":               {refused, 20 * time.Second, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			kube := fake.NewClientset()
			began := time.Now()
			kube.PrependReactor("get", "leases", func(ktesting.Action) (bool, runtime.Object, error) {
				return time.Since(began) < c.back, nil, c.with
			})
			_, err := leaseOf(kube, "alice").Take(t.Context())
			var refusal *Refusal
			took := time.Since(began)
			if ok := err == nil; ok != c.ok || !ok && (!errors.As(err, &refusal) || !strings.Contains(refusal.Reason, c.with.Error())) || took > c.most || took >= leaseTime {
				t.Errorf("%s: after %s: %v", title, took, err)
			}
			if !c.ok && Unavailable(c.with) && took < giveUp-retryAfter {
				t.Errorf("%s: given up after %s", title, took)
			}
		})
	}
}

// What is lost is noticed before another run may take it.
func TestLeaseThatIsLost(t *testing.T) {
	hangs := func(kube *fake.Clientset, how func() error) {
		kube.PrependReactor("get", "leases", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, how() })
	}
	for title, c := range map[string]struct {
		lose   func(kube *fake.Clientset, clock *time.Duration)
		within time.Duration // since the last renewal
	}{
		"the API is away": {func(kube *fake.Clientset, _ *time.Duration) {
			hangs(kube, func() error { return errors.New("connection refused") })
		}, giveUp + leaseTick},
		"the API is slow to fail": {func(kube *fake.Clientset, _ *time.Duration) {
			hangs(kube, func() error { time.Sleep(4 * time.Second); return errors.New("no answer") })
		}, giveUp + 4*time.Second},
		"this machine sleeps": {func(_ *fake.Clientset, clock *time.Duration) { *clock = 10 * time.Minute }, renewAfter/2 + leaseTick},
		"the API is away, and the clock is set back": {func(kube *fake.Clientset, clock *time.Duration) {
			*clock = -time.Hour
			hangs(kube, func() error { return errors.New("connection refused") })
		}, giveUp + leaseTick},
		"somebody else has it": {func(kube *fake.Clientset, _ *time.Duration) {
			bob := leaseOf(kube, "bob")
			held, _ := kube.CoordinationV1().Leases(LeaseNamespace).Get(context.Background(), LeaseName, metav1.GetOptions{})
			bob.fill(held)
			_, _ = kube.CoordinationV1().Leases(LeaseNamespace).Update(context.Background(), held, metav1.UpdateOptions{})
		}, renewAfter + leaseTick},
	} {
		synctest.Test(t, func(t *testing.T) {
			kube := fake.NewClientset()
			alice := leaseOf(kube, "alice")
			var slept time.Duration
			alice.Now = func() time.Time { return time.Now().Add(slept) }
			if _, err := alice.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
			kept, release := alice.Keep(t.Context())
			time.Sleep(renewAfter / 2)
			synctest.Wait()
			begin := time.Now().Add(-renewAfter / 2)
			c.lose(kube, &slept)
			<-kept.Done()
			took := time.Since(begin)
			if !errors.Is(context.Cause(kept), ErrNotHolder) || took > c.within || took > leaseTime-5*time.Second {
				t.Errorf("%s: after %s: %v", title, took, context.Cause(kept))
			}
			if giveUp <= c.within && took < giveUp {
				t.Errorf("%s: given up after %s: it may come back", title, took)
			}
			_ = release()
		})
	}
}

// TestALeaseOfTheFuture would live on and on.
func TestALeaseOfTheFuture(t *testing.T) {
	t.Parallel()
	holder, lasts := "bob@b (pid 2 of y), run 2", int32(60)
	for _, c := range []struct {
		ahead time.Duration
		says  string
	}{
		{24 * time.Hour, "24h0m0s ahead"},
		{20 * time.Second, "changes this cluster"},
	} {
		renewed := metav1.NewMicroTime(noon.Add(c.ahead))
		l := leaseOf(fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: LeaseNamespace, Name: LeaseName}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed, LeaseDurationSeconds: &lasts}}), "alice")
		l.Now = func() time.Time { return noon }
		_, err := l.Take(t.Context())
		var r *Refusal
		if !errors.As(err, &r) || r.Risk || !strings.Contains(r.Reason, c.says) || strings.Contains(r.Next, "delete lease certrot") != (c.ahead > leaseTime) {
			t.Errorf("%s: %+v", c.ahead, err)
		}
	}
}

// TestALeaseOfTheRunBefore: where the API fails while a run lets the Lease go, the next attempt of the same process
// takes it, and no other process does.
func TestALeaseOfTheRunBefore(t *testing.T) {
	t.Parallel()
	process := nodeexec.ThisHolder().String()
	for second, takes := range map[string]bool{process + ", run 20260131-120010-1a2b3d": true, "root@other (pid 7 of a), run 20260131-120010-1a2b3d": false} {
		kube := fake.NewClientset()
		if _, err := leaseOf(kube, process+", run 20260131-120000-1a2b3c").Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := leaseOf(kube, second).Take(t.Context()); (err == nil) != takes {
			t.Errorf("%s: %v", second, err)
		}
	}
}
