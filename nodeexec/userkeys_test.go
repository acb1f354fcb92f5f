package nodeexec_test

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// startAgent runs a real ssh-agent with these key files in it.
func startAgent(t *testing.T, files ...string) string {
	t.Helper()
	if _, err := exec.LookPath("ssh-agent"); err != nil {
		t.Skip("ssh-agent is not installed (apt-get install openssh-client)")
	}
	socket := filepath.Join(t.TempDir(), "agent")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var c net.Conn
	var err error
	if !await(func() bool { c, err = net.Dial("unix", socket); return err == nil }) {
		t.Fatal(err)
	}
	defer c.Close()
	client := agent.NewClient(c)
	for _, f := range files {
		key, err := ssh.ParseRawPrivateKey([]byte(read(t, f)))
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	return socket
}

// emptyHome is a home folder without a key.
func emptyHome(t *testing.T) home {
	h := newHome(t)
	for _, f := range []string{"id_ed25519", "id_ed25519.pub"} {
		if err := exec.Command("rm", h.file(f)).Run(); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func loginFails(t *testing.T, s *nodeexec.SSH, parts ...string) {
	t.Helper()
	n, err := s.Dial(t.Context(), "node-1")
	if err == nil {
		_ = n.Close()
		t.Fatal("logged in")
	}
	contains(t, err.Error(), parts...)
}

func TestEveryKindOfKeyLogsIn(t *testing.T) {
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		h := emptyHome(t)
		key := writeKey(t, h.file("id_"+kind), kind, "")
		d := startSSHD(t, "", nil, key)
		h.trust(t, d)
		open(t, h.ssh(d), "node-1")
	}
}

func TestTheAgentsKeysLogIn(t *testing.T) {
	for _, kind := range []string{"ed25519", "rsa"} {
		h := emptyHome(t)
		file := filepath.Join(t.TempDir(), "key")
		key := writeKey(t, file, kind, "")
		d := startSSHD(t, "", nil, key)
		h.trust(t, d)
		s := h.ssh(d)
		s.Keys.Agent = startAgent(t, file)
		noLeaks(t)
		open(t, s, "node-1")
	}
}

func TestANamedKeyComesBeforeAFullAgent(t *testing.T) {
	h := emptyHome(t)
	var others []string
	for i := range 8 { // more than sshd's MaxAuthTries
		f := filepath.Join(t.TempDir(), fmt.Sprint("other", i))
		writeKey(t, f, "ed25519", "")
		others = append(others, f)
	}
	mine := filepath.Join(t.TempDir(), "mine")
	d := startSSHD(t, "", nil, writeKey(t, mine, "ecdsa", ""))
	h.trust(t, d)
	s := h.ssh(d)
	s.Keys.Agent = startAgent(t, others...)
	loginFails(t, s, "keys offered: ssh-ed25519 SHA256:", "(ssh-agent)", "Too many authentication failures")

	s.Keys.Files = []string{mine}
	open(t, s, "node-1")

	// Only the public half here, the private one in the agent.
	s = h.ssh(d)
	s.Keys.Agent = startAgent(t, append(others, mine)...)
	write(t, h.file("config"), "IdentitiesOnly yes\nIdentityFile "+mine+".pub\n")
	open(t, s, "node-1")
	if err := exec.Command("rm", mine).Run(); err != nil {
		t.Fatal(err)
	}
	write(t, h.file("config"), "IdentitiesOnly yes\nIdentityFile "+mine+"\n")
	open(t, s, "node-1")
	write(t, h.file("config"), "IdentitiesOnly yes\nIdentityFile "+others[0]+"\n")
	loginFails(t, s, "IdentitiesOnly leaves it out", others[0])
}

func TestAKeyWithAPassphrase(t *testing.T) {
	h := emptyHome(t)
	file := h.file("id_ed25519")
	d := startSSHD(t, "", nil, writeKey(t, file, "ed25519", "correct horse"))
	h.trust(t, d)
	s := h.ssh(d)
	loginFails(t, s, "there was no key to offer", "not offered: "+file+": the key has a passphrase, and there is no terminal to ask for it", "ssh-add "+file)

	asked := 0
	s.Limits.Connect = time.Second
	s.Keys.Passphrase = func(f string) ([]byte, error) {
		asked++
		if f != file {
			t.Errorf("asked for %s", f)
		}
		if asked == 1 {
			return []byte("wrong"), nil
		}
		<-time.After(1500 * time.Millisecond) // a person may think for longer than a server may take
		return []byte("correct horse"), nil
	}
	open(t, s, "node-1")
	open(t, s, "node-1")
	if asked != 2 {
		t.Errorf("asked %d times for one key, once wrong", asked)
	}

	s = h.ssh(d)
	s.Keys.Passphrase = func(string) ([]byte, error) { return []byte("wrong"), nil }
	loginFails(t, s, "the passphrase is wrong, 3 times")
	s = h.ssh(d)
	s.Keys.Passphrase = func(string) ([]byte, error) { return nil, errors.New("no terminal") }
	loginFails(t, s, "passphrase of "+file+": no terminal")

	// A server that would not take the key makes no user type.
	d = startSSHD(t, "", nil, writeKey(t, filepath.Join(t.TempDir(), "x"), "ed25519", ""))
	h.trust(t, d)
	s = h.ssh(d)
	s.Keys.Passphrase = func(string) ([]byte, error) { t.Error("asked in vain"); return nil, errors.New("no") }
	loginFails(t, s, "keys offered: ssh-ed25519")
}

func TestARefusedLoginTellsWhichKeysWereTried(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, writeKey(t, filepath.Join(t.TempDir(), "x"), "ed25519", ""))
	h.trust(t, d)
	write(t, h.file("broken"), "no key\n")
	s := h.ssh(d)
	s.Keys.Agent = filepath.Join(t.TempDir(), "no-agent")
	loginFails(t, s, "log in as "+d.user+" on "+d.addr(), ssh.FingerprintSHA256(h.key), h.file("id_ed25519"),
		"not offered: the ssh-agent's:", "FIPS")
	s.Keys.Files = []string{h.file("broken"), h.file("missing")}
	_, err := s.Dial(t.Context(), "node-1")
	if err == nil {
		t.Fatal("logged in without a key")
	}
	contains(t, err.Error(), h.file("broken"), h.file("missing"), "there was no key to offer")
	if strings.Contains(err.Error(), "no key\n") {
		t.Error("the error shows a file's content")
	}
}
