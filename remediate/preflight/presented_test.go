package preflight

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestWhatOneWorkerIsPresentedStopsNoOther: it may have another server in its kubeconfig or its hosts
// file. What a control plane node is presented, or all workers are, stops everything, with its name.
func TestWhatOneWorkerIsPresentedStopsNoOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role string
		all  bool
		want assess.Status
	}{
		"a worker":                            {catalog.RoleWorker, false, assess.Pass},
		"the only one that was presented any": {catalog.RoleWorker, true, assess.Fail},
		"a control plane node":                {catalog.RoleMaster, false, assess.Fail},
		"a node whose role is unknown":        {"", false, assess.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := quiet("worker-0")
			if c.all {
				p.Snapshot.Served = nil
			}
			shows("", "")(p)
			for i := range p.Snapshot.Nodes {
				if p.Snapshot.Nodes[i].Name == "worker-0" {
					p.Snapshot.Nodes[i].Role = c.role
				}
			}
			for _, v := range p.Check() {
				if v.ID != ServerSide && v.ID != "named-certificate" {
					continue
				}
				if v.Status != c.want || !strings.Contains(v.Reason, "worker-0") {
					t.Errorf("%s: %s, want %s with worker-0: %s", v.ID, v.Status, c.want, v.Reason)
				}
			}
		})
	}
	plain := Preflight{Snapshot: remediatetest.NewFixture("worker-0").Snapshot, Now: remediatetest.TestNow}
	if plain.onWorker("worker-9") {
		t.Error("a node of which nothing was read is no worker")
	}
}

// TestWhatOneWorkerSaysOfAControlPlaneNodeStopsNoOther: root there answers in its place. Two workers, or one
// that is asked alone, are believed, unless another one contradicts.
func TestWhatOneWorkerSaysOfAControlPlaneNodeStopsNoOther(t *testing.T) {
	t.Parallel()
	strange := shows(catalog.ListenerAPIServer, "master-0")
	from := func(node string, change func(*Preflight)) func(*Preflight) {
		return func(p *Preflight) {
			change(p)
			p.Snapshot.Served[len(p.Snapshot.Served)-1].Node = node
		}
	}
	own := func(p *Preflight) { // what api-int presents to it, by that control plane node
		v := p.Snapshot.Served[0]
		v.Server, v.Of = catalog.ListenerAPIServer, "master-0"
		p.Snapshot.Served = append(p.Snapshot.Served, v)
	}
	for name, c := range map[string]struct {
		nodes   []string
		changes []func(*Preflight)
		want    assess.Status
	}{
		"one of two":                        {[]string{"worker-0", "worker-1"}, []func(*Preflight){strange}, assess.Pass},
		"both":                              {[]string{"worker-0", "worker-1"}, []func(*Preflight){strange, from("worker-1", strange)}, assess.Fail},
		"two, and a third says otherwise":   {[]string{"worker-0", "worker-1", "worker-2"}, []func(*Preflight){strange, from("worker-1", strange), from("worker-2", own)}, assess.Unknown},
		"one against one":                   {[]string{"worker-0", "worker-2"}, []func(*Preflight){from("worker-2", own), strange}, assess.Unknown},
		"one of them says both":             {[]string{"worker-0", "worker-2"}, []func(*Preflight){from("worker-2", strange), strange, from("worker-2", own)}, assess.Unknown},
		"and a control plane node decides":  {[]string{"worker-0", "worker-1", "master-1"}, []func(*Preflight){strange, from("worker-1", strange), from("master-1", own)}, assess.Pass},
		"the only one":                      {[]string{"worker-0"}, []func(*Preflight){strange}, assess.Fail},
		"a control plane node says it":      {[]string{"worker-0", "master-1"}, []func(*Preflight){from("master-1", strange)}, assess.Fail},
		"a worker beside a control plane's": {[]string{"worker-0", "master-1"}, []func(*Preflight){strange}, assess.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := quiet(c.nodes...)
			for i := range p.Snapshot.Nodes {
				p.Snapshot.Nodes[i].Role = catalog.RoleWorker
				if strings.HasPrefix(p.Snapshot.Nodes[i].Name, "master") {
					p.Snapshot.Nodes[i].Role = catalog.RoleMaster
				}
			}
			for _, change := range c.changes {
				change(p)
			}
			v := p.ServerSideVerdict()
			if named := strings.Contains(v.Reason, "worker-0") || c.nodes[1:] != nil && strings.Contains(v.Reason, "master-0"); v.Status != c.want || !named {
				t.Errorf("%s, want %s: %s", v.Status, c.want, v.Reason)
			}
			if v.Status == assess.Unknown && (!v.Blocks() || !strings.Contains(v.Reason, "worker-2") || v.Remediation.Text == "") {
				t.Errorf("it stops, with both names: %+v", v)
			}
		})
	}
}

// TestAWorkersOwnAPIServerStopsNothing where operators say which nodes have one: a file there tells of it.
func TestAWorkersOwnAPIServerStopsNothing(t *testing.T) {
	t.Parallel()
	for of, want := range map[string]assess.Status{"worker-0": assess.Pass, "master-0": assess.Fail} {
		f := remediatetest.NewFixture("master-0", "worker-0")
		f.Pem("worker-0", catalog.KubeadmServing().Name, f.Young.CertPEM)
		p := quiet("master-0", "worker-0")
		p.Snapshot.Bundles = append(p.Snapshot.Bundles, f.Bundles...)
		p.ControlPlane.Nodes = []inspect.NodeState{{Name: "master-0", Master: true}, {Name: "worker-0"}}
		shows(catalog.ListenerAPIServer, of)(p)
		p.Snapshot.Served[len(p.Snapshot.Served)-1].Node = "master-0"
		if v := p.ServerSideVerdict(); v.Status != want || !strings.Contains(v.Reason, of) {
			t.Errorf("%s: %s, want %s: %s", of, v.Status, want, v.Reason)
		}
	}
}
