package ui

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestAServerIsOnOneScreen: the sample cluster's api-int, whose clients partly lack its CA.
func TestAServerIsOnOneScreen(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	s, err := collect.File{Path: "../../testdata/demo/okd-4.15-api-int.certrot", Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	s.Advise(inspect.LiveHints("oc certrot"))
	address, name, err := inspect.KubeconfigCluster{Server: s.Cluster.Internal}.Dialled()
	if err != nil {
		t.Fatal(err)
	}
	facts := inspect.NewFacts(s, s.Taken, 0)
	h := inspect.Handshake{Address: inspect.Address{HostPort: address, Name: name}, Remote: "10.0.0.5:6443", TLS: "TLS 1.3", Chain: facts.At(catalog.InternalLoadBalancerServing()).Content.Certs}
	s.Bundles = slices.Clone(s.Bundles)
	s.AddHandshakes([]inspect.Handshake{h})
	chains := report.NewServedChains(t.Context(), inspect.NewFacts(s, s.Taken, 0), []inspect.Handshake{h}, nil)
	screen := func(p servedScreen) string {
		var out strings.Builder
		if err := p.print(&out, &chains, assess.Warning); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	short := screen(servedScreen{called: "oc certrot"})
	lines := strings.Split(strings.TrimSuffix(short, "\n"), "\n")
	for _, line := range lines[2:] { // the cluster is as in other answers
		if columnsIn(line) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
	if len(lines) > 23 {
		t.Errorf("%d lines:\n%s", len(lines), short)
	}
	for _, want := range []string{
		"api-int.okd.example.com:6443  answered by 10.0.0.5:6443  TLS 1.3\n", "  stored in  Secret/openshift-kube-apiserver/internal-loa…rving-certkey[tls.crt]",
		"✓ name     valid for api-int.okd.example.com\n", "✓ chain    it leads up to a CA that is not in the chain:", "✓ trusted  by CA bundles in 44 places\n",
		"✗ clients  10 of its 17 known clients do not trust it\n", "✗ kubelets do not trust api-int's serving certificate: worker-1,\n", "(d069b6f9b291)\n",
		"next  oc certrot fix-api-int --dry-run=client\n", "3 more: --details\n",
	} {
		if !strings.Contains(short, want) {
			t.Errorf("%q is not in\n%s", want, short)
		}
	}
	long := screen(servedScreen{called: "oc certrot", details: true})
	for _, want := range []string{"node-kubeconfigs[lb-int.kubeconfig]#clusters[0].cluster.certificate-authority-data\n", "loadbalancer-serving-signer@1706713320\n", "✓ kube-scheduler trusts", "impact  the node becomes NotReady"} {
		if !strings.Contains(long, want) {
			t.Errorf("--details: %q is not in\n%s", want, long)
		}
	}
}
