package trust_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func TestRefused(t *testing.T) {
	const bad = "bad certificate"
	log := func(node string, ends time.Duration, refused ...inspect.Refused) inspect.ServerLog {
		at := pki.Location{Kind: pki.KindFile, Node: node, Path: "/var/log/pods/x/0.log"}
		return inspect.ServerLog{At: at, Row: "apiserver-refused", From: noon.Add(-10 * time.Hour), To: noon.Add(-ends), Refused: refused}
	}
	by := func(client string, n int, ago time.Duration) inspect.Refused {
		return inspect.Refused{Client: client, Reason: bad, Count: n, First: noon.Add(-9 * time.Hour), Last: noon.Add(-ago)}
	}
	cut := func(l inspect.ServerLog) inspect.ServerLog { l.LeftOut = true; return l }
	type claim struct {
		status assess.Status
		node   string
		whose  string
		count  int
	}
	for name, c := range map[string]struct {
		logs []inspect.ServerLog
		want []claim
	}{
		"no log was read": {nil, nil},
		"nobody refuses":  {[]inspect.ServerLog{log("m1", 0), log("z2", time.Minute)}, nil},
		"a node, at two masters": {
			[]inspect.ServerLog{log("m1", 0, by("10.0.0.7", 3, time.Minute)), log("z2", 0, by("10.0.0.7", 4, 2*time.Minute))},
			[]claim{{assess.Fail, "w1", "w1, or a pod on it", 7}},
		},
		"a pod":     {[]inspect.ServerLog{log("m1", 0, by("10.128.2.9", 1, 0))}, []claim{{assess.Fail, "", "a pod on w1", 1}}},
		"IPv6":      {[]inspect.ServerLog{log("m1", 0, by("fd00::7", 1, 0))}, []claim{{assess.Fail, "w1", "w1, or a pod on it", 1}}},
		"localhost": {[]inspect.ServerLog{log("m1", 0, by("::1", 1, 0))}, []claim{{assess.Fail, "", "a client on the server's own node", 1}}},
		"somebody outside": {
			[]inspect.ServerLog{log("m1", 0, by("203.0.113.9", 2, 0), by("10.0.0.7", 1, 0))},
			[]claim{{assess.Unknown, "", "", 2}, {assess.Fail, "w1", "w1, or a pod on it", 1}},
		},
		"not any more":           {[]inspect.ServerLog{log("m1", 0, by("10.0.0.7", 50, 16*time.Minute))}, nil},
		"the log ended before":   {[]inspect.ServerLog{log("m1", 2*time.Hour, by("10.0.0.7", 50, 2*time.Hour))}, []claim{{assess.Unknown, "", "", 0}}},
		"an old log beside it":   {[]inspect.ServerLog{log("m1", 2*time.Hour, by("10.0.0.7", 50, 2*time.Hour)), log("m1", 0)}, nil},
		"a log without any time": {[]inspect.ServerLog{{Row: "apiserver-refused", Refused: []inspect.Refused{{Client: "10.0.0.7", Reason: bad, Count: 1}}}}, []claim{{assess.Unknown, "", "", 0}}},
		"some were left out": {
			[]inspect.ServerLog{cut(log("m1", 0, by("10.0.0.7", 50, 16*time.Minute))), log("z2", 0)},
			[]claim{{assess.Unknown, "", "", 0}},
		},
		"some were left out, others refuse": {
			[]inspect.ServerLog{cut(log("m1", 0, by("10.0.0.7", 1, 0)))},
			[]claim{{assess.Fail, "w1", "w1, or a pod on it", 1}, {assess.Unknown, "", "", 0}},
		},
		"some were left out of an old log": {[]inspect.ServerLog{cut(log("m1", 2*time.Hour)), log("m1", 0)}, nil},
		"a log of another row":             {[]inspect.ServerLog{{Row: "gone", To: noon}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(catalog.Versions{Cluster: "4.15.3"})
			w.s.Nodes = []inspect.Node{{Name: "m1"}, {Name: "w1", Addresses: []string{"10.0.0.7", "fd00::7", "w1.example.com"}, PodNetworks: []string{"10.128.2.0/23"}}}
			w.s.ServerLogs = c.logs
			got := w.judge("apiserver-refused")
			if len(got) != len(c.want) {
				t.Fatalf("want %d claims, got %+v", len(c.want), got)
			}
			for i, want := range c.want {
				g := claim{status: got[i].Status, node: got[i].Node}
				if s := got[i].Refusals; s != nil {
					g.whose, g.count = s.Owner, s.Count
				}
				if g != want {
					t.Errorf("claim %d: %+v, want %+v", i, g, want)
				}
				if (got[i].Status == assess.Pass) != (got[i].Reason == "") || len(got[i].Logs) == 0 {
					t.Errorf("claim %d: why %q, logs %v", i, got[i].Reason, got[i].Logs)
				}
			}
		})
	}
}

// TestRefusedByQuietServers: the machine config server writes when machines come.
func TestRefusedByQuietServers(t *testing.T) {
	for _, c := range []struct {
		ago     time.Duration
		leftOut bool
		want    assess.Status
	}{{5 * time.Minute, false, assess.Fail}, {3 * time.Hour, false, assess.Pass}, {3 * time.Hour, true, assess.Unknown}} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		w.s.Nodes[0].Addresses = []string{"10.0.0.7"}
		w.s.ServerLogs = []inspect.ServerLog{{Row: "config-server-refused", To: noon.Add(-c.ago), LeftOut: c.leftOut, Refused: []inspect.Refused{{Client: "10.0.0.7", Reason: "bad certificate", Count: 1, Last: noon.Add(-c.ago)}}}}
		if got := w.judge("config-server-refused"); len(got) != 1 || got[0].Status != c.want {
			t.Errorf("refused %s ago, others left out %t: %+v", c.ago, c.leftOut, got)
		}
	}
}

// TestRepaired: a client that refused a server and is said to trust it now is unknown, until all
// masters' logs have been without it for a while since it was fixed. What trusts another
// server than the log's, or is still to be restarted, says nothing for it.
func TestRepaired(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	own := "/var/lib/kubelet/kubeconfig"
	ago := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
	worker := func(w *world, reached string) {
		w.s.Nodes[0].Role, w.s.Nodes[0].Reached = catalog.RoleWorker, reached
		w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "z1", Via: "ssh", Role: catalog.RoleMaster})
		w.s.ServerLogs[0].At.Node = "z1"
	}
	for name, c := range map[string]struct {
		given func(w *world)
		want  []assess.Status
	}{
		"repaired ten minutes ago":      {func(*world) {}, nil},
		"five minutes ago":              {func(w *world) { w.s.Nodes[0].Kubelet.Notified = ago(5) }, []assess.Status{assess.Unknown}},
		"refused again since":           {func(w *world) { w.s.ServerLogs[0].Refused[0].Last = ago(1) }, []assess.Status{assess.Unknown}},
		"the kubelet was not restarted": {func(w *world) { w.s.Nodes[0].Kubelet.Started, w.s.Nodes[0].Kubelet.Notified = ago(20), ago(20) }, []assess.Status{assess.Unknown}},
		"nobody knows when":             {func(w *world) { w.s.Nodes[0].Kubelet = inspect.Kubelet{} }, []assess.Status{assess.Unknown}},
		"nor when the file was written": {func(w *world) {
			w.s.Nodes[0].Files[0].Changed = time.Time{}
			w.s.Nodes[0].Files[0].Modified = time.Time{}
		}, []assess.Status{assess.Unknown}},
		"another master's log was not read": {func(w *world) { w.s.OtherNodes = []inspect.Node{{Name: "z2", Role: catalog.RoleMaster}} }, []assess.Status{assess.Unknown}},
		"another master's log ends before": {func(w *world) {
			w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "z2", Via: "ssh", Role: catalog.RoleMaster})
			l := w.s.ServerLogs[0]
			l.At.Node, l.To, l.Refused = "z2", ago(8), nil
			w.s.ServerLogs = append(w.s.ServerLogs, l)
		}, []assess.Status{assess.Unknown}},
		"another master's log is as long": {func(w *world) {
			w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "z2", Via: "ssh", Role: catalog.RoleMaster})
			l := w.s.ServerLogs[0]
			l.At.Node, l.Refused = "z2", nil
			w.s.ServerLogs = append(w.s.ServerLogs, l)
		}, nil},
		"who is a master is unknown": {func(w *world) { w.s.OtherNodes = []inspect.Node{{Name: "z2"}} }, []assess.Status{assess.Unknown}},
		"its clock is an hour ahead": {func(w *world) {
			n := &w.s.Nodes[0]
			n.Clock = inspect.Clock{Sent: noon, Before: noon.Add(time.Hour), After: noon.Add(time.Hour), Received: noon}
			n.Kubelet.Notified = n.Kubelet.Notified.Add(time.Hour)
			n.Files[0].Changed, n.Files[1].Changed = ago(11-60), ago(11-60)
			w.s.ServerLogs[0].To, w.s.ServerLogs[0].Refused[0].Last = ago(-60), ago(12-60)
		}, nil},
		"a worker, at the address where it was reached": {func(w *world) { worker(w, "10.0.0.7") }, nil},
		"a worker, at an address that it adds":          {func(w *world) { worker(w, "10.0.0.8") }, []assess.Status{assess.Unknown}},
		"its kubelet trusts something else": {func(w *world) {
			w.s.Bundles[1].Content = w.sc.Scan(pkitest.NewCA("the CA", from(-20), from(900)).CertPEM)[0].Content
		}, []assess.Status{assess.Fail}},
		"its kubelet has it not in memory": {func(w *world) { w.s.Nodes[0].Kubelet.Started = from(-11) }, []assess.Status{assess.Fail}},
		"a process of unknown age is beside": {func(w *world) {
			w.s.Nodes[0].Processes = []inspect.Process{inspecttest.Process("multus-daemon", time.Time{})}
		}, []assess.Status{assess.Unknown}},
		"a tenant's process has just started": {func(w *world) {
			w.s.Nodes[0].Processes = []inspect.Process{inspecttest.TenantsProcess("multus-daemon", noon)}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(catalog.Versions{Cluster: "4.12.3"})
			e := edge(t, "kubelet-api-int")
			w.show(e, leafFor(e, ca, -1, 59).CertPEM)
			for _, path := range []string{own, "/etc/kubernetes/kubeconfig"} {
				w.kubeconfig(path, "https://api-int.example.com:6443", ca.CertPEM)
			}
			w.signer(e, ca)
			n := &w.s.Nodes[0]
			n.Role, n.Addresses, n.Kubelet = catalog.RoleMaster, []string{"10.0.0.7"}, inspect.Kubelet{Started: ago(10), Notified: ago(10)}
			n.Files[0].Changed, n.Files[1].Changed = ago(11), ago(11)
			at := pki.Location{Kind: pki.KindFile, Node: "n1", Path: "/var/log/pods/x/0.log"}
			w.s.ServerLogs = []inspect.ServerLog{{At: at, Row: "apiserver-refused", From: from(-1), To: noon, Refused: []inspect.Refused{{Client: "10.0.0.7", Reason: "bad certificate", Count: 9, Last: ago(12)}}}}
			c.given(w)
			var got []assess.Status
			for _, claim := range w.judge("apiserver-refused") {
				got = append(got, claim.Status)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestRepairedOfKubeadm: there, it is what kube-apiserver of each master presents that counts;
// and of the machine config server, trust in api-int says nothing.
func TestRepairedOfKubeadm(t *testing.T) {
	refuse := func(s *inspect.Snapshot, row string) {
		at := pki.Location{Kind: pki.KindFile, Node: "n1", Path: "/var/log/pods/x/0.log"}
		s.ServerLogs = []inspect.ServerLog{{At: at, Row: row, From: from(-1), To: noon, Refused: []inspect.Refused{{Client: "10.0.0.3", Reason: "bad certificate", Count: 9, Last: noon.Add(-time.Minute)}}}}
	}
	for status, given := range map[string]func(k *kubeadm){
		"unknown": func(*kubeadm) {},
		"fail": func(k *kubeadm) {
			k.serves("n2", "10.0.0.2:6443", leafOf(pkitest.NewCA("kubernetes", from(-30), from(3640)), "10.0.0.2"))
		},
	} {
		k := newKubeadm()
		refuse(&k.s, "kubeadm-apiserver-refused")
		given(k)
		if got := are(k.report(), "kubeadm-apiserver-refused"); len(got) != 1 || got["n3"].Status.String() != status {
			t.Errorf("want %s, got %+v", status, got)
		}
	}
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	e := edge(t, "kubelet-api-int")
	w.stage(e, ca, ca.CertPEM)
	w.s.Nodes[0].Addresses = []string{"10.0.0.3"}
	refuse(&w.s, "config-server-refused")
	if got := one(t, w.judge("config-server-refused")); got.Status != assess.Fail {
		t.Errorf("%s: %s", got.Status, got.Reason)
	}
}

// TestWhoseBehindMasters: where balancers are on masters, a master's address may be any client's.
func TestWhoseBehindMasters(t *testing.T) {
	for name, c := range map[string]struct {
		own    catalog.Tristate
		row    string
		role   string
		status assess.Status
		node   string
	}{
		"a balancer of the platform's":    {catalog.No, "apiserver-refused", catalog.RoleMaster, assess.Fail, "n1"},
		"balancers on masters":            {catalog.Yes, "apiserver-refused", catalog.RoleMaster, assess.Unknown, ""},
		"a worker":                        {catalog.Yes, "apiserver-refused", catalog.RoleWorker, assess.Fail, "n1"},
		"a server without a balancer":     {catalog.Yes, "config-server-refused", catalog.RoleMaster, assess.Fail, "n1"},
		"which of them it is, is unknown": {catalog.Unknown, "apiserver-refused", catalog.RoleMaster, assess.Fail, "n1"},
	} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		w.s.Cluster.OwnAddresses = c.own
		w.s.Nodes = []inspect.Node{{Name: "m1", Role: catalog.RoleMaster}, {Name: "n1", Role: c.role, Addresses: []string{"10.0.0.7"}}}
		at := pki.Location{Kind: pki.KindFile, Node: "m1", Path: "/var/log/pods/x/0.log"}
		w.s.ServerLogs = []inspect.ServerLog{{At: at, Row: c.row, To: noon, Refused: []inspect.Refused{{Client: "10.0.0.7", Reason: "bad certificate", Count: 1, Last: noon}}}}
		got := one(t, w.judge(c.row))
		if got.Status != c.status || got.Node != c.node || !strings.HasPrefix(got.Refusals.Owner, "n1, ") || strings.Contains(got.Refusals.Owner, "balancer") != (c.node == "") {
			t.Errorf("%s: %s on %q, of %q", name, got.Status, got.Node, got.Refusals.Owner)
		}
	}
}

// TestWhoseUnasked: an address of a node that was not to be read is still that node's.
func TestWhoseUnasked(t *testing.T) {
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.s.OtherNodes = []inspect.Node{{Name: "w9", Addresses: []string{"10.0.0.9"}, PodNetworks: []string{"10.128.9.0/24"}}}
	at := pki.Location{Kind: pki.KindFile, Node: "n1", Path: "/var/log/pods/x/0.log"}
	for client, want := range map[string]string{"10.0.0.9": "w9, or a pod on it", "10.128.9.3": "a pod on w9", "10.0.0.8": ""} {
		w.s.ServerLogs = []inspect.ServerLog{{At: at, Row: "apiserver-refused", To: noon, Refused: []inspect.Refused{{Client: client, Reason: "bad certificate", Count: 1, Last: noon}}}}
		if got := one(t, w.judge("apiserver-refused")); got.Refusals.Owner != want || (got.Status == assess.Fail) != (want != "") {
			t.Errorf("%s: %s: %q", client, got.Status, got.Refusals.Owner)
		}
	}
}

// TestALoopbackClientIsOfTheServersNode: also by IPv6, once the facts were marked.
func TestALoopbackClientIsOfTheServersNode(t *testing.T) {
	for _, client := range []string{"127.0.0.1", "::1"} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		at := pki.Location{Kind: pki.KindFile, Node: "n1", Path: "/var/log/pods/x/0.log"}
		w.s.ServerLogs = []inspect.ServerLog{{At: at, Row: "apiserver-refused", To: noon, Refused: []inspect.Refused{{Client: client, Reason: "bad certificate", Count: 1, Last: noon}}}}
		w.s.MarkForeign()
		if got := one(t, w.judge("apiserver-refused")); got.Status != assess.Fail || got.Refusals.Owner != "a client on the server's own node" {
			t.Errorf("%s: %s: %q", client, got.Status, got.Refusals.Owner)
		}
	}
}

// TestARefusalFromBeforeTheRepairPasses: two minutes after it, when all on the node who
// could have refused the server were started since, and the handshake works.
func TestARefusalFromBeforeTheRepairPasses(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	clock := inspect.Clock{Sent: noon, Before: noon, After: noon, Received: noon}
	for name, c := range map[string]struct {
		given func(w *world)
		want  assess.Status
	}{
		"all were restarted":                      {func(*world) {}, assess.Pass},
		"multus was not":                          {func(w *world) { w.s.Nodes[0].Processes[0].Started = ago(5 * time.Minute) }, assess.Unknown},
		"whether multus was restarted is unknown": {func(w *world) { w.s.Nodes[0].Processes = w.s.Nodes[0].Processes[1:] }, assess.Unknown},
		"multus was not told of":                  {func(w *world) { w.s.Nodes[0].Processes, w.s.Nodes[0].Kubelet.StartedByUptime = nil, ago(2*time.Minute) }, assess.Unknown},
		"it may not be the node's address":        {func(w *world) { w.s.Nodes[0].Reached = "" }, assess.Unknown},
		"the node was reached elsewhere":          {func(w *world) { w.s.Nodes[0].Reached = "10.0.0.8" }, assess.Unknown},
		"the node is a master": {func(w *world) {
			w.s.Nodes[0].Reached, w.s.Nodes[0].Role = "", catalog.RoleMaster
			l := w.s.ServerLogs[0]
			l.At.Node, l.Refused = "n1", nil
			w.s.ServerLogs = append(w.s.ServerLogs, l)
		}, assess.Pass},
		"multus does not run, all else was read": {func(w *world) { w.s.Nodes[0].Processes, w.s.Nodes[0].AllProcesses = nil, true }, assess.Pass},
		"the kubelet does not run":               {func(w *world) { w.s.Nodes[0].Kubelet.Started, w.s.Nodes[0].AllProcesses = time.Time{}, true }, assess.Unknown},
		"multus began before the write": {func(w *world) {
			w.s.Nodes[0].Processes[0].Started = ago(3*time.Minute + time.Second)
			w.s.ServerLogs[0].Refused[0].Last = ago(121 * time.Second)
		}, assess.Unknown},
		"the kubelet was not":            {func(w *world) { w.s.Nodes[0].Kubelet.Started = ago(5 * time.Minute) }, assess.Unknown},
		"there is the kubelet alone":     {func(w *world) { w.s.Cluster.Versions.Cluster = "4.12.3" }, assess.Pass},
		"refused again since":            {func(w *world) { w.s.ServerLogs[0].Refused[0].Last = ago(time.Minute) }, assess.Unknown},
		"refused until it was restarted": {func(w *world) { w.s.ServerLogs[0].Refused[0].Last = ago(2*time.Minute - time.Second) }, assess.Pass},
		"refused between two restarts": {func(w *world) {
			w.s.Nodes[0].Processes[0].Started = ago(time.Minute)
			w.s.ServerLogs[0].Refused[0].Last = ago(65 * time.Second)
		}, assess.Pass},
		"a tenant's process is older": {func(w *world) {
			w.s.Nodes[0].Processes = append(w.s.Nodes[0].Processes, inspecttest.TenantsProcess("multus-daemon", from(-30)))
		}, assess.Pass},
		"a tenant's process has just started": {func(w *world) {
			w.s.Nodes[0].Processes = append(w.s.Nodes[0].Processes, inspecttest.TenantsProcess("multus-daemon", ago(time.Second)))
		}, assess.Pass},
		"multus does not run, a tenant has one of its name": {func(w *world) {
			w.s.Nodes[0].Processes, w.s.Nodes[0].AllProcesses = []inspect.Process{inspecttest.TenantsProcess("multus-daemon", from(-30))}, true
		}, assess.Pass},
		"whose process it is was not read": {func(w *world) { w.s.Nodes[0].Processes[0].Pod = "" }, assess.Unknown},
		"restarted a moment ago":           {func(w *world) { w.s.Nodes[0].Processes[0].Started = ago(20 * time.Second) }, assess.Unknown},
		"no handshake was made":            {func(w *world) { w.s.Served = nil }, assess.Unknown},
		"the node's clock is unknown":      {func(w *world) { w.s.Nodes[0].Clock = inspect.Clock{} }, assess.Unknown},
		"the server's clock is unknown":    {func(w *world) { w.s.Nodes[1].Clock = inspect.Clock{} }, assess.Unknown},
		"the log ends before":              {func(w *world) { w.s.ServerLogs[0].To = ago(150 * time.Second) }, assess.Unknown},
		"the node's clock runs back": {func(w *world) {
			w.s.Nodes[0].Clock.After = noon.Add(-46 * time.Hour)
			w.s.Nodes[0].Kubelet.Started, w.s.Nodes[0].Processes[0].Started = ago(23*time.Hour), ago(23*time.Hour)
		}, assess.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(catalog.Versions{Cluster: "4.15.3"})
			e := edge(t, "kubelet-api-int")
			leaf := leafFor(e, ca, -1, 59)
			w.show(e, leaf.CertPEM)
			for _, path := range []string{"/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubeconfig"} {
				w.kubeconfig(path, "https://api-int.example.com:6443", ca.CertPEM)
			}
			w.signer(e, ca)
			w.put(edge(t, "multus-api-int").OnlyIfExists, ca.CertPEM)
			w.s.Served = []inspect.Served{{Node: "n1", Server: catalog.ListenerNodeKubeconfig, Address: "api-int.example.com:6443", Name: "api-int.example.com", Chain: w.sc.Scan(leaf.CertPEM)[0].Content.Certs}}
			n := &w.s.Nodes[0]
			n.Role, n.Addresses, n.Clock, n.Reached = catalog.RoleWorker, []string{"10.0.0.7"}, clock, "10.0.0.7"
			n.Kubelet = inspect.Kubelet{Started: ago(2 * time.Minute), Notified: ago(2 * time.Minute)}
			n.Processes = []inspect.Process{inspecttest.Process("multus-daemon", ago(2*time.Minute))}
			n.Files[0].Changed, n.Files[1].Changed = ago(3*time.Minute), ago(3*time.Minute)
			w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "z1", Via: "ssh", Role: catalog.RoleMaster, Clock: clock})
			at := pki.Location{Kind: pki.KindFile, Node: "z1", Path: "/var/log/pods/x/0.log"}
			w.s.ServerLogs = []inspect.ServerLog{{At: at, Row: "apiserver-refused", From: from(-1), To: noon, Refused: []inspect.Refused{{Client: "10.0.0.7", Reason: "bad certificate", Count: 9, Last: ago(4 * time.Minute)}}}}
			c.given(w)
			last := w.s.ServerLogs[0].Refused[0].Last
			got := one(t, w.judge("apiserver-refused"))
			if got.Status != c.want {
				t.Errorf("%s: %s", got.Status, got.Reason)
			}
			if got.Refusals.Wait > longestWait(name) {
				t.Errorf("to wait for: %s", got.Refusals.Wait)
			}
			if name == "restarted a moment ago" && got.Edge.Remediation != "run verify again in 15s" {
				t.Errorf("next: %q", got.Edge.Remediation)
			}
			const minute = "2006-01-02 15:04 UTC"
			want := []string{"the last refusal was " + last.Format(minute), "kubelet was restarted " + w.s.Nodes[0].Kubelet.Started.Format(minute), "none since"}
			if w.s.Cluster.Versions.Cluster != "4.12.3" && len(w.s.Nodes[0].Processes) > 0 && w.s.Nodes[0].Processes[0].Platform() == catalog.Yes {
				want = append(want, "multus, thick was restarted "+w.s.Nodes[0].Processes[0].Started.Format(minute))
			}
			for _, text := range want {
				if c.want == assess.Pass && !strings.Contains(got.Reason, text) {
					t.Errorf("%q lacks %q", got.Reason, text)
				}
			}
		})
	}
}

// longestWait is for how long a case has to be waited for at most.
func longestWait(name string) time.Duration {
	if name == "restarted a moment ago" {
		return 15 * time.Second
	}
	return 0
}
