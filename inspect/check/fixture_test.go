package check

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
)

// findings runs one check.
func findings(f *inspecttest.Fixture, t *testing.T, id string) []assess.Finding {
	t.Helper()
	f.Snapshot.Sort()
	for i := range f.Snapshot.Nodes {
		slices.SortFunc(f.Snapshot.Nodes[i].Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	}
	facts := inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day)
	var out []assess.Finding
	for _, found := range Judge(context.Background(), facts) {
		if found.ID == id {
			out = append(out, found)
		}
	}
	return out
}
