package report

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestManyNodesAndRequests cost their sum, and not their product.
func TestManyNodesAndRequests(t *testing.T) {
	now := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	facts := func(nodes int) *inspect.Facts {
		var s inspect.Snapshot
		for i := range nodes {
			s.Nodes = append(s.Nodes, inspect.Node{Name: fmt.Sprintf("n%05d", i), Via: "ssh"})
			s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: fmt.Sprintf("n%05d", i), Path: inspect.KubeletClient}, Content: &pki.Content{}})
		}
		for i := range 10 * nodes {
			s.Requests = append(s.Requests, inspect.SigningRequest{
				Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: fmt.Sprintf("csr-%d", i)}, Condition: inspect.Pending, Since: now.Add(-time.Hour),
				Requester: fmt.Sprintf("r%d", i), Request: &pki.Request{Subject: fmt.Sprintf("CN=system:node:n%05d,O=system:nodes", i%(2*nodes))},
			})
		}
		s.Sort()
		return inspect.NewFacts(s, now, 0)
	}
	inspecttest.Grows(t, 250, func(size int) func() {
		f := facts(size)
		return func() {
			if inv := NewInventory(t.Context(), f, Filter{}); len(inv.Nodes) != size || len(inv.Nodes[7].Pending) != 5 {
				t.Errorf("%d nodes, %+v", len(inv.Nodes), inv.Nodes[7])
			}
		}
	})
	ended, end := context.WithCancel(t.Context())
	end()
	if inv := NewInventory(ended, facts(250), Filter{}); len(inv.Nodes) > 0 {
		t.Errorf("%d nodes, although no request is pending", len(inv.Nodes))
	}
}
