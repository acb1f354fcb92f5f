package undocmd

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient/kubeclienttest"
)

// TestAnUndoLeavesAWorkerOut that can't be reached, that keeps nothing of the run any more, or to which another
// certificate is presented. It is named, with the line that takes it again. A control plane node stops all.
func TestAnUndoLeavesAWorkerOut(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca, other := pkitest.NewCA("lb", from, to), pkitest.NewCA("another", from, to)
	answers := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	server := plugintest.LiveServer(t, ca, answers)
	const run = "20261122-060000-0a0b0c"
	node := func(name, server string, edited bool) plugintest.LiveNode {
		n := plugintest.NewLiveNode(t, name)
		n.Kubelet(t, ca.CertPEM, server, ca)
		if edited {
			n.Edited(t, run, ca.CertPEM, pkitest.Bundle(ca.CertPEM, other.CertPEM))
		}
		return n
	}
	worker := node("worker-0", server, true)
	const line = "certrot undo " + run + " --via ssh --nodes worker-1"
	for name, c := range map[string]struct {
		bad  func(name string) plugintest.LiveNode
		says []string
		gone bool // as it was for one node alone, a failure, no refusal
	}{
		"it can't be reached": {func(name string) plugintest.LiveNode { return plugintest.LiveNode{Name: name} }, []string{"worker-1: node-read", line}, true},
		"it keeps nothing":    {func(name string) plugintest.LiveNode { return node(name, server, false) }, []string{"worker-1: backup-read", line}, true},
		"another certificate": {func(name string) plugintest.LiveNode {
			return node(name, plugintest.LiveServer(t, other, answers), true)
		}, []string{"worker-1: breaks-trust: afterwards", line + " --accept-risk=breaks-trust"}, false},
	} {
		for _, bad := range []string{"worker-1", "master-1"} {
			conn := applytest.Connect(plugintest.SettledAPI(), t)
			conn.Kube = kubeclienttest.Of(fake.NewClientset())
			var out plugintest.Transcript
			w := applytest.OnNodes(conn, &out, worker, c.bad(bad))
			o := &undoOptions{Options: apply.Options{App: w.App, DryRun: true}, undoes: run, fromNodes: true, line: "certrot undo " + run + " --via ssh"}
			err := o.undo(t.Context(), w, remediate.RunRecord{})
			if err != nil {
				cli.PrintError(w.App.Streams, err)
			}
			said := strings.Join(strings.Fields(out.String()), " ")
			if bad == "master-1" {
				if code := cli.CodeOf(err); code == cli.ExitFindings || c.gone != (code != cli.ExitRefused) || strings.Contains(said, "put back /") {
					t.Errorf("%s: a control plane node: %v\n%s", name, err, said)
				}
				continue
			}
			if cli.CodeOf(err) != cli.ExitFindings || !strings.Contains(said, "wait for a heartbeat") {
				t.Errorf("%s: %v\n%s", name, err, out.String())
			}
			for _, want := range c.says {
				if !strings.Contains(said, want) {
					t.Errorf("%s: does not say %q:\n%s", name, want, out.String())
				}
			}
		}
	}
}
