package remediate

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
)

// TestNamedMasters asks each master's kube-apiserver before the next node, also where
// nodes are named, and where no API tells which of them are masters.
func TestNamedMasters(t *testing.T) {
	t.Parallel()
	const gate = "await kube-apiserver on "
	for _, c := range []struct {
		name   string
		nodes  []string
		change func(f *fixture, fix *APIInt)
		want   []string // of the steps, those that wait
	}{
		{"two masters", []string{"master-0", "master-1"}, nil, []string{"await master-0", gate + "master-0", "await master-1"}},
		{"a worker after a master", []string{"master-0", "worker-0"}, nil, []string{"await master-0", gate + "master-0", "await worker-0"}},
		{"a worker before a master", []string{"worker-0", "master-0"}, nil, []string{"await worker-0", "await master-0"}},
		{"one that is right, and another one", []string{"master-0", "master-1"}, func(f *fixture, _ *APIInt) { f.right("master-0") }, []string{gate + "master-0", "await master-1"}},
		{"all are right", []string{"master-0", "master-1"}, func(f *fixture, _ *APIInt) {
			f.right("master-0", "master-1")
			for i := range f.Nodes {
				f.Nodes[i].Heartbeat = testNow
			}
		}, nil},
		{"without an API", []string{"master-0", "master-1"}, func(f *fixture, fix *APIInt) {
			fix.API = false
			for i := range f.Nodes {
				f.Nodes[i].Role = ""
			}
			f.pem("master-0", "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt", f.young.CertPEM)
		}, []string{gate + "master-0", "await master-0", "await master-1"}},
		{"named, API, no label", []string{"master-0", "worker-0"}, func(f *fixture, _ *APIInt) {
			f.first().Role = catalog.RoleWorker
			f.pem("master-0", "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt", f.young.CertPEM)
		}, []string{"await master-0", gate + "master-0", "await worker-0"}},
		{"a worker that is not back from before", []string{"worker-0", "master-0"}, func(f *fixture, _ *APIInt) { f.began("worker-0") }, []string{"await worker-0", "await master-0"}},
		{"the last one", []string{"master-0", "worker-0"}, func(f *fixture, _ *APIInt) { f.began("worker-0") }, []string{"await master-0", gate + "master-0"}},
		{"nobody comes after it", []string{"worker-0", "master-0"}, func(f *fixture, _ *APIInt) {
			f.began("worker-0")
			f.right("master-0")
		}, nil},
		{"without an API, and one was begun before", []string{"master-0", "master-1"}, func(f *fixture, fix *APIInt) {
			fix.API = false
			f.apiServer("master-0")
			f.began("master-0")
		}, []string{gate + "master-0", "await master-0", "await master-1"}},
		{"without an API, and all are right", []string{"master-0", "master-1", "worker-0"}, func(f *fixture, fix *APIInt) {
			fix.API = false
			f.apiServer("master-0")
			f.right("master-0", "master-1", "worker-0")
		}, nil},
		{"to join anew, and one has", []string{"master-0", "master-1"}, func(f *fixture, fix *APIInt) {
			fix.Rebootstrap = true
			f.joins("master-0", "master-1")
			f.began("master-0")
		}, []string{"await master-0", gate + "master-0", "await master-1"}},
		{"to join anew, without an API", []string{"master-0", "master-1"}, func(f *fixture, fix *APIInt) {
			fix.Rebootstrap, fix.API = true, false
			f.apiServer("master-0")
			f.joins("master-0", "master-1")
		}, []string{gate + "master-0", "await master-0", "await master-1"}},
	} {
		f := newCluster("master-0 master-1 worker-0")
		fix := f.fix()
		fix.Nodes = c.nodes
		if c.change != nil {
			c.change(f, &fix)
		}
		p, err := fix.Plan("run-1", f.Snapshot, testNow)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := slices.DeleteFunc(stepsOf(p), func(id string) bool { return !strings.HasPrefix(id, "await ") })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// began makes a node one to which a run did everything before it was stopped, and that did
// not report since.
func (f *fixture) began(name string) {
	f.right(name)
	n, _ := f.Snapshot.Node(name)
	n.Kubelet.Started = testNow.Add(-time.Minute)
	n.Ready, n.Heartbeat = "Unknown", testNow.Add(-time.Hour)
}

// apiServer makes a node a master by its files alone.
func (f *fixture) apiServer(name string) {
	n, _ := f.Snapshot.Node(name)
	n.Role = ""
	f.pem(name, "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt", f.young.CertPEM)
	slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
}

// joins gives nodes a client certificate that is valid, and a bootstrap file that is accepted.
func (f *fixture) joins(names ...string) {
	for _, name := range names {
		p := f.old.Issue("system:node:"+name, testNow.Add(-time.Hour), testNow.Add(time.Hour))
		f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: name, Path: inspect.KubeletClient}, Content: f.sc.Scan(p.CertPEM)[0].Content})
		n, _ := f.Snapshot.Node(name)
		n.Comeback = &inspect.Comeback{
			Own:       inspect.ComebackFile{Path: kubeletFile, Shows: inspect.CredentialCertificate, Certificate: inspect.KubeletClient},
			Bootstrap: inspect.ComebackFile{Path: bootstrapFile, Shows: inspect.CredentialToken, Answers: []inspect.Answer{{Code: 200}}},
		}
	}
	f.Sort()
}

// TestMastersWithoutTheirLabel takes nobody for a worker who may run kube-apiserver.
func TestMastersWithoutTheirLabel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(f *fixture, fix *APIInt)
		node   string
		says   string
	}{
		{"its files tell", func(f *fixture, _ *APIInt) {
			f.pem("worker-0", "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/lb-int.kubeconfig", f.young.CertPEM)
		}, "worker-0", "files of a kube-apiserver"},
		{"an operator does", func(_ *fixture, fix *APIInt) {
			fix.After.RootCA = &AwaitRootCA{Known: inspect.Rollout{Operator: true, Masters: []inspect.Revision{{Node: "worker-0"}}}}
		}, "worker-0", "rolls out static pods to it"},
		{"its pod tells, though nobody can get there", func(f *fixture, fix *APIInt) {
			fix.APIServers = []string{"master-0", "worker-0"}
			f.unread("worker-0")
		}, "worker-0", "a pod of kube-apiserver"},
		{"its pod tells, and masters alone are wanted", func(_ *fixture, fix *APIInt) {
			fix.APIServers, fix.Order.Only = []string{"master-0", "worker-0"}, []string{WaveMasters}
		}, "worker-0", "a pod of kube-apiserver"},
		{"its files tell, and workers alone are wanted", func(f *fixture, fix *APIInt) {
			fix.Order.Only = []string{WaveWorkers}
			f.right("master-0")
			f.pem("worker-0", "/etc/kubernetes/pki/apiserver.crt", f.young.CertPEM)
		}, "worker-0", "files of a kube-apiserver"},
		{"no node has one", func(f *fixture, fix *APIInt) {
			f.first().Role = catalog.RoleWorker
			fix.After.RootCA = &AwaitRootCA{Known: inspect.Rollout{Operator: true}}
		}, "", "no node has a master's label"},
	} {
		f := newCluster("master-0 worker-0")
		fix := f.whole()
		c.change(f, &fix)
		_, err := fix.Plan("run-1", f.Snapshot, testNow)
		var r *Refusal
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
		f := newCluster("master-0 worker-0")
		f.unread("worker-0")
		fix := f.whole()
		fix.APIServers, fix.Order.Only = c.known, []string{WaveMasters}
		p, err := fix.Plan("run-1", f.Snapshot, testNow)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(p.Notes, "\n"), "known by their labels alone: worker-0") != c.says {
			t.Errorf("kube-apiservers %q: notes %q", c.known, p.Notes)
		}
	}
}

// TestALostWorkerKeepsNobodyWaiting: one whose files are right has its pending request
// answered before the network's pods; one that asks for nothing is left out there.
func TestALostWorkerKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{true, false} {
		f := newCluster("worker-0! worker-1")
		f.right("worker-0", "worker-1")
		f.Nodes[0].Heartbeat = testNow.Add(-25 * time.Hour)
		if asks {
			f.Requests = []inspect.SigningRequest{{Object: &inspect.Object{Name: "csr-1"}, Requester: "system:node:worker-0", Condition: inspect.Pending}}
		}
		fix := f.whole()
		fix.ApproveCSRs = true
		row := rowOf("multus")
		long := testNow.Add(-25 * time.Hour)
		fix.After.Network = &NetworkRestarts{CA: f.caOf(), Pods: []inspect.Pod{podOf(row, "worker-0", long), podOf(row, "worker-1", long)}}
		p, err := fix.Plan("run-1", f.Snapshot, testNow)
		if err != nil {
			t.Fatal(err)
		}
		steps := stepsOf(p)
		asked, restarted := slices.Index(steps, "approve-requests worker-0"), slices.Index(steps, "restart worker-0:openshift-multus/multus")
		left := slices.ContainsFunc(p.Unknown, func(r *Refusal) bool { return r.Node == "worker-0" && r.Name == "node-reports" })
		if asks != (asked >= 0) || restarted >= 0 || !left || !slices.Contains(steps, "restart worker-1:openshift-multus/multus") {
			t.Errorf("asks %t: steps %q, unknown %v", asks, steps, p.Unknown)
		}
	}
}

// TestAPauseThatSomebodyLifts has a health check act again in the middle of a run.
func TestAPauseThatSomebodyLifts(t *testing.T) {
	t.Parallel()
	check := inspect.Actor{Resource: catalog.MachineHealthChecks, Namespace: "openshift-machine-api", Name: "all", Acts: catalog.Yes, Paused: []string{"certrot run-1"}}
	again := &Again{Machinery: func(context.Context) *inspect.Machinery {
		m := settled()
		m.Actors = append(m.Actors, check)
		return m
	}}
	env := &Env{Now: func() time.Time { return testNow }}
	if err := again.ask(t.Context(), env, []string{"worker-0"}); err != nil {
		t.Errorf("while it is paused: %v", err)
	}
	check.Paused = nil
	var r *Refusal
	if err := again.ask(t.Context(), env, []string{"worker-0"}); !errors.As(err, &r) || r.Name != remediationActive {
		t.Errorf("when it is not: %v", err)
	}
}

// TestWhatJournalsTell: what a run patched, and from whom the Lease was taken.
func TestWhatJournalsTell(t *testing.T) {
	t.Parallel()
	js := Journals{Folder: t.TempDir()}
	now := func() time.Time { return testNow }
	for run, begun := range map[string]time.Time{"old": testNow.Add(-time.Hour), "new": testNow} {
		j, err := js.Begin(Header{Run: run, Lapsed: run + " holder", Started: begun}, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.Add(Record{Event: Begun, Action: "patch openshift-multus/kube-root-ca.crt"}), j.Add(Record{Event: Failed, Action: "patch openshift-multus/kube-root-ca.crt"}), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got := js.Lapsed(testNow.Add(-time.Minute)); !slices.Equal(got, []string{"new holder"}) {
		t.Errorf("%q", got)
	}
	if s, err := js.Read("new"); err != nil || !slices.Equal(Patched(s), []string{"openshift-multus/kube-root-ca.crt"}) {
		t.Errorf("%q, %v", Patched(s), err)
	}
}

// TestANodeThatIsNotBackIsToldHowToJoin: also where all nodes are looked at.
func TestANodeThatIsNotBackIsToldHowToJoin(t *testing.T) {
	t.Parallel()
	const line = "certrot fix-api-int --nodes worker-0 --rebootstrap --approve-csrs"
	for _, nodes := range [][]string{{"worker-0"}, nil} {
		f := newFixture("master-0", "worker-0")
		for i := range f.Nodes {
			f.Nodes[i].Role = []string{catalog.RoleMaster, catalog.RoleWorker}[i]
		}
		f.pem("worker-0", inspect.KubeletClient, f.young.Issue("system:node:worker-0", testNow.AddDate(0, 0, -40), testNow.AddDate(0, 0, -10)).CertPEM)
		fix := f.fix()
		fix.Nodes = nodes
		p, err := fix.Plan("run", f.Snapshot, testNow)
		if err != nil || !strings.Contains(strings.Join(p.Notes, "\n"), line) {
			t.Errorf("nodes %v: %v, plan %+v", nodes, err, p)
		}
	}
}
