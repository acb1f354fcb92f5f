package remediate

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
)

// silent has nodes Ready=True without a heartbeat, as they are after a power-off.
func (f *fixture) silent(names ...string) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		n.Lease = inspect.Lease{Duration: 40 * time.Second, Asked: testNow}
		if slices.Contains(names, n.Name) {
			n.Heartbeat = testNow.Add(-14 * time.Minute)
		}
	}
}

// TestReadyNodesWithoutAHeartbeatAreLost: a power-off leaves Nodes Ready=True. None of them
// is taken for a healthy one whose kubelet may be restarted to try a repair out.
func TestReadyNodesWithoutAHeartbeatAreLost(t *testing.T) {
	t.Parallel()
	f := newCluster("master-0 master-1 worker-0 worker-1")
	f.silent("master-1", "worker-0")
	p, err := f.whole().Plan("run-1", f.Snapshot, testNow)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := course(p), "masters/1: master-1 master-0; workers-not-ready/1: worker-0; workers-first/1: worker-1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAHeartbeatThatStoppedIsNoReturn: it was newer than the kubelet's start once.
func TestAHeartbeatThatStoppedIsNoReturn(t *testing.T) {
	t.Parallel()
	f := newCluster("worker-0")
	f.silent("worker-0")
	n := f.first()
	n.Kubelet.Started = n.Heartbeat.Add(-time.Hour)
	for _, a := range []Action{Await{On: n.Name}, NewApproveCSRs(n.Name, f.Snapshot, testNow)} {
		if c, err := a.Diff(f.Snapshot, testNow); err != nil || c == nil {
			t.Errorf("%s: nothing is to be done to a node whose last heartbeat is 14 minutes old: %v", a.ID(), err)
		}
	}
}

// TestRolloutsWaitForASilentMaster: its installer pod can't run, whatever Ready says.
func TestRolloutsWaitForASilentMaster(t *testing.T) {
	t.Parallel()
	f := newCluster("master-0")
	f.silent("master-0")
	n := f.first()
	m := inspect.Machinery{Nodes: []inspect.NodeState{{Name: n.Name, Ready: "True", Heartbeat: n.Heartbeat, Lease: n.Lease}}}
	if !m.Lost(n.Name) {
		t.Error("a master without a heartbeat is taken for one that works")
	}
	r := inspect.Rollout{Operator: true, Source: f.caOf(), Latest: 8, Masters: []inspect.Revision{{Node: n.Name, Current: 7, CA: nil, Ready: "True", Silent: "no heartbeat for 14m (Lease)"}}}
	if behind := strings.Join(r.Behind(f.caOf()), "; "); !strings.Contains(behind, "no heartbeat for 14m (Lease)") {
		t.Errorf("what is waited for: %s", behind)
	}
	if text := lever(r, f.caOf()); !strings.Contains(text, "Installer pods can't run on master-0") {
		t.Errorf("what makes it go on: %s", text)
	}
}

// TestNoPodIsDeletedOnASilentNode: it would not come back.
func TestNoPodIsDeletedOnASilentNode(t *testing.T) {
	t.Parallel()
	f := mended()
	row := rowOf("machine-config-daemon")
	a := RestartPods{On: "worker-0", Row: row, Pods: []inspect.Pod{podOf(row, "worker-0", testNow)}, CA: f.caOf()}
	root := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: row.Namespace, Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(f.configMap)}}
	api := newFakeAPI(nodeThat("worker-0", "True"), root, daemonPod(a.Pods[0], a.Pods[0].UID, "Running", "True"))
	api.env.Heartbeat = func(context.Context, string) (collect.Heartbeat, error) {
		return collect.Heartbeat{At: testNow.Add(-14 * time.Minute), Ready: "True", Lease: inspect.Lease{Asked: testNow}}, nil
	}
	err := a.Apply(t.Context(), api.env, nil)
	if err == nil || !strings.Contains(err.Error(), "no heartbeat for 14m (Lease)") || len(api.did()) > 0 {
		t.Errorf("%v, did %v", err, api.did())
	}
}
