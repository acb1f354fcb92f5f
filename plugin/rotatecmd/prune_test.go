package rotatecmd

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
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

// TestNotesOfAPrune: what a removal refuses to tenants is read before it is consented to.
func TestNotesOfAPrune(t *testing.T) {
	t.Parallel()
	p := planned(t, "4.16.1", "aggregator-client-signer", nil)
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	old := pki.LoadedPEM(pki.NewScanner(), pkitest.NewCA("old", begin, begin.AddDate(1, 0, 0)).CertPEM)[0]
	pruning := rotate.Pruning{Reading: p.Reading, Of: p.Of, CAs: []rotate.OldCA{{Cert: old}}, Notes: remediate.PlainNotes("new in what only tenants write: shop/copy")}
	o := &rotateOptions{}
	for name, print := range map[string]func(io.Writer, rotate.Pruning) error{"one screen": o.pruneScreen, "in full": o.pruneInFull} {
		var out bytes.Buffer
		if err := print(&out, pruning); err != nil || !strings.Contains(out.String(), "new in what only tenants write: shop/copy\n") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}
