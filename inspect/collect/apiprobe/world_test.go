package apiprobe

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

const goodToken = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2RlLWJvb3RzdHJhcHBlciJ9.c2VjcmV0LXRva2VuLW9mLXRoZS10ZXN0"

// world is a shell with the tools that it finds: nodes differ in both.
type world struct {
	name string
	sh   []string // in place of /bin/sh
	path string   // of the tools; empty: this machine's
	tmp  string
}

func (w world) Path(p string) string { return p }

func (w world) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.sh[0], append(w.sh[1:len(w.sh):len(w.sh)], argv[1:]...)...)
	cmd.Stdin = stdin
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + w.tmp}
	if w.path != "" {
		cmd.Env[0] = "PATH=" + w.path
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil && stderr.Len() > 0 {
		err = fmt.Errorf("stderr: %s", stderr.String())
	}
	return out, err
}

// everywhere runs a test in worlds that differ in their shell, and in who asks: in the first
// two, or in all of them with CERTROT_EVERY_STEP=1.
func everywhere(t *testing.T, test func(*testing.T, world)) {
	t.Helper()
	worlds := []world{
		{name: "busybox, openssl", sh: []string{"busybox", "sh"}, path: toolbox(t, "openssl")},
		{name: "bash, curl", sh: []string{"bash", "--posix"}},
		{name: "dash, curl", sh: []string{"dash"}},
		{name: "busybox, curl", sh: []string{"busybox", "sh"}, path: toolbox(t, "curl")},
		{name: "dash, openssl", sh: []string{"dash"}, path: toolbox(t, "openssl")},
	}
	if os.Getenv("CERTROT_EVERY_STEP") != "1" {
		worlds = worlds[:2]
	}
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			bin := installed(t, w.sh[0])
			t.Parallel()
			w.sh[0], w.tmp = bin, t.TempDir()
			test(t, w)
		})
	}
}

// toolbox has the tools of a node, and of those that can ask only the ones named;
// a text in place of a tool is a shell script.
func toolbox(t *testing.T, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append([]string{"awk", "cat", "head", "tail", "tr", "wc", "sha256sum", "base64", "timeout", "date", "stat", "find", "readlink", "uname", "id", "od", "sleep", "true", "systemctl"}, more...) {
		name, text, fake := strings.Cut(name, "=")
		if fake {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		bin, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if err := os.Symlink(bin, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// api is a server that knows its clients as an API server does.
type api struct {
	*httptest.Server
	ca, clients *pkitest.Authority
	asked       atomic.Int32
	shown       atomic.Int32 // requests that came with a credential
	hangs       atomic.Bool
	waiting     atomic.Int32  // requests that wait for gate
	gate        chan struct{} // nil: none has to wait
}

func newAPI(t *testing.T) *api {
	t.Helper()
	now := time.Now()
	a := &api{ca: pkitest.NewCA("api-int signer", now.Add(-time.Hour), now.Add(24*time.Hour)), clients: pkitest.NewCA("kubelets", now.Add(-time.Hour), now.Add(24*time.Hour))}
	pair := a.ca.Issue("api-int.example.com", now.Add(-time.Hour), now.Add(time.Hour), pkitest.DNS("localhost", "api-int.example.com"), pkitest.IPs("127.0.0.1"))
	served, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(a.answer))
	a.TLS = &tls.Config{Certificates: []tls.Certificate{served}, ClientAuth: tls.RequestClientCert}
	a.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are wanted
	a.StartTLS()
	t.Cleanup(func() { a.hangs.Store(false); a.CloseClientConnections(); a.Close() })
	return a
}

// installed is a shell's path. Who asks for everything to be tried must have it.
func installed(t *testing.T, shell string) string {
	t.Helper()
	bin, err := exec.LookPath(shell)
	switch {
	case err != nil && os.Getenv("CERTROT_REQUIRE_LAB") == "1":
		t.Fatalf("CERTROT_REQUIRE_LAB=1, but %v", err)
	case err != nil:
		t.Skipf("%s is not installed", shell)
	}
	return bin
}

func (a *api) answer(w http.ResponseWriter, r *http.Request) {
	a.asked.Add(1)
	for a.hangs.Load() {
		time.Sleep(20 * time.Millisecond)
	}
	if a.gate != nil {
		a.waiting.Add(1)
		<-a.gate
	}
	user := ""
	deny := func(code int, reason string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, "{\n  \"kind\": \"Status\",\n  \"message\": %q,\n  \"reason\": %q,\n  \"code\": %d\n}\n", fmt.Sprintf(`leases.coordination.k8s.io "n1" is forbidden: User %q cannot get resource "leases"`, user), reason, code)
	}
	if certs := r.TLS.PeerCertificates; len(certs) > 0 {
		a.shown.Add(1)
		pool := x509.NewCertPool()
		pool.AddCert(a.clients.Cert)
		if _, err := certs[0].Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
			deny(401, "Unauthorized")
			return
		}
		user = certs[0].Subject.CommonName
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		a.shown.Add(1)
		if token != goodToken {
			deny(401, "Unauthorized")
			return
		}
		user = "system:bootstrap:abcdef"
	}
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch {
	case r.URL.Path == "/api" && user != "":
		_, _ = io.WriteString(w, `{"kind":"APIVersions"}`)
	case user != "system:node:"+name:
		deny(403, "Forbidden")
	case name == "gone":
		deny(404, "NotFound")
	default:
		_, _ = io.WriteString(w, `{"kind":"Node","status":{"conditions":[{"reason":"KubeletReady"}]}}`)
	}
}

// port of the server.
func (a *api) port() string {
	_, port, _ := net.SplitHostPort(a.Listener.Addr().String())
	return port
}

// kubelet is one with its two kubeconfigs in a folder.
type kubelet struct {
	dir         string
	own, joins  string
	paths       inspect.Kubelet
	pair        pkitest.Pair
	server      string
	ca          []byte
	token, name string
	embedded    bool
	tlsName     string
}

func newKubelet(t *testing.T, a *api, name string) *kubelet {
	t.Helper()
	now := time.Now()
	dir, err := os.MkdirTemp("", "probe-") // a path that is as short as those of nodes: others are masked
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	k := &kubelet{
		dir: dir, own: dir + "/own", joins: dir + "/joins", ca: a.ca.CertPEM, token: goodToken, name: name,
		pair: a.clients.Issue("system:node:"+name, now.Add(-time.Hour), now.Add(time.Hour)), server: "https://localhost:" + a.port(),
	}
	k.paths = inspect.Kubelet{Kubeconfig: k.own, BootstrapConfig: k.joins}
	return k
}

func (k *kubelet) write(t *testing.T) {
	t.Helper()
	e := base64.StdEncoding.EncodeToString
	tlsName := ""
	if k.tlsName != "" {
		tlsName = "\n    tls-server-name: " + k.tlsName
	}
	head := func(user string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Config # of a test\nclusters:\n- cluster:\n    certificate-authority-data: %s\n    server: %s%s\n  name: local\ncontexts:\n- context:\n    cluster: local\n    user: kubelet\n  name: kubelet\ncurrent-context: kubelet\nusers:\n- name: kubelet\n  user:\n%s",
			e(k.ca), k.server, tlsName, user)
	}
	pem := k.dir + "/kubelet-client-current.pem"
	own := "    client-certificate: " + pem + "\n    client-key: " + pem + "\n"
	if k.embedded {
		own = fmt.Sprintf("    client-certificate-data: %s\n    client-key-data: '%s'\n", e(k.pair.CertPEM), e(k.pair.KeyPEM))
	}
	for path, text := range map[string]string{
		pem: string(k.pair.CertPEM) + string(k.pair.KeyPEM), k.own: head(own), k.joins: head("    token: \"" + k.token + "\"\n"),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// ask reads the node, and asks on it.
func (k *kubelet) ask(t *testing.T, w world) *inspect.RestartProbe {
	t.Helper()
	return ProbeRestart(t.Context(), w, k.read(t, w), k.paths, k.name)
}

func (k *kubelet) read(t *testing.T, w world) gather.Result {
	t.Helper()
	if w.path != "" && strings.HasSuffix(w.name, "curl") {
		w.path = "" // what reads nodes has its own tests
	}
	r, err := gather.Read(t.Context(), w, pki.NewScanner(), gather.Options{Only: true, Paths: []string{k.own, k.joins}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// brief are the answers in a few words.
func brief(f inspect.ProbedKubeconfig) string {
	if f.Absent || f.Refused != "" || f.Unread != "" {
		return strings.TrimSpace(fmt.Sprintf("absent=%t %s%s", f.Absent, f.Refused, f.Unread))
	}
	var words []string
	for _, a := range f.Answers {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %d %s%s", a.Question, a.Code, a.Reason, a.Failure)))
	}
	return strings.Join(words, ", ")
}
