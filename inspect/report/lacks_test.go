package report

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestAWorkersFileIsNoControlPlaneNode: root on it may put one where a kube-apiserver has its own.
func TestAWorkersFileIsNoControlPlaneNode(t *testing.T) {
	t.Parallel()
	for _, fake := range []bool{false, true} {
		s := inspect.Snapshot{Taken: time.Now(), Nodes: []inspect.Node{{Name: "worker-0", Role: catalog.RoleWorker, Via: "ssh"}, {Name: "worker-1", Role: catalog.RoleWorker, Via: "ssh"}}}
		s.Cluster.Versions = catalog.Versions{Cluster: "4.15.0"}
		s.Hints = inspect.FileHints("certrot")
		if fake {
			s.Bundles = []inspect.Bundle{{At: pki.Location{Kind: pki.KindFile, Node: "worker-1", Path: "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/x.crt"}, Content: &pki.Content{}}}
		}
		f := inspect.NewFacts(s, time.Now(), time.Hour)
		v, r := NewVerification(t.Context(), f), NewRestartReport(t.Context(), f)
		if len(v.Gaps) != 1 || !r.lacks {
			t.Errorf("with a file: %t: verify's gaps %+v; restart-safe: %t", fake, v.Gaps, r.lacks)
		}
	}
}
