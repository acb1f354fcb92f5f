package apiint

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestNamedMasters asks each master's kube-apiserver before the next node, also where
// nodes are named, and where no API tells which of them are masters.
func TestNamedMasters(t *testing.T) {
	t.Parallel()
	const gate = "await kube-apiserver on "
	for _, c := range []struct {
		name   string
		nodes  []string
		change func(f *remediatetest.Fixture, fix *Repair)
		want   []string // of the steps, those that wait
	}{
		{"two masters", []string{"master-0", "master-1"}, nil, []string{"await master-0", gate + "master-0", "await master-1"}},
		{"a worker after a master", []string{"master-0", "worker-0"}, nil, []string{"await master-0", gate + "master-0", "await worker-0"}},
		{"a worker before a master", []string{"worker-0", "master-0"}, nil, []string{"await worker-0", "await master-0"}},
		{"one that is right, and another one", []string{"master-0", "master-1"}, func(f *remediatetest.Fixture, _ *Repair) { f.Right("master-0") }, []string{gate + "master-0", "await master-1"}},
		{"all are right", []string{"master-0", "master-1"}, func(f *remediatetest.Fixture, _ *Repair) {
			f.Right("master-0", "master-1")
			for i := range f.Nodes {
				f.Nodes[i].Heartbeat = remediatetest.TestNow
			}
		}, nil},
		{"without an API", []string{"master-0", "master-1"}, func(f *remediatetest.Fixture, fix *Repair) {
			fix.API = false
			for i := range f.Nodes {
				f.Nodes[i].Role = ""
			}
			f.Pem("master-0", "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt", f.Young.CertPEM)
		}, []string{gate + "master-0", "await master-0", "await master-1"}},
		{"named, API, no label", []string{"master-0", "worker-0"}, func(f *remediatetest.Fixture, _ *Repair) {
			f.FirstNode().Role = catalog.RoleWorker
			f.Pem("master-0", "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt", f.Young.CertPEM)
		}, []string{"await master-0", gate + "master-0", "await worker-0"}},
		{"a worker that is not back from before", []string{"worker-0", "master-0"}, func(f *remediatetest.Fixture, _ *Repair) { f.Began("worker-0") }, []string{"await worker-0", "await master-0"}},
		{"the last one", []string{"master-0", "worker-0"}, func(f *remediatetest.Fixture, _ *Repair) { f.Began("worker-0") }, []string{"await master-0", gate + "master-0"}},
		{"nobody comes after it", []string{"worker-0", "master-0"}, func(f *remediatetest.Fixture, _ *Repair) {
			f.Began("worker-0")
			f.Right("master-0")
		}, nil},
		{"without an API, and one was begun before", []string{"master-0", "master-1"}, func(f *remediatetest.Fixture, fix *Repair) {
			fix.API = false
			f.HasAPIServer("master-0")
			f.Began("master-0")
		}, []string{gate + "master-0", "await master-0", "await master-1"}},
		{"without an API, and all are right", []string{"master-0", "master-1", "worker-0"}, func(f *remediatetest.Fixture, fix *Repair) {
			fix.API = false
			f.HasAPIServer("master-0")
			f.Right("master-0", "master-1", "worker-0")
		}, nil},
		{"to join anew, and one has", []string{"master-0", "master-1"}, func(f *remediatetest.Fixture, fix *Repair) {
			fix.Rebootstrap = true
			f.Joins("master-0", "master-1")
			f.Began("master-0")
		}, []string{"await master-0", gate + "master-0", "await master-1"}},
		{"to join anew, without an API", []string{"master-0", "master-1"}, func(f *remediatetest.Fixture, fix *Repair) {
			fix.Rebootstrap, fix.API = true, false
			f.HasAPIServer("master-0")
			f.Joins("master-0", "master-1")
		}, []string{gate + "master-0", "await master-0", "await master-1"}},
	} {
		f := remediatetest.NewCluster("master-0 master-1 worker-0")
		fix := fixOf(f)
		fix.Nodes = c.nodes
		if c.change != nil {
			c.change(f, &fix)
		}
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := slices.DeleteFunc(remediatetest.StepsOf(p), func(id string) bool { return !strings.HasPrefix(id, "await ") })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMastersWithoutTheirLabel takes none for a worker that may run kube-apiserver.
func TestMastersWithoutTheirLabel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(f *remediatetest.Fixture, fix *Repair)
		node   string
		says   string
	}{
		{"its files tell", func(f *remediatetest.Fixture, _ *Repair) {
			f.Pem("worker-0", "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/lb-int.kubeconfig", f.Young.CertPEM)
		}, "worker-0", "files of a kube-apiserver"},
		{"an operator does", func(_ *remediatetest.Fixture, fix *Repair) {
			fix.FollowUp.RootCA = &action.AwaitRootCA{Planned: inspect.Rollout{Operator: true, Masters: []inspect.Revision{{Node: "worker-0"}}}}
		}, "worker-0", "puts the control plane's static pods on it"},
		{"its pod tells, though nobody can get there", func(f *remediatetest.Fixture, fix *Repair) {
			fix.APIServers = []string{"master-0", "worker-0"}
			f.Unread("worker-0")
		}, "worker-0", "a pod of kube-apiserver"},
		{"its pod tells, and masters alone are wanted", func(_ *remediatetest.Fixture, fix *Repair) {
			fix.APIServers, fix.Order.Only = []string{"master-0", "worker-0"}, []string{remediate.WaveMasters}
		}, "worker-0", "a pod of kube-apiserver"},
		{"its files tell, and workers alone are wanted", func(f *remediatetest.Fixture, fix *Repair) {
			fix.Order.Only = []string{remediate.WaveWorkers}
			f.Right("master-0")
			f.Pem("worker-0", "/etc/kubernetes/pki/apiserver.crt", f.Young.CertPEM)
		}, "worker-0", "files of a kube-apiserver"},
		{"no node has one", func(f *remediatetest.Fixture, fix *Repair) {
			f.FirstNode().Role = catalog.RoleWorker
			fix.FollowUp.RootCA = &action.AwaitRootCA{Planned: inspect.Rollout{Operator: true}}
		}, "", "no node has a label of control plane nodes"},
	} {
		f := remediatetest.NewCluster("master-0 worker-0")
		fix := wholeOf(f)
		c.change(f, &fix)
		_, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		var r *remediate.Refusal
		if !errors.As(err, &r) || r.Name != "node-role" || r.Node != c.node || !strings.Contains(r.Reason, c.says) || r.Next == "" {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		// A worker's own kubelet can write a pod and files of that name: what to do begins with
		// a look at the node, and not with the label that gives it the control plane's keys.
		if label := strings.Index(r.Next, "kubectl label"); label >= 0 && strings.Index(r.Next, "if it is a worker") != 0 {
			t.Errorf("%s: %s", c.name, r.Next)
		}
	}
	for _, c := range []struct {
		known []string
		says  bool
	}{{nil, true}, {[]string{"master-0"}, false}} {
		f := remediatetest.NewCluster("master-0 worker-0")
		f.Unread("worker-0")
		fix := wholeOf(f)
		fix.APIServers, fix.Order.Only = c.known, []string{remediate.WaveMasters}
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(p.Notes.Texts(), "\n"), "Not read: worker-0. That no kube-apiserver runs there") != c.says {
			t.Errorf("kube-apiservers %q: notes %q", c.known, p.Notes.Texts())
		}
	}
}

// TestALostWorkerKeepsNobodyWaiting: one whose files are right has its pending request
// answered before the network's pods; one that asks for nothing is left out there.
func TestALostWorkerKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{true, false} {
		f := remediatetest.NewCluster("worker-0! worker-1")
		f.Right("worker-0", "worker-1")
		f.Nodes[0].Heartbeat = remediatetest.TestNow.Add(-25 * time.Hour)
		if asks {
			f.Requests = []inspect.SigningRequest{{Object: &inspect.Object{Name: "csr-1"}, Requester: "system:node:worker-0", Condition: inspect.Pending}}
		}
		fix := wholeOf(f)
		fix.ApproveCSRs = true
		row := remediatetest.RowOf("multus")
		long := remediatetest.TestNow.Add(-25 * time.Hour)
		fix.FollowUp.Network = &action.NetworkRestarts{CA: f.CaOf(), Pods: []inspect.Pod{remediatetest.PodOf(row, "worker-0", long), remediatetest.PodOf(row, "worker-1", long)}}
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		steps := remediatetest.StepsOf(p)
		asked, restarted := slices.Index(steps, "approve-requests worker-0"), slices.Index(steps, "restart worker-0:openshift-multus/multus")
		left := slices.ContainsFunc(p.Unknown, func(r *remediate.Refusal) bool { return r.Node == "worker-0" && r.Name == "node-reports" })
		if asks != (asked >= 0) || restarted >= 0 || !left || !slices.Contains(steps, "restart worker-1:openshift-multus/multus") {
			t.Errorf("asks %t: steps %q, unknown %v", asks, steps, p.Unknown)
		}
	}
}

// TestWhatJournalsTell: what a run patched, and which run the Lease was taken from.
func TestWhatJournalsTell(t *testing.T) {
	t.Parallel()
	js := remediate.Journals{Folder: t.TempDir()}
	now := func() time.Time { return remediatetest.TestNow }
	for run, begun := range map[string]time.Time{"old": remediatetest.TestNow.Add(-time.Hour), "new": remediatetest.TestNow} {
		j, err := js.Begin(remediate.Header{Run: run, Lapsed: run + " holder", Started: begun}, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.Add(remediate.Record{Event: remediate.Begun, Action: "patch openshift-multus/kube-root-ca.crt"}), j.Add(remediate.Record{Event: remediate.Failed, Action: "patch openshift-multus/kube-root-ca.crt"}), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got := js.ExpiredHolders(remediatetest.TestNow.Add(-time.Minute)); !slices.Equal(got, []string{"new holder"}) {
		t.Errorf("%q", got)
	}
	if s, err := js.Read("new"); err != nil || !slices.Equal(action.Patched(s), []string{"openshift-multus/kube-root-ca.crt"}) {
		t.Errorf("%q, %v", action.Patched(s), err)
	}
}

// TestANewModeOfAKubeconfigRestartsNoKubelet: whether its content was changed is unknown, and said.
func TestANewModeOfAKubeconfigRestartsNoKubelet(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture("worker-0")
	f.Nodes[0].Role = catalog.RoleWorker
	f.Right("worker-0")
	f.FirstNode().Heartbeat, f.FirstNode().Ready = remediatetest.TestNow.Add(-time.Second), "True"
	for i := range f.FirstNode().Files {
		f.FirstNode().Files[i].Modified = remediatetest.TestNow.Add(-48 * time.Hour)
		f.FirstNode().Files[i].Changed = remediatetest.TestNow.Add(-time.Hour)
	}
	p, err := fixOf(f).Plan("run", f.Snapshot, remediatetest.TestNow)
	if err != nil || !p.Empty() {
		t.Fatalf("%q, %v", remediatetest.StepsOf(p), err)
	}
	if notes := strings.Join(p.Notes.Texts(), "\n"); !strings.Contains(notes, "Whether the kubelet on worker-0 has read "+remediatetest.KubeletFile+" is unknown") {
		t.Errorf("%s", notes)
	}
}

// TestANodeThatIsNotBackIsToldHowToJoin: also where all nodes are looked at.
func TestANodeThatIsNotBackIsToldHowToJoin(t *testing.T) {
	t.Parallel()
	const line = "certrot fix-api-int --nodes worker-0 --rebootstrap --approve-csrs --dry-run=client"
	for _, nodes := range [][]string{{"worker-0"}, nil} {
		f := remediatetest.NewFixture("master-0", "worker-0")
		for i := range f.Nodes {
			f.Nodes[i].Role = []string{catalog.RoleMaster, catalog.RoleWorker}[i]
		}
		f.Pem("worker-0", inspect.KubeletClient, f.Young.Issue("system:node:worker-0", remediatetest.TestNow.AddDate(0, 0, -40), remediatetest.TestNow.AddDate(0, 0, -10)).CertPEM)
		fix := fixOf(f)
		fix.Nodes = nodes
		p, err := fix.Plan("run", f.Snapshot, remediatetest.TestNow)
		if err != nil || !strings.Contains(strings.Join(p.Notes.Texts(), "\n"), line) {
			t.Errorf("nodes %v: %v, plan %+v", nodes, err, p)
		}
	}
}
