package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// TestAnExecPluginsArgumentsAreNotSaid: who types them into its command has client-go quote them.
func TestAnExecPluginsArgumentsAreNotSaid(t *testing.T) {
	t.Parallel()
	for command, says := range map[string]string{
		"tool --password=geheim777":       "kubeconfig: the command of the user's exec plugin is no program that is found here",
		"./bin/tool --password=geheim777": "kubeconfig: the command of the user's exec plugin is no program that is found here",
		"TOKEN=geheim777":                 "kubeconfig: the command of the user's exec plugin is no program that is found here",
		"no-such-program-here":            "exec: executable no-such-program-here not found",
	} {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, []byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: "`+command+`"}}}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := &cli.ConfigFlags{KubeConfig: file}
		_, err := Connect(t.Context(), cli.App{}, flags, pki.NewScanner(), ToRead)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", command, err)
		}
	}
}
