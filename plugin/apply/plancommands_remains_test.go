package apply

import (
	"io"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestWhatRemainsIsNamedWithItsNode: and with the flag that has the plan repair it; what has no room is only named, and
// nothing is where the plan is printed in full.
func TestWhatRemainsIsNamedWithItsNode(t *testing.T) {
	t.Parallel()
	on := func(node string) pki.Location { return pki.Location{Kind: pki.KindFile, Node: node, Path: "/f"} }
	finding := func(id, reason string, at ...pki.Location) assess.Finding {
		return assess.Finding{Assessment: assess.Assessment{ID: id, Reason: reason, Remediation: assess.FixedCommand("certrot fix-api-int --x")}, At: at}
	}
	plan := &remediate.Plan{Unapproved: []string{"b"}, Left: []assess.Finding{
		finding("api-ca-delivered", "kubelets are not given the CA"),
		finding("node-file-current", "a: its files lack a CA", on("a")),
		finding("api-trusted", "a: its files do not verify api-int", on("a")),
		finding("kubelet-current", "b: kubelet has no client certificate", on("b")),
		finding("node-file-current", "both lack a CA", on("a"), on("b")),
	}}
	plan.Basis.Nodes = []inspect.Node{{Name: "a"}, {Name: "b"}}
	plan.Basis.Cluster.Versions.Cluster = "4.15.0"
	for name, c := range map[string]struct {
		full bool
		want string
	}{
		"in full":     {true, "b: kubelet has no client certificate (add --approve-csrs); api-ca-delivered: OpenShift 4.15 needs this after each CA rotation; node-file-current: a: its files lack a CA (not among --nodes);"},
		"on a screen": {false, "Remains b: no client certificate (add --approve-csrs); a: does not trust api-int (not among --nodes); kubelets do not trust api-int"},
	} {
		w := ui.NewPage(io.Discard)
		planSummary{run: &Execution{Command: "fix-api-int"}, plan: plan, full: c.full}.remains(w)
		if got := strings.Join(strings.Fields(w.String()), " "); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
