package trust

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestNext: how soon a kubelet connects anew, by version, topology, and its own
// client certificate.
func TestNext(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		given    func(w *world)
		verifies string
		from, to time.Time
	}{
		"4.15: only by its own doing": {func(*world) {}, "not by itself (goaway-chance 0)", from(20), from(26)},
		"4.20": {func(w *world) { w.s.Cluster.Versions.Cluster = "4.20.1"; w.s.Cluster.Topology = "HighlyAvailable" },
			"half of them within 2 h, 99 % within 13 h (goaway-chance 0.001, a request at least every 10s)", from(20), from(26)},
		"4.18, which had it late": {func(w *world) { w.s.Cluster.Versions.Cluster = "4.18.1"; w.s.Cluster.Topology = "HighlyAvailable" },
			"builds from before commit", from(20), from(26)},
		"4.20, single node": {func(w *world) { w.s.Cluster.Versions.Cluster = "4.20.1"; w.s.Cluster.Topology = "SingleReplica" },
			"goaway-chance 0", from(20), from(26)},
		"4.20, the topology was not read":         {func(w *world) { w.s.Cluster.Versions.Cluster = "4.20.1" }, "is not known", from(20), from(26)},
		"its client certificate is not renewed":   {func(w *world) { w.s.Nodes[0].Kubelet.RotateCertificates = &no }, "goaway-chance 0", time.Time{}, time.Time{}},
		"its client certificate was not read":     {func(w *world) { w.s.Bundles = w.s.Bundles[:len(w.s.Bundles)-1] }, "goaway-chance 0", time.Time{}, time.Time{}},
		"its client certificate is long past due": {func(w *world) { w.s.Taken = from(40) }, "goaway-chance 0", time.Time{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := story(t, -2, false)
			w.s.Taken = noon
			ca := pkitest.NewCA("kubelets'", from(-10), from(900))
			w.put(catalog.Ref{Kind: catalog.File, Name: inspect.KubeletClient}, ca.Issue("system:node:n1", from(-1), from(29)).CertPEM)
			c.given(w)
			got := entryOf(t, w, "kubelet-api-int").Next
			if !strings.Contains(got.Verifies, c.verifies) || !got.From.Equal(c.from) || !got.To.Equal(c.to) || got.Counts != catalog.ReadsAtStart {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// entryOf is what the report says of an edge in the one place where it is.
func entryOf(t *testing.T, w *world, id string) ReportClaim {
	t.Helper()
	w.s.Sort()
	slices.SortFunc(w.s.Nodes[0].Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	var out []ReportClaim
	for _, c := range NewReport(inspect.NewFacts(w.s, w.s.Taken, 30*day)).Claims {
		if c.ID == id {
			out = append(out, c)
		}
	}
	if len(out) != 1 {
		t.Fatalf("claims: %+v", out)
	}
	return out[0]
}

// TestNextOfEveryEdge: each says when its verifier looks again.
func TestNextOfEveryEdge(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	for _, e := range catalog.Edges() {
		w := newWorld(versions(e))
		w.s.Taken = noon
		w.stage(e, ca, ca.CertPEM)
		got := entryOf(t, w, e.ID).Next
		_, holds := catalog.ConnectionOf(e.ID)
		if got.Verifies == "" || got.Counts != e.Reads || strings.Contains(got.Verifies, "rollout of kube-apiserver") != holds {
			t.Errorf("%s: %+v", e.ID, got)
		}
	}
}

// TestWithin: 693 requests halve those who have not been asked, at a chance of 0.001.
func TestWithin(t *testing.T) {
	if got := within(0.001, 0.5, 10*time.Second); got != 6930*time.Second {
		t.Errorf("half of them within %s", got)
	}
}
