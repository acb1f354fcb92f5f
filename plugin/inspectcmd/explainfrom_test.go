package inspectcmd

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
)

// TestFlagsAreCutFromNoPath: what a file is called stays as it was typed, also where it looks like a flag.
func TestFlagsAreCutFromNoPath(t *testing.T) {
	t.Parallel()
	e := explainer{program: "certrot", reading: connect.Reading{App: cli.App{ProgramName: "certrot"}, From: []string{"a --via ssh and --nodes all.certrot"}}}
	const from = "--from 'a --via ssh and --nodes all.certrot'"
	for command, want := range map[string]string{
		"verify nodes --nodes all --via ssh":                   "verify nodes " + from,
		"fix-api-int --nodes n1 --via ssh --dry-run " + from:   "fix-api-int --nodes n1 --dry-run " + from,
		"inspect --nodes all " + from + " --via exec -o wide":  "inspect " + from + " -o wide",
		"fix-api-int --nodes n1 " + from + " --dry-run=client": "fix-api-int --nodes n1 " + from + " --dry-run=client",
	} {
		if got, ok := e.fileCommand(command); !ok || got != want {
			t.Errorf("%q: %q, %t; want %q", command, got, ok, want)
		}
	}
}
