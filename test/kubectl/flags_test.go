package kubectl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// configFlags are what kubectl's and the program's flags have in common.
type configFlags interface {
	AddFlags(flags *pflag.FlagSet)
	ToRawKubeConfigLoader() clientcmd.ClientConfig
	ToRESTConfig() (*rest.Config, error)
}

func kubectls() configFlags { return genericclioptions.NewConfigFlags(true) }
func programs() configFlags { return &cli.ConfigFlags{} }

// TestConfigFlagsAreKubectls: names, shorthands, types, texts and defaults.
func TestConfigFlagsAreKubectls(t *testing.T) {
	for _, cache := range []string{"", "/a/cache"} {
		t.Setenv("KUBECACHEDIR", cache)
		describe := func(f configFlags) (out []string) {
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			f.AddFlags(flags)
			flags.VisitAll(func(f *pflag.Flag) {
				out = append(out, strings.Join([]string{f.Name, f.Shorthand, f.Value.Type(), f.DefValue, f.Value.String(), f.NoOptDefVal, f.Usage, f.Deprecated}, "|"))
			})
			return out
		}
		if got, want := describe(programs()), describe(kubectls()); !slices.Equal(got, want) || len(want) < 20 {
			t.Errorf("flags:\n%s\nkubectl's:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

const twoClusters = `apiVersion: v1
kind: Config
clusters:
- {name: a, cluster: {server: "https://a:6443", tls-server-name: in-a, certificate-authority-data: QQ==}}
- {name: b, cluster: {server: "https://b:6443", insecure-skip-tls-verify: true, proxy-url: "http://proxy:3128"}}
users:
- {name: token, user: {token: sesame}}
- {name: file, user: {tokenFile: /a/token}}
- {name: exec, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: log-in, interactiveMode: Never}}}
contexts:
- {name: a, context: {cluster: a, user: token, namespace: in-a}}
- {name: b, context: {cluster: b, user: file}}
- {name: c, context: {cluster: c, user: file}}
current-context: a
`

// TestConfigFlagsMeanWhatKubectlsMean: each flag, in files that are whole, empty and missing.
func TestConfigFlagsMeanWhatKubectlsMean(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"whole": twoClusters, "empty": "", "nothing": "apiVersion: v1\nkind: Config\n", "broken": "a: [",
		"stale": "apiVersion: v1\nkind: Config\ncurrent-context: gone\n",
		"bare":  "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", dir)
	lines := []string{
		"", "--context b", "--context c", "--context d", "--cluster b", "--user exec", "--user file", "--user nobody", "-n other", "-n ns/other",
		"-s https://c:6443", "--server c", "--tls-server-name d", "--insecure-skip-tls-verify", "--insecure-skip-tls-verify=false --context b", "--certificate-authority /a/ca.crt",
		"--certificate-authority /a/ca.crt --insecure-skip-tls-verify", "--client-certificate /a/c.crt --client-key /a/c.key", "--client-certificate /a/c.crt",
		"--token open", "--user file --token open", "--as me", "--as me --as-uid 7 --as-group a --as-group b,c", "--as-group a",
		"--as me --as-user-extra k=v --as-user-extra k=w --as-user-extra x=a=b --as-user-extra none", "--request-timeout 3s", "--request-timeout 7", "--request-timeout often",
		"--disable-compression", "--proxy-url http://other:3128", "--cache-dir /a",
	}
	for _, file := range []string{"whole", "empty", "nothing", "broken", "stale", "bare", "missing"} {
		for _, line := range lines {
			for _, byFlag := range []bool{true, false} {
				args := strings.Fields(line)
				path := filepath.Join(dir, file)
				t.Setenv("KUBECONFIG", "")
				if byFlag {
					args = append(args, "--kubeconfig", path)
				} else {
					t.Setenv("KUBECONFIG", path)
				}
				if got, want := made(t, programs(), args), made(t, kubectls(), args); got != want {
					t.Errorf("%q of a file that is %s:\n%s\nkubectl's:\n%s", args, file, got, want)
				}
			}
		}
	}
}

// made is all that comes of flags.
func made(t *testing.T, f configFlags, args []string) string {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	config, err := f.ToRESTConfig()
	text := fmt.Sprintf("%+v, %v\n", config, err)
	if config != nil {
		text += fmt.Sprintf("%+v %+v %+v %q %q %v", config.Impersonate, config.TLSClientConfig.CAData, config.ExecProvider, config.BearerToken, config.BearerTokenFile, config.Proxy != nil)
	}
	namespace, given, err := f.ToRawKubeConfigLoader().Namespace()
	raw, rawErr := f.ToRawKubeConfigLoader().RawConfig()
	return text + fmt.Sprintf("\n%s %v %v\n%s %d %v %q", namespace, given, err, raw.CurrentContext, len(raw.Clusters), rawErr, f.ToRawKubeConfigLoader().ConfigAccess().GetLoadingPrecedence())
}
