package apiint

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func wholeOf(f *remediatetest.Fixture) Repair {
	fix := fixOf(f)
	fix.Nodes = nil
	return fix
}

func TestWavesInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, nodes string
		change      func(f *remediatetest.Fixture, fix *Repair)
		want        string
		unknown     string
	}{
		{"masters, a first worker, the others", "master-0 master-1 master-2 worker-0 worker-1 worker-2", nil,
			"masters/1: master-0 master-1 master-2; workers-first/1: worker-0; workers/1: worker-1 worker-2", ""},
		{"the lost ones first", "master-0 master-1! worker-0 worker-1! worker-2!", nil,
			"masters/1: master-1 master-0; workers-not-ready/1: worker-1 worker-2; workers-first/1: worker-0", ""},
		{"some at once", "master-0 worker-0 worker-1 worker-2", func(_ *remediatetest.Fixture, fix *Repair) { fix.Order.MaxUnavailable = Share{N: 2} },
			"masters/1: master-0; workers-first/1: worker-0; workers/2: worker-1 worker-2", ""},
		{"a part of them at once", "worker-0 worker-1 worker-2 worker-3 worker-4", func(_ *remediatetest.Fixture, fix *Repair) { fix.Order.MaxUnavailable = Share{50, true} },
			"workers-first/1: worker-0; workers/2: worker-1 worker-2 worker-3 worker-4", ""},
		{"what is right is left alone", "master-0 worker-0 worker-1 worker-2!", func(f *remediatetest.Fixture, _ *Repair) { f.Right("master-0", "worker-0") },
			"masters/1: master-0; workers-not-ready/1: worker-2; workers-first/1: worker-1", ""}, // the master is asked
		{"a worker that was not read", "master-0 worker-0 worker-1", func(f *remediatetest.Fixture, _ *Repair) { f.Unread("worker-0") },
			"masters/1: master-0; workers-first/1: worker-1", "worker-0: node-read"},
		{"a worker of a strange shape", "master-0 worker-0 worker-1", func(f *remediatetest.Fixture, _ *Repair) {
			n, _ := f.Snapshot.Node("worker-0")
			n.Kubelet.Kubeconfig = "/etc/mine"
		}, "masters/1: master-0; workers-first/1: worker-1", "worker-0: kubelet-flags"},
		{"nodes that nobody asked to read", "master-0 worker-0", func(f *remediatetest.Fixture, _ *Repair) {
			f.Right("master-0", "worker-0")
			f.OtherNodes = []inspect.Node{{Name: "worker-8", Role: catalog.RoleWorker}}
			f.Status = &inspect.ClusterStatus{ControlPlane: &inspect.ControlPlaneStatus{Nodes: []inspect.NodeState{{Name: "master-0", Master: true}, {Name: "worker-8"}, {Name: "worker-9"}}}}
		}, "", "worker-8: node-read; worker-9: node-read"},
		{"masters alone, and workers that nobody asked to read", "master-0 worker-0", func(f *remediatetest.Fixture, fix *Repair) {
			f.OtherNodes = []inspect.Node{{Name: "master-1", Role: catalog.RoleMaster}, {Name: "worker-8", Role: catalog.RoleWorker}}
			fix.Order.Only = []string{remediate.WaveMasters}
		}, "masters/1: master-0", "master-1: node-read"},
		{"masters alone", "master-0 worker-0", func(_ *remediatetest.Fixture, fix *Repair) { fix.Order.Only = []string{remediate.WaveMasters} }, "masters/1: master-0", ""},
		{"a master that was not read, and masters alone", "master-0 master-1", func(f *remediatetest.Fixture, fix *Repair) {
			f.Unread("master-0")
			fix.Order.Only = []string{remediate.WaveMasters}
		}, "masters/1: master-1", "master-0: node-read"},
		{"a master that is left out by name", "master-0 master-1 worker-0", func(f *remediatetest.Fixture, fix *Repair) {
			f.Unread("master-0")
			fix.Order.Accept = []string{preflight.MastersFirst}
		}, "masters/1: master-1; workers-first/1: worker-0", "master-0: node-read"},
		{"workers alone, and masters are right", "master-0 worker-0", func(f *remediatetest.Fixture, fix *Repair) {
			f.Right("master-0")
			fix.Order.Only = []string{remediate.WaveWorkers}
		}, "workers-first/1: worker-0", ""},
		{"workers that do not work, alone", "worker-0 worker-1! worker-2", func(_ *remediatetest.Fixture, fix *Repair) { fix.Order.Only = []string{remediate.WaveNotReady} }, "workers-not-ready/1: worker-1", ""},
		{"the first worker alone", "worker-0 worker-1! worker-2", func(_ *remediatetest.Fixture, fix *Repair) { fix.Order.Only = []string{remediate.WaveFirst} }, "workers-first/1: worker-0", ""},
		{"all nodes, by their name", "master-0 worker-0 worker-1", func(_ *remediatetest.Fixture, fix *Repair) { fix.Order.Only = []string{remediate.WaveNodes} }, "masters/1: master-0; workers-first/1: worker-0; workers/1: worker-1", ""},
		{"workers that do not work, alone, and one that nobody asked to read", "worker-0!", func(f *remediatetest.Fixture, fix *Repair) {
			f.OtherNodes = []inspect.Node{{Name: "worker-8", Role: catalog.RoleWorker}}
			fix.Order.Only = []string{remediate.WaveNotReady}
		}, "workers-not-ready/1: worker-0", "worker-8: node-read"},
		{"workers alone, and the risk is accepted", "master-0 worker-0", func(_ *remediatetest.Fixture, fix *Repair) {
			fix.Order = Order{Only: []string{remediate.WaveWorkers}, Accept: []string{preflight.MastersFirst}}
		}, "workers-first/1: worker-0", ""},
		{"an arbiter is a master without a kube-apiserver", "master-0 worker-0", func(f *remediatetest.Fixture, _ *Repair) {
			n, _ := f.Snapshot.Node("worker-0")
			n.Role = catalog.RoleArbiter
		}, "masters/1: master-0 worker-0", ""},
		{"one kube-apiserver: no waves", "master-0 worker-0! worker-1", func(f *remediatetest.Fixture, _ *Repair) { f.Cluster.Topology = "SingleReplica" },
			"nodes/1: master-0 worker-0 worker-1", ""},
		{"a master that is right, and not Ready, is waited for", "master-0! worker-0", func(f *remediatetest.Fixture, _ *Repair) { f.Right("master-0") },
			"masters/1: master-0; workers-first/1: worker-0", ""},
		{"all is right", "master-0 worker-0 worker-1", func(f *remediatetest.Fixture, _ *Repair) { f.Right("master-0", "worker-0", "worker-1") }, "", ""},
	} {
		f := remediatetest.NewCluster(c.nodes)
		fix := wholeOf(f)
		if c.change != nil {
			c.change(f, &fix)
		}
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var unknown []string
		for _, r := range p.Unknown {
			unknown = append(unknown, r.Node+": "+r.Name)
		}
		if got := remediatetest.Course(p); got != c.want || strings.Join(unknown, "; ") != c.unknown {
			t.Errorf("%s:\n%s\nwant:\n%s\nunknown: %s", c.name, got, c.want, unknown)
		}
		for _, w := range p.Waves {
			if w.Why == "" || w.Parallel < 1 {
				t.Errorf("%s: %+v", c.name, w)
			}
		}
	}
}

// TestNothingIsKnownOfAnyNode: each of them is named.
func TestNothingIsKnownOfAnyNode(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewCluster("worker-0 worker-1")
	f.Unread("worker-0")
	f.Unread("worker-1")
	f.OtherNodes = []inspect.Node{{Name: "worker-8", Role: catalog.RoleWorker}}
	_, err := wholeOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow)
	var unknown remediate.UnknownNodesError
	if !errors.As(err, &unknown) || len(unknown) != 3 {
		t.Fatalf("got %v", err)
	}
	for i, name := range []string{"worker-0", "worker-1", "worker-8"} {
		if unknown[i].Node != name || !strings.Contains(err.Error(), "node-read on "+name) {
			t.Errorf("%s is not in %v", name, err)
		}
	}
	var refusal *remediate.Refusal
	if !errors.As(err, &refusal) || refusal != unknown[0] {
		t.Errorf("its refusal is %v", refusal)
	}
}

func TestRefusalsOfWaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, check, says string
		risk              bool
		change            func(f *remediatetest.Fixture, fix *Repair)
	}{
		{"a master that was not read", preflight.MastersFirst, "port 22", true, func(f *remediatetest.Fixture, _ *Repair) { f.Unread("master-1") }},
		{"workers alone before masters", preflight.MastersFirst, "master-0, master-1", true, func(_ *remediatetest.Fixture, fix *Repair) { fix.Order.Only = []string{remediate.WaveWorkers} }},
		{"nobody said what a node is", "node-role", "is unknown", false, func(f *remediatetest.Fixture, _ *Repair) { f.FirstNode().Role = "" }},
		{"the CA is wrong for a control plane node", verifiesServed, "does not verify", false, func(f *remediatetest.Fixture, _ *Repair) {
			leaf := f.Old.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour))
			for i := range f.Served {
				if f.Served[i].Node == "master-1" {
					f.Served[i].Chain = f.Sc.Scan(leaf.CertPEM)[0].Content.Certs
				}
			}
		}},
		{"the CA is wrong for each node", verifiesServed, "does not verify", false, func(f *remediatetest.Fixture, _ *Repair) {
			f.Nodes = slices.DeleteFunc(f.Nodes, func(n inspect.Node) bool { return n.Role == catalog.RoleMaster })
			f.Serve(f.Old.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour)))
		}},
		{"no node could be read", "node-read", "port 22", false, func(f *remediatetest.Fixture, _ *Repair) {
			f.Nodes = slices.DeleteFunc(f.Nodes, func(n inspect.Node) bool { return n.Role == catalog.RoleMaster })
			f.Unread("worker-0")
			f.Unread("worker-1")
		}},
	} {
		f := remediatetest.NewCluster("master-0 master-1 worker-0 worker-1")
		fix := wholeOf(f)
		c.change(f, &fix)
		_, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		var r *remediate.Refusal
		if !errors.As(err, &r) || r.Name != c.check || r.Risk != c.risk || !strings.Contains(r.Reason, c.says) || r.Next == "" {
			t.Errorf("%s: %+v", c.name, err)
		}
	}
}

// TestMastersAreAskedBeforeOthersAreTouched looks where plans ask whether
// kube-apiserver answers.
func TestMastersAreAskedBeforeOthersAreTouched(t *testing.T) {
	t.Parallel()
	gates := func(f *remediatetest.Fixture) (names []string) {
		fix := wholeOf(f)
		fix.CA = f.Young.CertPEM // with --ca-file: of api-int's signer alone
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range p.Nodes() {
			for i, s := range n.Steps {
				g, ok := s.Action.(action.AwaitAPIServer)
				if !ok {
					continue
				}
				names = append(names, g.NodeName)
				for _, ca := range [][]byte{f.Localhost.CertPEM, f.Young.CertPEM} {
					if !strings.Contains(string(g.CA), string(ca)) {
						t.Errorf("%s: the answer is trusted by %s", g.NodeName, g.CA)
					}
				}
				if i != len(n.Steps)-1 || g.Port != "6443" || s.Change == nil {
					t.Errorf("%s: step %d of %d, %+v", g.NodeName, i, len(n.Steps), g)
				}
			}
		}
		return names
	}
	f := remediatetest.NewCluster("master-0 master-1 worker-0")
	if got := gates(f); !slices.Equal(got, []string{"master-0", "master-1"}) {
		t.Errorf("asked: %q", got)
	}
	f.Right("master-0", "master-1")
	if got := gates(f); !slices.Equal(got, []string{"master-0", "master-1"}) {
		t.Errorf("masters are right, a worker is not: %q", got)
	}
	f.Right("worker-0")
	if got := gates(f); len(got) > 0 {
		t.Errorf("nothing is to be done, and asked: %q", got)
	}
	f = remediatetest.NewCluster("master-0 worker-0")
	f.Cluster.Topology = "SingleReplica"
	if got := gates(f); len(got) > 0 {
		t.Errorf("there is no other one, and asked: %q", got)
	}
}

func TestPodsThatWillBeKilled(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewCluster("worker-0 worker-1!")
	fix := wholeOf(f)
	for _, c := range []struct {
		deleting map[string]int
		says     string
	}{{nil, "worker-1: Pods that are being deleted are killed when it returns: kubectl get pods -A --field-selector spec.nodeName=worker-1"}, {map[string]int{"worker-1": 12}, "When worker-1 returns, 12 of its pods"}, {map[string]int{}, ""}} {
		fix.Deleting = c.deleting
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(p.Notes.Texts(), "\n")
		if c.says != "" && !strings.Contains(said, c.says) || c.says == "" && strings.Contains(said, "kill") {
			t.Errorf("%v: %s", c.deleting, said)
		}
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{"1": {1, 1}, "3": {3, 3}, "10%": {5, 1}, "100%": {50, 7}, "1%": {1, 1}} {
		s, err := ParseShare(text)
		if err != nil || s.scaled(50) != want[0] || s.scaled(7) != want[1] {
			t.Errorf("%s: %d of 50, %d of 7, %v", text, s.scaled(50), s.scaled(7), err)
		}
	}
	for _, text := range []string{"", "0", "-1", "+1", "0%", "101%", "1.5", "%", "1 %", "all"} {
		if s, err := ParseShare(text); err == nil {
			t.Errorf("%q: %+v", text, s)
		}
	}
}

func TestWavesKeepTheirBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var three sync.WaitGroup
		three.Add(3)
		s := &remediatetest.Stage{Apply: func(id string) error {
			if slices.Contains([]string{"n1a", "n2a", "n3a"}, id) { // which are begun at once
				three.Done()
				three.Wait()
			}
			time.Sleep(5 * time.Millisecond)
			return nil
		}}
		story, err := s.Run(t.Context(), t, s.Plan(s.Wave(3, "n1", "n2", "n3", "n4", "n5", "n6"), s.Wave(1, "", "m1")))
		if err != nil || story.Outcome() != "finished" || len(story.Records) != 2*2*8+1 {
			t.Fatalf("%v, %+v", err, story.Records)
		}
		if s.Most != 3 {
			t.Errorf("%d at once", s.Most)
		}
		if last := s.Began[len(s.Began)-4:]; !slices.Equal(last, []string{"a", "b", "m1a", "m1b"}) {
			t.Errorf("the second wave did not wait for the first: %q", s.Began)
		}
		for _, n := range []string{"n1", "n2", "n3", "n4", "n5", "n6"} {
			if slices.Index(s.Began, n+"a") > slices.Index(s.Began, n+"b") {
				t.Errorf("%s: %q", n, s.Began)
			}
		}
	})
}

// What was paused is resumed before requests that were not answered may end the run.
func TestFrameEndsBeforeRequests(t *testing.T) {
	t.Parallel()
	step := []remediate.Step{{Action: csr.ApprovePending{}}}
	for want, waves := range map[string][]remediate.Wave{
		",masters,,requests": {{Name: remediate.WaveMasters}, {Name: remediate.WaveRequests}},
		",masters,":          {{Name: remediate.WaveMasters}},
		",":                  nil,
	} {
		p := &remediate.Plan{Waves: slices.Clone(waves)}
		action.Frame(p, step, step)
		var got []string
		for _, w := range p.Waves {
			got = append(got, w.Name)
		}
		if s := strings.Join(got, ","); s != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
}

// With one master, all nodes are one wave, and kube-controller-manager is waited for
// after it: while its node has no heartbeat, it gets no CA.
func TestASingleNodeIsRepairedBeforeItsRootCAIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture("master-0")
	f.Cluster.Topology = "SingleReplica"
	f.Nodes[0].Role = catalog.RoleMaster
	fix := fixOf(f)
	fix.Nodes = nil
	fix.FollowUp.RootCA = &action.AwaitRootCA{}
	p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range p.Waves {
		names = append(names, w.Name)
	}
	if !slices.Equal(names, []string{remediate.WaveNodes, remediate.WaveControlPlane}) {
		t.Errorf("the waves are %q", names)
	}
}
