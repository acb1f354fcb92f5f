package trust_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// twoOfEach has control plane nodes n1 and n2 and workers n3 and n4, by their labels.
func twoOfEach() *kubeadm {
	k := newKubeadm()
	k.s.Nodes = append(k.s.Nodes, inspect.Node{Name: "n4", Via: "ssh", Addresses: []string{"10.0.0.4"}})
	k.file("n4", "ca.crt", k.ca.CertPEM)
	k.conf("n4", "kubelet.conf", "https://api.example.com:6443")
	for i := range k.s.Nodes {
		k.s.Nodes[i].Role = catalog.RoleWorker
		if n := k.s.Nodes[i].Name; n == "n1" || n == "n2" {
			k.s.Nodes[i].Role = catalog.RoleMaster
		}
	}
	return k
}

// TestAWorkersFileMakesItNoAPIServer: with a copy of n2's certificate, and the API's name among its Node's
// addresses, n3 would answer for n1, whose certificate another CA signed.
func TestAWorkersFileMakesItNoAPIServer(t *testing.T) {
	t.Parallel()
	k := twoOfEach()
	other := pkitest.NewCA("kubernetes", from(-1), from(3640))
	k.file("n1", "apiserver.crt", other.Issue("kube-apiserver", from(-1), from(355), pkitest.DNS("kubernetes.default.svc", "api.example.com"), pkitest.IPs("10.0.0.1")).CertPEM)
	n2 := slices.IndexFunc(k.s.Bundles, func(b inspect.Bundle) bool {
		return b.At.Node == "n2" && b.At.Path == "/etc/kubernetes/pki/apiserver.crt"
	})
	copied := k.s.Bundles[n2]
	copied.At.Node = "n3"
	k.s.Bundles = append(k.s.Bundles, copied)
	n3 := k.node("n3")
	n3.Files = append(n3.Files, inspect.NodeFile{Path: copied.At.Path})
	n3.Addresses = append(n3.Addresses, "api.example.com")
	if got := are(k.report(), "kubeadm-kubelet-api")["n4 n1"].Status; got.String() != "fail" {
		t.Errorf("n4's kubelet with n1's API server: %s, want fail", got)
	}
	if masters, all := k.s.Masters(); !all || !slices.Equal(masters, []string{"n1", "n2"}) {
		t.Errorf("control plane nodes %v, all %t", masters, all)
	}
}

// TestWhatAWorkerHasHidesNoUnreadControlPlaneNode: n2 was not read.
func TestWhatAWorkerHasHidesNoUnreadControlPlaneNode(t *testing.T) {
	t.Parallel()
	k := twoOfEach()
	*k.node("n2") = inspect.Node{Name: "n2", Role: catalog.RoleMaster, Addresses: []string{"10.0.0.2"}}
	k.s.Bundles = slices.DeleteFunc(k.s.Bundles, func(b inspect.Bundle) bool { return b.At.Node == "n2" })
	k.conf("n3", "scheduler.conf", "https://10.0.0.1:6443")
	k.file("n3", "etcd/ca.crt", k.etcd.CertPEM)
	r := k.report()
	for _, id := range []string{"kubeadm-scheduler-api", "kubeadm-etcd-peers", "kubeadm-apiserver-etcd"} {
		if c, there := are(r, id)["n2"]; !there || c.Status.String() != "unknown" {
			t.Errorf("%s on n2: %q, want unknown", id, c.Status)
		}
	}
}

// TestAWorkersLogIsNoServers: kube-apiserver and the machine config server run on control plane nodes.
func TestAWorkersLogIsNoServers(t *testing.T) {
	t.Parallel()
	log := func(row, node string, to time.Time, refused ...inspect.Refused) inspect.ServerLog {
		return inspect.ServerLog{At: pki.Location{Kind: pki.KindFile, Node: node, Path: "/var/log/pods/x/0.log"}, Row: row, From: noon.Add(-time.Hour), To: to, Refused: refused}
	}
	bad := inspect.Refused{Client: "10.0.0.7", Reason: "bad certificate", Count: 99, First: noon, Last: noon}
	for name, c := range map[string]struct {
		row  string
		logs []inspect.ServerLog
		want string
	}{
		"a worker's alone":                         {"config-server-refused", []inspect.ServerLog{log("config-server-refused", "w0", noon)}, ""},
		"a worker's refusal of another node":       {"apiserver-refused", []inspect.ServerLog{log("apiserver-refused", "m1", noon), log("apiserver-refused", "w0", noon, bad)}, ""},
		"a worker's beside an old one":             {"apiserver-refused", []inspect.ServerLog{log("apiserver-refused", "m1", noon.Add(-3*time.Hour)), log("apiserver-refused", "w0", noon)}, "unknown"},
		"the same refusal by a control plane node": {"apiserver-refused", []inspect.ServerLog{log("apiserver-refused", "m1", noon, bad)}, "fail"},
	} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		w.s.Nodes = []inspect.Node{
			{Name: "m1", Via: "exec", Role: catalog.RoleMaster, Addresses: []string{"10.0.0.1"}},
			{Name: "w0", Via: "exec", Role: catalog.RoleWorker, Addresses: []string{"10.0.0.6"}},
			{Name: "w1", Via: "exec", Role: catalog.RoleWorker, Addresses: []string{"10.0.0.7"}},
		}
		w.s.ServerLogs = c.logs
		var got []string
		for _, claim := range w.judge(c.row) {
			got = append(got, claim.Status.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestAnAddressThatSeveralNodesNameIsNotUnknown: a kubelet writes the addresses of its Node, and may
// name another's.
func TestAnAddressThatSeveralNodesNameIsNotUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.s.Nodes = []inspect.Node{
		{Name: "m1", Via: "exec", Role: catalog.RoleMaster, Addresses: []string{"10.0.0.1"}},
		{Name: "w0", Role: catalog.RoleWorker, Addresses: []string{"10.0.0.7"}},
		{Name: "w1", Role: catalog.RoleWorker, Addresses: []string{"10.0.0.6", "10.0.0.7"}},
		{Name: "w2", Role: catalog.RoleWorker, Addresses: []string{"::ffff:10.0.0.7", "10.0.0.7"}},
		{Name: "w3", Role: catalog.RoleWorker, Addresses: []string{"10.0.0.7"}},
		{Name: "w4", Role: catalog.RoleWorker, Addresses: []string{"10.0.0.7"}},
	}
	w.s.ServerLogs = []inspect.ServerLog{{At: pki.Location{Kind: pki.KindFile, Node: "m1", Path: "/var/log/pods/x/0.log"}, Row: "apiserver-refused", From: noon.Add(-time.Hour), To: noon,
		Refused: []inspect.Refused{{Client: "10.0.0.7", Reason: "bad certificate", Count: 9, Last: noon}}}}
	got := w.judge("apiserver-refused")
	if len(got) != 1 || got[0].Status.String() != "fail" || got[0].Node != "" || !strings.Contains(got[0].Refusals.Owner, "w0, w1, w2, w3 and 1 more") {
		t.Errorf("want a failure of one of w0, w1, w2: %+v", got)
	}
}
