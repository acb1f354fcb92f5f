package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestStatusOfAFileThatLacksNodes: a file that names nodes that no one read does not say that
// all is done, unless who reads it asks for the others alone.
func TestStatusOfAFileThatLacksNodes(t *testing.T) {
	t.Parallel()
	const again = "take the snapshot again, with the nodes: kubectl certrot snapshot --nodes all -o FILE"
	unread := func(s *inspect.Snapshot, names ...string) {
		for i := range s.Nodes {
			for _, name := range names {
				if s.Nodes[i].Name == name {
					s.Nodes[i].Via = ""
				}
			}
		}
	}
	for title, c := range map[string]struct {
		line  string
		but   func(*inspect.Snapshot)
		code  int
		says  []string
		never string
	}{
		"all nodes are there": {"fix-api-int status", func(*inspect.Snapshot) {}, cli.ExitFine, []string{"Done: nothing is left to be repaired."}, "unknown"},
		"a worker was left out": {"fix-api-int status", func(s *inspect.Snapshot) {
			s.OtherNodes = []inspect.Node{{Name: "worker-7", Role: catalog.RoleWorker, Ready: "True"}}
		}, cli.ExitIncomplete, []string{"Wave workers: 1 done, 1 unknown", "unknown worker-7 (Ready, heartbeat unknown): node-read: the node was left out next " + again, "Next worker-7: " + again}, "Done"},
		"a control plane node was left out": {"fix-api-int status", func(s *inspect.Snapshot) {
			s.OtherNodes = []inspect.Node{{Name: "master-7", Role: catalog.RoleMaster}}
		}, cli.ExitIncomplete, []string{"Wave masters: 1 done, 1 unknown", "unknown master-7: node-read: the node was left out"}, "Done"},
		"the control plane's status lists more": {"fix-api-int status", func(s *inspect.Snapshot) {
			s.Status = plugintest.AtRest(*s)
			s.Status.ControlPlane.Nodes = append(s.Status.ControlPlane.Nodes, inspect.NodeState{Name: "master-8", Master: true, Ready: "True"}, inspect.NodeState{Name: "worker-8", Ready: "True"})
		}, cli.ExitIncomplete, []string{"unknown master-8 (Ready, heartbeat unknown): node-read: the node was left out", "unknown worker-8 (Ready, heartbeat unknown): node-read: the node was left out"}, "Done"},
		"as JSON": {"fix-api-int status -o json", func(s *inspect.Snapshot) {
			s.OtherNodes = []inspect.Node{{Name: "worker-7", Role: catalog.RoleWorker}}
		}, cli.ExitIncomplete, []string{`"name": "worker-7", "state": "unknown"`}, ""},
		"the others were asked for": {"fix-api-int status --nodes worker-0", func(s *inspect.Snapshot) {
			s.OtherNodes = []inspect.Node{{Name: "worker-7", Role: catalog.RoleWorker}}
		}, cli.ExitFine, []string{"Done: nothing is left to be repaired."}, "worker-7"},
		"some were not read": {"fix-api-int status", func(s *inspect.Snapshot) { unread(s, "worker-0", "master-0") }, cli.ExitIncomplete,
			[]string{"unknown master-0 (Ready): node-read: it was not read next " + again, "unknown worker-0 (Ready): node-read: it was not read next " + again}, "check the name"},
		"a dry run": {"fix-api-int --dry-run=client", func(s *inspect.Snapshot) {
			s.OtherNodes = []inspect.Node{{Name: "worker-7", Role: catalog.RoleWorker}}
		}, cli.ExitIncomplete, []string{"Unknown worker-7: node-read: the node was left out next " + again}, ""},
	} {
		f := remediatetest.NewCluster("master-0 worker-0")
		f.Right("master-0", "worker-0")
		c.but(&f.Snapshot)
		var file, out bytes.Buffer
		if err := collect.WriteSnapshot(&file, f.Snapshot); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "f.certrot")
		if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		code := Main(t.Context(), cli.VersionOf(""), append([]string{"kubectl-certrot"}, append(strings.Fields(c.line), "--details", "--from", path)...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		text := strings.Join(strings.Fields(out.String()), " ")
		if code != c.code {
			t.Errorf("%s: exit code %d: %s", title, code, text)
		}
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q: %s", title, want, text)
			}
		}
		if c.never != "" && strings.Contains(text, c.never) {
			t.Errorf("%s: %q: %s", title, c.never, text)
		}
	}
}
