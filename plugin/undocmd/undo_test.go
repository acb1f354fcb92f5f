package undocmd

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestUndoOnMasters plans to put back what a run changed: not while static pods are rolled
// out to a master, and each master's kube-apiserver is waited for before the next node.
func TestUndoOnMasters(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca, more := pkitest.NewCA("lb", from, to), pkitest.NewCA("another", from, to)
	server := plugintest.LiveServer(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	const run = "20261122-060000-0a0b0c"
	var master, worker plugintest.LiveNode
	for name, n := range map[string]*plugintest.LiveNode{"master-0": &master, "worker-0": &worker} {
		*n = plugintest.NewLiveNode(t, name)
		n.Kubelet(t, ca.CertPEM, server, ca)
		n.Edited(t, run, ca.CertPEM, pkitest.Bundle(ca.CertPEM, more.CertPEM))
	}
	const gate = "wait until its kube-apiserver answers"
	for _, c := range []struct {
		name  string
		api   plugintest.LiveAPI // nil: there is none
		nodes []plugintest.LiveNode
		risks []string
		code  int
		says  string
		gates int
	}{
		{"a master, and another node after it", plugintest.SettledAPI(), []plugintest.LiveNode{master, worker}, nil, cli.ExitFindings, gate, 1},
		{"a master alone", plugintest.SettledAPI(), []plugintest.LiveNode{master}, nil, cli.ExitFindings, "wait for a heartbeat", 0},
		{"while an installer pod runs there", plugintest.SettledAPI().With(plugintest.InstallerPods, plugintest.AnInstaller()), []plugintest.LiveNode{master, worker}, nil, cli.ExitRefused, "static-pods-settled: pod openshift-kube-controller-manager/installer-8-master-0", 0},
		{"which was accepted", plugintest.SettledAPI().With(plugintest.InstallerPods, plugintest.AnInstaller()), []plugintest.LiveNode{master, worker}, []string{preflight.StaticPodsSettled}, cli.ExitFindings, "Accepted by name: static-pods-settled", 1},
		{"a worker, while an installer pod runs on a master", plugintest.SettledAPI().With(plugintest.InstallerPods, plugintest.AnInstaller()), []plugintest.LiveNode{worker}, nil, cli.ExitFindings, "wait for a heartbeat", 0},
		{"without an API", nil, []plugintest.LiveNode{master, worker}, nil, cli.ExitFindings, "whether nodes report again will not be seen", 0},
	} {
		var conn *connect.Connection
		if c.api != nil {
			conn = applytest.Connect(c.api, t)
		}
		var out plugintest.Transcript
		w := applytest.OnNodes(conn, &out, c.nodes...)
		o := &undoOptions{Options: apply.Options{App: w.App, DryRun: true}, undoes: run, fromNodes: true, risks: c.risks}
		err := o.undo(t.Context(), w, remediate.RunRecord{})
		if err != nil {
			cli.PrintError(w.App.Streams, err)
		}
		if said := out.String(); cli.CodeOf(err) != c.code || !strings.Contains(strings.Join(strings.Fields(said), " "), c.says) || strings.Count(said, gate) != c.gates {
			t.Errorf("%s: ends with %d, want %d and %q, %d times waiting for kube-apiserver:\n%s", c.name, cli.CodeOf(err), c.code, c.says, c.gates, said)
		}
	}
}

// TestUndoLeavesAnotherRunsChangeAlone: the run was put back, and another one wrote the same
// bytes since.
func TestUndoLeavesAnotherRunsChangeAlone(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca, more := pkitest.NewCA("lb", from, to), pkitest.NewCA("another", from, to)
	server := plugintest.LiveServer(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	const first, second = "20261122-060000-0a0b0c", "20261122-070000-0a0b0c"
	n := plugintest.NewLiveNode(t, "worker-0", "flock")
	n.Kubelet(t, ca.CertPEM, server, ca)
	path := catalog.KubeletKubeconfigs()[1]
	n.Edited(t, first, ca.CertPEM, pkitest.Bundle(ca.CertPEM, more.CertPEM))
	node, err := nodeexec.Local{Node: n.Name, Root: n.Root, Chroot: true}.Dial(t.Context(), n.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Close() }()
	if _, err := (host.RunFolder{ID: first}).Restore(t.Context(), node, path); err != nil {
		t.Fatal(err)
	}
	n.Edited(t, second, ca.CertPEM, pkitest.Bundle(ca.CertPEM, more.CertPEM))
	text := n.Read(t, path)

	records := []remediate.Record{{Event: remediate.Begun, Node: n.Name, Path: path}, {Event: remediate.Done, Node: n.Name, Path: path}}
	var out plugintest.Transcript
	w := applytest.OnNodes(applytest.Connect(plugintest.SettledAPI(), t), &out, n)
	o := &undoOptions{Options: apply.Options{App: w.App, Yes: true}, undoes: first, risks: []string{remediate.BreaksTrust}}
	if err = o.undo(t.Context(), w, remediate.RunRecord{Header: remediate.Header{Run: first}, Records: records}); err != nil {
		cli.PrintError(w.App.Streams, err)
	}
	said := strings.Join(strings.Fields(out.String()), " ")
	if cli.CodeOf(err) != cli.ExitFine || !strings.Contains(said, path+" on worker-0 is left alone") || !strings.Contains(said, second) || !strings.Contains(said, "No changes: already up to date on worker-0.") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if n.Read(t, path) != text {
		t.Error("it changed what the other run wrote")
	}
}

// TestUndoOfAPatch does not say that nothing was changed.
func TestUndoOfAPatch(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	js, err := apply.Journals()
	if err != nil {
		t.Fatal(err)
	}
	const run = "20261122-060000-0a0b0c"
	j, err := js.Begin(remediate.Header{Run: run, Command: "fix-api-int"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Add(remediate.Record{Event: remediate.Begun, Action: "patch openshift-multus/kube-root-ca.crt"}), j.Close()); err != nil {
		t.Fatal(err)
	}
	var out plugintest.Transcript
	app := applytest.OnNodes(nil, &out).App
	err = (&undoOptions{Options: apply.Options{App: app}, undoes: run}).run(t.Context())
	if err != nil {
		cli.PrintError(app.Streams, err)
	}
	if said := out.String(); err == nil || !strings.Contains(said, "openshift-multus/kube-root-ca.crt, which is put back by hand") || !strings.Contains(said, js.ObjectBackup(run)) {
		t.Errorf("%v\n%s", err, said)
	}
}
