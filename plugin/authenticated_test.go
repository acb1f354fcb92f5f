package plugin

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// typed runs the program.
func typed(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := NewCommand(cli.App{ProgramName: "oc certrot", Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs}})
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// TestUnauthenticatedAPIWritesNothing: whoever sits between publishes a CA of his own, and
// nodes would be made to trust it.
func TestUnauthenticatedAPIWritesNothing(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	js, err := apply.Journals()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"20260101-000000-aaaaaa", "20260101-000000-bbbbbb"} {
		record := remediate.Record{Event: remediate.Begun, Node: "worker-0", Path: "/etc/kubernetes/kubeconfig"}
		if strings.HasSuffix(run, "b") {
			record = remediate.Record{Event: remediate.Begun, Action: "pause MachineHealthCheck/a/b"}
		}
		j, err := js.Begin(remediate.Header{Run: run, Command: "fix-api-int", Nodes: []string{"worker-0"}}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.Add(record), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	ways := map[string]func(t *testing.T) (args []string, says string, asked *atomic.Int32){
		"insecure-skip-tls-verify in the kubeconfig": func(t *testing.T) ([]string, string, *atomic.Int32) {
			url, _, asked := plugintest.Stranger(t, true)
			return []string{"--kubeconfig", plugintest.KubeconfigTo(t, "server: \""+url+"\", insecure-skip-tls-verify: true")}, "insecure-skip-tls-verify in the kubeconfig", asked
		},
		"the flag": func(t *testing.T) ([]string, string, *atomic.Int32) {
			url, _, asked := plugintest.Stranger(t, true)
			return []string{"--insecure-skip-tls-verify", "--kubeconfig", plugintest.KubeconfigTo(t, "server: \""+url+"\"")}, "--insecure-skip-tls-verify", asked
		},
		"http, as of kubectl proxy": func(t *testing.T) ([]string, string, *atomic.Int32) {
			url, _, asked := plugintest.Stranger(t, false)
			return []string{"--kubeconfig", plugintest.KubeconfigTo(t, "server: \""+url+"\"")}, "without TLS", asked
		},
		"http, by --server": func(t *testing.T) ([]string, string, *atomic.Int32) {
			url, _, asked := plugintest.Stranger(t, false)
			return []string{"--server", url, "--kubeconfig", plugintest.KubeconfigTo(t, "server: https://127.0.0.1:1")}, "without TLS", asked
		},
	}
	for way, of := range ways {
		for _, line := range []string{
			"fix-api-int --yes", "fix-api-int --dry-run=client -o diff", "fix-api-int --approve-csrs --nodes worker-0 --yes", "fix-api-int --emit-script FOLDER --nodes worker-0",
			"pretrust --yes", "rotate loadbalancer-serving-signer --yes", "rotate loadbalancer-serving-signer --dry-run=server", "rotate prune loadbalancer-serving-signer --yes",
			"undo 20260101-000000-aaaaaa --yes", "undo 20260101-000000-bbbbbb --yes", "undo 20260101-000000-aaaaaa --from-nodes --nodes worker-0 --yes",
			"runs prune 20260101-000000-aaaaaa --yes",
		} {
			t.Run(way+": "+line, func(t *testing.T) {
				folder := filepath.Join(t.TempDir(), "scripts")
				args, says, asked := of(t)
				out, _, err := typed(t, append(strings.Fields(strings.ReplaceAll(line, "FOLDER", folder)), args...)...)
				if cli.CodeOf(err) != cli.ExitRefused || !strings.Contains(fmt.Sprint(err), "unauthenticated-api: the API server is not authenticated") || !strings.Contains(fmt.Sprint(err), says) {
					t.Fatalf("exit code %d: %v\n%s", cli.CodeOf(err), err, out)
				}
				var h *cli.HintError
				if !errors.As(err, &h) || !strings.Contains(h.Hint, "--accept-risk=unauthenticated-api") {
					t.Errorf("no next step: %v", err)
				}
				if n := asked.Load(); n > 0 {
					t.Errorf("it was asked %d times", n)
				}
				if _, err := os.Stat(folder); err == nil {
					t.Error("scripts were written")
				}
				if _, err := js.Read("20260101-000000-aaaaaa"); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestUnauthenticatedAPIAccepted: by its name, or since the CA is given, each goes on.
func TestUnauthenticatedAPIAccepted(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, line := range []string{"fix-api-int --dry-run=client --accept-risk=unauthenticated-api", "pretrust --dry-run=client --accept-risk=unauthenticated-api", "rotate loadbalancer-serving-signer --dry-run=client --nodes none --accept-risk=unauthenticated-api",
		"rotate prune loadbalancer-serving-signer --dry-run=client --nodes none --accept-risk=unauthenticated-api", "fix-api-int --dry-run=client --ca-file CA --accept-risk=unauthenticated-api"} {
		url, _, asked := plugintest.Stranger(t, false)
		ca := plugintest.WriteFile(t, "ca.crt", string(pkitest.NewCA("given", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).CertPEM))
		args := append(strings.Fields(strings.ReplaceAll(line, "CA", ca)), "--kubeconfig", plugintest.KubeconfigTo(t, "server: \""+url+"\""))
		if _, _, err := typed(t, args...); asked.Load() == 0 || strings.Contains(fmt.Sprint(err), "is not authenticated") {
			t.Errorf("%s: asked %d times: %v", line, asked.Load(), err)
		}
	}
}

// TestGivenCADoesNotAuthenticateWithoutTLS: there is no certificate that the CA could verify, so
// the nodes, their addresses and the requests for certificates may be an attacker's.
func TestGivenCADoesNotAuthenticateWithoutTLS(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ca := plugintest.WriteFile(t, "ca.crt", string(pkitest.NewCA("given", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).CertPEM))
	for _, line := range []string{"fix-api-int --yes", "fix-api-int --dry-run=client -o diff", "fix-api-int --approve-csrs --nodes worker-0 --yes", "fix-api-int --emit-script FOLDER --nodes worker-0"} {
		for _, by := range []string{"kubeconfig", "--server"} {
			t.Run(line+" by "+by, func(t *testing.T) {
				folder := filepath.Join(t.TempDir(), "scripts")
				url, _, asked := plugintest.Stranger(t, false)
				args := append(strings.Fields(strings.ReplaceAll(line, "FOLDER", folder)), "--ca-file", ca)
				if by == "--server" {
					args = append(args, "--server", url, "--kubeconfig", plugintest.KubeconfigTo(t, "server: https://127.0.0.1:1"))
				} else {
					args = append(args, "--kubeconfig", plugintest.KubeconfigTo(t, "server: \""+url+"\""))
				}
				out, _, err := typed(t, args...)
				var h *cli.HintError
				if cli.CodeOf(err) != cli.ExitRefused || !strings.Contains(fmt.Sprint(err), "a CA file verifies nothing without TLS") || !errors.As(err, &h) || !strings.Contains(h.Hint, "--accept-risk=unauthenticated-api") {
					t.Errorf("exit code %d: %v\n%s", cli.CodeOf(err), err, out)
				}
				if n := asked.Load(); n > 0 {
					t.Errorf("it was asked %d times", n)
				}
				if _, err := os.Stat(folder); err == nil {
					t.Error("scripts were written")
				}
			})
		}
	}
}

// TestUnauthenticatedAPIIsSaid by what only reads: above the answer, in JSON, and in the
// snapshot, which then leads to no script either.
func TestUnauthenticatedAPIIsSaid(t *testing.T) {
	t.Parallel()
	url, _, _ := plugintest.Stranger(t, true)
	config := plugintest.KubeconfigTo(t, "server: \""+url+"\", insecure-skip-tls-verify: true")
	const says = "insecure-skip-tls-verify in the kubeconfig"
	for _, line := range []string{"inspect --nodes none", "verify --nodes none", "rotate --list"} {
		out, _, err := typed(t, append(strings.Fields(line), "--kubeconfig", config)...)
		if strings.Count(out, "API SERVER NOT AUTHENTICATED: "+says) != 1 {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		out, _, err = typed(t, append(strings.Fields(line), "-o", "json", "--kubeconfig", config)...)
		var d struct {
			Cluster struct{ Unauthenticated string }
		}
		if json.Unmarshal([]byte(out), &d) != nil || d.Cluster.Unauthenticated != says {
			t.Errorf("%s -o json: %v\n%s", line, err, out)
		}
	}
	file := filepath.Join(t.TempDir(), "s.certrot")
	if _, told, _ := typed(t, "snapshot", "--nodes", "none", "-o", file, "--kubeconfig", config); !strings.Contains(told, "API SERVER NOT AUTHENTICATED: "+says) {
		t.Error(told)
	}
	if out, _, err := typed(t, "inspect", "--from", file, "-o", "json"); !strings.Contains(out, `"unauthenticated": "`+says) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUnauthenticatedSnapshotEmitsNothing: the CA in it may be an attacker's.
func TestUnauthenticatedSnapshotEmitsNothing(t *testing.T) {
	t.Parallel()
	s, err := collect.File{Path: "../testdata/demo/okd-4.15-api-int.certrot", Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	trusted := s
	s.Cluster.Unauthenticated = "the way it was"
	write := func(s inspect.Snapshot) string {
		var text bytes.Buffer
		if err := collect.WriteSnapshot(&text, s); err != nil {
			t.Fatal(err)
		}
		return plugintest.WriteFile(t, "s.certrot", text.String())
	}
	more := plugintest.WriteFile(t, "more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {a: b}\n")
	folder := filepath.Join(t.TempDir(), "scripts")
	for _, args := range [][]string{
		{"fix-api-int", "--from", write(s), "--emit-script", folder}, {"fix-api-int", "--from", write(s), "--dry-run=client", "-o", "diff"}, {"pretrust", "--from", write(s), "--dry-run=client"},
		{"fix-api-int", "--from", more, "--from", write(s), "--emit-script", folder}, {"fix-api-int", "--from", write(s), "--from", more, "--emit-script", folder},
		{"fix-api-int", "--from", write(s), "--from", write(trusted), "--emit-script", folder}, {"fix-api-int", "--from", write(trusted), "--from", write(s), "--emit-script", folder},
	} {
		if out, _, err := typed(t, args...); cli.CodeOf(err) != cli.ExitRefused || !strings.Contains(fmt.Sprint(err), "the way it was") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	for _, args := range [][]string{{"--from", write(trusted)}, {"--from", write(s), "--accept-risk=unauthenticated-api"}} {
		if _, _, err := typed(t, append([]string{"fix-api-int", "--dry-run=client"}, args...)...); cli.CodeOf(err) != cli.ExitFindings {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("scripts were written")
	}
}

// TestSnapshotOverHTTPEmitsNothing: one of an older certrot, or one written by hand, does not
// say how it was read. Its server's URL does. A CA that is given authenticates nothing then.
func TestSnapshotOverHTTPEmitsNothing(t *testing.T) {
	t.Parallel()
	s, err := collect.File{Path: "../testdata/demo/okd-4.15-api-int.certrot", Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	write := func(server string) string {
		s.Cluster.Server, s.Cluster.Unauthenticated = server, ""
		var text bytes.Buffer
		if err := collect.WriteSnapshot(&text, s); err != nil {
			t.Fatal(err)
		}
		return plugintest.WriteFile(t, "s.certrot", text.String())
	}
	ca := plugintest.WriteFile(t, "ca.crt", bundleOf(s))
	folder := filepath.Join(t.TempDir(), "scripts")
	secure := write("https://api.okd.example.com:6443")
	for _, server := range []string{"http://api.okd.example.com:6443", "HTTP://api.okd.example.com", " http://10.0.0.1", "http://core:secret@10.0.0.1:8080"} {
		plain := write(server)
		for _, args := range [][]string{
			{"--emit-script", folder}, {"--dry-run=client"}, {"--emit-script", folder, "--ca-file", ca}, {"--dry-run=client", "--ca-file", ca},
			{"--from", secure, "--emit-script", folder}, {"--from", secure, "--emit-script", folder, "--ca-file", ca},
		} {
			out, _, err := typed(t, append([]string{"fix-api-int", "--nodes", "worker-2", "--from", plain}, args...)...)
			if text := fmt.Sprint(err); cli.CodeOf(err) != cli.ExitRefused || !strings.Contains(text, "unauthenticated-api: the API server is not authenticated (its URL is") || strings.Contains(text, "secret") {
				t.Errorf("%s %q: %v\n%s", server, args, err, out)
			}
		}
		if out, _, _ := typed(t, "inspect", "--from", plain); !strings.Contains(out, "API SERVER NOT AUTHENTICATED") {
			t.Errorf("%s: inspect does not say so:\n%s", server, out)
		}
		if _, _, err := typed(t, "fix-api-int", "--nodes", "worker-2", "--from", plain, "--dry-run=client", "--accept-risk=unauthenticated-api"); cli.CodeOf(err) != cli.ExitFindings {
			t.Errorf("%s, accepted: %v", server, err)
		}
	}
	if _, _, err := typed(t, "fix-api-int", "--nodes", "worker-2", "--from", secure, "--dry-run=client"); cli.CodeOf(err) != cli.ExitFindings {
		t.Errorf("https: %v", err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("scripts were written")
	}
}

// bundleOf is the CA bundle that kubelets are to trust, as a snapshot has it.
func bundleOf(s inspect.Snapshot) string {
	var text strings.Builder
	for _, b := range s.Bundles {
		if at := catalog.APIServerCA(); b.At.Namespace == at.Namespace && b.At.Name == at.Name {
			for _, c := range b.Content.Certs {
				_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: c.DER})
			}
		}
	}
	return text.String()
}
