package trust_test

import (
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestAWorkersKeySignsNothingNext: the CA's key is kept elsewhere, and n3 has a CA of its own with a key.
func TestAWorkersKeySignsNothingNext(t *testing.T) {
	t.Parallel()
	k := twoOfEach()
	for _, node := range []string{"n1", "n2"} {
		n := k.node(node)
		n.Files = slices.DeleteFunc(n.Files, func(f inspect.NodeFile) bool { return f.Path == "/etc/kubernetes/pki/ca.key" })
	}
	own := pkitest.NewCA("kubernetes", from(-1), from(3640))
	k.file("n3", "ca.crt", own.CertPEM)
	k.file("n3", "ca.key", nil)
	for where, c := range are(k.report(), "kubeadm-kubelet-api") {
		if c.Node != "n3" && c.Status.String() != "pass" {
			t.Errorf("%s: %s, %s", where, c.Status, c.Reason)
		}
	}
}

// TestAWorkersCAIsNoneOfTheCluster: n1's API server presents what a CA signed that n3 alone has.
func TestAWorkersCAIsNoneOfTheCluster(t *testing.T) {
	t.Parallel()
	for node, want := range map[string]string{"n3": "unknown", "n2": "fail"} {
		k := twoOfEach()
		own := pkitest.NewCA("kubernetes", from(-300), from(3640))
		k.file(node, "ca.crt", own.CertPEM)
		presented := own.Issue("kube-apiserver", from(-20), from(355), pkitest.DNS("kubernetes.default.svc"), pkitest.IPs("10.0.0.1"))
		k.s.Served = append(k.s.Served, inspect.Served{Node: "n2", Of: "n1", Server: catalog.ListenerAPIServer, Address: "10.0.0.1:6443", Name: "kubernetes.default.svc", Chain: k.sc.Scan(presented.CertPEM)[0].Content.Certs})
		k.s.Sort()
		told := ""
		for _, c := range trust.Judge(t.Context(), inspect.NewFacts(k.s, noon, 30*day)) {
			if c.Server == "10.0.0.1:6443" && c.Stored != nil {
				told += c.Status.String()
			}
		}
		if told != want {
			t.Errorf("a CA on %s: %q, want %s", node, told, want)
		}
	}
}

// TestAWorkerTakesNoControlPlaneNodesAddress: a kubelet writes the addresses of its Node.
func TestAWorkerTakesNoControlPlaneNodesAddress(t *testing.T) {
	t.Parallel()
	k := twoOfEach()
	k.node("n3").Addresses = append(k.node("n3").Addresses, "10.0.0.1")
	for where, c := range are(k.report(), "kubeadm-scheduler-api") {
		if c.Status.String() != "pass" {
			t.Errorf("%s: %s, %s", where, c.Status, c.Reason)
		}
	}
	for _, role := range []string{"", catalog.RoleMaster} {
		k.node("n3").Role = role
		if name, ok := k.s.MasterAt("10.0.0.1"); ok {
			t.Errorf("role %q: the address is said to be %s's", role, name)
		}
	}
}
