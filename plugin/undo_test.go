package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/undo"
)

// TestUndoOnMasters plans to put back what a run changed: not while static pods are rolled
// out to a master, and each master's kube-apiserver is waited for before the next node.
func TestUndoOnMasters(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca, more := pkitest.NewCA("lb", from, to), pkitest.NewCA("another", from, to)
	server := liveServer(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	const run = "20261122-060000-0a0b0c"
	var master, worker liveNode
	for name, n := range map[string]*liveNode{"master-0": &master, "worker-0": &worker} {
		*n = newLiveNode(t, name)
		n.kubelet(t, ca.CertPEM, server, ca)
		n.edited(t, run, ca.CertPEM, pkitest.Bundle(ca.CertPEM, more.CertPEM))
	}
	const gate = "wait until its kube-apiserver answers"
	for _, c := range []struct {
		name  string
		api   liveAPI // nil: there is none
		nodes []liveNode
		risks []string
		code  int
		says  string
		gates int
	}{
		{"a master, and another node after it", settledAPI(), []liveNode{master, worker}, nil, exitFindings, gate, 1},
		{"a master alone", settledAPI(), []liveNode{master}, nil, exitFindings, "wait for a heartbeat", 0},
		{"while an installer pod runs there", settledAPI().with(installerPods, anInstaller()), []liveNode{master, worker}, nil, exitRefused, "static-pods-settled: pod openshift-kube-controller-manager/installer-8-master-0", 0},
		{"which was accepted", settledAPI().with(installerPods, anInstaller()), []liveNode{master, worker}, []string{preflight.StaticPodsSettled}, exitFindings, "Accepted by name: static-pods-settled", 1},
		{"a worker, while an installer pod runs on a master", settledAPI().with(installerPods, anInstaller()), []liveNode{worker}, nil, exitFindings, "wait for a heartbeat", 0},
		{"without an API", nil, []liveNode{master, worker}, nil, exitFindings, "whether nodes report again will not be seen", 0},
	} {
		var conn *connection
		if c.api != nil {
			conn = c.api.connect(t)
		}
		var out transcript
		w := onNodes(conn, &out, c.nodes...)
		f := &undoFlags{mendFlags: mendFlags{app: w.app, dryRun: dryRunClient}, fromNodes: true, risks: c.risks}
		err := f.undo(t.Context(), w, run, remediate.Story{})
		if err != nil {
			printError(w.app.Streams, err)
		}
		if said := out.String(); codeOf(err) != c.code || !strings.Contains(strings.Join(strings.Fields(said), " "), c.says) || strings.Count(said, gate) != c.gates {
			t.Errorf("%s: ends with %d, want %d and %q, %d times waiting for kube-apiserver:\n%s", c.name, codeOf(err), c.code, c.says, c.gates, said)
		}
	}
}

// edited has a run put another CA into the kubelet's kubeconfig.
func (n liveNode) edited(t *testing.T, run string, before, after []byte) {
	t.Helper()
	path := catalog.KubeletKubeconfigs()[1]
	text := []byte(n.read(t, path))
	was := []byte(base64.StdEncoding.EncodeToString(before))
	node, err := nodeexec.Local{Node: n.name, Root: n.root, Chroot: true}.Dial(t.Context(), n.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Close() }()
	_, err = host.Run{ID: run}.Replace(t.Context(), node, host.Edit{
		Path: path, Before: sha256.Sum256(text), Offset: int64(bytes.Index(text, was)), Length: int64(len(was)), Insert: []byte(base64.StdEncoding.EncodeToString(after)),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUndoLeavesAnotherRunsChangeAlone: the run was put back, and another one wrote the same
// bytes since.
func TestUndoLeavesAnotherRunsChangeAlone(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca, more := pkitest.NewCA("lb", from, to), pkitest.NewCA("another", from, to)
	server := liveServer(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	const first, second = "20261122-060000-0a0b0c", "20261122-070000-0a0b0c"
	n := newLiveNode(t, "worker-0", "flock")
	n.kubelet(t, ca.CertPEM, server, ca)
	path := catalog.KubeletKubeconfigs()[1]
	n.edited(t, first, ca.CertPEM, pkitest.Bundle(ca.CertPEM, more.CertPEM))
	node, err := nodeexec.Local{Node: n.name, Root: n.root, Chroot: true}.Dial(t.Context(), n.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Close() }()
	if _, err := (host.Run{ID: first}).Restore(t.Context(), node, path); err != nil {
		t.Fatal(err)
	}
	n.edited(t, second, ca.CertPEM, pkitest.Bundle(ca.CertPEM, more.CertPEM))
	text := n.read(t, path)

	records := []remediate.Record{{Event: remediate.Begun, Node: n.name, Path: path}, {Event: remediate.Done, Node: n.name, Path: path}}
	var out transcript
	w := onNodes(settledAPI().connect(t), &out, n)
	f := &undoFlags{mendFlags: mendFlags{app: w.app, dryRun: dryRunNone, yes: true}, risks: []string{undo.BreaksTrust}}
	if err = f.undo(t.Context(), w, first, remediate.Story{Header: remediate.Header{Run: first}, Records: records}); err != nil {
		printError(w.app.Streams, err)
	}
	said := strings.Join(strings.Fields(out.String()), " ")
	if codeOf(err) != exitFine || !strings.Contains(said, path+" on worker-0 is left alone") || !strings.Contains(said, second) || !strings.Contains(said, "Nothing to do") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if n.read(t, path) != text {
		t.Error("it changed what the other run wrote")
	}
}

// TestUndoOfAPatch does not say that nothing was changed.
func TestUndoOfAPatch(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	js, err := journals()
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
	var out transcript
	app := onNodes(nil, &out).app
	err = (&undoFlags{mendFlags: mendFlags{app: app, dryRun: dryRunNone}}).run(t.Context(), run)
	if err != nil {
		printError(app.Streams, err)
	}
	if said := out.String(); err == nil || !strings.Contains(said, "openshift-multus/kube-root-ca.crt, which is put back by hand") || !strings.Contains(said, js.Kept(run)) {
		t.Errorf("%v\n%s", err, said)
	}
}
