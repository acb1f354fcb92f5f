package report

import (
	"fmt"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestFindingsShareTheirPlaces: thousands of certificates of one value are findings about each of its places.
func TestFindingsShareTheirPlaces(t *testing.T) {
	found := assess.Finding{Assessment: assess.Assessment{ID: "certificate-expired"}}
	for i := range 1000 {
		found.At = append(found.At, pki.Location{Kind: "ConfigMap", Namespace: "team", Name: fmt.Sprintf("c%d", i), Key: "ca.crt"})
	}
	for name, c := range map[string]struct {
		filter Filter
		most   float64
	}{
		"all places":   {Filter{}, 20},
		"those chosen": {Filter{Place: func(pki.Location, *inspect.Object) bool { return true }}, 50},
	} {
		n := testing.AllocsPerRun(10, func() {
			if e, ok := findingEntry(found, c.filter, nil, nil); !ok || len(e.Locations) != len(found.At) {
				t.Errorf("%d places", len(e.Locations))
			}
		})
		if n > c.most {
			t.Errorf("%s: %.0f allocations", name, n)
		}
	}
}

// TestNodesWithoutControlPlane are not each looked for in all places.
//
// Not in parallel: it measures.
func TestNodesWithoutControlPlane(t *testing.T) {
	inspecttest.Grows(t, 1000, func(size int) func() {
		s := inspect.Snapshot{Hints: inspect.FileHints("certrot")}
		s.Cluster.Versions.Cluster = "4.16.0"
		for i := range size {
			n := fmt.Sprintf("n%05d", i)
			s.Nodes = append(s.Nodes, inspect.Node{Name: n, Via: "ssh"})
			s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: n, Path: inspect.KubeletClient}, Content: &pki.Content{}})
		}
		return func() {
			if !s.LacksControlPlane() {
				t.Error("there is one")
			}
		}
	})
}
