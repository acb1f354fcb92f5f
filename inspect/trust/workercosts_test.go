package trust_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

const clientOfAPIServers = "/etc/kubernetes/pki/apiserver-kubelet-client.crt"

// withWorkers is kubeadm's cluster of two masters, n3 and more workers.
func withWorkers(workers int) *kubeadm {
	k := newKubeadm()
	for i := range k.s.Nodes {
		k.s.Nodes[i].Role = catalog.RoleMaster
	}
	k.node("n3").Role = catalog.RoleWorker
	for i := range workers {
		name := fmt.Sprintf("w%04d", i)
		k.s.Nodes = append(k.s.Nodes, inspect.Node{Name: name, Via: "ssh", Role: catalog.RoleWorker})
		k.file(name, "ca.crt", k.ca.CertPEM)
		k.conf(name, "kubelet.conf", "https://api.example.com:6443")
	}
	return k
}

// presentedBy puts so many certificates into one file of a node.
func (k *kubeadm) presentedBy(node string, of func(i int) *pki.Content, many int) {
	for i := range many {
		k.s.Bundles = append(k.s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node, Path: clientOfAPIServers, Field: fmt.Sprintf("[%d]", i)}, Content: of(i)})
	}
}

// TestWhatOneWorkersFileHoldsIsBounded: it is compared with the trust anchors of each node. What is left out
// is unknown, says whose it is, and no other node's certificate is left out for it.
func TestWhatOneWorkersFileHoldsIsBounded(t *testing.T) {
	t.Parallel()
	const workers, many = 5, 300
	k := withWorkers(workers)
	own := k.sc.Scan(pkitest.NewCA("kubernetes", from(-1), from(100)).Issue("x", from(-1), from(100)).CertPEM)[0].Content
	k.presentedBy("n3", func(int) *pki.Content { return own }, many)
	k.file("n1", "apiserver-kubelet-client.crt", k.ca.Issue("kube-apiserver-kubelet-client", from(-1), from(100)).CertPEM)
	k.s.Sort()
	compared, left, masters := map[pki.Location]bool{}, 0, 0
	for _, c := range trust.Judge(t.Context(), inspect.NewFacts(k.s, noon, 30*day)) {
		switch {
		case c.Presented.Path != clientOfAPIServers || c.Presented.Node == "n2":
		case c.Presented.Node == "n1":
			if masters++; c.Status != assess.Pass {
				t.Errorf("a master's: %s, %s", c.Status, c.Reason)
			}
		case c.Status == assess.Unknown && strings.Contains(c.Reason, fmt.Sprintf("%d certificates can be read from the file on n3: this one and %d more were not compared", many, many-21)):
			left++
		default:
			compared[c.Presented] = true
		}
	}
	if len(compared) != 20 || left != 1 || masters != workers+3 {
		t.Errorf("%d compared, %d claims of what is left out, %d of a master's", len(compared), left, masters)
	}
}

// TestCostlyChainsOfAWorkerAreFew: a key that is only said to be large costs nothing here. Other nodes'
// claims are judged all the same, of chains that cost more than ordinary ones, too.
func TestCostlyChainsOfAWorkerAreFew(t *testing.T) {
	t.Parallel()
	const workers = 40
	k := withWorkers(workers)
	large := func(cn string, n int) (many []*pki.Cert) {
		one := *k.sc.Scan(pkitest.NewCA(cn, from(-1), from(100)).CertPEM)[0].Content.Certs[0]
		for i := range n {
			twin := one
			twin.Fingerprint, twin.PublicKey, twin.SelfSigned = pki.FingerprintOf(fmt.Append(nil, cn, i)), "RSA 16384", false
			many = append(many, &twin)
		}
		return many
	}
	leaf := k.sc.Scan(pkitest.NewCA("kubernetes", from(-1), from(100)).Issue("x", from(-1), from(100)).CertPEM)[0].Content.Certs[0]
	k.presentedBy("n3", func(i int) *pki.Content {
		return &pki.Content{Certs: append([]*pki.Cert{leaf}, large("kubernetes", 100)...)}
	}, 20)
	k.file("n1", "apiserver-kubelet-client.crt", k.ca.Issue("kube-apiserver-kubelet-client", from(-1), from(100)).CertPEM)
	k.s.Sort()
	costly, all := 0, 0
	for _, c := range trust.Judge(t.Context(), inspect.NewFacts(k.s, noon, 30*day)) {
		switch {
		case c.Presented.Path != clientOfAPIServers:
		case c.Presented.Node == "n3":
			if all++; strings.Contains(c.Reason, "costs too much") {
				costly++
			}
		case c.Presented.Node == "n1" && c.Status != assess.Pass:
			t.Errorf("of %s on %s: %s, %s", c.Presented, c.Node, c.Status, c.Reason)
		}
	}
	if all < 20*workers || costly < all*9/10 {
		t.Errorf("%d of %d are said to cost too much", costly, all)
	}
}

// TestJudgingGrowsWithWhatAWorkerPresents, and with the nodes: not with one times the other.
//
// Not in parallel: it measures.
func TestJudgingGrowsWithWhatAWorkerPresents(t *testing.T) {
	own := pki.NewScanner().Scan(pkitest.NewCA("kubernetes", from(-1), from(100)).Issue("x", from(-1), from(100)).CertPEM)[0].Content
	inspecttest.Grows(t, 40, func(size int) func() {
		k := withWorkers(size)
		k.presentedBy("n3", func(int) *pki.Content { return own }, size)
		k.s.Sort()
		f := inspect.NewFacts(k.s, noon, 30*day)
		return func() {
			if claims := trust.Judge(t.Context(), f); len(claims) == 0 {
				t.Error("nothing is claimed")
			}
		}
	})
}
