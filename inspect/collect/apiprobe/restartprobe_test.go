package apiprobe

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w world) {
		for i, c := range []struct {
			name, own, joins string
			with             func(t *testing.T, a *api, k *kubelet)
		}{
			{"all is well", "node 200, lease 200", "api 200, lease 403 Forbidden", func(*testing.T, *api, *kubelet) {}},
			{"the pair is in the file itself", "node 200, lease 200", "api 200, lease 403 Forbidden", func(_ *testing.T, _ *api, k *kubelet) { k.embedded = true }},
			{"another name is asked for than connected to", "node 200, lease 200", "api 200, lease 403 Forbidden", func(_ *testing.T, a *api, k *kubelet) {
				k.server, k.tlsName = "https://127.0.0.1:"+a.port(), "api-int.example.com"
			}},
			{"the bootstrap token is not known", "node 200, lease 200", "api 401 Unauthorized, lease 401 Unauthorized", func(_ *testing.T, _ *api, k *kubelet) { k.token = "expired.token" }},
			{"the client certificate has a signer that the server does not know", "node 401 Unauthorized, lease 401 Unauthorized", "api 200, lease 403 Forbidden", func(_ *testing.T, a *api, k *kubelet) {
				k.pair = a.ca.Issue("system:node:n1", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
			}},
			{"the client certificate has expired", "node 401 Unauthorized, lease 401 Unauthorized", "api 200, lease 403 Forbidden", func(_ *testing.T, a *api, k *kubelet) {
				k.pair = a.clients.Issue("system:node:n1", time.Now().Add(-time.Hour), time.Now().Add(-time.Minute))
			}},
			{"it is another node's certificate", "node 403 Forbidden, lease 403 Forbidden", "api 200, lease 403 Forbidden", func(_ *testing.T, a *api, k *kubelet) {
				k.pair = a.clients.Issue("system:node:n2", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
			}},
			{"there is no such node", "node 404 NotFound, lease 404 NotFound", "api 200, lease 403 Forbidden", func(_ *testing.T, a *api, k *kubelet) {
				k.name = "gone"
				k.pair = a.clients.Issue("system:node:gone", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
			}},
			{"the CA is another one", "node 0 trust, lease 0 trust", "api 0 trust, lease 0 trust", func(_ *testing.T, a *api, k *kubelet) { k.ca = a.clients.CertPEM }},
			{"the server has another name", "node 0 trust, lease 0 trust", "api 0 trust, lease 0 trust", func(_ *testing.T, a *api, k *kubelet) { k.tlsName = "other.example.com" }},
			{"the name does not resolve", "node 0 resolve, lease 0 resolve", "api 0 resolve, lease 0 resolve", func(_ *testing.T, a *api, k *kubelet) { k.server = "https://api-int.invalid:" + a.port() }},
			{"nobody listens", "node 0 connect, lease 0 connect", "api 0 connect, lease 0 connect", func(t *testing.T, _ *api, k *kubelet) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				k.server = "https://" + l.Addr().String()
				_ = l.Close()
			}},
		} {
			if i >= 4 && !strings.HasPrefix(w.name, "busybox") {
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
				for _, answer := range slices.Concat(got.Kubeconfig.Answers, got.Bootstrap.Answers) {
					if (answer.User != "") != (answer.Code == 403) || got.Bootstrap.Answers[0].Code == 200 && got.Bootstrap.Answers[1].User != "system:bootstrap:abcdef" {
						t.Errorf("as whom it is known: %+v", answer)
					}
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
	if brief(got.Kubeconfig) != "node 0 timeout, lease 0 timeout" || brief(got.Bootstrap) != "api 0 timeout, lease 0 timeout" {
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
	r.Stopped = true
	if got := ProbeRestart(t.Context(), w, r, k.paths, k.name); got.Bootstrap.Absent {
		t.Errorf("a walk that stopped has seen that a file is missing: %+v", got)
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
			if !strings.HasPrefix(brief(got.Kubeconfig), c.want) || brief(got.Bootstrap) != "api 200, lease 403 Forbidden" {
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
		if brief(got.Bootstrap) != "api 0 changed, lease 0 changed" {
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
		if got := k.ask(t, w); brief(got.Bootstrap) != "api 0 tool, lease 0 tool" {
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
			if brief(got.Kubeconfig) != "node 200, lease 200" || brief(got.Bootstrap) != "api 200, lease 403 Forbidden" {
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
		"", "certrot-probe 1\n", "certrot-probe 1\ntool x\nanswer 0 200 - - -\n", "certrot-probe 1\nanswer 0 200 - - -\nend\n",
		"certrot-probe 1\ntool x\nanswer 0 200 - Not_a_word -\nend\n", "certrot-probe 1\ntool x\nanswer 0 200 " + goodToken + " - -\nend\n", "certrot-probe 1\ntool x\nanswer 1 2\nend\n",
	} {
		if lines, _, err := answers(text); err == nil {
			t.Errorf("%q: %v", text, lines)
		}
	}
	lines, tool, err := answers("certrot-probe 1\ntool curl 8\nanswer 0 401 10.0.0.1 Unauthorized -\nanswer 0 403 - Forbidden system:bootstrap:abcdef\nanswer 6 0 - - -\nend\n")
	if err != nil || tool != "curl 8" {
		t.Fatal(err, tool)
	}
	if d := cmp.Diff([]line{{0, 401, "10.0.0.1", "Unauthorized", ""}, {0, 403, "", "Forbidden", "system:bootstrap:abcdef"}, {exit: 6}}, lines, cmp.AllowUnexported(line{})); d != "" {
		t.Error(d)
	}
}

// TestWhatANodeCallsItsToolIsMarked: a node's root chooses it.
func TestWhatANodeCallsItsToolIsMarked(t *testing.T) {
	t.Parallel()
	const tool = "curl is fine and the node trusts api-int. next: kubectl certificate approve csr-evil; curl"
	for _, exit := range []int{1, 16, exitNoTool} {
		var a inspect.ProbeAnswer
		line{exit: exit}.into(&a, tool)
		if strings.Contains(a.Detail, tool) && !strings.Contains(a.Detail, "“"+tool+"”") {
			t.Errorf("%d: %s", exit, a.Detail)
		}
	}
}
