package plugin

import (
	"slices"
	"testing"
)

// TestPruneReadsAllNodes: unless it is said otherwise, and "none" is that.
func TestPruneReadsAllNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want []string }{
		{nil, []string{allNodes}},
		{[]string{noNodes}, []string{noNodes}},
		{[]string{"worker-0"}, []string{"worker-0"}},
	} {
		f := &rotateFlags{dryRun: dryRunNone}
		f.seen.nodes.nodes, f.seen.nodes.via = c.said, viaAuto
		if err := f.checkPrune(); err != nil || !slices.Equal(f.seen.nodes.nodes, c.want) {
			t.Errorf("--nodes %v reads %v, want %v: %v", c.said, f.seen.nodes.nodes, c.want, err)
		}
	}
}
