package trust_test

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestAWorkersKubeconfigSaysNothingOfOthers: each node made a handshake by its kubeconfig; n1 asked all control plane
// nodes, and n2 did not answer it and was not read. n4, a worker, names n2's own address in its kubelet.conf.
func TestAWorkersKubeconfigSaysNothingOfOthers(t *testing.T) {
	t.Parallel()
	other := pkitest.NewCA("kubernetes", from(-10), from(900))
	for _, lie := range []bool{false, true} {
		k := newKubeadm()
		k.s.Nodes = append(k.s.Nodes, inspect.Node{Name: "n4", Via: "ssh", Addresses: []string{"10.0.0.4"}})
		for i := range k.s.Nodes {
			k.s.Nodes[i].Role = map[string]string{"n1": catalog.RoleMaster, "n2": catalog.RoleMaster, "n3": catalog.RoleWorker, "n4": catalog.RoleWorker}[k.s.Nodes[i].Name]
		}
		left := k.s.Bundles[:0]
		for _, b := range k.s.Bundles {
			if b.At.Node != "n2" {
				left = append(left, b)
			}
		}
		k.s.Bundles = left
		two := k.node("n2")
		two.Via, two.Files, two.Kubeconfigs = "", nil, nil
		good := k.sc.Scan(k.ca.Issue("kube-apiserver", from(-10), from(355), pkitest.DNS("kubernetes.default.svc", "api.example.com"), pkitest.IPs("10.0.0.1")).CertPEM)[0].Content.Certs
		for _, b := range k.s.Bundles {
			if b.At.Node == "n1" && b.At.Path == "/etc/kubernetes/pki/apiserver.crt" {
				good = b.Content.Certs
			}
		}
		bad := k.sc.Scan(other.Issue("kube-apiserver", from(-1), from(300), pkitest.DNS("kubernetes.default.svc", "api.example.com"), pkitest.IPs("10.0.0.2")).CertPEM)[0].Content.Certs
		for _, n := range []string{"n1", "n3"} {
			k.s.Served = append(k.s.Served, inspect.Served{Node: n, Address: "api.example.com:6443", Name: "api.example.com", Chain: good})
		}
		k.s.Served = append(k.s.Served,
			inspect.Served{Node: "n1", Of: "n1", Server: catalog.ListenerAPIServer, Address: "10.0.0.1:6443", Name: "kubernetes.default.svc", Chain: good},
			inspect.Served{Node: "n1", Of: "n2", Server: catalog.ListenerAPIServer, Address: "10.0.0.2:6443", Name: "kubernetes.default.svc", Problem: "no route to host"})
		if lie {
			k.conf("n4", "kubelet.conf", "https://10.0.0.2:6443")
			k.s.Served = append(k.s.Served, inspect.Served{Node: "n4", Address: "10.0.0.2:6443", Name: "10.0.0.2", Chain: bad})
		}
		seen := 0
		for _, c := range k.report().Claims {
			if c.Status.String() == "fail" && c.Node != "n4" {
				t.Errorf("%s on %s: fail: %s", c.ID, c.Node, c.Reason)
			}
			if c.ID != "kubeadm-kubelet-api" || c.Node != "n1" && c.Node != "n3" {
				continue
			}
			seen++
			if want := map[bool]string{true: "unknown", false: "pass"}[lie]; c.Status.String() != want || lie != strings.Contains(c.Reason, "as n4 alone was presented") {
				t.Errorf("lie %t: %s: %s: %s, want %s", lie, c.Node, c.Status, c.Reason, want)
			}
		}
		if seen != 2 {
			t.Errorf("lie %t: %d claims", lie, seen)
		}
	}
}
