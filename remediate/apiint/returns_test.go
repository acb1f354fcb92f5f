package apiint

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestWorkersThatAreNotBack are waited for before another one that is Ready is taken, and
// keep no other waiting.
func TestWorkersThatAreNotBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, nodes string
		change      func(f *remediatetest.Fixture, fix *Repair)
		want        string   // see course
		steps       []string // of worker-0, those that are due
		says        string
	}{
		{"the first one did not come back", "worker-0 worker-1 worker-2", nil, "workers-first/1: worker-0 worker-1; workers/1: worker-2", []string{"await worker-0"}, "not confirmed to be back: worker-0. They are waited for"},
		{"it is Ready as it was before its restart", "worker-0 worker-1", func(f *remediatetest.Fixture, _ *Repair) { f.FirstNode().Ready = "True" }, "workers-first/1: worker-0 worker-1", []string{"await worker-0"}, "--accept-risk=workers-back"},
		{"it reports, and is not Ready", "worker-0 worker-1", func(f *remediatetest.Fixture, _ *Repair) {
			f.FirstNode().Ready, f.FirstNode().Heartbeat = "False", remediatetest.TestNow
		}, "workers-first/1: worker-0 worker-1", []string{"await worker-0"}, "waited for"},
		{"it is back", "worker-0 worker-1", func(f *remediatetest.Fixture, _ *Repair) {
			f.FirstNode().Ready, f.FirstNode().Heartbeat = "True", remediatetest.TestNow
		}, "workers-first/1: worker-1", nil, ""},
		{"accepted by name", "worker-0 worker-1", func(_ *remediatetest.Fixture, fix *Repair) { fix.Order.Accept = []string{preflight.WorkersBack} }, "workers-first/1: worker-1", nil, "Accepted by name: workers-back: "},
		{"those that are lost do not wait", "worker-0 worker-1! worker-2", nil, "workers-not-ready/1: worker-1; workers-first/1: worker-0 worker-2", []string{"await worker-0"}, "waited for"},
		{"nothing is done to one that is Ready", "worker-0 worker-1!", nil, "workers-not-ready/1: worker-1", nil, ""},
		{"its requests may be approved", "worker-0 worker-1", func(_ *remediatetest.Fixture, fix *Repair) { fix.ApproveCSRs = true }, "workers-first/1: worker-0 worker-1", []string{"approve-requests worker-0", "await worker-0"}, "waited for"},
		{"it asks, and all others are right", "worker-0 worker-1", func(f *remediatetest.Fixture, fix *Repair) {
			f.Right("worker-1")
			f.Asks("worker-0")
			fix.ApproveCSRs = true
		}, "workers-first/1: worker-0", []string{"approve-requests worker-0"}, ""},
		{"it asks, and is accepted by name", "worker-0 worker-1", func(f *remediatetest.Fixture, fix *Repair) {
			f.Asks("worker-0")
			fix.ApproveCSRs, fix.Order.Accept = true, []string{preflight.WorkersBack}
		}, "workers-first/1: worker-0 worker-1", []string{"approve-requests worker-0"}, "Accepted by name"},
		{"it asks, and nobody is to approve that", "worker-0 worker-1", func(f *remediatetest.Fixture, _ *Repair) {
			f.Right("worker-1")
			f.Asks("worker-0")
		}, "", nil, ""},
		{"it asks, and is back", "worker-0 worker-1", func(f *remediatetest.Fixture, fix *Repair) {
			f.FirstNode().Ready, f.FirstNode().Heartbeat = "True", remediatetest.TestNow
			f.Asks("worker-0")
			fix.ApproveCSRs = true
		}, "workers-first/1: worker-1", nil, ""},
		{"one kube-apiserver", "worker-0 worker-1", func(f *remediatetest.Fixture, _ *Repair) { f.Cluster.Topology = "SingleReplica" }, "nodes/1: worker-0 worker-1", []string{"await worker-0"}, "waited for"},
	} {
		f := remediatetest.NewCluster(c.nodes)
		f.Began("worker-0")
		for i := range f.Nodes { // the others always had a heartbeat
			if n := &f.Nodes[i]; n.Name != "worker-0" && n.Ready == "True" {
				n.Heartbeat = remediatetest.TestNow.Add(-time.Second)
			}
		}
		fix := wholeOf(f)
		if c.change != nil {
			c.change(f, &fix)
		}
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		steps := slices.DeleteFunc(remediatetest.StepsOf(p), func(id string) bool { return !strings.Contains(id, "worker-0") })
		if got := remediatetest.Course(p); got != c.want || !slices.Equal(steps, c.steps) {
			t.Errorf("%s: %s, steps %q; want %s, %q", c.name, got, steps, c.want, c.steps)
		}
		if notes := strings.Join(p.Notes.Texts(), "\n"); !strings.Contains(notes, c.says) || c.says == "" && strings.Contains(notes, "to be back") {
			t.Errorf("%s: notes %q", c.name, p.Notes.Texts())
		}
		n, _ := p.After.Node("worker-0")
		if waited := slices.Contains(steps, "await worker-0"); (n.Ready == "True" && n.Heartbeat.After(n.Kubelet.Started)) != (waited || f.FirstNode().Ready == "True") {
			t.Errorf("%s: afterwards it would be %q", c.name, n.Ready)
		}
	}
}
