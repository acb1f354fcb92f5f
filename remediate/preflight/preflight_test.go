package preflight

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// quiet is a cluster in which a kubelet has no heartbeat, and nothing else is the matter: what
// of three masters and a worker is to be repaired is said by names.
func quiet(names ...string) *Preflight {
	f := remediatetest.NewFixture(names...)
	f.Cluster.Internal = "https://" + remediatetest.APIIntHost + ":6443"
	f.Cluster.Clock = inspect.Clock{Sent: remediatetest.TestNow, Before: remediatetest.TestNow, After: remediatetest.TestNow, Received: remediatetest.TestNow}
	f.Object(catalog.LoadBalancerCA(), f.Young.CertPEM)
	f.Object(catalog.OwnServerCA(), f.ConfigMap)
	f.Sort()
	return &Preflight{Snapshot: f.Snapshot, Now: remediatetest.TestNow, Nodes: names, ControlPlane: remediatetest.QuietMachinery()}
}

func etcdOf(p *Preflight) *inspect.StaticPods { return &p.ControlPlane.StaticPods[0] }

func unhealthy(message string) func(*Preflight) {
	return func(p *Preflight) {
		degraded, _ := catalog.EtcdMembers()
		etcdOf(p).Conditions[degraded], etcdOf(p).Messages[degraded] = "True", message
	}
}

func notRead(resource string) func(*Preflight) {
	return func(p *Preflight) {
		p.ControlPlane.Gaps = append(p.ControlPlane.Gaps, inspect.Gap{What: resource, Reason: "list " + resource + ": forbidden", Next: "ask"})
	}
}

func actor(resource string, acts catalog.Tristate, paused ...string) func(*Preflight) {
	return func(p *Preflight) {
		p.ControlPlane.Actors = append(p.ControlPlane.Actors, inspect.Actor{Resource: resource, Namespace: "openshift-machine-api", Name: "x", Active: acts, Why: "it heeds Ready Unknown", Paused: paused})
	}
}

func without(ref catalog.Ref) func(*Preflight) {
	return func(p *Preflight) {
		p.Snapshot.Bundles = slices.DeleteFunc(slices.Clone(p.Snapshot.Bundles), func(b inspect.Bundle) bool { return b.At.Name == ref.Name && b.At.Namespace == ref.Namespace })
	}
}

// replaced gives an object other certificates.
func replaced(ref catalog.Ref, pem func() []byte) func(*Preflight) {
	return func(p *Preflight) {
		without(ref)(p)
		f := remediatetest.NewFixture("worker-0")
		f.Snapshot = p.Snapshot
		f.Object(ref, pem())
		p.Snapshot = f.Snapshot
	}
}

func strangers() []byte {
	return pkitest.NewCA("somebody else's CA", remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour)).CertPEM
}

// shows makes a server present what an unknown CA signed.
func shows(server, of string) func(*Preflight) {
	return func(p *Preflight) {
		ca := pkitest.NewCA("somebody else's CA", remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour))
		leaf := ca.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost))
		f := remediatetest.NewFixture("worker-0")
		p.Snapshot.Served = append(slices.Clone(p.Snapshot.Served), inspect.Served{Node: "worker-0", Address: "10.0.0.1:6443", Name: remediatetest.APIIntHost, Server: server, Of: of, Chain: f.Sc.Scan(leaf.CertPEM)[0].Content.Certs})
	}
}

func ahead(d time.Duration) func(*Preflight) {
	return func(p *Preflight) {
		for i := range p.Snapshot.Nodes {
			p.Snapshot.Nodes[i].Clock = inspect.Clock{Sent: remediatetest.TestNow, Before: remediatetest.TestNow.Add(d), After: remediatetest.TestNow.Add(d), Received: remediatetest.TestNow}
		}
	}
}

// working has a node that is Ready say of itself that machine-config-daemon is at work on it.
func working(node string) func(*Preflight) {
	return func(p *Preflight) {
		for i := range p.ControlPlane.Nodes {
			if n := &p.ControlPlane.Nodes[i]; n.Name == node {
				n.Ready, n.Config.State = "True", "Working"
			}
		}
	}
}

// TestBusyWorkers are those that a plan for all nodes leaves out: its own workers, where no pool says so.
func TestBusyWorkers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nodes  []string
		change func(*Preflight)
		want   string
	}{
		"none":                         {[]string{"master-0", "worker-0"}, func(*Preflight) {}, ""},
		"one":                          {[]string{"master-0", "worker-0"}, working("worker-0"), "worker-0"},
		"one that stays as it is":      {[]string{"master-0"}, working("worker-0"), ""},
		"a control plane node":         {[]string{"master-0", "worker-0"}, working("master-0"), ""},
		"pools were not read":          {[]string{"worker-0"}, func(p *Preflight) { working("worker-0")(p); notRead("machineconfigpools")(p) }, ""},
		"its pool says so":             {[]string{"worker-0"}, func(p *Preflight) { working("worker-0")(p); p.ControlPlane.Pools[0].Desired = "rendered-2" }, ""},
		"no API server was asked":      {[]string{"worker-0"}, func(p *Preflight) { p.ControlPlane = nil }, ""},
		"its role is unknown":          {[]string{"worker-0"}, func(p *Preflight) { working("worker-0")(p); p.ControlPlane.StaticPods, p.Snapshot.Nodes = nil, nil }, ""},
		"an arbiter":                   {[]string{"worker-0"}, func(p *Preflight) { working("worker-0")(p); p.Snapshot.Nodes[1].Role = catalog.RoleArbiter }, ""},
		"one that is NotReady already": {[]string{"worker-0"}, func(p *Preflight) { working("worker-0")(p); p.ControlPlane.Nodes[3].Ready = "False" }, ""},
	} {
		p := quiet("master-0", "worker-0")
		p.Nodes = c.nodes
		c.change(p)
		var got []string
		for _, r := range p.BusyWorkers() {
			if got = append(got, r.Node); r.Name != PoolsSettled || r.Next == "" || !strings.Contains(r.Reason, "machine-config-daemon") {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPreflight(t *testing.T) {
	masters := []string{"master-0", "master-1", "master-2", "worker-0"}
	workers := []string{"worker-0"}
	first := func(s *inspect.StaticPods) *inspect.StaticPodState { return &s.Masters[0] }
	lost := func(s *inspect.StaticPods) *inspect.StaticPodState { return &s.Masters[1] }
	tests := []struct {
		title, check string
		nodes        []string
		change       func(*Preflight)
		want         catalog.Tristate
		says         string
	}{
		{"the leaf is another CA's", ServerSide, workers, replaced(catalog.LoadBalancerCA(), strangers), catalog.No, "no CA in ConfigMap/openshift-kube-apiserver-operator/loadbalancer-serving-ca"},
		{"the union was not made", ServerSide, workers, replaced(catalog.OwnServerCA(), strangers), catalog.No, "lacks CN=loadbalancer-serving-signer"},
		{"the copy is behind", ServerSide, workers, replaced(catalog.APIServerCA(), strangers), catalog.No, "differ in"},
		{"a master shows what it should not", ServerSide, workers, shows(catalog.ListenerAPIServer, "master-2"), catalog.No, "the control plane node master-2 at 10.0.0.1:6443 presents"},
		{"a bundle was not read", ServerSide, workers, without(catalog.OwnServerCA()), catalog.Unknown, "was not found"},
		{"no node was presented anything", ServerSide, workers, func(p *Preflight) { p.Snapshot.Served = nil }, catalog.Unknown, "none answered"},
		{"a master is switched off", ServerSide, workers, func(p *Preflight) {
			p.Snapshot.Served = append(slices.Clone(p.Snapshot.Served), inspect.Served{Server: catalog.ListenerAPIServer, Name: remediatetest.APIIntHost, Of: "master-1", Problem: "no route"})
		}, catalog.Yes, "did not answer: master-1"},

		{"a user's certificate is shown", "named-certificate", workers, shows("", ""), catalog.No, "a user's certificate"},
		{"whose signers are not known", "named-certificate", workers, without(catalog.LoadBalancerCA()), catalog.Unknown, "was not found"},
		{"a control plane node presents another CA's at its own address", "named-certificate", workers, shows(catalog.ListenerAPIServer, "master-2"), catalog.Yes, ""},
		{"nothing was shown", "named-certificate", workers, func(p *Preflight) { p.Snapshot.Served = nil }, catalog.Unknown, "no node was presented one"},

		{"a member on a Ready master is unhealthy", "etcd-healthy", masters, unhealthy("2 of 3 members are available, master-0 is unhealthy"), catalog.No, "“2 of 3 members are available, master-0 is unhealthy”"},
		{"the member of the lost master is down with its kubelet", "etcd-healthy", masters, unhealthy("2 of 3 members are available, master-1 is unhealthy"), catalog.Yes, "are to bring it back"},
		{"a member has no name yet", "etcd-healthy", masters, unhealthy("2 of 3 members are available, NAME-PENDING-10.0.0.3 has not started"), catalog.No, "NAME-PENDING"},
		{"a member nobody names", "etcd-healthy", masters, unhealthy("etcdserver: request timed out"), catalog.No, "timed out"},
		{"no quorum", "etcd-healthy", masters, func(p *Preflight) {
			_, available := catalog.EtcdMembers()
			etcdOf(p).Conditions[available] = "False"
		}, catalog.No, "no quorum"},
		{"the operator says nothing", "etcd-healthy", masters, func(p *Preflight) { clear(etcdOf(p).Conditions) }, catalog.Unknown, "does not say"},
		{"etcds may not be listed", "etcd-healthy", masters, notRead("etcds"), catalog.Unknown, "forbidden"},
		{"there is no operator", "etcd-healthy", masters, func(p *Preflight) { p.ControlPlane.StaticPods = nil }, catalog.Unknown, "no Etcd object"},
		{"no master is touched", "etcd-healthy", workers, unhealthy("2 of 3 members are available, master-0 is unhealthy"), catalog.Yes, NoMaster},

		{"a rollout on a Ready master", "static-pods-settled", masters, func(p *Preflight) { first(etcdOf(p)).Target, etcdOf(p).Latest = 8, 8 }, catalog.No, "etcds: revision 8 is put on master-0"},
		{"a rollout that is to begin", "static-pods-settled", masters, func(p *Preflight) { first(etcdOf(p)).Current = 6 }, catalog.No, "is to be put on master-0"},
		{"a rollout that waits for the lost master", "static-pods-settled", masters, func(p *Preflight) {
			etcdOf(p).Latest, lost(etcdOf(p)).Target = 8, 8
		}, catalog.Yes, "revision 8 of etcds waits for master-1"},
		{"an installer on a Ready master", "static-pods-settled", masters, func(p *Preflight) {
			p.ControlPlane.Installers = []inspect.Installer{{Namespace: "openshift-etcd", Name: "installer-8-master-0", Node: "master-0", Phase: "Running"}}
		}, catalog.No, "puts a revision on master-0, and has not finished (Running)"},
		{"an installer that is on no node yet", "static-pods-settled", masters, func(p *Preflight) {
			p.ControlPlane.Installers = []inspect.Installer{{Namespace: "openshift-etcd", Name: "installer-8-master-0", Phase: "Pending"}}
		}, catalog.No, "puts a revision on no node yet, and has not finished (Pending)"},
		{"an installer on a control plane node without a label, which was not read", "static-pods-settled", masters, func(p *Preflight) {
			p.ControlPlane.Nodes[0].Master = false
			p.Snapshot.Nodes = slices.DeleteFunc(slices.Clone(p.Snapshot.Nodes), func(n inspect.Node) bool { return n.Name == "master-0" })
			p.ControlPlane.Installers = []inspect.Installer{{Namespace: "openshift-etcd", Name: "installer-8-master-0", Node: "master-0", Phase: "Running"}}
		}, catalog.No, "puts a revision on master-0"},
		{"an installer that waits for the lost master", "static-pods-settled", masters, func(p *Preflight) {
			p.ControlPlane.Installers = []inspect.Installer{{Namespace: "openshift-etcd", Name: "installer-8-master-1", Node: "master-1", Phase: "Pending"}}
		}, catalog.Yes, "waits for master-1"},
		{"a pod of an installer's name that a worker's kubelet made", "static-pods-settled", masters, func(p *Preflight) {
			p.ControlPlane.Nodes[3].Ready = "True"
			p.ControlPlane.Installers = []inspect.Installer{{Namespace: "openshift-kube-apiserver", Name: "installer-9-worker-0", Node: "worker-0", Phase: "Pending"}}
		}, catalog.Yes, ""},
		{"an installer on a node that is not known", "static-pods-settled", masters, func(p *Preflight) {
			p.ControlPlane.Installers = []inspect.Installer{{Namespace: "openshift-etcd", Name: "installer-8-master-9", Node: "master-9", Phase: "Pending"}}
		}, catalog.No, "has not finished (Pending)"},
		{"pods may not be listed", "static-pods-settled", masters, notRead("pods"), catalog.Unknown, "forbidden"},
		{"a rollout, and only workers", "static-pods-settled", workers, func(p *Preflight) { first(etcdOf(p)).Target = 8 }, catalog.Yes, NoMaster},

		{"an upgrade", "upgrade-running", workers, func(p *Preflight) {
			p.ControlPlane.Update = inspect.Update{Progressing: "True", Desired: "4.16.1", Message: "Working towards 4.16.1", Failing: "machine-config is degraded"}
		}, catalog.No, "does not get on: “machine-config is degraded”"},
		{"operators degraded without an upgrade", "upgrade-running", workers, func(p *Preflight) { p.ControlPlane.Update.Failing = "machine-config is degraded" }, catalog.Yes, ""},
		{"ClusterVersion does not say", "upgrade-running", workers, func(p *Preflight) { p.ControlPlane.Update = inspect.Update{} }, catalog.Unknown, "does not say"},
		{"ClusterVersion may not be read", "upgrade-running", workers, notRead("clusterversions"), catalog.Unknown, "forbidden"},

		{"a pool that is updated", "pools-settled", workers, func(p *Preflight) { p.ControlPlane.Pools[0].Desired = "rendered-2" }, catalog.No, "goes from rendered-1 to rendered-2"},
		{"the same, paused", "pools-settled", workers, func(p *Preflight) {
			p.ControlPlane.Pools[0].Desired, p.ControlPlane.Pools[0].Paused = "rendered-2", true
		}, catalog.Yes, "is paused"},
		{"Updating because of the lost node alone", "pools-settled", workers, func(p *Preflight) {
			p.ControlPlane.Pools[0].Updating, p.ControlPlane.Pools[0].Degraded = "True", "True"
		}, catalog.Yes, "reboots no node"},
		{"a Ready node is being changed", "pools-settled", workers, func(p *Preflight) { p.ControlPlane.Nodes[0].Config.State = "Working" }, catalog.No, "at work on master-0"},
		{"a worker of the plan says so of itself", "pools-settled", workers, working("worker-0"), catalog.No, "at work on worker-0 (Working"},
		{"a worker that stays as it is says so of itself", "pools-settled", []string{"master-0"}, working("worker-0"), catalog.Yes, "at work on worker-0, which stays as it is"},
		{"and so does a control plane node", "pools-settled", []string{"master-0"}, func(p *Preflight) { working("worker-0")(p); working("master-2")(p) }, catalog.No, "at work on master-2"},
		{"whether it is a worker is unknown", "pools-settled", []string{"master-0"}, func(p *Preflight) { working("worker-0")(p); p.ControlPlane.StaticPods = nil }, catalog.No, "at work on worker-0"},
		{"the lost node was rebooted by an update", "pools-settled", workers, func(p *Preflight) { p.ControlPlane.Nodes[1].Config.State = "Rebooting" }, catalog.Yes, "once it is back"},
		{"pools may not be listed", "pools-settled", workers, notRead("machineconfigpools"), catalog.Unknown, "forbidden"},

		{"a clock that is ahead", "clocks", workers, ahead(5 * time.Minute), catalog.No, "ahead of the API server's"},
		{"a clock that is behind", "clocks", workers, ahead(-5 * time.Minute), catalog.No, "behind the API server's"},
		{"a little apart", "clocks", workers, ahead(30 * time.Second), catalog.Yes, ""},
		{"a node that a script is for was not read", "clocks", workers, func(p *Preflight) {
			p.Script, p.Snapshot.Nodes[0].Via, p.Snapshot.Nodes[0].Clock = true, "", inspect.Clock{}
		}, catalog.Yes, ""},
		{"a node that was not read", "clocks", workers, func(p *Preflight) { p.Snapshot.Nodes[0].Via, p.Snapshot.Nodes[0].Clock = "", inspect.Clock{} }, catalog.Unknown, "was not read"},
		{"a clock that was not read", "clocks", workers, func(p *Preflight) { p.Snapshot.Nodes[0].Clock = inspect.Clock{} }, catalog.Unknown, "was not read"},

		{"a health check", "remediation-active", workers, actor("machinehealthchecks", catalog.Yes), catalog.No, "MachineHealthCheck openshift-machine-api/x deletes machines"},
		{"a health check that will be paused", "remediation-active", workers, func(p *Preflight) { actor("nodehealthchecks", catalog.Yes)(p); p.Pause = true }, catalog.Yes, ""},
		{"a health check that somebody paused", "remediation-active", workers, actor("machinehealthchecks", catalog.Yes, "ops"), catalog.Yes, "is paused by “ops”"},
		{"the one that heeds Terminating alone", "remediation-active", workers, actor("machinehealthchecks", catalog.No), catalog.Yes, ""},
		{"a node that is rebooted now, which no pause ends", "remediation-active", workers, func(p *Preflight) { actor("selfnoderemediations", catalog.Yes)(p); p.Pause = true }, catalog.No, "reboots a node"},
		{"an autoscaler without a set", "remediation-active", workers, actor("clusterautoscalers", catalog.Yes), catalog.Yes, ""},
		{"an autoscaler with a set", "remediation-active", workers, func(p *Preflight) {
			actor("clusterautoscalers", catalog.Yes)(p)
			actor("machineautoscalers", catalog.No)(p)
		}, catalog.No, "ClusterAutoscaler"},
		{"health checks may not be listed", "remediation-active", workers, notRead("nodehealthchecks"), catalog.Unknown, "forbidden"},
	}
	asked := map[string]map[catalog.Tristate]bool{}
	for _, tt := range tests {
		p := quiet(tt.nodes...)
		for _, v := range p.Check() {
			if v.ID == tt.check && (v.Status != assess.Pass || v.Blocks()) {
				t.Errorf("%s: before that, %s is %s: %s", tt.title, v.ID, v.Status, v.Reason)
			}
		}
		tt.change(p)
		sameSaved(t, tt.title, *p, nil)
		for _, v := range p.Check() {
			if v.ID != tt.check {
				continue
			}
			if v.Status != (Result{Passed: tt.want}).Assess("").Status || !strings.Contains(v.Reason, tt.says) || tt.want == catalog.Yes && tt.says == "" && v.Reason != "" {
				t.Errorf("%s: %s is %s (%s), want %s with %q", tt.title, v.ID, v.Status, v.Reason, tt.want, tt.says)
			}
			if stops := tt.want != catalog.Yes; v.Blocks() != stops || stops && (v.Remediation.Text == "" || v.Reason == "") {
				t.Errorf("%s: stops: %t; next %q", tt.title, v.Blocks(), v.Remediation.Text)
			}
		}
		if asked[tt.check] == nil {
			asked[tt.check] = map[catalog.Tristate]bool{catalog.Yes: true} // before the change
		}
		asked[tt.check][tt.want] = true
	}
	for _, c := range operatedChecks() {
		if len(asked[c.name]) != 3 {
			t.Errorf("%s: answers seen: %v", c.name, asked[c.name])
		}
	}
}

// Without an API what only that tells stops nothing; what nodes tell does.
func TestPreflightWithoutAPI(t *testing.T) {
	p := quiet("worker-0")
	p.ControlPlane = nil
	p.Snapshot.Bundles = nil
	for _, v := range p.Check() {
		if v.Blocks() {
			t.Errorf("%s stops: %s", v.ID, v.Reason)
		}
	}
	ahead(time.Hour)(p)
	shows("", "")(p)
	var stops []string
	for _, v := range p.Check() {
		if v.Blocks() {
			stops = append(stops, v.ID)
		}
	}
	if !slices.Equal(stops, []string{"clocks"}) { // whose signers are right is in the API
		t.Errorf("stops: %v", stops)
	}
}

func TestEveryPreflightCheckIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/fix-api-int.md")
	if err != nil {
		t.Fatal(err)
	}
	names := Risks()
	for _, c := range operatedChecks() {
		names = append(names, c.name)
	}
	for _, name := range names {
		if !strings.Contains(string(doc), "| `"+name+"` |") {
			t.Errorf("docs/fix-api-int.md has no row for %s", name)
		}
	}
}
