package fixapiintcmd

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient/kubeclienttest"
)

// TestStatusTellsOfARunThatHoldsTheLease: who, which run, since when, whether it is stale,
// and what to do.
func TestStatusTellsOfARunThatHoldsTheLease(t *testing.T) {
	t.Parallel()
	const bob = "bob@b (pid 2 of another machine), run 20261122-060000-0a0b0c"
	p := &remediate.Plan{
		Now: time.Now(), Basis: inspect.Snapshot{Nodes: []inspect.Node{{Name: "w", Role: catalog.RoleWorker, Ready: "True"}}},
		Waves: []remediate.Wave{{Name: remediate.WaveWorkers, Nodes: []remediate.NodePlan{{Name: "w", Steps: []remediate.Step{{Action: action.NewRestartKubelet("w"), Change: &remediate.Change{Summary: "restart"}}}}}}},
	}
	for _, c := range []struct {
		name   string
		holder string
		silent time.Duration
		forbid bool
		state  string
		says   []string
		not    string
	}{
		{name: "free", not: "Lease", says: []string{"next certrot fix-api-int"}},
		{name: "active", holder: bob, silent: 5 * time.Second, state: leaseActive, says: []string{"active: “" + bob, "since 06:00:00 UTC", "next  wait for its end", "next wait until that run is over, then: certrot fix-api-int"}},
		{name: "stale", holder: bob, silent: 5 * time.Minute, state: leaseStale, says: []string{"stale: “" + bob, "since 06:00:00 UTC, silent for ", "takes the Lease over", "next certrot fix-api-int"}},
		{name: "forbidden", forbid: true, state: leaseUnknown, says: []string{"unknown whether another run changes this cluster", "forbidden", "can-i get leases.coordination.k8s.io -n kube-system"}},
	} {
		kube := fake.NewClientset()
		if c.holder != "" {
			renewed, acquired, lasts := metav1.NewMicroTime(time.Now().Add(-c.silent)), metav1.NewMicroTime(time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)), int32(60)
			kube = fake.NewClientset(&coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: remediate.LeaseNamespace, Name: remediate.LeaseName},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &c.holder, RenewTime: &renewed, AcquireTime: &acquired, LeaseDurationSeconds: &lasts},
			})
		}
		if c.forbid {
			kube.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, remediate.LeaseName, errors.New("no"))
			})
		}
		var out plugintest.Transcript
		w := applytest.OnNodes(applytest.Connect(plugintest.SettledAPI(), t), &out)
		w.Conn.Kube = kubeclienttest.Of(kube)
		o := &statusOptions{repairOptions: repairOptions{Options: apply.Options{App: w.App}}, lines: commandLines{resume: "certrot fix-api-int", allWaves: "certrot fix-api-int"}}
		d := o.judge(p, leaseOf(t.Context(), w))
		if err := o.print(d); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range c.says {
			if !strings.Contains(said, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: %q is not said:\n%s", c.name, want, out.String())
			}
		}
		if c.not != "" && strings.Contains(said, c.not) {
			t.Errorf("%s: %q is said:\n%s", c.name, c.not, out.String())
		}
		if (d.Lease == nil) != (c.state == "") || d.Lease != nil && d.Lease.State != c.state {
			t.Errorf("%s: %+v", c.name, d.Lease)
		}
	}
	w := applytest.OnNodes(nil, &plugintest.Transcript{})
	if l := leaseOf(t.Context(), w); l == nil || l.State != leaseUnknown {
		t.Errorf("without an API: %+v", l)
	}
}
