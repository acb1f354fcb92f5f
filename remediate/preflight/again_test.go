package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestAskedAgain has something begin after the plan was made, which ends or does not.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	plain := remediatetest.KubeadmFixture("master-1").Snapshot
	withFiles := remediatetest.KubeadmFixture("master-1", "worker-0")
	withFiles.Pem("worker-0", "/etc/kubernetes/pki/apiserver.crt", withFiles.Young.CertPEM)
	bare := withFiles.Snapshot
	for _, c := range []struct {
		name    string
		begins  func(m *inspect.ControlPlaneStatus)
		times   int // how often it is found
		again   *RecheckGate
		stopped string // the name of the check; empty: it goes on
		waits   time.Duration
	}{
		{"nothing", nil, 0, &RecheckGate{}, "", 0},
		{"an upgrade", remediatetest.BegunUpgrade, 1, &RecheckGate{}, upgradeRunning, 0},
		{"an upgrade, which was accepted", remediatetest.BegunUpgrade, 1000, &RecheckGate{Accept: []string{upgradeRunning}}, "", 0},
		{"an upgrade, which is not asked for", remediatetest.BegunUpgrade, 1000, &RecheckGate{Only: []string{StaticPodsSettled}}, "", 0},
		{"a rollout that ends", remediatetest.BegunRollout, 12, &RecheckGate{}, "", 2 * time.Minute},
		{"a rollout that does not", remediatetest.BegunRollout, 1000, &RecheckGate{}, StaticPodsSettled, action.RolloutTime},
		{"a worker that is not next says that it is changed", worksOn("worker-0"), 1000, &RecheckGate{}, "", 0},
		{"a control plane node that is not next", worksOn("master-0"), 1000, &RecheckGate{}, PoolsSettled, action.RolloutTime},
		{"an API server that restarts", remediatetest.Silent, 5, &RecheckGate{}, "", 50 * time.Second},
		{"an API server that is silent", remediatetest.Silent, 1000, &RecheckGate{}, upgradeRunning, unreadTime},
		{"a plain cluster has no ClusterVersion", remediatetest.WithoutOperators, 1000, &RecheckGate{Snapshot: plain, StaticPods: unready(0)}, "", 0},
		{"a plain cluster's static pod that becomes ready", remediatetest.WithoutOperators, 1000, &RecheckGate{Snapshot: plain, StaticPods: unready(12)}, "", 2 * time.Minute},
		{"one that does not", remediatetest.WithoutOperators, 1000, &RecheckGate{Snapshot: plain, StaticPods: unready(1000)}, StaticPodsSettled, action.RolloutTime},
		{"one that does not, which was accepted", remediatetest.WithoutOperators, 1000, &RecheckGate{Snapshot: plain, StaticPods: unready(1000), Accept: []string{StaticPodsSettled}}, "", 0},
		{"an undo there", remediatetest.WithoutOperators, 1000, &RecheckGate{Snapshot: plain, StaticPods: unready(1000), Only: []string{StaticPodsSettled}}, StaticPodsSettled, action.RolloutTime},
		{"one of a node without a label, which is another wave's", remediatetest.WithoutOperators, 1000, &RecheckGate{Snapshot: bare, Planned: []string{"worker-0"}, StaticPods: unreadyOn("worker-0", 1000)}, StaticPodsSettled, action.RolloutTime},
		{"one of such a node that was left out", remediatetest.WithoutOperators, 1000, &RecheckGate{Snapshot: bare, StaticPods: unreadyOn("worker-0", 1000)}, "", 0},
		{"static pods that were not asked for", remediatetest.WithoutOperators, 1000, &RecheckGate{Snapshot: plain}, StaticPodsSettled, action.RolloutTime},
	} {
		found := 0
		var said []string
		now := remediatetest.TestNow
		env := &remediate.Env{Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error {
			now = now.Add(d)
			return nil
		}}
		c.again.Print = func(text string) { said = append(said, text) }
		c.again.ControlPlane = func(context.Context) *inspect.ControlPlaneStatus {
			m := remediatetest.Settled()
			if c.begins != nil && found < c.times {
				found++
				c.begins(m)
			}
			return m
		}
		left, err := c.again.ask(t.Context(), env, []string{"master-1"})
		var r *remediate.Refusal
		switch {
		case c.stopped == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.stopped != "" && (!errors.As(err, &r) || r.Name != c.stopped || !r.Risk || r.Next == ""):
			t.Errorf("%s: %v", c.name, err)
		}
		if len(left) > 0 {
			t.Errorf("%s: left out %+v", c.name, left)
		}
		if now.Sub(remediatetest.TestNow) != c.waits || len(said) != min(1, int(c.waits)) {
			t.Errorf("%s: waited %s, said %q", c.name, now.Sub(remediatetest.TestNow), said)
		}
	}
}

// TestAWorkersOwnWordIsNotWaitedFor: it leaves that worker out, where nothing else stops all, and it is asked about.
func TestAWorkersOwnWordIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	all := func(changes ...func(*inspect.ControlPlaneStatus)) func(*inspect.ControlPlaneStatus) {
		return func(m *inspect.ControlPlaneStatus) {
			for _, c := range changes {
				c(m)
			}
		}
	}
	for name, c := range map[string]struct {
		says    func(*inspect.ControlPlaneStatus)
		again   *RecheckGate
		left    string
		stopped string
		waits   time.Duration
	}{
		"nothing":                         {func(*inspect.ControlPlaneStatus) {}, &RecheckGate{}, "", "", 0},
		"a worker":                        {worksOn("worker-0"), &RecheckGate{}, "worker-0", "", 0},
		"a worker, which was accepted":    {worksOn("worker-0"), &RecheckGate{Accept: []string{PoolsSettled}}, "", "", 0},
		"a worker, and it is not asked":   {worksOn("worker-0"), &RecheckGate{Only: []string{StaticPodsSettled}}, "", "", 0},
		"a control plane node, too":       {all(worksOn("worker-0"), worksOn("master-0")), &RecheckGate{}, "", PoolsSettled, action.RolloutTime},
		"an upgrade, too":                 {all(worksOn("worker-0"), remediatetest.BegunUpgrade), &RecheckGate{}, "", upgradeRunning, 0},
		"a worker of a pool that says so": {all(worksOn("worker-0"), func(m *inspect.ControlPlaneStatus) { m.Pools[0].Desired = "rendered-2" }), &RecheckGate{}, "", PoolsSettled, action.RolloutTime},
	} {
		now := remediatetest.TestNow
		env := &remediate.Env{Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error {
			now = now.Add(d)
			return nil
		}}
		c.again.ControlPlane = func(context.Context) *inspect.ControlPlaneStatus {
			m := remediatetest.Settled()
			c.says(m)
			return m
		}
		left, err := c.again.ask(t.Context(), env, []string{"worker-0", "worker-1"})
		var r *remediate.Refusal
		if (err != nil) != (c.stopped != "") || errors.As(err, &r) && r.Name != c.stopped || now.Sub(remediatetest.TestNow) != c.waits {
			t.Errorf("%s: after %s: %v", name, now.Sub(remediatetest.TestNow), err)
		}
		var names []string
		for _, l := range left {
			if names = append(names, l.Node); l.Name != PoolsSettled || l.Next == "" {
				t.Errorf("%s: %+v", name, l)
			}
		}
		if strings.Join(names, " ") != c.left {
			t.Errorf("%s: left out %q", name, names)
		}
	}
}

func worksOn(node string) func(*inspect.ControlPlaneStatus) {
	return func(m *inspect.ControlPlaneStatus) { working(node)(&Preflight{ControlPlane: m}) }
}

func unready(times int) func(context.Context) *inspect.PodList { return unreadyOn("master-1", times) }

// unreadyOn reads a static pod of a node that is not ready when it is first asked for, so
// many times.
func unreadyOn(node string, times int) func(context.Context) *inspect.PodList {
	asked := 0
	return func(context.Context) *inspect.PodList {
		asked++
		return &inspect.PodList{Pods: []inspect.Pod{{Namespace: "kube-system", Name: "kube-apiserver-" + node, Node: node, OwnerKind: "Node", OwnerName: node, Phase: "Running", Ready: asked > times}}}
	}
}

// TestUnlabelledMastersAreAskedAbout: what is asked of masters is asked of those, too, that only
// their files tell.
func TestUnlabelledMastersAreAskedAbout(t *testing.T) {
	t.Parallel()
	snapshot := inspect.Snapshot{Nodes: []inspect.Node{{Name: "bare", Via: "ssh", Role: catalog.RoleWorker}, {Name: "worker-0", Via: "ssh", Role: catalog.RoleWorker}}}
	at := pki.Location{Kind: pki.KindFile, Node: "bare", Path: "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/kubelet-client/tls.crt"}
	snapshot.Bundles = []inspect.Bundle{{At: at, Content: &pki.Content{}}}
	p := Preflight{Snapshot: snapshot, ControlPlane: &inspect.ControlPlaneStatus{Nodes: []inspect.NodeState{{Name: "bare"}, {Name: "worker-0"}}}, Nodes: []string{"bare", "worker-0"}}
	if masters, ok := p.masters(); !ok || len(masters) != 1 || masters[0] != "bare" {
		t.Errorf("masters: %v, %t", masters, ok)
	}
	for i, want := range []bool{true, false} {
		if got := inspect.RunsAPIServer(snapshot, &snapshot.Nodes[i]); got != want {
			t.Errorf("%s: %t", snapshot.Nodes[i].Name, got)
		}
	}
}

func TestMastersByWhatOperatorsSay(t *testing.T) {
	t.Parallel()
	m := remediatetest.Settled()
	m.Nodes = append(m.Nodes, inspect.NodeState{Name: "relabelled", Ready: "True"})
	m.StaticPods[1].Masters = append(m.StaticPods[1].Masters, inspect.StaticPodState{Node: "relabelled"})
	if got, ok := (Preflight{ControlPlane: m, Nodes: []string{"relabelled", "worker-0"}}).masters(); !ok || !slices.Equal(got, []string{"relabelled"}) {
		t.Errorf("by what operators say: %q, %t", got, ok)
	}
}
