package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestConnectionFlags: what says which cluster is meant is in a next command as it was typed, and nothing that is
// secret is.
func TestConnectionFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"--token", "sesame", "-n", "b", "--request-timeout", "3s"}, ""},
		{[]string{"--kubeconfig", "a/b", "--context", "prod eu", "--cluster", "c", "--user", "u"}, "--cluster c --context 'prod eu' --kubeconfig a/b --user u"},
		{[]string{"-s", "https://me:sesame@a:6443", "--tls-server-name", "b", "--insecure-skip-tls-verify"}, "--insecure-skip-tls-verify --server https://a:6443 --tls-server-name b"},
		{[]string{"--insecure-skip-tls-verify=false", "--certificate-authority", "c.crt", "--client-certificate", "$d", "--client-key", "e.key"},
			"--certificate-authority c.crt --client-certificate '$d' --client-key e.key --insecure-skip-tls-verify=false"},
		{[]string{"--as", "me", "--as-uid", "7", "--as-group", "a b", "--as-group", "c"}, "--as me --as-group 'a b' --as-group c --as-uid 7"},
		{[]string{"--context", "a\nnext: reboot"}, "--context CONTEXT"},
		{[]string{"--kubeconfig", "{}", "--context", "“a"}, "--context CONTEXT --kubeconfig KUBECONFIG"},
		{[]string{"--context", "a", "--from", "b"}, ""},
	} {
		connection := &Connection{}
		root := &cobra.Command{Use: "certrot"}
		config := &ConfigFlags{}
		config.AddFlags(root.PersistentFlags())
		connection.Typed = root.PersistentFlags()
		cmd := &cobra.Command{Use: "inspect", Run: func(cmd *cobra.Command, _ []string) { connection.Begin(cmd) }}
		cmd.Flags().StringArray("from", nil, "")
		root.AddCommand(cmd)
		root.SetArgs(append([]string{"inspect"}, c.args...))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		app := App{ProgramName: "certrot", Connection: connection}
		if got := strings.Join(connection.Flags(), " "); got != c.want || app.Hints().Next("{} x") != strings.Join(strings.Fields("certrot "+c.want+" x"), " ") {
			t.Errorf("%q: %q and %q, want %q", c.args, got, app.Hints().Next("{} x"), c.want)
		}
	}
	if got := (App{ProgramName: "certrot"}).Hints().Next("{} x"); got != "certrot x" {
		t.Errorf("no connection: %q", got)
	}
}
