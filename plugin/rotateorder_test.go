package plugin_test

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// TestTheSafeOrderIsCommands: each step that is printed has a line with nothing but a command that can
// be called.
func TestTheSafeOrderIsCommands(t *testing.T) {
	t.Parallel()
	_, out, errOut := certrot("rotate", "loadbalancer-serving-signer", "--from", "../testdata/demo/okd-4.15-api-int.certrot", "--dry-run=client")
	said := out + errOut
	var steps []string
	for _, found := range regexp.MustCompile(`(?m)^ +\([1-9]\) [^(]+(?:\([^)]+\)\s+)?^ +(?:kubectl )?certrot ([^:;()\n]+)$`).FindAllStringSubmatch(said, -1) {
		steps = append(steps, found[1])
	}
	if len(steps) != 5 {
		t.Fatalf("steps %q of %s", steps, said)
	}
	for _, step := range steps {
		root := plugin.NewCommand(cli.App{ProgramName: "certrot", Streams: genericiooptions.NewTestIOStreamsDiscard()})
		cmd, rest, err := root.Find(strings.Fields(step))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil || !cmd.Runnable() {
			t.Errorf("certrot %s: %v", step, err)
		}
	}
}
