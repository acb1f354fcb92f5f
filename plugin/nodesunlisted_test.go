package plugin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestFilesOfSomeNodes: objects of a cluster and files of some of its nodes do not say that all is
// well: other nodes that a file lists are unknown, and where none lists them, there may be others.
func TestFilesOfSomeNodes(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewCluster("master-0 worker-0")
	f.Right("master-0", "worker-0")
	objects, nodes := f.Snapshot, f.Snapshot
	objects.Nodes, nodes.Cluster.Server = nil, ""
	onNode := func(b inspect.Bundle) bool { return b.At.Node != "" }
	objects.Bundles = slices.DeleteFunc(slices.Clone(f.Bundles), onNode)
	nodes.Bundles = slices.DeleteFunc(slices.Clone(f.Bundles), func(b inspect.Bundle) bool { return !onNode(b) })
	if len(objects.Bundles) == 0 || len(nodes.Bundles) == 0 {
		t.Fatal("both files must hold something")
	}
	dir := t.TempDir()
	saved := func(name string, s inspect.Snapshot) string {
		var file bytes.Buffer
		if err := collect.WriteSnapshot(&file, s); err != nil {
			t.Fatal(err)
		}
		return written(t, filepath.Join(dir, name), file.String())
	}
	node := func(name, role string) string {
		return "apiVersion: v1\nkind: Node\nmetadata:\n  name: " + name + "\n  labels: {node-role.kubernetes.io/" + role + ": ''}\n"
	}
	both := node("master-0", "master") + "---\n" + node("worker-0", "worker")
	cluster, files := saved("objects", objects), saved("nodes", nodes)
	gathered := filepath.Join(dir, "must-gather")
	for name, text := range map[string]string{"master-0": node("master-0", "master"), "worker-0": node("worker-0", "worker"), "worker-7": node("worker-7", "worker")} {
		written(t, filepath.Join(gathered, "image", "cluster-scoped-resources", "core", "nodes", name+".yaml"), text)
	}
	written(t, filepath.Join(gathered, "image", "timestamp"), f.Taken.UTC().String()+"\n")
	const unlisted = "which other nodes the cluster has is unknown: no file lists them"
	for title, c := range map[string]struct {
		from           []string
		verify, status string // in their output
		never          string
		code           int // of the status
	}{
		"nobody lists them":         {[]string{cluster, files}, unlisted, "unknown other nodes: node-read: " + unlisted, "worker-7", cli.ExitIncomplete},
		"these are all":             {[]string{cluster, files, written(t, filepath.Join(dir, "both.yaml"), both)}, "", "Done: nothing is left", unlisted, cli.ExitFine},
		"a list has another":        {[]string{cluster, files, written(t, filepath.Join(dir, "more.yaml"), both+"---\n"+node("worker-7", "worker"))}, "worker-7", "worker-7 (NotReady): node-read: the node was left out", unlisted, cli.ExitIncomplete},
		"a must-gather has another": {[]string{cluster, files, gathered}, "worker-7", "worker-7 (NotReady): node-read: the node was left out", unlisted, cli.ExitIncomplete},
		"files of nodes alone":      {[]string{files}, "", "", unlisted, cli.ExitRefused},
	} {
		run := func(line ...string) (string, int) {
			var out bytes.Buffer
			for _, from := range c.from {
				line = append(line, "--from", from)
			}
			code := Main(t.Context(), cli.VersionOf(""), append([]string{"kubectl-certrot"}, line...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
			return strings.Join(strings.Fields(out.String()), " "), code
		}
		if text, _ := run("verify", "--details"); !strings.Contains(text, c.verify) || strings.Contains(text, c.never) {
			t.Errorf("%s: verify: want %q and never %q:\n%s", title, c.verify, c.never, text)
		}
		if text, code := run("fix-api-int", "status", "--details"); code != c.code || !strings.Contains(text, c.status) || strings.Contains(text, c.never) {
			t.Errorf("%s: status: exit code %d, want %d with %q and never %q:\n%s", title, code, c.code, c.status, c.never, text)
		}
	}
}

func written(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNodesThatMayNotBeListed: who names nodes, and may not list them, is told that there may be others.
func TestNodesThatMayNotBeListed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(r.URL.Path, "/api/v1/nodes") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"nodes is forbidden","code":403}`))
			return
		}
		if r.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"major":"1","minor":"30","gitVersion":"v1.30.0"}`))
			return
		}
		_, _ = w.Write([]byte(`{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}`))
	}))
	t.Cleanup(server.Close)
	_, gaps := gapsOf(t, "--server", server.URL, "--nodes", "worker-0", "--via", "command", "--node-command", "false {node}")
	for _, g := range gaps {
		if g.What == "nodes" && strings.HasPrefix(g.Reason, "list nodes: ") {
			return
		}
	}
	t.Errorf("it is not said that nodes could not be listed: %+v", gaps)
}

func gapsOf(t *testing.T, args ...string) (code int, gaps []inspect.Gap) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(t.Context(), cli.VersionOf(""), append([]string{"kubectl-certrot", "inspect", "-o", "json"}, args...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs})
	var d struct {
		Gaps []inspect.Gap `json:"gaps"`
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v: %s%s", err, out.Bytes(), errs.Bytes())
	}
	return code, d.Gaps
}
