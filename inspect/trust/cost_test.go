package trust_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestJudgingGrowsWithTheNodes, what was read on them and what was not: none of it is looked through for each
// node, of which a cluster has hundreds.
//
// Not in parallel: it measures.
func TestJudgingGrowsWithTheNodes(t *testing.T) {
	sc := pki.NewScanner()
	ca := pkitest.NewCA("kube-apiserver-lb-signer", from(-10), from(900))
	read := func(pem []byte) *pki.Content { return sc.Scan(pem)[0].Content }
	cas, served := read(ca.CertPEM), read(ca.Issue("api-int", from(-1), from(29), pkitest.DNS("api-int.example.com")).CertPEM)
	node := func(i int) string { return fmt.Sprintf("n%05d", i) }
	cluster := func(size int, more func(s *inspect.Snapshot, i int)) inspect.Snapshot {
		s := inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.16.0", Kubernetes: "1.29.0"}, Internal: "https://api-int.example.com:6443"}}
		for i := range size {
			s.Nodes = append(s.Nodes, inspect.Node{Name: node(i), Via: "ssh", Role: "worker", Addresses: []string{fmt.Sprintf("10.0.%d.%d", i>>8, i&255)}})
			more(&s, i)
		}
		s.Sort()
		return s
	}
	const kubeconfig, serving = "/var/lib/kubelet/kubeconfig", "/var/lib/kubelet/pki/kubelet-server-current.pem"
	file := func(s *inspect.Snapshot, i int, path, field string, c *pki.Content) {
		n := &s.Nodes[len(s.Nodes)-1]
		n.Files = append(n.Files, inspect.NodeFile{Path: path, Whole: true})
		s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node(i), Path: path, Field: field}, Content: c})
	}
	trusting := func(s *inspect.Snapshot, i int, server string) {
		const field = "clusters[0].cluster.certificate-authority-data"
		file(s, i, kubeconfig, field, cas)
		n := &s.Nodes[len(s.Nodes)-1]
		n.Kubeconfigs = []inspect.Kubeconfig{{Path: kubeconfig, Current: "local", Clusters: []inspect.KubeconfigCluster{{Name: "local", Server: server, CAData: true, Field: field}}}}
	}
	for name, c := range map[string]struct {
		size int
		more func(s *inspect.Snapshot, i int)
	}{
		"kubeconfigs": {100, func(s *inspect.Snapshot, i int) { trusting(s, i, "https://api-int.example.com:6443") }},
		"kubeconfigs that name nodes' addresses": {100, func(s *inspect.Snapshot, i int) {
			trusting(s, i, fmt.Sprintf("https://10.0.%d.%d:6443", i>>8, i&255))
		}},
		"what they were served": {100, func(s *inspect.Snapshot, i int) {
			trusting(s, i, "https://api-int.example.com:6443")
			s.Served = append(s.Served, inspect.Served{Node: node(i), Address: "api-int.example.com:6443", Name: "api-int.example.com", Chain: served.Certs})
		}},
		"handshakes with kubelets": {200, func(s *inspect.Snapshot, i int) {
			file(s, i, serving, "", served)
			s.Served = append(s.Served, inspect.Served{Node: "n00000", Of: node(i), Server: "kubelet", Address: fmt.Sprintf("10.0.%d.%d:10250", i>>8, i&255), Chain: served.Certs})
		}},
		"nodes that were not read": {200, func(s *inspect.Snapshot, i int) {
			trusting(s, i, "https://api-int.example.com:6443")
			if n := &s.Nodes[len(s.Nodes)-1]; i%2 > 0 {
				n.Via, n.Kubeconfigs = "", nil
			}
		}},
		"gaps of their files": {300, func(s *inspect.Snapshot, i int) {
			s.Gaps = append(s.Gaps, inspect.Gap{What: "node/" + node(i), Where: "/x", Reason: "refused"}, inspect.Gap{What: "node/" + node(i), Where: "/y", Reason: "refused"})
		}},
		"clients that refuse": {300, func(s *inspect.Snapshot, i int) {
			trusting(s, i, "https://api-int.example.com:6443")
			if i == 0 {
				s.ServerLogs = []inspect.ServerLog{{At: pki.Location{Kind: pki.KindFile, Node: node(0), Path: "/log"}, Row: catalog.ServerLogs()[0].ID, From: from(-1), To: noon}}
			}
			s.ServerLogs[0].Refused = append(s.ServerLogs[0].Refused, inspect.Refused{Client: fmt.Sprintf("10.0.%d.%d", i>>8, i&255), Reason: "remote error: tls: bad certificate", Count: 1, First: noon.Add(-time.Hour), Last: noon})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inspecttest.Grows(t, c.size, func(size int) func() {
				f := inspect.NewFacts(cluster(size, c.more), noon, 30*day)
				return func() {
					if claims := trust.Judge(t.Context(), f); len(claims) == 0 {
						t.Error("nothing is claimed")
					}
				}
			})
		})
	}
}
