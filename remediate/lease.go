package remediate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
)

// The Lease by which those who change the same cluster know of each other.
const (
	LeaseNamespace = metav1.NamespaceSystem
	LeaseName      = "certrot"

	leaseTime  = time.Minute
	renewAfter = 10 * time.Second
	retryAfter = 3 * time.Second // a renewal that failed
	LeaseAsk   = 10 * time.Second
	// giveUp is how long after its last renewal a holder takes the Lease for lost: a third
	// of its time before others may take it.
	giveUp = 40 * time.Second
	// leaseTick is how often a holder looks at the clock: a machine that slept wakes up
	// in the middle of something.
	leaseTick = time.Second
)

// NoLease is the risk that someone else changes the same cluster at the same time,
// since the Lease that keeps them away can't be written.
const NoLease = "no-lease"

// Lease is what is to be held while a cluster is changed.
type Lease struct {
	Kube   kubeclient.Client
	Holder string           // who, and for which run
	Now    func() time.Time // the API server's clock, as near as it is known
	Sleep  func(context.Context, time.Duration) error
}

// ErrNotHolder means that others may change the cluster now.
var ErrNotHolder = errors.New("this run no longer holds the Lease " + LeaseNamespace + "/" + LeaseName)

// Take takes the Lease. lapsed is the holder who was silent for so long that it was taken
// over; empty: none. An API server that is unavailable, as in a rollout, is asked again for
// giveUp. The error is a *Refusal where another run holds it, or where it can't be
// written (NoLease).
func (l Lease) Take(ctx context.Context) (lapsed string, err error) {
	next := inspect.Hints{}.Unread(inspect.Permission{Verb: "update", Resource: "leases.coordination.k8s.io", Namespace: LeaseNamespace}) + "; the same with create, get and delete"
	all, cancel := context.WithTimeoutCause(ctx, giveUp, fmt.Errorf("no answer within %s", giveUp))
	defer cancel()
	for faster := 0; faster < 5; {
		one, cancel := context.WithTimeoutCause(all, LeaseAsk, fmt.Errorf("no answer within %s", LeaseAsk))
		lapsed, err := l.take(one)
		cancel()
		var refused *Refusal
		switch {
		case err == nil, errors.As(err, &refused):
			return lapsed, err
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err): // another one was faster
			faster++
			continue
		case Unavailable(err) && l.Sleep(all, retryAfter) == nil:
			continue
		}
		return "", &Refusal{Name: NoLease, Risk: true, Reason: fmt.Sprintf("the Lease %s/%s, which keeps others from changing the cluster meanwhile, can't be written: %v", LeaseNamespace, LeaseName, err), Next: next}
	}
	return "", &Refusal{Name: NoLease, Risk: true, Reason: fmt.Sprintf("the Lease %s/%s changes all the time", LeaseNamespace, LeaseName), Next: foreign.Command("", "kubectl -n %s get lease %s -o yaml -w", LeaseNamespace, LeaseName)}
}

// Unavailable reports whether an API server did not answer, or says itself that it can't at
// the moment: it refused nothing.
func Unavailable(err error) bool {
	var said apierrors.APIStatus
	return !errors.As(err, &said) || said.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err)
}

func (l Lease) take(ctx context.Context) (lapsed string, err error) {
	leases := l.Kube.Leases(LeaseNamespace)
	lease, err := leases.Get(ctx, LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: LeaseNamespace, Name: LeaseName}}
		l.fill(lease)
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return "", err
	}
	if err != nil {
		return "", err
	}
	holder, age, live := l.other(lease)
	by := foreign.Name(holder) // any user who may write the Lease
	if live && -age > leaseTime {
		return "", &Refusal{
			Name:   "lease-held",
			Reason: fmt.Sprintf("%s changes this cluster, by the Lease %s/%s, whose time is %s ahead of the API server's: it would not end by itself before", by, LeaseNamespace, LeaseName, (-age).Round(time.Second)),
			Next:   foreign.Command("", "a clock is wrong, or was. Talk to them; if they are known to be gone: kubectl -n %s delete lease %s", LeaseNamespace, LeaseName),
		}
	}
	if live {
		return "", &Refusal{
			Name: "lease-held", Reason: fmt.Sprintf("%s changes this cluster, and said so %s ago (Lease %s/%s)", by, age.Round(time.Second), LeaseNamespace, LeaseName),
			Next: fmt.Sprintf("wait for its end, and talk to them; a holder that is silent for %s is taken for gone", leaseTime),
		}
	}
	if lease.Spec.RenewTime == nil { // nothing tells that they were silent
		holder = ""
	}
	l.fill(lease)
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return holder, err
}

// Holder is who holds the Lease.
type Holder struct {
	Name  string    // who, and for which run
	Run   string    // the run; empty: they name none
	Since time.Time // zero: the Lease does not say
	Idle  time.Duration
	// Stale: they were silent for too long, or are a process of this machine that ended.
	// Who comes next takes it over.
	Stale bool
}

// CurrentHolder reads who holds the Lease; nil: it has no holder.
func (l Lease) CurrentHolder(ctx context.Context) (*Holder, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, LeaseAsk, fmt.Errorf("no answer within %s", LeaseAsk))
	defer cancel()
	lease, err := l.Kube.Leases(LeaseNamespace).Get(ctx, LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // as the comment says
	}
	if err != nil {
		return nil, fmt.Errorf("read Lease %s/%s: %w", LeaseNamespace, LeaseName, err)
	}
	by, age, live := l.other(lease)
	if by == "" {
		return nil, nil //nolint:nilnil // it was let go
	}
	h := &Holder{Name: foreign.Name(by), Run: runOf(by), Idle: max(age, 0), Stale: !live}
	if lease.Spec.AcquireTime != nil {
		h.Since = lease.Spec.AcquireTime.Time
	}
	return h, nil
}

// runOf is the run that a holder names behind who it is: "…, run RUN" or "…, run RUN, as USER".
func runOf(holder string) string {
	_, rest, _ := strings.Cut(holder, ", run ")
	run, _, _ := strings.Cut(rest, ",")
	if !ValidRun(run) {
		return ""
	}
	return run
}

// other is who else holds a Lease, in their own words, and when they said so last; live is false where
// they let go, are silent for too long, or are a process of this machine that ended.
func (l Lease) other(lease *coordinationv1.Lease) (by string, age time.Duration, live bool) {
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || l.isOwn(*lease.Spec.HolderIdentity) {
		return "", 0, false
	}
	by = *lease.Spec.HolderIdentity
	if lease.Spec.RenewTime == nil {
		return by, 0, false
	}
	lasts := leaseTime
	if lease.Spec.LeaseDurationSeconds != nil {
		lasts = time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
	}
	age = l.Now().Sub(lease.Spec.RenewTime.Time)
	return by, age, age < lasts && !nodeexec.Gone(*lease.Spec.HolderIdentity)
}

// isOwn reports whether a holder is this process, in this run or in one before that could not let the Lease go.
func (l Lease) isOwn(holder string) bool {
	process, _, run := strings.Cut(l.Holder, ", run ")
	other, _, _ := strings.Cut(holder, ", run ")
	return holder == l.Holder || run && process != "" && other == process
}

func (l Lease) fill(lease *coordinationv1.Lease) {
	now, lasts := metav1.NewMicroTime(l.Now()), int32(leaseTime/time.Second)
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != l.Holder {
		lease.Spec.AcquireTime = &now
	}
	lease.Spec.HolderIdentity, lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = &l.Holder, &now, &lasts
}

// Keep renews the Lease until ctx ends. The context that it returns ends with it, and
// with ErrNotHolder as soon as another run has it, or it could not be renewed for
// giveUp: nothing more is to be begun then, and what only waits stops.
func (l Lease) Keep(ctx context.Context) (kept context.Context, release func() error) {
	kept, cancel := context.WithCancelCause(ctx)
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		cancel(l.renew(renewing))
	}()
	return kept, func() error {
		stop()
		<-done
		return l.release(ctx)
	}
}

// renew returns why it ended.
func (l Lease) renew(ctx context.Context) error {
	last, pause := l.Now(), renewAfter // last: when it was renewed, or before
	var waited time.Duration           // since then, by the ticks: a clock may be set back
	reason := errors.New("this machine slept, or was busy")
	for next := last.Add(pause); ; {
		if err := l.Sleep(ctx, leaseTick); err != nil {
			return err
		}
		waited += leaseTick
		now := l.Now()
		left := giveUp - max(now.Sub(last), waited)
		if left <= 0 {
			return fmt.Errorf("%w: it could not be renewed for %s: %w", ErrNotHolder, giveUp, reason)
		}
		if now.Before(next) && waited < pause {
			continue
		}
		limit := min(LeaseAsk, left)
		one, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
		_, err := l.again(one)
		cancel()
		var refused *Refusal
		switch {
		case err == nil:
			last, waited, pause = now, 0, renewAfter
			next = now.Add(pause)
		case errors.As(err, &refused):
			return fmt.Errorf("%w: %w", ErrNotHolder, err)
		default:
			reason, next, pause = err, l.Now().Add(retryAfter), waited+retryAfter
		}
	}
}

// again renews what is still ours. A Lease that was deleted is created again; what another
// run has is theirs, even if it is old by now.
func (l Lease) again(ctx context.Context) (lapsed string, err error) {
	lease, err := l.Kube.Leases(LeaseNamespace).Get(ctx, LeaseName, metav1.GetOptions{})
	if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" && *lease.Spec.HolderIdentity != l.Holder {
		return "", &Refusal{Name: "lease-held", Reason: foreign.Name(*lease.Spec.HolderIdentity) + " has it"}
	}
	return l.take(ctx)
}

// release deletes the Lease, if it is ours.
func (l Lease) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), LeaseAsk, fmt.Errorf("no answer within %s", LeaseAsk))
	defer cancel()
	leases := l.Kube.Leases(LeaseNamespace)
	lease, err := leases.Get(ctx, LeaseName, metav1.GetOptions{})
	if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == l.Holder {
		err = leases.Delete(ctx, LeaseName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("release the Lease %s/%s (it expires within %s): %w", LeaseNamespace, LeaseName, leaseTime, err)
	}
	return nil
}
