package plugin

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// ownServer is an API server, as far as its version goes, with a certificate of this CA.
// TestFixKubeconfigWithoutAKubeconfig says what other commands say.
func TestFixKubeconfigWithoutAKubeconfig(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	for _, path := range []string{empty, filepath.Join(t.TempDir(), "absent")} {
		t.Setenv("KUBECONFIG", path)
		var errOut bytes.Buffer
		code := Main(t.Context(), cli.VersionOf(""), []string{"kubectl-certrot", "fix-kubeconfig"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &bytes.Buffer{}, ErrOut: &errOut})
		if code != cli.ExitUsage || !strings.HasPrefix(errOut.String(), "error: kubeconfig: there is none, or it is empty\n  next: name one with --kubeconfig") {
			t.Errorf("exit code %d: %s", code, errOut.String())
		}
	}
}

func ownServer(t *testing.T, ca *pkitest.Authority, code int) string {
	t.Helper()
	pair := ca.Issue("api", time.Now().Add(-time.Hour), time.Now().Add(time.Hour), pkitest.DNS("localhost"))
	cert, err := tls.X509KeyPair(pkitest.Bundle(pair.CertPEM), pair.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret-token-of-mine" {
			code = http.StatusTeapot
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintln(w, `{"gitVersion":"v1.28.3"}`)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return "https://localhost:" + server.URL[strings.LastIndexByte(server.URL, ':')+1:]
}

const ownKubeconfig = `# mine
apiVersion: v1
kind: Config
clusters:
- name: c
  cluster:
    server: SERVER # by the balancer
    certificate-authority-data: CA
contexts:
- name: mine
  context: {cluster: c, user: me}
current-context: mine
users:
- name: me
  user:
    token: secret-token-of-mine
`

func TestFixKubeconfig(t *testing.T) {
	begin, end := time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour)
	before, after, other := pkitest.NewCA("lb", begin, end), pkitest.NewCA("lb@1", begin, end), pkitest.NewCA("lb", begin, end)
	text := func(server string, ca ...[]byte) string {
		return strings.NewReplacer("SERVER", server, "CA", base64.StdEncoding.EncodeToString(pkitest.Bundle(ca...))).Replace(ownKubeconfig)
	}
	for name, c := range map[string]struct {
		ca     []byte // --ca-file
		args   string
		has    [][]byte // the CAs that the file trusts before
		status int      // of the server
		code   int
		want   [][]byte // the CAs that it trusts then; nil: the file is as it was
		says   string
	}{
		"mended":              {after.CertPEM, "--yes", [][]byte{before.CertPEM}, 200, cli.ExitFine, [][]byte{after.CertPEM, before.CertPEM}, "the API server answers"},
		"a dry run":           {after.CertPEM, "--dry-run=client", [][]byte{before.CertPEM}, 200, cli.ExitFindings, nil, "+ CN=lb@1"},
		"nobody says yes":     {after.CertPEM, "", [][]byte{before.CertPEM}, 200, cli.ExitRefused, nil, "no terminal to ask for confirmation"},
		"so already":          {after.CertPEM, "--yes", [][]byte{before.CertPEM, after.CertPEM}, 200, cli.ExitFine, nil, "No changes"},
		"the wrong CA":        {other.CertPEM, "--yes", [][]byte{before.CertPEM}, 200, cli.ExitRefused, nil, "does not verify the certificate that the server presents"},
		"a key":               {pkitest.Bundle(after.CertPEM, after.KeyPEM), "--yes", [][]byte{before.CertPEM}, 200, cli.ExitRefused, nil, "a private key is in it"},
		"not logged in":       {after.CertPEM, "--yes", [][]byte{before.CertPEM}, 401, cli.ExitUsage, [][]byte{after.CertPEM, before.CertPEM}, "it does not take your credentials"},
		"no CA from anywhere": {nil, "--yes", [][]byte{before.CertPEM}, 200, cli.ExitUsage, nil, "presented 1: CN=api"},
		"two sources":         {after.CertPEM, "--api-ca-from ssh://m", [][]byte{before.CertPEM}, 200, cli.ExitUsage, nil, "give one"},
		"no ssh address":      {nil, "--api-ca-from master-0", [][]byte{before.CertPEM}, 200, cli.ExitUsage, nil, "is not of the form ssh://"},
		"a password":          {nil, "--api-ca-from ssh://core:x@m", [][]byte{before.CertPEM}, 200, cli.ExitUsage, nil, "passwords are not taken"},
		"no such context":     {after.CertPEM, "--context y", [][]byte{before.CertPEM}, 200, cli.ExitUsage, nil, "there is no context"},
		"another server":      {after.CertPEM, "--server https://localhost:1", [][]byte{before.CertPEM}, 200, cli.ExitUsage, nil, "leave them out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "")
			dir := t.TempDir()
			path := filepath.Join(dir, "config")
			was := text(ownServer(t, after, c.status), c.has...)
			if err := os.WriteFile(path, []byte(was), 0o640); err != nil { //nolint:gosec // what it was is what is to be kept
				t.Fatal(err)
			}
			args := append([]string{"kubectl-certrot", "fix-kubeconfig", "--kubeconfig", path}, strings.Fields(c.args)...)
			if c.ca != nil {
				if err := os.WriteFile(dir+"/ca.crt", c.ca, 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--ca-file", dir+"/ca.crt")
			}
			var out, errOut bytes.Buffer
			code := Main(t.Context(), cli.VersionOf(""), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
			said := out.String() + errOut.String()
			if code != c.code || !strings.Contains(said, c.says) || strings.Contains(said, "secret-token") {
				t.Errorf("exit code %d:\n%s", code, said)
			}
			now, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			backups, _ := filepath.Glob(path + ".*")
			if c.want == nil {
				if string(now) != was || len(backups) > 0 {
					t.Errorf("the file was changed, or something is left: %v", backups)
				}
				return
			}
			server := was[strings.Index(was, "https://"):strings.Index(was, " # by")]
			if want := text(server, c.want...); string(now) != want {
				t.Errorf("the file is\n%s\nwant\n%s", now, want)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if len(backups) != 1 {
				t.Fatalf("left: %v", backups)
			}
			kept, err := os.ReadFile(backups[0])
			if err != nil || string(kept) != was {
				t.Errorf("what is kept is not what it was: %v", err)
			}
		})
	}
}

// TestFixKubeconfigIsNotAlone: someone else changes the file.
func TestFixKubeconfigIsNotAlone(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	after := pkitest.NewCA("lb@1", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	was := strings.NewReplacer("SERVER", ownServer(t, after, 200), "CA", base64.StdEncoding.EncodeToString(pkitest.NewCA("lb", time.Now(), time.Now().Add(time.Hour)).CertPEM)).Replace(ownKubeconfig)
	for file, content := range map[string]string{path: was, path + ".lock": "", dir + "/ca.crt": string(after.CertPEM)} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	code := Main(t.Context(), cli.VersionOf(""), []string{"kubectl-certrot", "fix-kubeconfig", "--kubeconfig", path, "--ca-file", dir + "/ca.crt", "--yes"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	if now, _ := os.ReadFile(path); code != cli.ExitStopped || string(now) != was || !strings.Contains(out.String(), "config.lock is there") {
		t.Errorf("exit code %d:\n%s", code, out.String())
	}
}

// TestLoadersQuoteNothing: client-go's errors hold whole lists of users.
func TestLoadersQuoteNothing(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	path := filepath.Join(t.TempDir(), "config")
	twice := strings.NewReplacer("SERVER", "https://localhost:1", "CA", "").Replace(ownKubeconfig) + "- name: me\n  user:\n    token: another-secret-token\n"
	if err := os.WriteFile(path, []byte(twice), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"inspect", "verify", "fix-kubeconfig", "snapshot"} {
		var out bytes.Buffer
		args := []string{"kubectl-certrot", command, "--kubeconfig", path}
		if command == "snapshot" {
			args = append(args, "-o", path+".certrot")
		}
		code := Main(t.Context(), cli.VersionOf(""), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		if code != cli.ExitUsage || strings.Contains(out.String(), "secret-token") || !strings.Contains(out.String(), "duplicate name") {
			t.Errorf("%s: exit code %d:\n%s", command, code, out.String())
		}
	}
}

// TestReplaceOwnLeavesNothing where it could not write.
func TestReplaceOwnLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := apiint.UserKubeconfigFile{Path: path, LockedAs: path, Backup: path + ".before"}
	if written, err := apiint.ReplaceUserKubeconfig(f, []byte("read"), []byte("new")); written || !errors.Is(err, remediate.ErrChanged) {
		t.Errorf("written %v, %v", written, err)
	}
	f.Backup = dir + "/none/before"
	if written, err := apiint.ReplaceUserKubeconfig(f, []byte("changed"), []byte("new")); written || err == nil {
		t.Errorf("written %v, %v", written, err)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if left, _ := filepath.Glob(dir + "/.*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// By another name: both are locked.
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	f = apiint.UserKubeconfigFile{Path: path, LockedAs: link, Backup: path + ".before"}
	if err := os.WriteFile(link+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if written, err := apiint.ReplaceUserKubeconfig(f, []byte("changed"), []byte("new")); written || err == nil || !strings.Contains(err.Error(), "link.lock is there") {
		t.Errorf("written %v, %v", written, err)
	}
}

// TestFixKubeconfigDependsOnNoVersion: else it must ask for --accept-risk=unreviewed-version
// where a version was not reviewed, as commands that change nodes do.
func TestFixKubeconfigDependsOnNoVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"4.8.57", "4.11.0", "4.12.0", "4.15.3", "4.22.1", "4.99.0", "5.0.0"} {
		row := catalog.KubeletSetups(catalog.Versions{Cluster: version})[0]
		if row.CA != catalog.APIServerCA() || !row.HasOperators {
			t.Errorf("%s: the CA is read from %v", version, row.CA)
		}
	}
	for _, version := range []string{"v1.20.0", "v1.35.4", "v2.0.0"} {
		row := catalog.KubeletSetups(catalog.Versions{Kubernetes: version, NotOpenShift: true})[0]
		if row.CA != catalog.RootCAOf("kube-system") || row.HasOperators {
			t.Errorf("%s: the CA is read from %v", version, row.CA)
		}
	}
}
