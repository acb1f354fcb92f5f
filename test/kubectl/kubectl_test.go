package kubectl_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/hintstest"
)

// ofOC are the commands that oc has and kubectl has not
// (openshift/oc pkg/cli/cli.go and pkg/cli/admin/admin.go).
func ofOC() []string {
	return []string{
		"adm certificate", "adm drain", "adm inspect", "adm must-gather", "adm node-logs", "adm ocp-certificates", "adm reboot-machine-config-pool",
		"adm release", "adm upgrade", "adm wait-for-stable-cluster", "debug", "extract", "login", "logout", "project", "rsh", "whoami",
	}
}

// TestHintsNameKubectlCommandsThatExist: oc has all of kubectl's commands, and some more.
func TestHintsNameKubectlCommandsThatExist(t *testing.T) {
	t.Parallel()
	commands, err := hintstest.Commands("../..")
	if err != nil {
		t.Fatal(err)
	}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	found := 0
	for _, c := range commands {
		if c.Program == "certrot" || slices.Contains([]string{"certrot", "krew"}, c.Words[0]) || // plugins
			c.Program == "oc" && slices.ContainsFunc(ofOC(), func(own string) bool {
				line := strings.Join(c.Words, " ") + " "
				return strings.HasPrefix(line, own+" ") || strings.Contains(line, " "+own+" ")
			}) {
			continue
		}
		found++
		if err := hintstest.Check(cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{IOStreams: streams}), c); err != nil {
			t.Errorf("%s\n\t%v", c, err)
		}
	}
	if found < 100 {
		t.Errorf("only %d commands were found", found)
	}
}
