package plugin

import (
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestPasswordInTheServersURL is one in a kubeconfig, which works with kubectl: it goes to
// the server, and nowhere else.
func TestPasswordInTheServersURL(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const user, password = "Bedienerin", "geheim123"
	var in, out atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			out.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		in.Add(1)
		plugintest.SettledAPI().With("/apis/config.openshift.io/v1/clusteroperators", plugintest.List(`{"metadata":{"name":"network"},"status":{"conditions":[{"type":"Available","status":"False","message":"no way through http://Bedienerin:geheim123@proxy:3128"}]}}`)).ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := plugintest.WriteFile(t, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	host := strings.TrimPrefix(server.URL, "https://")
	secret := "https://" + user + ":" + password + "@"
	config := plugintest.KubeconfigTo(t, fmt.Sprintf("server: %q, certificate-authority: %q", secret+host, ca))
	down := plugintest.KubeconfigTo(t, fmt.Sprintf("server: %q, certificate-authority: %q", secret+"127.0.0.1:1", ca))
	odd := plugintest.KubeconfigTo(t, fmt.Sprintf("server: %q, certificate-authority: %q", "https://"+user+":"+password+"/@127.0.0.1:1", ca))
	proxy := plugintest.KubeconfigTo(t, fmt.Sprintf("server: %q, certificate-authority: %q, proxy-url: %q", server.URL, ca, "ftp://"+user+":"+password+"@127.0.0.1:1"))
	escaped := plugintest.KubeconfigTo(t, fmt.Sprintf("server: %q, certificate-authority: %q, proxy-url: %q", server.URL, ca, "http://"+user+":"+password+" %zz@127.0.0.1:2"))
	file := filepath.Join(t.TempDir(), "s.certrot")
	clean := func(what, text string) {
		t.Helper()
		for _, s := range []string{user, password} {
			if i := strings.Index(text, s); i >= 0 {
				t.Errorf("%s: it has %q:\n…%s…", what, s, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
	for _, line := range []string{
		"inspect --nodes none", "inspect --nodes none -o json", "inspect --nodes none -o yaml", "verify --nodes none", "verify restart-safe --nodes none", "snapshot --nodes none -o " + file, "inspect --from " + file + " -o json",
		"rotate --list", "rotate loadbalancer-serving-signer --dry-run=client --nodes none", "fix-api-int --dry-run=client --ca-file " + ca, "fix-api-int status -o json", "fix-kubeconfig --ca-file " + ca + " --dry-run=client",
	} {
		for name, config := range map[string]string{"": config, "down: ": down, "odd: ": odd, "proxy: ": proxy, "escaped: ": escaped} {
			before := in.Load()
			stdout, stderr, err := typed(t, append(strings.Fields(line), "--kubeconfig", config)...)
			clean(name+line, stdout+stderr)
			var told strings.Builder
			if err != nil {
				cli.PrintError(genericiooptions.IOStreams{ErrOut: &told}, err)
			}
			clean(name+line, told.String())
			if live := !strings.Contains(line, "--from") && !strings.Contains(line, "fix-kubeconfig"); name == "" && live && in.Load() == before {
				t.Errorf("%s: did not get in: %v", line, err)
			}
		}
	}
	if out.Load() > 0 {
		t.Errorf("%d requests without the password", out.Load())
	}
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil || !strings.Contains(string(text), server.URL) {
		t.Fatalf("%v\n%.300s", err, text)
	}
	clean("the snapshot", string(text))
}

// TestPasswordInOldJournals: an older version kept it there.
func TestPasswordInOldJournals(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	js, err := apply.Journals()
	if err != nil {
		t.Fatal(err)
	}
	const run = "20260101-000000-aaaaaa"
	j, err := js.Begin(remediate.Header{Run: run, Command: "fix-api-int", Server: "https://user:secret@api.example.com:6443"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	out, _, err := typed(t, "runs", "-o", "json")
	if err != nil || strings.Contains(out, "secret") || !strings.Contains(out, `"server": "https://api.example.com:6443"`) {
		t.Errorf("%v\n%s", err, out)
	}
	// It is that of the same cluster as one of this version.
	if s, err := js.Read(run); err != nil || s.Server != "https://api.example.com:6443" {
		t.Errorf("%q, %v", s.Server, err)
	}
}

// TestPasswordInTheLineThatGoesOn: what is printed to be run again has none.
func TestPasswordInTheLineThatGoesOn(t *testing.T) {
	t.Parallel()
	root := NewCommand(cli.App{ProgramName: "oc certrot", Streams: genericiooptions.NewTestIOStreamsDiscard()})
	cmd, args, err := root.Find([]string{"fix-api-int", "--server", "https://user:secret@api.example.com:6443", "--token", "secret", "--api-ca-from", "ssh://core@master-0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if got, want := apply.CommandLine(cmd), "oc certrot fix-api-int --api-ca-from ssh://core@master-0 --server https://api.example.com:6443 --token SECRET"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPasswordsInFlags: the commands that are printed to go on repeat flags, and no password.
func TestPasswordsInFlags(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const demo = "../testdata/demo/okd-4.15-api-int.certrot"
	repeated := 0
	for _, line := range []string{
		"inspect", "inspect --details", "verify", "verify --details", "fix-api-int --dry-run=client", "fix-api-int --dry-run=client -o json", "fix-api-int status", "fix-api-int status -o json",
		"pretrust --dry-run=client", "rotate --list", "rotate loadbalancer-serving-signer --dry-run=client", "rotate loadbalancer-serving-signer --dry-run=client -o json", "rotate status loadbalancer-serving-signer",
	} {
		for _, flag := range []string{"--proxy-url=http://me:geheim123@127.0.0.1:1", "--server=https://me:geheim123@127.0.0.1:1", "--token=geheim123", "--password=geheim123"} {
			stdout, stderr, err := typed(t, append(strings.Fields(line), "--from", demo, flag)...)
			var told strings.Builder
			if err != nil {
				cli.PrintError(genericiooptions.IOStreams{ErrOut: &told}, err)
			}
			all := stdout + stderr + told.String()
			if strings.Contains(all, "geheim123") {
				t.Errorf("%s %s: the password is in\n%s", line, flag, all)
			}
			if name, _, _ := strings.Cut(flag, "="); strings.Contains(all, name+" ") {
				repeated++
			}
		}
	}
	if repeated < 4 {
		t.Errorf("flags were repeated %d times: this test proves nothing", repeated)
	}
}
