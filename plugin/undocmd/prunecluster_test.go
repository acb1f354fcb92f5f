package undocmd

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

const prunedRun = "20260901-120000-1a2b3c"

// aRunOf writes the journal of a run: with these records, or one that changed a file of this machine.
func aRunOf(t *testing.T, h remediate.Header, records ...remediate.Record) remediate.Journals {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	js, err := apply.Journals()
	if err != nil {
		t.Fatal(err)
	}
	h.Run, h.Command, h.Nodes, h.Started = prunedRun, "fix-api-int", []string{thisHost(t)}, time.Now().Add(-60*24*time.Hour)
	j, err := js.Begin(h, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const path = "/etc/kubernetes/kubeconfig"
	if len(records) == 0 {
		records = []remediate.Record{{Event: remediate.Begun, Node: h.Nodes[0], Path: path}, {Event: remediate.Done, Node: h.Nodes[0], Path: path}, {Event: remediate.Finished}}
	}
	for _, r := range records {
		if err := j.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return js
}

// prunedIn runs prune with the kubeconfig of a cluster that has a node of this machine's name, on which
// nothing is kept.
func prunedIn(t *testing.T, api plugintest.LiveAPI, id string, runs ...string) (said string, err error) {
	t.Helper()
	dir, version := t.TempDir(), `{"metadata":{"name":"version"},"spec":{"clusterID":"`+id+`"}}`
	way := filepath.Join(dir, "way")
	if err := os.WriteFile(way, []byte("#!/bin/sh\nshift 2\nexec sh -c \"$*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	api = api.With("/apis/config.openshift.io/v1/clusterversions", plugintest.List(version)).
		With("/api/v1/nodes", plugintest.List(fmt.Sprintf(`{"metadata":{"name":%q},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"conditions":[{"type":"Ready","status":"True"}]}}`, thisHost(t))))
	server := httptest.NewServer(api)
	defer server.Close()
	config := &cli.ConfigFlags{KubeConfig: plugintest.KubeconfigTo(t, "server: \""+server.URL+"\"")}
	var out bytes.Buffer
	f := &pruneFlags{Flags: apply.Flags{App: cli.App{ProgramName: "oc certrot", Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out}}, Config: config, DryRun: apply.DryRunNone, Yes: true}, risks: []string{"unauthenticated-api"}}
	if len(runs) == 0 {
		f.olderThan = "30d"
	}
	f.Nodes = connect.NodeFlags{Via: nodeexec.ViaCommand, Command: connect.CommandFlags{Line: way + " {node} --"}, Parallel: 1, Timeout: time.Minute}
	o, err := f.toOptions(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	if err = o.run(t.Context()); err != nil {
		cli.PrintError(o.App.Streams, err)
	}
	return strings.Join(strings.Fields(out.String()), " "), err
}

// TestPruneKeepsTheJournalOfAnotherClustersRun: nodes of many clusters have the same names, and this machine
// has the journals of all.
func TestPruneKeepsTheJournalOfAnotherClustersRun(t *testing.T) {
	const server = "https://api.cluster-a.example.com:6443"
	for name, c := range map[string]struct {
		of    remediate.Header
		id    string // of the cluster that is reached
		runs  []string
		code  int
		says  []string
		stays bool
	}{
		"another ID, by age":  {remediate.Header{Server: server, Cluster: "aaaa"}, "bbbb", nil, cli.ExitFine, []string{"left alone: it is of another cluster: of " + server + ", ID aaaa, and http://127.0.0.1:", "ID bbbb (context ", "nothing to remove"}, true},
		"another ID, by name": {remediate.Header{Server: server, Cluster: "aaaa"}, "bbbb", []string{prunedRun}, cli.ExitRefused, []string{"refused, nothing was changed: run " + prunedRun + ": it is of another cluster", "next: name the kubeconfig"}, true},
		"no ID, a server that may be this one": {remediate.Header{Server: server}, "", nil, cli.ExitStopped,
			[]string{"nothing of it is kept on " + thisHost(t) + ", and whether that is of its cluster is unknown", "its journal stays", "move " + prunedRun + ".jsonl out of"}, true},
		"no API server when it ran": {remediate.Header{}, "bbbb", nil, cli.ExitStopped, []string{"it is of -, and http://127.0.0.1:", "its journal stays"}, true},
		"the same ID":               {remediate.Header{Server: server, Cluster: "bbbb"}, "bbbb", nil, cli.ExitFine, []string{"run " + prunedRun + ": removed; nothing of it was kept on " + thisHost(t)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			js := aRunOf(t, c.of)
			said, err := prunedIn(t, plugintest.SettledAPI(), c.id, c.runs...)
			if cli.CodeOf(err) != c.code {
				t.Errorf("exit code %d, want %d", cli.CodeOf(err), c.code)
			}
			for _, want := range c.says {
				if !strings.Contains(said, want) {
					t.Errorf("does not say %q:\n%s", want, said)
				}
			}
			if _, err := js.Read(prunedRun); (err == nil) != c.stays {
				t.Errorf("its journal: %v", err)
			}
		})
	}
}
