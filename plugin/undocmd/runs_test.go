package undocmd

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
)

// TestWhenARunBeganIsNotWhenItWasUndone: of a node's folders, the time of the ID counts;
// else the oldest file; else it is unknown.
func TestWhenARunBeganIsNotWhenItWasUndone(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca, more := pkitest.NewCA("lb", from, to), pkitest.NewCA("another", from, to)
	server := plugintest.LiveServer(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	const run, hand, empty = "20261121-060000-0a0b0c", "by-hand", "empty"
	n := plugintest.NewLiveNode(t, "worker-0")
	n.Kubelet(t, ca.CertPEM, server, ca)
	node, err := nodeexec.Local{Node: n.Name, Root: n.Root, Chroot: true}.Dial(t.Context(), n.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Close() }()
	for _, id := range []string{run, hand} {
		n.Edited(t, id, ca.CertPEM, pkitest.Bundle(ca.CertPEM, more.CertPEM))
		if _, err := (host.RunFolder{ID: id}).Restore(t.Context(), node, catalog.KubeletKubeconfigs()[1]); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-7 * time.Hour).Truncate(time.Second)
	kept, err := filepath.Glob(n.Root + host.DefaultFolder + "/" + hand + "/before-*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q, %v", kept, err)
	}
	if err := os.Chtimes(kept[0], old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(n.Root+host.DefaultFolder+"/"+empty, 0o700); err != nil {
		t.Fatal(err)
	}

	var out plugintest.Transcript
	w := applytest.OnNodes(nil, &out, n)
	runs, err := askNodes(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Time{run: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC), hand: old}
	for _, r := range runs {
		at, known := want[r.Run]
		if (r.Started != nil) != known || known && !r.Started.Equal(at) || r.Files != 0 {
			t.Errorf("%+v, started %v, want %v", r, r.Started, at)
		}
	}
	if err := (&runsOptions{Options: apply.Options{App: w.App}}).print(runs); err != nil || len(runs) != 3 || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "empty - unknown no file on worker-0 - -") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestRunsOfAllNodes: asking changes nothing, so that all of them may be named by one word.
func TestRunsOfAllNodes(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(plugintest.SettledAPI())
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: \"" + server.URL + "\"}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, nodes := range [][]string{{connect.AllNodes}, nil} {
		var out plugintest.Transcript
		flags := &cli.ConfigFlags{KubeConfig: file}
		f := &runsFlags{Flags: apply.Flags{App: applytest.OnNodes(nil, &out).App, Config: flags}, fromNodes: true}
		f.Nodes.Nodes, f.Nodes.Via, f.Nodes.Parallel, f.Nodes.Timeout, f.DryRun = nodes, "exec", 1, time.Minute, apply.DryRunNone
		o, err := f.toOptions(t.Context())
		if err == nil {
			_, err = o.onNodes(t.Context())
		}
		if err == nil {
			t.Fatal("nodes without a pod were asked")
		}
		// Each node was tried, and none of them can be reached.
		all := strings.Contains(err.Error(), "master-0") && strings.Contains(err.Error(), "worker-0")
		if all != (nodes != nil) || nodes == nil && !strings.Contains(err.Error(), "no node is named") {
			t.Errorf("--nodes %q: %v", nodes, err)
		}
	}
}

// TestNoHeadersIsForTheTable: as with kubectl, the other forms have no header to leave out.
func TestNoHeadersIsForTheTable(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	js, err := apply.Journals()
	if err != nil {
		t.Fatal(err)
	}
	j, err := js.Begin(remediate.Header{Run: "20261121-060000-0a0b0c", Command: "fix-api-int", Nodes: []string{"worker-0"}}, time.Now)
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	printed := func(args ...string) string {
		var out plugintest.Transcript
		cmd := NewRunsCommand(applytest.OnNodes(nil, &out).App, &cli.ConfigFlags{})
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("runs %q: %v", args, err)
		}
		return out.String()
	}
	if header, row, _ := strings.Cut(printed(), "\n"); !strings.HasPrefix(header, "RUN ") || !strings.HasPrefix(row, "20261121-060000-0a0b0c ") {
		t.Fatalf("the table is\n%s\n%s", header, row)
	}
	if row := printed("--no-headers"); !strings.HasPrefix(row, "20261121-060000-0a0b0c ") || strings.Count(row, "\n") != 1 {
		t.Errorf("the table without its header is\n%s", row)
	}
	for _, form := range []string{"json", "yaml", "name"} {
		if with, without := printed("-o", form), printed("-o", form, "--no-headers"); with != without {
			t.Errorf("-o %s: %q, with --no-headers %q", form, with, without)
		}
	}
}
