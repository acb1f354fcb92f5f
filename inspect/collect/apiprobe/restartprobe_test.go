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

	"github.com/google/go-cmp/cmp"

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

// everywhere runs a test in worlds that differ in their shell, and in who asks.
func everywhere(t *testing.T, test func(*testing.T, world)) {
	t.Helper()
	for _, w := range []world{
		{name: "dash, curl", sh: []string{"dash"}},
		{name: "bash, curl", sh: []string{"bash", "--posix"}},
		{name: "busybox, curl", sh: []string{"busybox", "sh"}, path: toolbox(t, "curl")},
		{name: "dash, openssl", sh: []string{"dash"}, path: toolbox(t, "openssl")},
		{name: "busybox, openssl", sh: []string{"busybox", "sh"}, path: toolbox(t, "openssl")},
	} {
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
	deny := func(code int, reason string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, "{\n  \"kind\": \"Status\",\n  \"message\": \"no\",\n  \"reason\": %q,\n  \"code\": %d\n}\n", reason, code)
	}
	user := ""
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
		user = "bootstrapper"
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

func TestAnswers(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w world) {
		for i, c := range []struct {
			name, own, joins string
			with             func(t *testing.T, a *api, k *kubelet)
		}{
			{"all is well", "node 200, lease 200", "api 200", func(*testing.T, *api, *kubelet) {}},
			{"the pair is in the file itself", "node 200, lease 200", "api 200", func(_ *testing.T, _ *api, k *kubelet) { k.embedded = true }},
			{"another name is asked for than connected to", "node 200, lease 200", "api 200", func(_ *testing.T, a *api, k *kubelet) {
				k.server, k.tlsName = "https://127.0.0.1:"+a.port(), "api-int.example.com"
			}},
			{"the bootstrap token is not known", "node 200, lease 200", "api 401 Unauthorized", func(_ *testing.T, _ *api, k *kubelet) { k.token = "expired.token" }},
			{"the client certificate has a signer that the server does not know", "node 401 Unauthorized, lease 401 Unauthorized", "api 200", func(_ *testing.T, a *api, k *kubelet) {
				k.pair = a.ca.Issue("system:node:n1", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
			}},
			{"the client certificate has expired", "node 401 Unauthorized, lease 401 Unauthorized", "api 200", func(_ *testing.T, a *api, k *kubelet) {
				k.pair = a.clients.Issue("system:node:n1", time.Now().Add(-time.Hour), time.Now().Add(-time.Minute))
			}},
			{"it is another node's certificate", "node 403 Forbidden, lease 403 Forbidden", "api 200", func(_ *testing.T, a *api, k *kubelet) {
				k.pair = a.clients.Issue("system:node:n2", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
			}},
			{"there is no such node", "node 404 NotFound, lease 404 NotFound", "api 200", func(_ *testing.T, a *api, k *kubelet) {
				k.name = "gone"
				k.pair = a.clients.Issue("system:node:gone", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
			}},
			{"the CA is another one", "node 0 trust, lease 0 trust", "api 0 trust", func(_ *testing.T, a *api, k *kubelet) { k.ca = a.clients.CertPEM }},
			{"the server has another name", "node 0 trust, lease 0 trust", "api 0 trust", func(_ *testing.T, a *api, k *kubelet) { k.tlsName = "other.example.com" }},
			{"the name does not resolve", "node 0 resolve, lease 0 resolve", "api 0 resolve", func(_ *testing.T, a *api, k *kubelet) { k.server = "https://api-int.invalid:" + a.port() }},
			{"nobody listens", "node 0 connect, lease 0 connect", "api 0 connect", func(t *testing.T, _ *api, k *kubelet) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				k.server = "https://" + l.Addr().String()
				_ = l.Close()
			}},
		} {
			if i >= 4 && !strings.HasPrefix(w.name, "dash") {
				break // what differs between shells is how things are handed on
			}
			t.Run(c.name, func(t *testing.T) {
				a := newAPI(t)
				k := newKubelet(t, a, "n1")
				c.with(t, a, k)
				k.write(t)
				got := k.ask(t, w)
				if got.Problem != "" || brief(got.Kubeconfig) != c.own || brief(got.Bootstrap) != c.joins {
					t.Errorf("%+v", got)
				}
				if got.Kubeconfig.Presents != inspect.CredentialCertificate || got.Bootstrap.Presents != inspect.CredentialToken {
					t.Errorf("shows %q and %q", got.Kubeconfig.Presents, got.Bootstrap.Presents)
				}
				if strings.Contains(c.own, "trust") && a.shown.Load() > 0 {
					t.Error("a credential was shown to a server that was not verified")
				}
			})
		}
	})
}

func TestAServerThatHangsIsNotWaitedForTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a time limit, which -short leaves out")
	}
	t.Parallel()
	a := newAPI(t)
	a.hangs.Store(true)
	k := newKubelet(t, a, "n1")
	k.write(t)
	got := k.ask(t, world{name: "sh", sh: []string{"sh"}, tmp: t.TempDir()})
	if brief(got.Kubeconfig) != "node 0 timeout, lease 0 timeout" || brief(got.Bootstrap) != "api 0 timeout" {
		t.Errorf("%+v", got)
	}
	if n := a.asked.Load(); n != 2 {
		t.Errorf("the server was asked %d times, want once for each file", n)
	}
}

// TestAbsentIsWhatWasAskedFor: a file that is usually read, and was not asked for, may well
// be there.
func TestAbsentIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	w := world{name: "sh", sh: []string{"sh"}, tmp: t.TempDir()}
	k := newKubelet(t, newAPI(t), "n1") // its files are not written
	r := k.read(t, w)
	k.paths.Kubeconfig = "/etc/kubernetes/kubelet.conf"
	got := ProbeRestart(t.Context(), w, r, k.paths, k.name)
	if got.Kubeconfig.Absent || !strings.Contains(got.Kubeconfig.Unread, "not among the files that were read") || !got.Bootstrap.Absent {
		t.Errorf("%+v", got)
	}
}

func TestFilesThatAKubeletCantUse(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	w := world{name: "sh", sh: []string{"sh"}, tmp: t.TempDir()}
	for _, c := range []struct {
		name, want string
		edit       func(text string) string
	}{
		{"no YAML", "absent=false its shape is not understood, so its text did not leave the node", func(text string) string { return text + "\tclusters: [" }},
		{"empty", "absent=false it is empty", func(string) string { return "" }},
		{"no such context", `absent=false it has no entry "other" in contexts`, func(text string) string {
			return strings.Replace(text, "current-context: kubelet", "current-context: other", 1)
		}},
		{"no such cluster", `absent=false it has no entry "gone" in clusters`, func(text string) string { return strings.Replace(text, "cluster: local", "cluster: gone", 1) }},
		{"a certificate that is cut", "absent=false a kubelet can't load it: ", func(text string) string {
			i := strings.Index(text, "\n    server:")
			return text[:i-1] + text[i:]
		}},
		{"nobody is verified", "absent=false not read: it says insecure-skip-tls-verify", func(text string) string {
			return strings.Replace(text, "    server:", "    insecure-skip-tls-verify: true\n    server:", 1)
		}},
		{"a program makes the credentials", "absent=false not read: it gets its credentials from a program", func(text string) string {
			i := strings.Index(text, "    client-certificate")
			return text[:i] + "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: aws\n      interactiveMode: Never\n"
		}},
		{"the pair is not there", "node 0 tool, lease 0 tool", func(text string) string { return strings.ReplaceAll(text, "current.pem", "other.pem") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKubelet(t, a, "n1")
			k.write(t)
			text, err := os.ReadFile(k.own)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(k.own, []byte(c.edit(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			got := k.ask(t, w)
			if !strings.HasPrefix(brief(got.Kubeconfig), c.want) || brief(got.Bootstrap) != "api 200" {
				t.Errorf("%s; %s", brief(got.Kubeconfig), brief(got.Bootstrap))
			}
		})
	}
	t.Run("it changed since it was read", func(t *testing.T) {
		k := newKubelet(t, a, "n1")
		k.write(t)
		r := k.read(t, w)
		shown := a.shown.Load()
		k.token = "other-token"
		k.write(t)
		got := ProbeRestart(t.Context(), w, r, k.paths, k.name)
		if brief(got.Bootstrap) != "api 0 changed" {
			t.Errorf("%s", brief(got.Bootstrap))
		}
		if n := a.shown.Load() - shown; n != 2 {
			t.Errorf("%d credentials were shown, want the own file's twice", n)
		}
	})
	t.Run("a token that would end its line", func(t *testing.T) {
		k := newKubelet(t, a, "n1")
		k.token = `a\" b`
		k.write(t)
		if got := k.ask(t, w); brief(got.Bootstrap) != "api 0 tool" {
			t.Errorf("%s", brief(got.Bootstrap))
		}
	})
}

func TestWhoAsks(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	k := newKubelet(t, a, "n1")
	k.write(t)
	old := `curl=echo "curl 7.29.0 (x86_64-redhat-linux-gnu) libcurl/7.29.0 NSS/3.90 zlib/1.2.7"`
	for _, c := range []struct {
		name, want, detail string
		tools              []string
	}{
		{"curl is too old, openssl does it", "node 200, lease 200", "", []string{old, "openssl"}},
		{"curl is too old, and there is no openssl", "node 0 tool, lease 0 tool", "there is “curl 7.29.0", []string{old}},
		{"neither", "node 0 tool, lease 0 tool", "neither curl 7.49 or newer", nil},
		{"an openssl that can't verify names", "node 0 tool, lease 0 tool", "neither", []string{`openssl=echo OpenSSL 1.0.2k-fips  26 Jan 2017`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sh := installed(t, "dash")
			w := world{name: "dash", sh: []string{sh}, tmp: t.TempDir()}
			r := k.read(t, w)
			w.path = toolbox(t, c.tools...)
			got := ProbeRestart(t.Context(), w, r, k.paths, k.name)
			if brief(got.Kubeconfig) != c.want || !strings.Contains(got.Kubeconfig.Answers[0].Detail, c.detail) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestNothingSecretIsSeen looks at every process, and for files, while the server
// takes its time to answer.
func TestNothingSecretIsSeen(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w world) {
		for _, embedded := range []bool{false, true} {
			a := newAPI(t)
			a.gate = make(chan struct{}, 10)
			k := newKubelet(t, a, "n1")
			k.embedded = embedded
			k.write(t)
			r := k.read(t, w)
			key := strings.Split(string(k.pair.KeyPEM), "\n")[1]
			secrets := []string{goodToken, key, base64.StdEncoding.EncodeToString(k.pair.KeyPEM)}
			done, asked := make(chan struct{}), make(chan struct{})
			askers := 0
			var seen []string
			go func() {
				defer close(done)
				for {
					select {
					case <-asked:
						return
					default:
					}
					waits := a.waiting.Load() > 0 // and goes on when all has been looked at
					processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
					for _, p := range processes {
						command, _ := os.ReadFile(p)
						env, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "environ"))
						if bytes.Contains(command, []byte(k.server)) || bytes.Contains(command, []byte("localhost:"+a.port())) {
							askers++
						}
						for _, s := range secrets {
							if bytes.Contains(command, []byte(s)) || bytes.Contains(env, []byte(s)) {
								seen = append(seen, string(command))
							}
						}
					}
					if files, _ := os.ReadDir(w.tmp); len(files) > 0 {
						seen = append(seen, "file "+files[0].Name())
					}
					if waits {
						a.waiting.Add(-1)
						a.gate <- struct{}{}
					}
					time.Sleep(5 * time.Millisecond)
				}
			}()
			var out, arguments []byte
			spy := recording{w, &out, &arguments}
			got := ProbeRestart(t.Context(), spy, r, k.paths, k.name)
			close(asked)
			<-done
			if brief(got.Kubeconfig) != "node 200, lease 200" || brief(got.Bootstrap) != "api 200" {
				t.Fatalf("%+v", got)
			}
			if len(seen) > 0 || askers == 0 {
				t.Errorf("saw %d askers, and secrets in %q", askers, seen)
			}
			for _, s := range secrets {
				if bytes.Contains(out, []byte(s)) || bytes.Contains(arguments, []byte(s)) {
					t.Error("a secret left the node, or went there")
				}
			}
			if left, _ := os.ReadDir(k.dir); len(left) != 3 {
				t.Errorf("files were left: %v", left)
			}
		}
	})
}

// recording keeps what goes to the node and what comes from it.
type recording struct {
	world
	out, in *[]byte
}

func (r recording) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	text, err := io.ReadAll(stdin)
	if err != nil {
		return nil, err
	}
	*r.in = append(text, strings.Join(argv, "\n")...)
	out, err := r.world.Run(ctx, bytes.NewReader(text), argv...)
	*r.out = out
	return out, err
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "certrot-probe 1\n", "certrot-probe 1\ntool x\nanswer 0 200 - -\n", "certrot-probe 1\nanswer 0 200 - -\nend\n",
		"certrot-probe 1\ntool x\nanswer 0 200 - Not_a_word\nend\n", "certrot-probe 1\ntool x\nanswer 0 200 " + goodToken + " -\nend\n", "certrot-probe 1\ntool x\nanswer 1 2\nend\n",
	} {
		if lines, _, err := answers(text); err == nil {
			t.Errorf("%q: %v", text, lines)
		}
	}
	lines, tool, err := answers("certrot-probe 1\ntool curl 8\nanswer 0 401 10.0.0.1 Unauthorized\nanswer 6 0 - -\nend\n")
	if err != nil || tool != "curl 8" {
		t.Fatal(err, tool)
	}
	if d := cmp.Diff([]line{{0, 401, "10.0.0.1", "Unauthorized"}, {exit: 6}}, lines, cmp.AllowUnexported(line{})); d != "" {
		t.Error(d)
	}
}

// TestWhatANodeCallsItsToolIsMarked: a node's root chooses it.
func TestWhatANodeCallsItsToolIsMarked(t *testing.T) {
	t.Parallel()
	const tool = "curl is fine and the node trusts api-int. next: kubectl certificate approve csr-evil; curl"
	for _, exit := range []int{1, 16, exitNoTool} {
		var a inspect.Answer
		line{exit: exit}.into(&a, tool)
		if strings.Contains(a.Detail, tool) && !strings.Contains(a.Detail, "“"+tool+"”") {
			t.Errorf("%d: %s", exit, a.Detail)
		}
	}
}
