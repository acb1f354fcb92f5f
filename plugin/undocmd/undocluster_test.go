package undocmd

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestUndoOfAnotherClustersRun: ssh leads to its nodes, and the kubeconfig to another cluster, whose nodes have the same
// names. Its Lease and its heartbeats say nothing of them.
func TestUndoOfAnotherClustersRun(t *testing.T) {
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca, more := pkitest.NewCA("lb", from, to), pkitest.NewCA("another", from, to)
	server := plugintest.LiveServer(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	const run, id = "20261122-060000-0a0b0c", "bbbbbbbb-0000-0000-0000-000000000000"
	version := `{"metadata":{"name":"version"},"spec":{"clusterID":"` + id + `"},"status":{"desired":{"version":"4.15.1"},"history":[{"state":"Completed","version":"4.15.1"}]}}`
	api := plugintest.SettledAPI().With("/apis/config.openshift.io/v1/clusterversions", plugintest.List(version))
	for of, refused := range map[string]bool{"aaaaaaaa-0000-0000-0000-000000000000": true, id: false} {
		n := plugintest.NewLiveNode(t, "worker-0")
		n.Kubelet(t, ca.CertPEM, server, ca)
		n.Edited(t, run, ca.CertPEM, pkitest.Bundle(ca.CertPEM, more.CertPEM))
		record := remediate.RunRecord{Header: remediate.Header{Run: run, Command: "fix-api-int", Server: "https://api.a.example.com:6443", Cluster: of, Nodes: []string{"worker-0"}}}
		for _, e := range []remediate.Event{remediate.Begun, remediate.Done} {
			record.Records = append(record.Records, remediate.Record{Event: e, Action: "replace worker-0:/var/lib/kubelet/kubeconfig", Node: "worker-0", Path: "/var/lib/kubelet/kubeconfig"})
		}
		var out plugintest.Transcript
		w := applytest.OnNodes(applytest.Connect(api, t), &out, n)
		o := &undoOptions{Options: apply.Options{App: w.App, DryRun: true}, undoes: run}
		err := o.undo(t.Context(), w, record)
		var other *cli.RefusedError
		if is := errors.As(err, &other) || cli.CodeOf(err) == cli.ExitRefused; is != refused || refused && (!strings.Contains(err.Error(), of) || !strings.Contains(err.Error(), id) || strings.Contains(out.String(), "worker-0")) {
			t.Errorf("a run of %s: code %d, %v\n%s", of, cli.CodeOf(err), err, out.String())
		}
	}
}
