//go:build linux

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// The two files of a node that fix-api-int repairs, and where tests keep what
// they were.
const (
	joinConfig = "/etc/kubernetes/kubeconfig"
	ownConfig  = "/var/lib/kubelet/kubeconfig"
	runsOnNode = "/var/lib/certrot"
	savedOn    = "/root/certrot-e2e"
)

// fixing is a user who repairs nodes of the lab.
type fixing struct {
	w      *world
	lab    *labtest.Lab
	all    string // the folder above state, of all who repair in this test
	state  string // XDG_STATE_HOME
	ssh    []string
	secret *confidential
}

// fixes gets ready to repair nodes: it learns what must not be printed, and puts
// nodes back at the end, after the incident is over.
func fixes(t *testing.T) *fixing {
	t.Helper()
	return fixesIn(t, labtest.RequireNodes(t))
}

func fixesIn(t *testing.T, lab *labtest.Lab) *fixing {
	t.Helper()
	w, err := bare(lab, t.TempDir()) // repairs need the program alone
	if err == nil {
		err = w.build()
	}
	if err != nil {
		t.Fatal(err)
	}
	f := &fixing{w: w, lab: lab, all: t.TempDir(), secret: &confidential{}}
	f.state = filepath.Join(f.all, "first")
	f.ssh = f.sshFromHere(t)
	for _, n := range f.lab.Nodes() {
		f.save(t, n)
	}
	t.Cleanup(func() { f.journalsHide(t) })
	return f
}

// apart is another user, with journals of their own.
func (f *fixing) apart(t *testing.T) *fixing {
	t.Helper()
	other := *f
	other.state = filepath.Join(f.all, strings.ReplaceAll(t.Name(), "/", "-"))
	return &other
}

// save keeps what a node's files are, on the node, and puts them back at the end:
// with their times too, by which it is told what a kubelet has read.
func (f *fixing) save(t *testing.T, node string) {
	t.Helper()
	mustDo(t, f.lab, "ssh", node, "sudo sh -ec "+nodeexec.Quote(`umask 077; rm -rf `+savedOn+`; mkdir `+savedOn+`
for f in `+joinConfig+` `+ownConfig+`; do mkdir -p "`+savedOn+`${f%/*}"; cp -a "$f" "`+savedOn+`$f"; done
if test -e `+runsOnNode+`; then touch `+savedOn+`/had-runs; ls `+runsOnNode+` >`+savedOn+`/runs; else touch `+savedOn+`/runs; fi`))
	t.Cleanup(func() {
		f.reset(t, node)
		if _, err := labDo(f.lab, "ssh", node, "sudo sh -c "+nodeexec.Quote(`set -e; if test -e `+runsOnNode+`; then cd `+runsOnNode+`; for r in *; do grep -qx -e "$r" `+savedOn+`/runs || rm -rf -- "$r"; done; fi
test -e `+savedOn+`/had-runs || rm -rf `+runsOnNode+`; rm -rf `+savedOn)); err != nil {
			t.Errorf("remove what the tests kept on %s: %v", node, err)
		}
	})
	join := mustDo(t, f.lab, "ssh", node, "sudo cat "+joinConfig)
	config, err := clientcmd.Load([]byte(join))
	if err != nil {
		t.Fatal(err)
	}
	tokens := 0
	for _, u := range config.AuthInfos {
		if u.Token != "" {
			f.secret.addToken("the token in "+node+":"+joinConfig, u.Token)
			tokens++
		}
	}
	if tokens != 1 {
		t.Fatalf("%s:%s has %d tokens", node, joinConfig, tokens)
	}
	for _, name := range []string{"client", "server"} {
		pair := mustDo(t, f.lab, "ssh", node, "sudo cat /var/lib/kubelet/pki/kubelet-"+name+"-current.pem")
		i := strings.Index(pair, "-----BEGIN EC PRIVATE KEY")
		if i < 0 {
			t.Fatalf("the kubelet's %s pair on %s has no key", name, node)
		}
		f.secret.key("the kubelet's "+name+" key on "+node, []byte(pair[i:]))
	}
}

// reset makes the files of a node what they were before the tests. One that no test changed stays: of
// a copy with the times of its original it is unknown whether the kubelet has read it, and certrot says so.
func (f *fixing) reset(t *testing.T, node string) {
	t.Helper()
	if _, err := labDo(f.lab, "ssh", node, "sudo sh -c "+nodeexec.Quote(`set -e; for f in `+joinConfig+` `+ownConfig+`; do
	if cmp -s `+savedOn+`$f $f && [ "$(stat -c "%y %a %u %g" `+savedOn+`$f)" = "$(stat -c "%y %a %u %g" $f)" ]; then continue; fi
	cp -a `+savedOn+`$f $f.e2e; mv $f.e2e $f
done`)); err != nil {
		t.Errorf("put back the files of %s: %v", node, err)
	}
}

// sshFromHere are flags for ssh from this host: its processes can be sent signals,
// which those inside the lab can't.
func (f *fixing) sshFromHere(t *testing.T) []string {
	t.Helper()
	var inventory, known bytes.Buffer
	for _, n := range f.lab.Nodes() {
		way := sshTo(t, f.lab, n)
		a := way.Inventory[n]
		fmt.Fprintln(&inventory, n, a.Host, a.User, a.Port)
		key, err := os.ReadFile(way.HostKeys.Files[0])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&known, strings.TrimSpace(string(key)))
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"inventory": inventory.Bytes(), "known_hosts": known.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--via", "ssh", "--ssh-config", "none", "--ssh-inventory", filepath.Join(dir, "inventory"),
		"--ssh-known-hosts", filepath.Join(dir, "known_hosts"), "--ssh-key", filepath.Join(f.lab.Dir, "ssh", "id_ed25519")}
}

// inLab runs certrot inside the lab, as a user who has ssh to the nodes there.
func (f *fixing) inLab(t *testing.T, args ...string) result {
	t.Helper()
	c := f.lab.Command(context.WithoutCancel(t.Context()), append([]string{filepath.Join(f.w.bin, "kubectl-certrot")}, args...)...)
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+f.state)
	return f.exec(t, c)
}

// here is certrot on this host.
func (f *fixing) here(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := f.w.command(context.WithoutCancel(t.Context()), args...)
	c.Env = append(c.Env, "XDG_STATE_HOME="+f.state)
	return c
}

// onNode runs certrot on a node itself, as root.
func (f *fixing) onNode(t *testing.T, node string, args ...string) result {
	t.Helper()
	program := onNodes{lab: f.lab, node: node}.program(t, f.w)
	r := f.exec(t, f.lab.SSHCommand(context.WithoutCancel(t.Context()), node, append([]string{"sudo", "env", "XDG_STATE_HOME=" + savedOn + "/state", program}, args...)...))
	f.secret.leak(t, "a journal on "+node, mustDo(t, f.lab, "ssh", node, "sudo sh -c 'cat "+savedOn+"/state/certrot/runs/* 2>/dev/null; true'"))
	return r
}

func (f *fixing) exec(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	// A kubelet that does not come up, and one that asks to join, are waited for longer than runLimit.
	r := f.w.execWithin(t, c, 4*time.Minute)
	f.secret.leak(t, strings.Join(c.Args, " "), r.said())
	t.Logf("note: %s: ended with %d after %s", strings.Join(c.Args[1:], " "), r.code, r.took.Round(100*time.Millisecond))
	return r
}

// ends fails the test unless a run ended with a code and said some words.
func ends(t *testing.T, r result, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("ended with %d, want %d:\n%s", r.code, code, r.said())
	}
	for _, word := range words {
		if !strings.Contains(r.said(), word) {
			t.Errorf("does not say %q:\n%s", word, r.said())
		}
	}
}

// journals are the names of the runs with a journal.
func (f *fixing) journals(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(f.state, "certrot", "runs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var runs []string
	for _, file := range files {
		runs = append(runs, strings.TrimSuffix(file.Name(), ".jsonl"))
	}
	return runs
}

func (f *fixing) journal(run string) string {
	return filepath.Join(f.state, "certrot", "runs", run+".jsonl")
}

// journalsHide searches all journals, and their folders, for what must not be
// there.
func (f *fixing) journalsHide(t *testing.T) {
	t.Helper()
	if made, err := os.ReadDir(f.all); err == nil && len(made) == 0 {
		return // a test that only reads
	}
	searched := 0
	err := filepath.WalkDir(f.all, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		f.secret.leak(t, "journal "+path, string(text))
		if info, statErr := d.Info(); statErr != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("journal %s has mode %v, %v", path, info.Mode(), statErr)
		}
		searched++
		return err
	})
	if err != nil || searched == 0 {
		t.Errorf("searched %d journals: %v", searched, err)
	}
}

// runOf is the run that a program said it was.
func runOf(t *testing.T, r result) string {
	t.Helper()
	said := regexp.MustCompile(`(?m)^Run (\S+)$`).FindStringSubmatch(r.said())
	if said == nil {
		t.Fatalf("does not say which run it was:\n%s", r.said())
	}
	return said[1]
}

// published are the ConfigMap's bytes, which kubelets are to trust.
func (f *fixing) published(t *testing.T) []byte {
	t.Helper()
	return []byte(mustDo(t, f.lab, "get", "configmap", "-n", "openshift-config-managed", "kube-apiserver-server-ca", "-o", `jsonpath={.data.ca-bundle\.crt}`))
}

// newCA is the sha256 of the CA that api-int is signed by since the incident.
func (f *fixing) newCA(t *testing.T) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(mustDo(t, f.lab, "get", "secret", "-n", "openshift-kube-apiserver-operator", "loadbalancer-serving-signer", "-o", `jsonpath={.data.tls\.crt}`))
	block, _ := pem.Decode(text)
	if err != nil || block == nil {
		t.Fatalf("the new CA: %v", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(block.Bytes))
}
