package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestALongPathCostsNoMoreThanItsLength: a node's root chooses it, and a file may name one of megabytes. Each part of it
// was looked up with all that is before, which took minutes.
func TestALongPathCostsNoMoreThanItsLength(t *testing.T) {
	t.Parallel()
	const folder = "/var/lib/kubelet/pki/"
	long := folder + strings.Repeat("-", 8<<20)
	old, used := folder+"kubelet-client-2026-01-31-12-00-00.pem", folder+"kubelet-client-2026-02-28-12-00-00.pem"
	s := inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Via: "ssh", Files: []inspect.NodeFile{{Path: folder + "kubelet-client-current.pem", Link: used, Target: used}}}}}
	for _, path := range []string{long, old, used} {
		s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Node: "worker-0", Kind: pki.KindFile, Path: path}, Content: &pki.Content{}})
	}
	superseded := map[string]bool{}
	f := inspect.NewFacts(s, time.Now(), 0)
	for _, e := range f.Entries {
		superseded[e.At.Path] = e.Superseded
	}
	if superseded[long] || !superseded[old] || superseded[used] || len(superseded) != 3 {
		t.Errorf("superseded: the long one %v, the old one %v, the one in use %v", superseded[long], superseded[old], superseded[used])
	}
}
