package remediatetest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// console is a node at which a person runs a script.
type console struct {
	*Machine
	step int // of the tools that count, at which all ends; 0: none
}

// The shells and tools that a node may have.
const (
	busyboxAlone = "busybox alone"
	dashCore     = "dash with coreutils"
	bashCore     = "bash with coreutils"
)

// newConsole is a node with this shell, which has openssl.
func newConsole(t *testing.T, shell string) *console {
	t.Helper()
	return consoleOf(t, NewWorld(t).Machines["worker-0"], shell)
}

// consoleOf is that of a node.
func consoleOf(t *testing.T, m *Machine, shell string) *console {
	t.Helper()
	c := &console{Machine: m}
	for _, name := range []string{"base64", "fold", "grep", "env"} {
		if err := os.Symlink("/bin/busybox", c.At("/bin/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	core := []string{"base64", "cat", "chmod", "chown", "cp", "cut", "date", "env", "fold", "head", "id", "mkdir", "mktemp", "mv", "od", "rm", "rmdir", "sha256sum", "sleep", "stat", "sync", "tail", "timeout", "touch", "tr", "uname", "wc", "grep"}
	switch shell {
	case dashCore:
		c.install(t, "dash", "/bin/sh")
	case bashCore:
		c.install(t, "bash", "/bin/sh")
	}
	if shell != busyboxAlone {
		for _, name := range core {
			c.install(t, name, "/bin/"+name)
		}
	}
	c.install(t, "openssl", "/usr/bin/openssl")
	for minor, device := range map[int]string{3: "/dev/null", 5: "/dev/zero"} {
		_ = os.Remove(c.At(device))
		if err := syscall.Mknod(c.At(device), syscall.S_IFCHR|0o666, 1<<8|minor); err != nil {
			t.Skipf("make %s: %v", device, err)
		}
	}
	// Processes of the node are those of this machine.
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	c.Write(t, "/proc/sys/kernel/random/boot_id", boot)
	processes, err2 := os.Readlink("/proc/self/ns/pid")
	if err := firstOf(err, err2, os.MkdirAll(c.At("/proc/self/ns"), 0o755), os.Symlink(processes, c.At("/proc/self/ns/pid"))); err != nil {
		t.Fatal(err)
	}
	p := c.Old.Issue("system:node:worker-0", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c.Write(t, inspect.KubeletClient, pkitest.Bundle(p.KeyPEM, p.CertPEM, c.Old.CertPEM))
	// By its own clock, a second after it was told to.
	restart := strings.Replace(fakeRestart, "$((epoch + 20 * $(wc -l </fake/restarts) - 10))", "$(($(date +%s) + 1))", 1)
	c.Write(t, "/fake/restart", []byte(restart))
	return c
}

// install puts a program of this machine into the node, with the libraries that it
// loads. Nodes share copies, by links.
func (c *console) install(t *testing.T, name, at string) {
	t.Helper()
	bin, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed")
	}
	installed.Lock()
	defer installed.Unlock()
	libraries, known := installed.libraries[bin]
	if !known {
		out, _ := exec.Command("ldd", bin).Output() // none where it is static
		for word := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(word, "/") {
				libraries = append(libraries, word)
			}
		}
		installed.libraries[bin] = libraries
	}
	files := map[string]string{at: bin}
	for _, path := range libraries {
		files[path] = path
	}
	for to, from := range files {
		shared := installed.copies[from]
		if shared == "" {
			shared = fmt.Sprintf("%s/installed-%d", template().dir, len(installed.copies))
			data, err := os.ReadFile(from)
			if err := firstOf(err, os.WriteFile(shared, data, 0o755)); err != nil {
				t.Fatal(err)
			}
			installed.copies[from] = shared
		}
		_ = os.Remove(c.At(to))
		if err := firstOf(os.MkdirAll(filepath.Dir(c.At(to)), 0o755), os.Link(shared, c.At(to))); err != nil {
			t.Fatal(err)
		}
	}
}

// installed are the programs that consoles have: asking for a program's libraries, and
// copying them, would take longer than the scripts do.
var installed = struct {
	sync.Mutex
	libraries map[string][]string // by the program's path: of files
	copies    map[string]string   // by a file's path: where nodes link to
}{libraries: map[string][]string{}, copies: map[string]string{}}

// quick takes the pauses out of scripts, in shells that have no tools of their own.
func (c *console) quick(t *testing.T) {
	t.Helper()
	_ = os.Remove(c.At("/bin/sleep"))
	c.Write(t, "/bin/sleep", []byte("#!/bin/sh\nexit 0\n"))
	if err := os.Chmod(c.At("/bin/sleep"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// script is the one for the node, as it is written when nobody could read it.
func (c *console) script() apiint.Script {
	return apiint.Script{Node: "worker-0", Run: "run-1", Setup: catalog.KubeletSetups(catalog.Versions{})[0], SHA256: make([]pki.Fingerprint, 2), CA: c.ConfigMap, From: "a test", Created: time.Now()}
}

// run runs the script; code is -1 where it was killed.
func (c *console) run(t *testing.T, s apiint.Script, args ...string) (out string, code int) {
	t.Helper()
	c.Write(t, "/root/fix.sh", s.Text("v0"))
	return c.shell(t, "/root/fix.sh", args...)
}

// shell runs a script that is on the node; code is -1 where it was killed.
func (c *console) shell(t *testing.T, path string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // of a machine that has other things to do
	defer cancel()
	cmd := exec.CommandContext(ctx, "chroot", append([]string{c.root, "/bin/sh", path}, args...)...)
	cmd.Env = []string{"PATH=/usr/local/bin:/bin:/usr/bin", "HOME=/root", "LANG=C.UTF-8", "TZ=Asia/Tokyo", fmt.Sprintf("CERTROT_STEP=%d", c.step)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	out = both.String()
	c.secret(t, "the output", out)
	if strings.Contains(out, "PRIVATE KEY") {
		t.Errorf("a key is shown:\n%s", out)
	}
	return out, cmd.ProcessState.ExitCode()
}

// want runs the script and fails the test unless it ends so, and says so.
func (c *console) want(t *testing.T, s apiint.Script, code int, says string, args ...string) string {
	t.Helper()
	out, got := c.run(t, s, args...)
	if got != code || !strings.Contains(out, says) {
		t.Fatalf("%q: exit code %d, want %d and %q:\n%s", args, got, code, says, out)
	}
	return out
}

func inConsoles(t *testing.T, test func(t *testing.T, c *console)) {
	t.Helper()
	for _, shell := range []string{busyboxAlone, dashCore, bashCore} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			test(t, newConsole(t, shell))
		})
	}
}

// TestScriptDoesWhatARunDoes: the plan, the repair, the second time, and the way
// back; each file byte for byte as the action would leave it.
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
		c.mended(t)
		if n := c.restarts(t); n != 1 {
			t.Errorf("the kubelet was restarted %d times", n)
		}
		c.want(t, s, 0, "Nothing is to be done", "--yes")
		c.want(t, s, 0, "Nothing is to be done", "--dry-run")
		c.want(t, s, 5, "does not trust the certificate served", "undo", "--yes")
		c.mended(t)
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

// holds makes the node held by somebody.
func (c *console) holds(t *testing.T, who string, since time.Duration, boot string) {
	t.Helper()
	c.Write(t, heldFile, fmt.Appendf(nil, "%s\n%d\n%s\n", who, time.Now().Add(-since).Unix(), boot))
}

const heldFile = host.DefaultFolder + "/.held"

// tool makes a program do something before it does what it does.
func (c *console) tool(t *testing.T, at, first string) {
	t.Helper()
	name := "/usr/local/bin/" + filepath.Base(at)
	c.Write(t, name, []byte("#!/bin/sh\n"+first+"\nexec "+at+` "$@"`+"\n"))
	if err := os.Chmod(c.At(name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestScriptHoldsTheNode while it changes something, so that certrot keeps off, and
// lets go of it; one that was killed keeps nobody off.
func TestScriptHoldsTheNode(t *testing.T) {
	t.Parallel()
	inConsoles(t, func(t *testing.T, c *console) {
		c.quick(t)
		c.tool(t, "/usr/bin/systemd-run", "case $* in *restart*) cp "+heldFile+" /fake/held ;; esac")
		for _, args := range [][]string{{"--yes"}, {"undo", "--yes", "--accept-risk=breaks-trust"}} {
			c.want(t, c.script(), 0, "Done", args...)
			held := string(c.Read(t, "/fake/held"))
			who, rest, _ := strings.Cut(held, "\n")
			if c.Read(t, heldFile) != nil || !strings.HasSuffix(who, ", run run-1 by its script") {
				t.Fatalf("%q: held by %q, and at the end by %q", args, held, c.Read(t, heldFile))
			}
			_, number, _ := strings.Cut(who, " (pid ")
			number, _, _ = strings.Cut(number, " ")
			alive := strings.Replace(who, "(pid "+number+" ", fmt.Sprintf("(pid %d ", os.Getpid()), 1)
			certrot := c.env(t, "run-2", nil)
			certrot.Holder = nodeexec.ThisProcess().String() + ", run run-2"
			c.Write(t, heldFile, []byte(alive+"\n"+rest))
			var other *host.LockedError
			if _, err := certrot.Hold(t.Context(), "worker-0"); !errors.As(err, &other) || other.By != alive {
				t.Errorf("%q: while the script runs: %v", args, err)
			}
			certrot.ExpiredHolder = "somebody else"
			if _, err := certrot.Hold(t.Context(), "worker-0"); !errors.As(err, &other) {
				t.Errorf("%q: another one's Lease lapsed: %v", args, err)
			}
			certrot.ExpiredHolder = alive
			release, err := certrot.Hold(t.Context(), "worker-0")
			if err != nil {
				t.Fatalf("%q: the Lease of who holds it lapsed: %v", args, err)
			}
			release()
			c.Write(t, heldFile, []byte(held))
			release, err = certrot.Hold(t.Context(), "worker-0")
			if err != nil {
				t.Errorf("%q: after the script was killed: %v", args, err)
			} else {
				release()
			}
			c.Write(t, "/fake/held", nil)
		}
	})
}

// TestScriptKeepsOffAHeldNode as certrot does: by the same rules, and of certrot.
func TestScriptKeepsOffAHeldNode(t *testing.T) {
	thorough(t)
	t.Parallel()
	c := newConsole(t, bashCore)
	c.quick(t)
	me := nodeexec.ThisProcess().String()
	certrot := c.env(t, "run-2", nil)
	certrot.Holder = me + ", run run-2"
	release, err := certrot.Hold(t.Context(), "worker-0")
	if err != nil {
		t.Fatal(err)
	}
	c.want(t, c.script(), 1, "Not now: "+certrot.Holder+" is changing this node", "--dry-run")
	c.want(t, c.script(), 5, certrot.Holder+" is changing this node", "--yes")
	c.original(t)
	release()

	boot := strings.TrimSpace(string(c.Read(t, "/proc/sys/kernel/random/boot_id")))
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	_, machine, _ := strings.Cut(me, " of ")
	gone := fmt.Sprintf("a@b (pid %d of %s", ended.Process.Pid, machine)
	type hold struct {
		who   string
		since time.Duration
		boot  string
	}
	for name, h := range map[string]hold{
		"another machine":           {"a@b (pid 1 of 0123), run x", time.Minute, boot},
		"a process that is there":   {me, time.Minute, boot},
		"a name alone":              {"somebody", 29 * time.Minute, boot},
		"a clock that was put back": {"somebody", -29 * time.Minute, boot},
		"what a terminal obeys":     {"\x1b]0;x\x07 (pid $(id) of `id`) '\"", 0, boot},
		"no number":                 {"a@b (pid 0 of " + machine, 0, boot},
	} {
		c.holds(t, h.who, h.since, h.boot)
		before := c.Read(t, heldFile)
		if out := c.want(t, c.script(), 5, "is changing this node (for", "--yes"); strings.ContainsAny(out, "\x1b\x07") {
			t.Errorf("%s: it is shown as it is: %q", name, out)
		}
		if !bytes.Equal(c.Read(t, heldFile), before) {
			t.Errorf("%s: it is held by %q now", name, c.Read(t, heldFile))
		}
	}
	c.original(t)

	// Somebody comes between the plan and the first change.
	c.tool(t, "/usr/bin/openssl", "printf '%s\\n' 'a@b (pid 1 of 0123), run x' $(date +%s) "+boot+" >"+heldFile)
	_ = os.Remove(c.At(heldFile))
	c.want(t, c.script(), 5, "a@b (pid 1 of 0123), run x is changing this node", "--yes")
	c.remove(t, "/usr/local/bin/openssl")
	c.original(t)

	for name, h := range map[string]hold{
		"a process that ended": {gone, time.Minute, boot},
		"another boot":         {"somebody", time.Minute, "another boot"},
		"half an hour":         {"somebody", host.HoldTime + time.Second, boot},
		"a file of nothing":    {"", 0, ""},
	} {
		c.holds(t, h.who, h.since, h.boot)
		c.want(t, c.script(), 0, "Done", "--yes")
		if c.Read(t, heldFile) != nil {
			t.Errorf("%s: held by %q at the end", name, c.Read(t, heldFile))
		}
		c.want(t, c.script(), 0, "Done", "undo", "--yes", "--accept-risk=breaks-trust")
		c.original(t)
	}
	c.holds(t, "somebody", 0, boot)
	c.want(t, c.script(), 5, "somebody is changing this node", "undo", "--yes")
}

// TestCertrotUndoesAScript: what it kept is what a run keeps.
func TestCertrotUndoesAScript(t *testing.T) {
	t.Parallel()
	c := newConsole(t, busyboxAlone)
	c.want(t, c.script(), 0, "Done", "--yes")
	c.api.show(t, c.Old)
	c.undoneByCertrot(t)
}

// undoneByCertrot puts back what a script changed.
func (c *console) undoneByCertrot(t *testing.T) {
	t.Helper()
	n, err := c.env(t, "run-1", nil).Connect(t.Context(), "worker-0")
	if err != nil {
		t.Fatal(err)
	}
	r := host.Run{ID: "run-1"}
	entries, err := r.Entries(t.Context(), n)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%+v, %v", entries, err)
	}
	for _, e := range entries {
		if _, err := r.Restore(t.Context(), n, e.Before.Path); err != nil {
			t.Error(err)
		}
	}
	c.original(t)
}

// asWritten is what ReplaceFile writes of a file whose CAs are these.
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

func (c *console) remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.Remove(c.At(p)); err != nil {
			t.Fatal(err)
		}
	}
}

// mortal makes the node's tools count their calls, and kill all at one of them.
func (c *console) mortal(t *testing.T) {
	t.Helper()
	// Two tools of a pipe may count at once, and neither see the step.
	const count = "printf x >>/fake/count\nIFS= read -r calls </fake/count\n[ \"$CERTROT_STEP\" -eq 0 ] || [ ${#calls} -lt \"$CERTROT_STEP\" ] || kill -9 0\n"
	put := func(path, text string) {
		c.Write(t, path, []byte("#!/bin/sh\n"+text))
		if err := os.Chmod(c.At(path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"awk", "base64", "cat", "chmod", "chown", "cp", "date", "fold", "head", "id", "mkdir", "mktemp", "mv", "od", "rm", "sha256sum", "stat", "sync", "tail", "touch", "tr", "wc", "grep"} {
		put("/usr/local/bin/"+name, count+"exec /bin/"+name+` "$@"`+"\n")
	}
	for _, name := range []string{"systemctl", "systemd-run"} { // not a part of what is killed
		put("/usr/local/bin/"+name, count+"PATH=/bin:/usr/bin exec /usr/bin/"+name+` "$@"`+"\n")
	}
}

// later makes all that happened on the node ten seconds older: what the script goes by
// are whole seconds.
func (c *console) later(t *testing.T) {
	t.Helper()
	const ago = -10 * time.Second
	for _, path := range catalog.KubeletKubeconfigs() {
		info, err := os.Stat(c.At(path))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(c.At(path), time.Time{}, info.ModTime().Add(ago)); err != nil {
			t.Fatal(err)
		}
	}
	c.restarted(t, func(at time.Time) time.Time { return at.Add(ago) })
}

// restarted changes since when the kubelet runs.
func (c *console) restarted(t *testing.T, when func(time.Time) time.Time) {
	t.Helper()
	const form = "Mon 2006-01-02 15:04:05 MST"
	shown := string(c.Read(t, "/fake/shown"))
	_, text, _ := strings.Cut(shown, "\nActiveEnterTimestamp=")
	text, _, _ = strings.Cut(text, "\n")
	entered, err := time.Parse(form, text)
	if err != nil {
		t.Fatal(err)
	}
	c.Write(t, "/fake/shown", []byte(strings.ReplaceAll(shown, text, when(entered).UTC().Format(form))))
}

// killedBehind makes the node's tools kill all where a file has just got its name, and
// before what is noted of it as pending is removed. It returns how to make them as before.
func (c *console) killedBehind(t *testing.T, path string) (heal func()) {
	t.Helper()
	tools := map[string]string{
		"mv": "/bin/mv \"$@\" || exit\nfor last; do :; done\n[ \"$last\" != " + path + " ] || : >/fake/swapped\n",
		"rm": "[ \"$*\" != '-f " + host.DefaultFolder + "/run-1/pending' ] || [ ! -e /fake/swapped ] || kill -9 0\nexec /bin/rm \"$@\"\n",
	}
	for name, text := range tools {
		c.Write(t, "/usr/local/bin/"+name, []byte("#!/bin/sh\n"+text))
		if err := os.Chmod(c.At("/usr/local/bin/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return func() { c.remove(t, "/usr/local/bin/mv", "/usr/local/bin/rm", "/fake/swapped") }
}

// TestScriptRemovesWhatAKilledOneLeftWhereNothingIsToBeDone: it is killed when the last
// file is written, and the kubelet is restarted by hand. The same again has nothing to do,
// and leaves nothing behind.
func TestScriptRemovesWhatAKilledOneLeftWhereNothingIsToBeDone(t *testing.T) {
	t.Parallel()
	files := catalog.KubeletKubeconfigs()
	for _, k := range []struct {
		args []string
		last string
		says string
	}{
		{[]string{"--yes"}, KubeletFile, "Nothing is to be done"},
		{[]string{"undo", "--yes", "--accept-risk=breaks-trust"}, BootstrapFile, "Nothing is to be put back"},
	} {
		t.Run(k.args[0], func(t *testing.T) {
			t.Parallel()
			c := newConsole(t, dashCore)
			c.quick(t)
			if k.args[0] == "undo" {
				c.want(t, c.script(), 0, "Done", "--yes")
				c.later(t)
			}
			heal := c.killedBehind(t, k.last)
			if out, code := c.run(t, c.script(), k.args...); code != -1 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			heal()
			const pending = host.DefaultFolder + "/run-1/pending"
			if left := c.leftovers(t); len(left) != 1 || left[0] != pending {
				t.Fatalf("killed behind the last file, it left %q", left)
			}
			c.restarted(t, func(time.Time) time.Time { return time.Now().Add(time.Minute) })
			dry := slices.DeleteFunc(slices.Clone(k.args), func(arg string) bool { return arg == "--yes" })
			c.want(t, c.script(), 0, k.says, append(dry, "--dry-run")...)
			if left := c.leftovers(t); len(left) != 1 {
				t.Errorf("a dry run removed it: %q", left)
			}
			c.want(t, c.script(), 0, k.says, k.args...)
			if left := c.leftovers(t); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if c.Read(t, host.DefaultFolder+"/.held") != nil {
				t.Error("the node is still held")
			}
			for _, path := range files {
				if k.args[0] != "undo" && !c.repaired(t, path) {
					t.Errorf("%s is not repaired", path)
				}
			}
		})
	}
}

// TestScriptInterruptedAnywhere: each file is before or after; then the same again
// does the rest, and undo finds the way back.
func TestScriptInterruptedAnywhere(t *testing.T) {
	thorough(t)
	t.Parallel()
	by := 61
	if everything() {
		by = 1
	}
	for _, args := range [][]string{{"--yes"}, {"undo", "--yes", "--accept-risk=breaks-trust"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			reached, killed := true, 0
			for step := 1; reached; step += by {
				c := newConsole(t, dashCore)
				c.quick(t)
				c.mortal(t)
				if args[0] == "undo" {
					c.want(t, c.script(), 0, "Done", "--yes")
					c.later(t)
					c.Write(t, "/fake/count", nil)
				}
				c.step = step
				out, code := c.run(t, c.script(), args...)
				reached = len(c.Read(t, "/fake/count")) >= step
				if reached && code != -1 || !reached && code != 0 {
					t.Fatalf("step %d: exit code %d\n%s", step, code, out)
				}
				if reached {
					killed++
				}
				for _, path := range catalog.KubeletKubeconfigs() {
					c.repaired(t, path) // or not, and nothing between
				}
				c.dressed(t)
				c.step = 0
				c.later(t)
				c.want(t, c.script(), 0, "", args...)
				if args[0] == "undo" {
					c.original(t)
					if !bytes.Equal(c.Read(t, "/fake/loaded"), c.files[KubeletFile]) {
						t.Errorf("step %d: the kubelet has not read what was put back", step)
					}
				} else {
					c.mended(t)
					c.want(t, c.script(), 0, "Nothing is to be done", args...)
				}
				if left := c.leftovers(t); len(left) > 0 {
					t.Errorf("step %d: left behind: %q", step, left)
				}
				if t.Failed() {
					t.Fatalf("step %d: %s", step, out)
				}
			}
			if killed < 3 {
				t.Errorf("killed at %d steps only", killed)
			}
		})
	}
}

// TestScriptCutShort: of a script that was not copied whole, nothing runs.
func TestScriptCutShort(t *testing.T) {
	t.Parallel()
	c := newConsole(t, dashCore)
	whole := c.script().Text("v0")
	for cut := len(whole) - 10; cut > 0; cut -= len(whole) / 40 {
		c.Write(t, "/root/cut.sh", whole[:cut])
		out, _ := exec.Command("chroot", c.root, "/bin/sh", "/root/cut.sh", "--yes").CombinedOutput()
		if c.asked(t) > 0 || bytes.Contains(out, []byte("written")) {
			t.Fatalf("cut after %d bytes, and it ran:\n%s", cut, out)
		}
	}
	c.original(t)
	if c.Read(t, host.DefaultFolder+"/.lock") != nil {
		t.Error("something was kept")
	}
}

func TestScriptsOfAPlan(t *testing.T) {
	t.Parallel()
	f := NewFixture("worker-0", "worker-1")
	fix := apiint.Repair{Nodes: []string{"worker-0", "worker-1", "worker-2"}, CA: f.ConfigMap, Published: true, CASource: "evil\n$(reboot)", API: true}
	scripts, notes, err := fix.Scripts("run-1", f.Snapshot, TestNow)
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
	scripts, notes, err = fix.Scripts("run-1", f.Snapshot, TestNow)
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
		if _, _, err := a.Scripts("run-1", s, TestNow); !errors.As(err, &r) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fix.Nodes = []string{"worker-0'; reboot"}
	if _, _, err := fix.Scripts("run-1", f.Snapshot, TestNow); err == nil {
		t.Error("that is no node's name")
	}
}

func TestScriptShellcheck(t *testing.T) {
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
