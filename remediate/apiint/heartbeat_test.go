package apiint

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestReadyNodesWithoutAHeartbeatAreLost: a power-off leaves Nodes Ready=True. None of them
// is taken for a healthy one whose kubelet may be restarted to try a repair out.
func TestReadyNodesWithoutAHeartbeatAreLost(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewCluster("master-0 master-1 worker-0 worker-1")
	f.Silent("master-1", "worker-0")
	p, err := wholeOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := remediatetest.Course(p), "masters/1: master-1 master-0; workers-not-ready/1: worker-0; workers-first/1: worker-1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAHeartbeatThatStoppedIsNoReturn: it was newer than the kubelet's start once.
func TestAHeartbeatThatStoppedIsNoReturn(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewCluster("worker-0")
	f.Silent("worker-0")
	n := f.FirstNode()
	n.Kubelet.Started = n.Heartbeat.Add(-time.Hour)
	for _, a := range []remediate.Action{action.AwaitNode{NodeName: n.Name}, csr.NewApprove(n.Name, f.Snapshot, remediatetest.TestNow)} {
		if c, err := a.Diff(f.Snapshot, remediatetest.TestNow); err != nil || c == nil {
			t.Errorf("%s: nothing is to be done to a node whose last heartbeat is 14 minutes old: %v", a.ID(), err)
		}
	}
}

// TestRolloutsWaitForASilentMaster: its installer pod can't run, whatever Ready says.
func TestRolloutsWaitForASilentMaster(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewCluster("master-0")
	f.Silent("master-0")
	n := f.FirstNode()
	m := inspect.ControlPlaneStatus{Nodes: []inspect.NodeState{{Name: n.Name, Ready: "True", Heartbeat: n.Heartbeat, Lease: n.Lease}}}
	if !m.NodeUnhealthy(n.Name) {
		t.Error("a master without a heartbeat is taken for one that works")
	}
	r := inspect.Rollout{Operator: true, Source: f.CaOf(), Latest: 8, Masters: []inspect.Revision{{Node: n.Name, Current: 7, CA: nil, Ready: "True", Silent: "no heartbeat for 14m (Lease)"}}}
	if behind := strings.Join(r.Missing(f.CaOf()), "; "); !strings.Contains(behind, "no heartbeat for 14m (Lease)") {
		t.Errorf("what is waited for: %s", behind)
	}
}

// TestNoPodIsDeletedOnASilentNode: it would not come back.
func TestNoPodIsDeletedOnASilentNode(t *testing.T) {
	t.Parallel()
	f := remediatetest.RepairedFixture()
	row := remediatetest.RowOf("machine-config-daemon")
	a := action.RestartPods{NodeName: "worker-0", Row: row, Pods: []inspect.Pod{remediatetest.PodOf(row, "worker-0", remediatetest.TestNow)}, CA: f.CaOf()}
	root := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: row.Namespace, Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(f.ConfigMap)}}
	api := remediatetest.NewFakeAPI(remediatetest.NodeThat("worker-0", "True"), root, remediatetest.DaemonPod(a.Pods[0], a.Pods[0].UID, "Running", "True"))
	api.Env.Heartbeat = func(context.Context, string) (collect.Heartbeat, error) {
		return collect.Heartbeat{At: remediatetest.TestNow.Add(-14 * time.Minute), Ready: "True", Lease: inspect.Lease{Asked: remediatetest.TestNow}}, nil
	}
	err := a.Apply(t.Context(), api.Env, nil)
	if err == nil || !strings.Contains(err.Error(), "no heartbeat for 14m (Lease)") || len(api.Did()) > 0 {
		t.Errorf("%v, did %v", err, api.Did())
	}
}
