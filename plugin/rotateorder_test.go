package plugin_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// trusting is the demo's cluster once its kubelets trust the signer of what api-int presents.
func trusting(t *testing.T) string {
	t.Helper()
	return edited(t, func(s *inspect.Snapshot) {
		from := slices.IndexFunc(s.Bundles, func(b inspect.Bundle) bool {
			return b.At.Name == "loadbalancer-serving-ca" && b.At.Namespace == "openshift-kube-apiserver-operator"
		})
		for i := range s.Bundles {
			if at := s.Bundles[i].At; at.Node != "" && at.Path == catalog.KubeletKubeconfigCA().Name && len(s.Bundles[i].Content.Certs) > 0 && s.Bundles[i].Content.Certs[0].IsCA {
				s.Bundles[i].Content = s.Bundles[from].Content
			}
		}
	})
}

// TestTheSafeOrderIsCommands: each step that is printed has a line with nothing but a command that can
// be called.
func TestTheSafeOrderIsCommands(t *testing.T) {
	t.Parallel()
	_, out, errOut := certrot("rotate", "loadbalancer-serving-signer", "--from", trusting(t), "--dry-run=client")
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
