package rotate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// bundled is a cluster in which nothing happens but the removal of CAs from one bundle.
type bundled struct {
	Cluster
	removal error // what the API server says when it tries it
	lease   error // what is said before the plan is asked for
	applied error // how it went
	asked   int
	plan    *remediate.Plan
}

func (c *bundled) Removal(_ context.Context, of catalog.Ref, judged []OldCA) (a PruneBundle, err error) {
	c.asked++
	a.Object = of
	for _, j := range judged {
		if j.Keep == "" {
			a.Removes = append(a.Removes, j.Cert)
		}
	}
	a.Before, a.After = "as it was", "as it is to be"
	return a, c.removal
}

func (c *bundled) Apply(ctx context.Context, plan func(context.Context) (*remediate.Plan, error)) (changed bool, err error) {
	if c.lease != nil {
		return false, c.lease
	}
	if c.plan, err = plan(ctx); err != nil {
		return false, err
	}
	return true, c.applied
}

// reading is that of a cluster whose load balancer's signer was replaced long ago.
func (f rotated) reading(t *testing.T, version string) Reading {
	t.Helper()
	f.Cluster.Versions.Cluster, f.Cluster.Internal = version, "https://"+remediatetest.APIIntHost+":6443"
	f.Sort()
	return NewReading(t.Context(), inspect.NewFacts(f.Snapshot, remediatetest.TestNow, time.Hour))
}

// outcomeAndText is an error as people get it, its outcome before it and its next step behind it.
func outcomeAndText(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%d: %s > %s", e.Outcome, e.Error(), e.Next)
}

// TestSelectPruning: only a signer whose CAs are in a bundle of its own has old ones to remove.
func TestSelectPruning(t *testing.T) {
	t.Parallel()
	r := Runner{Hints: inspect.LiveHints("certrot")}
	for name, c := range map[string]struct {
		version, name, want string
	}{
		"a signer":                   {"4.15.1", catalog.LoadBalancerSigner().Name, "<nil>"},
		"what it signs":              {"4.15.1", catalog.InternalLoadBalancerServing().Name, fmt.Sprintf("%d: refused, nothing was changed: openshift-kube-apiserver/internal-loadbalancer-serving-certkey: it is signed by loadbalancer-serving-signer, and no signer: it has no CAs > certrot rotate prune loadbalancer-serving-signer", Refused)},
		"a version without a review": {"4.99.0", catalog.LoadBalancerSigner().Name, fmt.Sprintf("%d: refused, nothing was changed: unreviewed-version: %s > use a release of certrot that reviewed this version\nto accept the risk: --accept-risk=unreviewed-version", Refused, catalog.Versions{Cluster: "4.99.0"}.WhyUnreviewed())},
		"a name that means nothing":  {"4.15.1", "none", fmt.Sprintf("%d: ", Unread)},
	} {
		p, err := r.SelectPruning(newRotated().reading(t, c.version), c.name)
		if got := outcomeAndText(err); got != c.want && (c.name != "none" || came(err) != Unread) {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
		if err == nil && p.Of.At != catalog.LoadBalancerSigner() {
			t.Errorf("%s: %s", name, p.Of.At)
		}
	}
}

// TestPlanPruning: the API server tries it only where it is asked to, and what it refuses has an outcome.
func TestPlanPruning(t *testing.T) {
	t.Parallel()
	const at = "openshift-kube-apiserver-operator"
	for name, c := range map[string]struct {
		try     bool
		removal error
		unread  bool
		asked   int
		want    string
	}{
		"judged":              {false, io.ErrUnexpectedEOF, false, 0, "<nil>"},
		"tried":               {true, nil, false, 1, "<nil>"},
		"written meanwhile":   {true, remediate.ErrChanged, false, 1, fmt.Sprintf("%d: nothing was changed: %v > another client writes it at this moment: look, and run it again", Refused, remediate.ErrChanged)},
		"not allowed":         {true, errors.New("forbidden"), false, 1, fmt.Sprintf("%d: nothing was changed: forbidden > kubectl auth can-i patch configmaps -n %s", Unread, at)},
		"not everything read": {true, nil, true, 0, fmt.Sprintf("%d: refused, nothing was changed: %s: ", Refused, AllRead)},
	} {
		cluster := &bundled{removal: c.removal}
		r := Runner{Cluster: cluster, Hints: inspect.LiveHints("certrot"), Try: c.try, Risks: []string{preflight.UnreviewedVersion}}
		f := newRotated()
		if c.unread {
			f.Nodes[0].Via = ""
		}
		p, err := r.SelectPruning(f.reading(t, "4.15.1"), catalog.LoadBalancerSigner().Name)
		if err != nil {
			t.Fatal(err)
		}
		err = r.PlanPruning(t.Context(), &p)
		if got := outcomeAndText(err); got != c.want && !(c.unread && len(got) > len(c.want) && got[:len(c.want)] == c.want) || cluster.asked != c.asked {
			t.Errorf("%s: asked %d times: %s\nwant %s", name, cluster.asked, got, c.want)
		}
		if err == nil && (p.Removed() != 2 || len(p.CAs) != 3 || c.try != (len(p.Action.Removes) == 2)) {
			t.Errorf("%s: %d of %d are removed: %+v", name, p.Removed(), len(p.CAs), p.Action)
		}
	}
}

// TestPrune: how the removal went has an outcome, and says how to put the bundle back once it may be written.
func TestPrune(t *testing.T) {
	t.Parallel()
	held := &Error{Outcome: Refused, Err: errors.New("another run has the Lease"), Next: "wait for it", Unchanged: true}
	for name, c := range map[string]struct {
		lease, applied error
		want           string
	}{
		"done":               {nil, nil, "<nil>"},
		"another run":        {held, nil, fmt.Sprintf("%d: refused, nothing was changed: another run has the Lease > wait for it", Refused)},
		"written meanwhile":  {nil, remediate.ErrChanged, fmt.Sprintf("%d: nothing was changed: %v > another client writes it: look at it, and run this again", Stopped, remediate.ErrChanged)},
		"put back by others": {nil, errors.New("CN=x was put back"), fmt.Sprintf("%d: CN=x was put back > oc -n openshift-kube-apiserver-operator get configmap loadbalancer-serving-ca -o yaml; the bundle as it was: kubectl patch it", Stopped)},
	} {
		cluster := &bundled{lease: c.lease, applied: c.applied}
		r := Runner{Cluster: cluster, Hints: inspect.LiveHints("certrot"), Try: true}
		p, err := r.SelectPruning(newRotated().reading(t, "4.15.1"), catalog.LoadBalancerSigner().Name)
		if err == nil {
			err = r.PlanPruning(t.Context(), &p)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Undo = "kubectl patch it"
		if got := outcomeAndText(r.Prune(t.Context(), p)); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
		if planned := cluster.plan != nil; planned != (c.lease == nil) || planned && len(cluster.plan.Nodes()) != 1 {
			t.Errorf("%s: the plan is %+v", name, cluster.plan)
		}
	}
}
