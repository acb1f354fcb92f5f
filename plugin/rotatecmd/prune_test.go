package rotatecmd

import (
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
)

// TestPruneReadsAllNodes: unless it is said otherwise, and "none" is that.
func TestPruneReadsAllNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want []string }{
		{nil, []string{connect.AllNodes}},
		{[]string{connect.NoNodes}, []string{connect.NoNodes}},
		{[]string{"worker-0"}, []string{"worker-0"}},
	} {
		f := &pruneFlags{dryRun: apply.DryRunNone}
		f.nodes.Nodes, f.nodes.Via = c.said, connect.ViaAuto
		got := f.pruneNodes().Nodes
		if err := f.check(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("--nodes %v reads %v, want %v: %v", c.said, got, c.want, err)
		}
	}
}
