package trust_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestCostlyChainsShownToOneNodeCostOthersNothing: restart-safe compares with what was presented to each node.
func TestCostlyChainsShownToOneNodeCostOthersNothing(t *testing.T) {
	t.Parallel()
	s := newStarting()
	leaf := s.s.Served[0].Chain[0]
	chain := []*pki.Cert{s.sc.Scan(s.fresh.Issue("api-int.example.com", from(-2), from(28), pkitest.DNS("api-int.example.com")).CertPEM)[0].Content.Certs[0]}
	for i := range 100 { // keys that are only said to be large cost nothing here
		one := *s.sc.Scan(s.fresh.CertPEM)[0].Content.Certs[0]
		one.Fingerprint, one.PublicKey = pki.FingerprintOf(fmt.Append(nil, i)), "RSA 8192"
		chain = append(chain, &one)
	}
	s.s.Served = append(s.s.Served, inspect.Served{Node: "w9", Address: apiInt, Name: "api-int.example.com", Chain: chain})
	if s.s.Served[0].Chain[0] != leaf {
		t.Fatal("the node itself was shown another one")
	}
	f := inspect.NewFacts(s.s, noon, 30*day)
	for _, a := range trust.RestartOf(f, &f.Snapshot.Nodes[0], nil).Answers {
		if strings.Contains(a.Reason, "w9") && (a.Status != assess.Warn || !strings.Contains(a.Reason, "costs too much")) {
			t.Errorf("%s: %s, %s", a.ID, a.Status, a.Reason)
		}
	}
}
