package remediatetest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// TestScriptDoesWhatARunDoes: the plan, the repair, the second time, and the
// undo; each file byte for byte as the action would leave it.
func TestScriptDoesWhatARunDoes(t *testing.T) {
	t.Parallel()
	inConsoles(t, func(t *testing.T, c *console) {
		s := c.script()
		out := c.want(t, s, 1, "then: restart kubelet.service", "--dry-run")
		for _, want := range []string{"--- " + BootstrapFile, "+++ " + KubeletFile, "+ sha256 " + pki.FingerprintOf(c.Young.Cert.Raw).String() + " until " + c.Young.Cert.NotAfter.UTC().Format(time.RFC3339), ": loadbalancer-serving-signer", "  sha256 " + pki.FingerprintOf(c.Old.Cert.Raw).String()} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in the diff:\n%s", want, out)
			}
		}
		c.original(t)
		c.want(t, s, 5, "stdin is not a terminal")
		c.original(t)
		c.want(t, s, 0, "the kubelet runs", "--yes")
		c.repaired(t)
		if n := c.restarts(t); n != 1 {
			t.Errorf("the kubelet was restarted %d times", n)
		}
		c.want(t, s, 0, "Nothing is to be done", "--yes")
		c.want(t, s, 0, "Nothing is to be done", "--dry-run")
		c.want(t, s, 5, "does not trust the certificate served", "undo", "--yes")
		c.repaired(t)
		c.want(t, s, 1, KubeletFile+": becomes what it was", "undo", "--dry-run", "--accept-risk=breaks-trust")
		c.want(t, s, 0, "the files are what they were", "undo", "--yes", "--accept-risk=breaks-trust")
		c.original(t)
		if n := c.restarts(t); n != 2 {
			t.Errorf("the kubelet was restarted %d times", n)
		}
		c.want(t, s, 0, "Nothing is to be put back", "undo", "--yes")
		if left := c.leftovers(t); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// TestCertrotUndoesAScript: what it kept is what a run keeps.
func TestCertrotUndoesAScript(t *testing.T) {
	t.Parallel()
	c := newConsole(t, busyboxAlone)
	c.want(t, c.script(), 0, "Done", "--yes")
	c.api.show(t, c.Old)
	c.undoneByCertrot(t)
}

// asWritten is what AddKubeconfigCAs writes of a file whose CAs are these.
func asWritten(t *testing.T, text, ca []byte, now time.Time) []byte {
	t.Helper()
	found, err := kubeconfig.Find(text)
	if err != nil {
		t.Fatal(err)
	}
	sc := pki.NewScanner()
	edit, err := kubeconfig.SetCA(text, action.Union(ca, pki.LoadedPEM(sc, ca), pki.LoadedPEM(sc, found.PEM), now))
	if err != nil {
		t.Fatal(err)
	}
	return edit.Apply(text)
}

// TestScriptWritesWhatTheActionWrites, for every shape that it knows, and for CAs of all
// kinds.
func TestScriptWritesWhatTheActionWrites(t *testing.T) {
	t.Parallel()
	now := time.Now()
	const token = "abcdef.0123456789abcdef"
	type files struct{ bootstrap, own string }
	for shape, k := range map[string]struct {
		shell string
		files func(ca, server string) files
	}{
		"machine-config-server's, and the kubelet's": {busyboxAlone, func(ca, server string) files {
			return files{kubeconfigtest.MachineConfigServer(ca, server, token), kubeconfigtest.Older(kubeconfigtest.Kubelet(ca, server))}
		}},
		"machine-config-daemon's": {bashCore, func(ca, server string) files {
			pem, _ := base64.StdEncoding.DecodeString(ca)
			ca = base64.StdEncoding.EncodeToString(bytes.TrimRight(pem, "\n"))
			return files{kubeconfigtest.Older(kubeconfigtest.MachineConfigServer(ca, server, token)), kubeconfigtest.Kubelet(ca, server)}
		}},
		"the installer's, and without a newline at its end": {dashCore, func(ca, server string) files {
			return files{kubeconfigtest.Older(kubeconfigtest.Installer(ca, server, "demo-1", "QUJDRA==", "QUJDREVG")), strings.TrimSuffix(kubeconfigtest.Kubelet(ca, server), "\n")}
		}},
		"kubeadm's": {bashCore, func(ca, server string) files {
			return files{kubeconfigtest.KubeadmBootstrap(ca, server, token), kubeconfigtest.Older(kubeconfigtest.Kubeadm(ca, server, "worker-0"))}
		}},
	} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			c := newConsole(t, k.shell)
			c.quick(t)
			past := pkitest.NewCA("ended", now.Add(-48*time.Hour), now.Add(-time.Hour))
			far := pkitest.NewCA("until 2060", now.Add(-time.Hour), time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC))
			ca := pkitest.Bundle([]byte("# "+strings.Repeat("'$`\\\"", 3)+"\n"), c.Young.CertPEM, []byte("\n"), c.Localhost.CertPEM, c.Service.CertPEM, []byte("\n\n"))
			held := pkitest.Bundle(past.CertPEM, c.Old.CertPEM, []byte("# mine\n"), far.CertPEM, c.Localhost.CertPEM, c.Old.CertPEM)
			texts := k.files(base64.StdEncoding.EncodeToString(held), c.api.URL)
			before := map[string][]byte{BootstrapFile: []byte(texts.bootstrap), KubeletFile: []byte(texts.own)}
			for path, text := range before {
				c.Write(t, path, text)
			}
			s := c.script()
			s.CA = ca
			c.want(t, s, 0, "Done", "--yes")
			for path, text := range before {
				if got, want := c.Read(t, path), asWritten(t, text, ca, now); !bytes.Equal(got, want) {
					t.Errorf("%s in %s: %d bytes\n%s\nwant %d\n%s", path, k.shell, len(got), got, len(want), want)
				}
			}
			c.want(t, s, 0, "the files are what they were", "undo", "--yes", "--accept-risk=breaks-trust")
			for path, text := range before {
				if !bytes.Equal(c.Read(t, path), text) {
					t.Errorf("%s is not what it was", path)
				}
			}
		})
	}
}

// TestScriptRefuses what it does not know, and touches nothing then.
func TestScriptRefuses(t *testing.T) {
	thorough(t)
	t.Parallel()
	in := func(was, is string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, was) {
				panic(was)
			}
			return strings.Replace(text, was, is, 1)
		}
	}
	c := newConsole(t, dashCore)
	value := base64.StdEncoding.EncodeToString(c.Before)
	good := string(c.files[KubeletFile])
	for name, change := range map[string]func(string) string{
		"a comment":                     in("clusters:", "# by hand\nclusters:"),
		"a comment behind a value":      in("    server: "+c.api.URL, "    server: "+c.api.URL+" # here"),
		"CRLF":                          func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"a tab":                         in("    server: ", "    server:\t"),
		"an empty line":                 in("contexts:", "\ncontexts:"),
		"two clusters":                  in("contexts:", "- cluster:\n    server: https://x:1\n  name: x\ncontexts:"),
		"two contexts":                  in("current-context:", "- context:\n    cluster: x\n    user: y\n  name: x\ncurrent-context:"),
		"a CA twice":                    in("    server:", "    certificate-authority-data: "+value+"\n    server:"),
		"a CA in quotes":                in(value, `"`+value+`"`),
		"a CA on the next line":         in(value, "\n      "+value),
		"a CA over two lines":           in(value, value[:40]+"\n      "+value[40:]),
		"a CA that is no base64":        in(value, "-"+value),
		"a CA that is cut":              in(value, value[:len(value)-1]),
		"a CA that is no PEM":           in(value, "QUJDRA=="),
		"a CA whose certificate is cut": in(value, base64.StdEncoding.EncodeToString(c.Before[:len(c.Before)-40])),
		"a key in the CA":               in(value, base64.StdEncoding.EncodeToString(append(slices.Clone(c.Before), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"...))),
		"a CA in a file":                in("certificate-authority-data: "+value, "certificate-authority: /etc/ca.crt"),
		"no CA":                         in("    certificate-authority-data: "+value+"\n", ""),
		"nobody checks":                 in("    server:", "    insecure-skip-tls-verify: true\n    server:"),
		"another name is checked":       in("    server: "+c.api.URL, "    server: "+c.api.URL+"\n    tls-server-name: x"),
		"a proxy":                       in("    server:", "    proxy-url: http://x\n    server:"),
		"no https":                      in("https://", "http://"),
		"a server that is a command":    in(c.api.URL, "https://$(reboot):6443"),
		"a server that is an option":    in(c.api.URL, "-config=/etc/x"),
		"a name that is a command":      func(s string) string { return strings.ReplaceAll(s, "default-context", "`reboot`") },
		"a name that ends a quote":      func(s string) string { return strings.ReplaceAll(s, "default-context", "a'; reboot; '") },
		"an anchor":                     in("- cluster:", "- cluster: &a"),
		"a flow":                        in("- cluster:\n", "- {cluster: {}}\n- cluster:\n"),
		"another current context":       in("current-context: default-context", "current-context: other"),
		"no current context":            in("current-context: default-context\n", ""),
		"a context of another cluster":  in("    cluster: default-cluster", "    cluster: other"),
		"a context of another user":     in("    user: default-auth", "    user: other"),
		"a name that is no text":        func(s string) string { return strings.ReplaceAll(s, "default-context", "null") },
		"a user with a program":         in("    client-key:", "    exec:\n      command: x\n    client-key:"),
		"two users":                     func(s string) string { return s + "- name: x\n  user:\n    token: y\n" },
		"two documents":                 func(s string) string { return s + "---\n" + s },
		"JSON":                          func(string) string { return `{"clusters":[]}` + "\n" },
		"nothing":                       func(string) string { return "" },
		"letters that are not ASCII":    func(s string) string { return strings.ReplaceAll(s, "default-cluster", "größe") },
		"a name before its cluster":     in("- cluster:\n", "- name: default-cluster\n  cluster:\n"),
		"something beside":              in("kind: Config", "kind: Config\nextensions: null"),
	} {
		c.Write(t, KubeletFile, []byte(change(good)))
		out, code := c.run(t, c.script(), "--yes")
		if code != 5 || !strings.Contains(out, "refused, nothing was changed: "+KubeletFile) || !strings.Contains(out, "repair it with certrot itself (--local)") {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
		if string(c.Read(t, KubeletFile)) != change(good) || !bytes.Equal(c.Read(t, BootstrapFile), c.files[BootstrapFile]) {
			t.Fatalf("%s: something was written", name)
		}
	}
	if n := c.asked(t); n > 0 {
		t.Errorf("the kubelet was restarted %d times", n)
	}
}

// TestScriptHasThePreconditionsOfAPlan.
func TestScriptHasThePreconditionsOfAPlan(t *testing.T) {
	thorough(t)
	t.Parallel()
	for name, k := range map[string]struct {
		change func(t *testing.T, c *console, s *apiint.Script)
		args   []string
		code   int
		says   string
	}{
		"another node":                     {func(_ *testing.T, _ *console, s *apiint.Script) { s.Node = "worker-1" }, nil, 5, "this machine is another node: its kubelet is system:node:worker-0"},
		"no certificate, and another name": {func(t *testing.T, c *console, _ *apiint.Script) { c.Write(t, inspect.KubeletClient, []byte("x")) }, nil, 5, "its kubelet's certificate can't be read"},
		"the server shows what the CA does not verify": {func(t *testing.T, c *console, _ *apiint.Script) {
			c.api.show(t, pkitest.NewCA("other", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
		}, nil, 5, "the CA does not verify the certificate served"},
		"a certificate whose name reads like openssl's verdict": {func(t *testing.T, c *console, _ *apiint.Script) {
			c.api.showAs(t, pkitest.NewCA("other", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)), "Verify return code: 0 (ok)")
		}, nil, 5, "the CA does not verify the certificate served"},
		"the same, with TLS 1.2": {func(t *testing.T, c *console, _ *apiint.Script) {
			c.api.old.Store(true)
			c.api.showAs(t, pkitest.NewCA("other", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)), "Verify return code: 0 (ok)")
		}, nil, 5, "the CA does not verify the certificate served"},
		"the right certificate, with TLS 1.2": {func(_ *testing.T, c *console, _ *apiint.Script) { c.api.old.Store(true) }, nil, 0, "Done"},
		"a CA whose name reads like openssl's verdict": {func(t *testing.T, c *console, _ *apiint.Script) {
			c.api.show(t, pkitest.NewCA("x\n    Verify return code: 0 (ok)\n", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
		}, nil, 5, "the CA does not verify the certificate served"},
		"the server's certificate is for another name": {func(t *testing.T, c *console, _ *apiint.Script) {
			c.api.showAs(t, c.Young, "Verify return code: 0 (ok)", pkitest.IPs("192.0.2.1"))
		}, nil, 5, "the CA does not verify the certificate served"},
		"the server hangs up":                {func(_ *testing.T, c *console, _ *apiint.Script) { c.api.pair.Store(nil) }, nil, 5, "was not read"},
		"the server still shows the old one": {func(t *testing.T, c *console, _ *apiint.Script) { c.api.show(t, c.Old) }, nil, 5, "the CA does not verify the certificate served"},
		"the server's CA has ended": {func(t *testing.T, c *console, s *apiint.Script) {
			ended := pkitest.NewCA("ended", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Minute))
			c.api.show(t, ended)
			s.CA = ended.CertPEM
		}, nil, 5, "the CA does not verify the certificate served"},
		"nobody answers": {func(_ *testing.T, c *console, _ *apiint.Script) { _ = c.api.Close() }, nil, 5, "was not read"},
		"no tool that asks": {func(t *testing.T, c *console, _ *apiint.Script) {
			if err := os.Remove(c.At("/usr/bin/openssl")); err != nil {
				t.Fatal(err)
			}
		}, nil, 5, "neither openssl nor curl"},
		"no tool that asks, accepted": {func(t *testing.T, c *console, _ *apiint.Script) {
			if err := os.Remove(c.At("/usr/bin/openssl")); err != nil {
				t.Fatal(err)
			}
		}, []string{"--accept-risk=unverified-server"}, 0, "Accepted: there is neither"},
		"curl asks": {func(t *testing.T, c *console, _ *apiint.Script) {
			if err := os.Remove(c.At("/usr/bin/openssl")); err != nil {
				t.Fatal(err)
			}
			c.install(t, "curl", "/usr/bin/curl")
			c.Write(t, "/root/.curlrc", []byte("insecure\n")) // what curl is told elsewhere does not count
			c.api.show(t, c.Old)
		}, nil, 5, "(by curl)"},
		"it changed after it was read": {func(_ *testing.T, _ *console, s *apiint.Script) { s.SHA256[1] = pki.FingerprintOf([]byte("x")) }, nil, 5, "is not what it was when this script was made"},
		"it is as it was read": {func(t *testing.T, c *console, s *apiint.Script) {
			s.SHA256[1] = pki.FingerprintOf(c.Read(t, KubeletFile))
		}, nil, 0, "Done"},
		"another kubeconfig is used": {func(t *testing.T, c *console, _ *apiint.Script) {
			c.Write(t, "/proc/1000/cmdline", []byte("kubelet\x00--kubeconfig\x00/etc/other\x00"))
		}, nil, 5, "--kubeconfig /etc/other"},
		"systemctl knows no kubelet": {func(t *testing.T, c *console, _ *apiint.Script) {
			c.Write(t, "/usr/bin/systemctl", []byte("#!/bin/sh\nexit 1\n"))
		}, nil, 5, "the kubelet's state was not read"},
		"neither file is there":          {func(t *testing.T, c *console, _ *apiint.Script) { c.remove(t, BootstrapFile, KubeletFile) }, nil, 5, "is there"},
		"the kubelet's own is not there": {func(t *testing.T, c *console, _ *apiint.Script) { c.remove(t, KubeletFile) }, nil, 0, "the kubelet writes it"},
		"the kubelet does not come up":   {func(t *testing.T, c *console, _ *apiint.Script) { c.mode(t, "fails") }, nil, 4, "the kubelet does not come up"},
		"a word that it does not know":   {func(*testing.T, *console, *apiint.Script) {}, []string{"--force"}, 2, "usage:"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newConsole(t, dashCore)
			d.quick(t)
			s := d.script()
			k.change(t, d, &s)
			d.want(t, s, k.code, k.says, append([]string{"--yes"}, k.args...)...)
			if k.code == 5 && !strings.Contains(name, "is there") && d.asked(t) > 0 {
				t.Error("the kubelet was restarted")
			}
		})
	}
}

func TestScriptsOfAPlan(t *testing.T) {
	t.Parallel()
	f := NewFixture("worker-0", "worker-1")
	fix := apiint.Repair{Nodes: []string{"worker-0", "worker-1", "worker-2"}, CA: f.ConfigMap, Published: true, CASource: "evil\n$(reboot)", API: true}
	set, err := fix.Scripts("run-1", f.Snapshot, TestNow, false)
	scripts, notes := set.Scripts, set.Notes
	if err != nil || len(scripts) != 3 || !strings.Contains(strings.Join(notes.Texts(), "\n"), "worker-2 was not read") {
		t.Fatalf("%v, %q, %d scripts", err, notes.Texts(), len(scripts))
	}
	for i, s := range scripts {
		text := string(s.Text("v1\nreboot"))
		if strings.Contains(text, "\n$(reboot)") || strings.Contains(text, "\nreboot") || strings.Contains(text, "@") && strings.Contains(text, "@NODE@") {
			t.Errorf("%s: what is said of it runs, or is not filled in", s.Name())
		}
		if read := i < 2; read != (s.SHA256[0] != pki.Fingerprint{}) || read != strings.Contains(text, "own_was='"+s.SHA256[1].String()+"'") {
			t.Errorf("%s: sha256 %v", s.Name(), s.SHA256)
		}
		if !bytes.Contains([]byte(text), bytes.TrimSpace(f.ConfigMap)) {
			t.Errorf("%s: the CA is not in it as it is", s.Name())
		}
	}
	f.Cluster.Topology = ""
	set, err = fix.Scripts("run-1", f.Snapshot, TestNow, false)
	scripts, notes = set.Scripts, set.Notes
	const untold = "The topology of the control plane is unknown."
	if err != nil || len(scripts) != 3 || !strings.Contains(strings.Join(notes.Texts(), "\n"), untold) {
		t.Fatalf("%v, %q, %d scripts", err, notes.Texts(), len(scripts))
	}
	for _, s := range scripts {
		s.Notes = append(s.Notes, "two\nreboot\x1b[m")
		if text := string(s.Text("v1")); !strings.Contains(text, "\n#   "+untold) || !strings.Contains(text, "\n#   two?reboot?[m\n") {
			t.Errorf("%s: what is known is not in it: %.3000s", s.Name(), text)
		}
	}
	var r *remediate.Refusal
	for name, change := range map[string]func(*apiint.Repair, *inspect.Snapshot){
		"a topology that is not supported": func(_ *apiint.Repair, s *inspect.Snapshot) { s.Cluster.Topology = "External" },
		"a CA that does not verify":        func(a *apiint.Repair, _ *inspect.Snapshot) { a.CA = f.Old.CertPEM },
		"no CA":                            func(a *apiint.Repair, _ *inspect.Snapshot) { a.CA = nil },
		"a CA that ends the script":        func(a *apiint.Repair, _ *inspect.Snapshot) { a.CA = append([]byte("CERTROT_CA\nreboot\n"), a.CA...) },
		"a CA with letters of its own":     func(a *apiint.Repair, _ *inspect.Snapshot) { a.CA = append([]byte("# größe\n"), a.CA...) },
		"a CA with CRLF": func(a *apiint.Repair, _ *inspect.Snapshot) {
			a.CA = bytes.ReplaceAll(a.CA, []byte("\n"), []byte("\r\n"))
		},
	} {
		a, s := fix, f.Snapshot
		change(&a, &s)
		if _, err := a.Scripts("run-1", s, TestNow, false); !errors.As(err, &r) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fix.Nodes = []string{"worker-0'; reboot"}
	if _, err := fix.Scripts("run-1", f.Snapshot, TestNow, false); err == nil {
		t.Error("that is no node's name")
	}
}

func TestScriptShellcheck(t *testing.T) {
	thorough(t)
	t.Parallel()
	bin, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	in := NewIncident(time.Now())
	s := apiint.Script{Node: "worker-0", Run: "run-1", Setup: catalog.KubeletSetups(catalog.Versions{})[0], SHA256: make([]pki.Fingerprint, 2), CA: in.ConfigMap, From: "a test", Created: TestNow}
	name := filepath.Join(t.TempDir(), s.Name())
	if err := os.WriteFile(name, s.Text("v0"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bin, "-s", "sh", name).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
