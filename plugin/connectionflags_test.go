package plugin

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// onTerminal runs the program as Main does, and tells what is on both streams.
func onTerminal(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	Main(t.Context(), "v1.0.0", append([]string{"kubectl-certrot"}, args...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs})
	return out.String(), errs.String()
}

// twoClusters is a kubeconfig whose context "prod eu" is a cluster with a node that answers no ssh, and whose current
// context is another cluster.
func twoClusters(t *testing.T) string {
	t.Helper()
	_, kubeconfig := clusterOf(t, `{"metadata":{"name":"worker-0","labels":{"node-role.kubernetes.io/worker":""}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer("contexts: [{name: a,", "contexts: [{name: other, context: {cluster: other}}, {name: prod eu,",
		"clusters: [", "clusters: [{name: other, cluster: {server: 'https://127.0.0.1:1'}}, ", "current-context: a", "current-context: other")
	return plugintest.WriteFile(t, "two clusters", other.Replace(string(text)))
}

// TestCommandsNameTheCluster: a printed command is about the cluster that this one was about, and not about that of
// the current context. Each line names it once for each of its commands.
func TestCommandsNameTheCluster(t *testing.T) {
	t.Setenv("COLUMNS", "400")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	kubeconfig := twoClusters(t)
	context, file := "--context 'prod eu'", "--kubeconfig '"+kubeconfig+"'"
	clients := "Add to kubectl and oc: " + context + " " + file + "\n"
	inventory := plugintest.WriteFile(t, "inventory", "worker-0 127.0.0.1 root 1\n")
	ca := plugintest.WriteFile(t, "ca.crt", string(pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)).CertPEM))
	const program, signer = "kubectl certrot ", "loadbalancer-serving-signer"
	for name, c := range map[string]struct {
		args []string
		out  bool // commands of kubectl are on standard output
		errs bool // the error stream says what they need
	}{
		"inspect":           {args: []string{"inspect"}},
		"inspect a kind":    {args: []string{"inspect", "certs"}},
		"verify":            {args: []string{"verify", "--nodes", "all", "--via", "ssh", "--ssh-inventory", inventory, "--details"}},
		"rotate --list":     {args: []string{"rotate", "--list"}},
		"rotate":            {args: []string{"rotate", signer, "--dry-run=client"}, errs: true},
		"rotate as JSON":    {args: []string{"rotate", signer, "--dry-run=client", "-o", "json"}, errs: true},
		"rotate as YAML":    {args: []string{"rotate", signer, "--dry-run=client", "-o", "yaml"}, errs: true},
		"rotate, no NAME":   {args: []string{"rotate"}},
		"rotate status":     {args: []string{"rotate", "status"}},
		"fix-api-int":       {args: []string{"fix-api-int", "--dry-run=client", "--via", "ssh", "--ssh-inventory", inventory, "--ca-file", ca, "--restart-network=never"}},
		"fix-api-int NODE":  {args: []string{"fix-api-int", "worker-0"}},
		"fix-api-int, JSON": {args: []string{"fix-api-int", "--dry-run=client", "--via", "ssh", "--ssh-inventory", inventory, "--ca-file", ca, "--restart-network=never", "-o", "json"}},
		"undo":              {args: []string{"undo", "20260101-000000-aaaaaa"}},
		"undo, no RUN":      {args: []string{"undo"}},
		"runs":              {args: []string{"runs"}},
		"explain":           {args: []string{"explain", "api-trusted"}},
		"explain, kubectl":  {args: []string{"explain", "csr-answered"}, out: true},
		"explain, no NAME":  {args: []string{"explain", "no-such"}},
		"snapshot, no FILE": {args: []string{"snapshot"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs := onTerminal(t, append(c.args, "--context", "prod eu", "--kubeconfig", kubeconfig)...)
			if !strings.Contains(out+errs, program) && !c.out {
				t.Errorf("no command, so nothing is tested")
			}
			for line := range strings.Lines(out + errs) {
				n := strings.Count(line, program) - strings.Count(line, program+"inspect --local") - strings.Count(line, "--help") - strings.Count(line, "error: ") // the first is typed on a node
				if n > 0 && (strings.Count(line, context) != n || strings.Count(line, file) != n) {
					t.Errorf("line %q", line)
				}
			}
			if strings.HasSuffix(out, clients) != c.out || strings.HasSuffix(errs, clients) != c.errs || strings.Count(out+errs, clients) > 1 {
				t.Errorf("what kubectl and oc need")
			}
			if t.Failed() {
				t.Logf("stdout:\n%s\nstderr:\n%s", out, errs)
			}
		})
	}
	folder := t.TempDir()
	if _, errs := onTerminal(t, "snapshot", "-o", folder+"/a.certrot", "--nodes", "all", "--via", "ssh", "--ssh-inventory", inventory, "--allow-unknown", "--context", "prod eu", "--kubeconfig", kubeconfig); !strings.Contains(errs, "a.certrot") {
		t.Errorf("snapshot: %s", errs)
	}
	packed, err := os.Open(folder + "/a.certrot")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacked); err != nil || strings.Contains(string(text), "--context") || !strings.Contains(string(text), "prod eu") {
		t.Errorf("%v: the file has the flags of the user who took it:\n%s", err, text)
	}
	if out, errs := onTerminal(t, "verify", "--details", "--from", folder+"/a.certrot", "--context", "prod eu", "--kubeconfig", kubeconfig); strings.Contains(out+errs, "--context") {
		t.Errorf("of a file:\n%s%s", out, errs)
	}
	if out, errs := onTerminal(t, "completion", "bash", "--context", "prod eu"); strings.Contains(out+errs, "prod eu") || out == "" {
		t.Errorf("completion:\n%s%s", out, errs)
	}
}
