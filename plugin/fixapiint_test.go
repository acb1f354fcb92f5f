package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// TestWhatNoScriptDoes is refused beside --emit-script, and not left out in silence.
func TestWhatNoScriptDoes(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--only masters", "--max-unavailable 2", "--approve-csrs", "--dry-run=client", "--restart-network=always", "--probe-network", "--patch-kube-root-ca --accept-risk=owned-object", "--pause-remediation", "-o json"} {
		folder := filepath.Join(t.TempDir(), "scripts")
		var out bytes.Buffer
		code := Main(t.Context(), "test", append([]string{"kubectl-certrot", "fix-api-int", "--from", "../testdata/demo/okd-4.15-api-int.certrot", "--emit-script", folder}, strings.Fields(args)...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		if _, err := os.Stat(folder); code != cli.ExitUsage || !os.IsNotExist(err) || !strings.Contains(out.String(), strings.FieldsFunc(args, func(r rune) bool { return r == ' ' || r == '=' })[0]) {
			t.Errorf("%s: ends with %d: %s", args, code, out.String())
		}
	}
}

// TestLineThatGoesOn has the flags that were given, and neither secrets nor consent
// that was not.
func TestLineThatGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want string }{
		{"fix-api-int", "oc certrot fix-api-int"},
		{"fix-api-int --via ssh --only masters,workers --max-unavailable 10%", "oc certrot fix-api-int --max-unavailable 10% --only masters,workers --via ssh"},
		{"fix-api-int --nodes a,b --ssh-key k1 --ssh-key k2 --accept-risk masters-first", "oc certrot fix-api-int --accept-risk masters-first --nodes a,b --ssh-key k1 --ssh-key k2"},
		{"fix-api-int -y --token sesame", "oc certrot fix-api-int --token SECRET --yes"},
		{"fix-api-int --yes=false --local", "oc certrot fix-api-int --local --yes=false"},
	} {
		root := NewCommand(cli.App{ProgramName: "oc certrot", Streams: genericiooptions.NewTestIOStreamsDiscard()})
		got := ""
		cmd, _, err := root.Find([]string{"fix-api-int"})
		if err != nil {
			t.Fatal(err)
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { got = apply.CommandLine(cmd); return nil }
		root.SetArgs(strings.Fields(c.given))
		if err := root.ExecuteContext(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.given, got, err, c.want)
		}
	}
}
