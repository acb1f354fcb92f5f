package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// TestScriptsForUnreadNodesAreChecked: a script is mostly for a node that a snapshot does not
// reach. What the snapshot says of the cluster is checked for it all the same.
func TestScriptsForUnreadNodesAreChecked(t *testing.T) {
	t.Parallel()
	upgrade := func(s *inspect.Snapshot) { s.Status.ControlPlane.Update.Progressing = "True" }
	unread := func(s *inspect.Snapshot) {
		for i := range s.Nodes {
			if n := s.Nodes[i]; n.Name == "worker-1" {
				s.Nodes[i] = inspect.Node{Name: n.Name, Role: n.Role, Ready: n.Ready}
			}
		}
		s.Gaps = append(s.Gaps, inspect.Gap{What: "node/worker-1", Reason: "ssh: no route"})
	}
	for _, c := range []struct {
		title  string
		node   string
		change []func(*inspect.Snapshot)
		code   int
		says   string
	}{
		{"read, and an upgrade", "worker-1", []func(*inspect.Snapshot){upgrade}, cli.ExitRefused, "upgrade-running"},
		{"unread, and an upgrade", "worker-1", []func(*inspect.Snapshot){upgrade, unread}, cli.ExitRefused, "upgrade-running"},
		{"unread, of an unreviewed version", "worker-1", []func(*inspect.Snapshot){unread, func(s *inspect.Snapshot) { s.Cluster.Versions.Cluster = "4.99.0" }}, cli.ExitRefused, "unreviewed-version"},
		{"unread, of an unreviewed version, without a status", "worker-1", []func(*inspect.Snapshot){unread, func(s *inspect.Snapshot) { s.Cluster.Versions.Cluster, s.Status = "4.99.0", nil }}, cli.ExitRefused, "unreviewed-version"},
		{"unread, without a status", "worker-1", []func(*inspect.Snapshot){unread, func(s *inspect.Snapshot) { s.Status = nil }}, cli.ExitFine, "Not checked: the state of the cluster."},
	} {
		s, err := collect.File{Path: "../testdata/demo/okd-4.15-api-int.certrot", Scanner: pki.NewScanner()}.Read()
		if err != nil {
			t.Fatal(err)
		}
		s.Status = plugintest.AtRest(s)
		for _, change := range c.change {
			change(&s)
		}
		dir := t.TempDir()
		var packed, out bytes.Buffer
		if err := collect.WriteSnapshot(&packed, s); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "status.certrot")
		if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		code := Main(t.Context(), cli.VersionOf(""), []string{"kubectl-certrot", "fix-api-int", "--emit-script", dir + "/scripts", "--nodes", c.node, "--from", file}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		scripts, err := filepath.Glob(dir + "/scripts/*")
		if err != nil || code != c.code || !strings.Contains(out.String(), c.says) || len(scripts) > 0 != (c.code == cli.ExitFine) {
			t.Errorf("%s: exit code %d, want %d, and %q: %d scripts (%v)\n%s", c.title, code, c.code, c.says, len(scripts), err, out.String())
		}
		for _, name := range scripts {
			if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), c.says) {
				t.Errorf("%s: the script does not say %q (%v)", c.title, c.says, err)
			}
		}
	}
}
