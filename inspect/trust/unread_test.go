package trust_test

import (
	"context"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestANodeThatWasNotReadIsUnknownInEveryClaimAboutNodes: what holds for the other
// nodes says nothing of one that is cut off.
func TestANodeThatWasNotReadIsUnknownInEveryClaimAboutNodes(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	all := catalog.Edges()
	for _, p := range catalog.Processes() {
		all = append(all, p.Edge)
	}
	for _, e := range all {
		w := newWorld(versions(e))
		staged := e
		for _, p := range catalog.Processes() {
			if p.ID == e.ID {
				staged = edge(t, p.EdgeID)
				w.s.Nodes[0].Kubelet.Started = from(-1)
				w.s.Nodes[0].Processes = []inspect.Process{{Command: p.Command, Started: from(-1)}}
			}
		}
		w.stage(staged, ca, ca.CertPEM)
		for i := range w.s.Nodes[0].Files {
			w.s.Nodes[0].Files[i].Modified = from(-5)
		}
		w.s.Nodes[0].Role = catalog.RoleWorker
		w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "cut", Role: catalog.RoleWorker})
		nodes := map[string]assess.Status{}
		for _, c := range trust.Judge(context.Background(), inspect.NewFacts(w.s, noon, 30*24*time.Hour)) {
			if c.Edge.ID == e.ID {
				nodes[c.Node] = max(nodes[c.Node], c.Status)
			}
		}
		if _, ok := nodes["n1"]; !ok {
			continue // it is about no node
		}
		if got, ok := nodes["cut"]; !ok || got != assess.Unknown {
			t.Errorf("%s: holds for n1 (%v); for the node that was not read: %v, %v", e.ID, nodes["n1"], ok, got)
		}
	}
}
