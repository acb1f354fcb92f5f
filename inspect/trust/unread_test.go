package trust_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestANodeThatWasNotReadIsUnknownInEveryClaimAboutNodes: what holds for the other
// nodes says nothing of one that is cut off.
func TestANodeThatWasNotReadIsUnknownInEveryClaimAboutNodes(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	all := catalog.Edges()
	for _, p := range catalog.StartupReaders() {
		all = append(all, p.Edge)
	}
	for _, e := range all {
		w := newWorld(versions(e))
		staged := e
		for _, p := range catalog.StartupReaders() {
			if p.ID == e.ID {
				staged = edge(t, p.EdgeID)
				w.s.Nodes[0].Kubelet.Started = from(-1)
				w.s.Nodes[0].Processes = []inspect.Process{inspecttest.Process(p.Command, from(-1))}
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

// TestAFileThatLacksNodesIsUnknownOfThem: who reads a file did not leave them out, so what
// holds for the others is not all. Of a cluster, who asks for some nodes wants no others.
func TestAFileThatLacksNodesIsUnknownOfThem(t *testing.T) {
	t.Parallel()
	for title, hints := range map[string]inspect.Hints{"file": inspect.FileHints("x"), "cluster": inspect.LiveHints("x")} {
		s := newStarting()
		s.s.Nodes[0].Role = catalog.RoleWorker
		s.s.OtherNodes = []inspect.Node{{Name: "out", Role: catalog.RoleWorker}}
		s.s.Advise(hints)
		s.s.Sort()
		f := inspect.NewFacts(s.s, noon, 30*24*time.Hour)
		var claims []trust.Claim
		for _, c := range trust.JudgeAllNodes(context.Background(), f) {
			if c.Edge.ID == "kubelet-api-int" && c.Node == "out" {
				claims = append(claims, c)
			}
		}
		r := report.NewRestartReport(context.Background(), f)
		if title == "cluster" {
			if len(claims) > 0 || len(r.Nodes) != 1 {
				t.Errorf("%s: claims %+v, restart %+v", title, claims, r.Nodes)
			}
			continue
		}
		if len(claims) != 1 || claims[0].Status != assess.Unknown || claims[0].Reason != "the node was left out" {
			t.Errorf("%s: claims %+v", title, claims)
		}
		if len(r.Nodes) != 2 || r.Worst() != assess.Unknown {
			t.Fatalf("%s: restart %+v", title, r.Nodes)
		}
		if a := r.Nodes[1].ComesBack; r.Nodes[1].Name != "out" || a.Status != assess.Unknown || a.Reason != "the node was left out" || !strings.HasPrefix(a.Remediation.Text, "take the snapshot again") {
			t.Errorf("%s: %+v", title, a)
		}
	}
}

// TestWhatWasCutShortIsUnknown: what was left out of a source may be what its copy lacks, and what was
// left out of trust anchors may be what they seem to lack.
func TestWhatWasCutShortIsUnknown(t *testing.T) {
	t.Parallel()
	ca, other := pkitest.NewCA("the CA", from(-10), from(900)), pkitest.NewCA("another", from(-10), from(900))
	cut := func(b *inspect.Bundle) {
		short := *b.Content
		short.Bad = []pki.BadBlock{{Index: -1, Type: "value", Reason: "too much"}}
		b.Content = &short
	}
	for title, c := range map[string]struct {
		anchors *pkitest.Authority
		cut     []int
		want    assess.Status
	}{
		"both whole":                     {ca, nil, assess.Pass},
		"lacking, both whole":            {other, nil, assess.Fail},
		"the source cut short":           {ca, []int{0}, assess.Unknown},
		"lacking, the source cut short":  {other, []int{0}, assess.Unknown},
		"the anchors cut short":          {ca, []int{1}, assess.Pass},
		"lacking, the anchors cut short": {other, []int{1}, assess.Unknown},
	} {
		e := edge(t, "pods-proxy-ca")
		w := newWorld(versions(e))
		w.stage(e, ca, c.anchors.CertPEM)
		for _, n := range c.cut {
			cut(&w.s.Bundles[n])
		}
		claims := w.judge(e.ID)
		if len(claims) != 1 || claims[0].Status != c.want || (len(c.cut) > 0 && c.want == assess.Unknown) != strings.Contains(claims[0].Reason, "was read: too much") {
			t.Errorf("%s: %+v, want %s", title, claims, c.want)
		}
	}
}

// TestWhatWasCutToNothingIsUnknown: a place of which no certificate is left has a claim all the same.
func TestWhatWasCutToNothingIsUnknown(t *testing.T) {
	t.Parallel()
	nothing := &pki.Content{Bad: []pki.BadBlock{{Index: -1, Type: "value", Reason: "too much"}}}
	for _, id := range []string{"pods-proxy-ca", "node-registries"} {
		e := edge(t, id)
		w := newWorld(versions(e))
		ca := pkitest.NewCA("the CA", from(-10), from(900))
		w.stage(e, ca, ca.CertPEM)
		w.s.Bundles[0].Content = nothing
		claims := w.judge(id)
		if len(claims) != 1 || claims[0].Status != assess.Unknown || claims[0].Reason == "" {
			t.Errorf("%s: %+v", id, claims)
		}
	}
}

// TestAFileThatWasCutToNothingIsUnknown: on a worker, too, and where the node's role is unknown.
func TestAFileThatWasCutToNothingIsUnknown(t *testing.T) {
	t.Parallel()
	nothing := &pki.Content{Bad: []pki.BadBlock{{Index: -1, Type: "value", Reason: "too much"}}}
	for _, role := range []string{catalog.RoleMaster, catalog.RoleWorker, ""} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		w.s.Nodes[0].Role = role
		for _, path := range []string{"/etc/kubernetes/kubelet-ca.crt", "/var/lib/kubelet/pki/kubelet-client-current.pem"} {
			w.s.Nodes[0].Files = append(w.s.Nodes[0].Files, inspect.NodeFile{Path: path})
			w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "n1", Path: path}, Content: nothing})
		}
		for _, id := range []string{"kubelet-client-ca", "apiserver-kubelet-client"} {
			claims := w.judge(id)
			if len(claims) != 1 || claims[0].Status != assess.Unknown || claims[0].Node != "n1" || !strings.HasSuffix(claims[0].Reason, " was read: too much") {
				t.Errorf("role %q, %s: %+v", role, id, claims)
			}
		}
	}
}
