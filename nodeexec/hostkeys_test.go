package nodeexec_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// hostKeyError is why a host's key was refused; it must have been.
func hostKeyError(t *testing.T, s *nodeexec.SSH) *nodeexec.HostKeyError {
	t.Helper()
	n, err := s.Dial(t.Context(), "node-1")
	if err == nil {
		_ = n.Close()
		t.Fatal("a host is trusted")
	}
	var e *nodeexec.HostKeyError
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *HostKeyError", err, err)
	}
	return e
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in: %s", p, text)
		}
	}
}

func yes(string, ssh.PublicKey) (bool, error) { return true, nil }

func TestAnUnknownHostIsRefusedWithoutConsent(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	noLeaks(t)
	fingerprint := ssh.FingerprintSHA256(d.keys[0])
	s := h.ssh(d)
	e := hostKeyError(t, s)
	if !e.Unknown() {
		t.Error("it is known")
	}
	contains(t, e.Error(), fmt.Sprintf("[127.0.0.1]:%d is unknown", d.port), fingerprint, "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub", h.file("known_hosts"))

	asked := ""
	s.HostKeys.Accept = func(host string, key ssh.PublicKey) (bool, error) {
		asked = host + " " + ssh.FingerprintSHA256(key)
		return false, nil
	}
	hostKeyError(t, s)
	if want := fmt.Sprintf("[127.0.0.1]:%d %s", d.port, fingerprint); asked != want {
		t.Errorf("asked about %s, not %s", asked, want)
	}
	asked = ""
	hostKeyError(t, s)
	if asked != "" {
		t.Error("asked again after a no: with many nodes behind one jump host, that is once for each")
	}
	s = h.ssh(d)
	s.HostKeys.Accept = func(string, ssh.PublicKey) (bool, error) { return true, errors.New("no terminal") }
	contains(t, hostKeyErrorText(t, s), "no terminal")
	if _, err := os.Stat(h.file("known_hosts")); err == nil {
		t.Error("known_hosts was written")
	}
}

func hostKeyErrorText(t *testing.T, s *nodeexec.SSH) string {
	t.Helper()
	_, err := s.Dial(t.Context(), "node-1")
	if err == nil {
		t.Fatal("a host is trusted")
	}
	return err.Error()
}

func TestAnAcceptedKeyIsAddedAndNothingElseChanges(t *testing.T) {
	for name, before := range map[string]string{
		"no file":               "",
		"other lines":           "# mine\n|1|abcdefghijklmnopqrstuvwxyzA=|abcdefghijklmnopqrstuvwxyzA= ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7SOmPqMDyzzRrSVoZzLGA9mLxkFcYKCBRB3mWdZnPv\n",
		"no newline at its end": "other.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7SOmPqMDyzzRrSVoZzLGA9mLxkFcYKCBRB3mWdZnPv",
		"known by another port": "127.0.0.1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7SOmPqMDyzzRrSVoZzLGA9mLxkFcYKCBRB3mWdZnPv\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			d := startSSHD(t, "", nil, h.key)
			file := h.file("known_hosts")
			if before != "" {
				write(t, file, before)
			}
			s := h.ssh(d)
			s.HostKeys.Accept = yes
			open(t, s, "node-1")
			if before != "" && !strings.HasSuffix(before, "\n") {
				before += "\n"
			}
			want := before + knownhosts.Line([]string{d.addr(), fmt.Sprintf("node-1:%d", d.port)}, d.keys[0]) + "\n"
			if got := read(t, file); got != want {
				t.Errorf("known_hosts is\n%s, not\n%s", got, want)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			s.HostKeys.Accept = nil
			open(t, s, "node-1") // and now it is known
			out, err := exec.Command("ssh-keygen", "-F", fmt.Sprintf("[127.0.0.1]:%d", d.port), "-f", file).Output()
			if err != nil || !strings.Contains(string(out), "found") {
				t.Errorf("OpenSSH does not find it: %s, %v", out, err)
			}
		})
	}
}

func TestAChangedKeyIsRefusedWhateverAnybodySays(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	other := writeKey(t, filepath.Join(t.TempDir(), "other"), "ed25519", "")
	for name, line := range map[string]string{
		"by address":             knownhosts.Line([]string{d.addr()}, other),
		"by name":                knownhosts.Line([]string{fmt.Sprintf("node-1:%d", d.port)}, other),
		"by name, address right": knownhosts.Line([]string{d.addr()}, d.keys[0]) + "\n" + knownhosts.Line([]string{fmt.Sprintf("node-1:%d", d.port)}, other),
		"by pattern":             "[127.0.*]:" + fmt.Sprint(d.port) + strings.TrimPrefix(knownhosts.Line([]string{"x"}, other), "x"),
		"hashed":                 knownhosts.HashHostname(knownhosts.Normalize(d.addr())) + strings.TrimPrefix(knownhosts.Line([]string{"x"}, other), "x"),
		"another kind of key":    knownhosts.Line([]string{d.addr()}, writeKey(t, filepath.Join(t.TempDir(), "o"), "ecdsa", "")),
	} {
		t.Run(name, func(t *testing.T) {
			text := "# first\n" + line + "\n"
			write(t, h.file("known_hosts"), text)
			s := h.ssh(d)
			s.HostKeys.Accept = func(string, ssh.PublicKey) (bool, error) {
				t.Error("somebody is asked")
				return true, nil
			}
			e := hostKeyError(t, s)
			if e.Unknown() || len(e.Known) == 0 {
				t.Errorf("%#v", e)
			}
			at := fmt.Sprintf("%s:%d", h.file("known_hosts"), strings.Count(text, "\n"))
			contains(t, e.Error(), "HAS CHANGED", ssh.FingerprintSHA256(d.keys[0]), at, "ssh-keygen -lf")
			if read(t, h.file("known_hosts")) != text {
				t.Error("known_hosts was changed")
			}
		})
	}
}

func TestARevokedKeyIsRefused(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	line := knownhosts.Line([]string{d.addr()}, d.keys[0])
	write(t, h.file("known_hosts"), line+"\n@revoked * "+strings.SplitN(line, " ", 2)[1]+"\n")
	s := h.ssh(d)
	s.HostKeys.Accept = yes
	e := hostKeyError(t, s)
	if e.Unknown() || e.Revoked == nil {
		t.Errorf("%#v", e)
	}
	contains(t, e.Error(), "is revoked by "+h.file("known_hosts")+":2")
}

// A server prefers ed25519; one that is known by its rsa key has not changed.
func TestAHostIsAskedForTheKindOfKeyItIsKnownBy(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", []string{"ed25519", "ecdsa", "rsa"}, h.key)
	for i, k := range d.keys {
		write(t, h.file("known_hosts"), knownhosts.Line([]string{d.addr()}, k)+"\n")
		if n, err := h.ssh(d).Dial(t.Context(), "node-1"); err != nil {
			t.Errorf("known by key %d (%s): %v", i, k.Type(), err)
		} else {
			_ = n.Close()
		}
	}
}

func TestAHostCertificateIsChecked(t *testing.T) {
	h := newHome(t)
	dir := t.TempDir()
	writeKey(t, filepath.Join(dir, "host"), "ed25519", "")
	hostKey, err := ssh.ParsePrivateKey([]byte(read(t, filepath.Join(dir, "host"))))
	if err != nil {
		t.Fatal(err)
	}
	authority := func(name string) ssh.Signer {
		writeKey(t, filepath.Join(dir, name), "ed25519", "")
		ca, err := ssh.ParsePrivateKey([]byte(read(t, filepath.Join(dir, name))))
		if err != nil {
			t.Fatal(err)
		}
		return ca
	}
	ca, stranger := authority("ca"), authority("stranger")
	cert := &ssh.Certificate{Key: hostKey.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "host-cert.pub"), string(ssh.MarshalAuthorizedKey(cert)))
	d := startSSHD(t, "HostKey "+filepath.Join(dir, "host")+"\nHostCertificate "+filepath.Join(dir, "host-cert.pub"), nil, h.key)

	trust := func(k ssh.PublicKey) {
		line := knownhosts.Line([]string{d.addr()}, k)
		write(t, h.file("known_hosts"), "@cert-authority "+line+"\n")
	}
	trust(ca.PublicKey())
	open(t, h.ssh(d), "node-1")
	trust(stranger.PublicKey())
	s := h.ssh(d)
	s.HostKeys.Accept = yes
	if e := hostKeyError(t, s); e.Unknown() {
		t.Errorf("a certificate of a stranger may be accepted: %v", e)
	}
}

func TestOneQuestionForManyNodes(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "MaxStartups 100", nil, h.key)
	noLeaks(t)
	s := h.ssh(d)
	var asked atomic.Int32
	s.HostKeys.Accept = func(string, ssh.PublicKey) (bool, error) { asked.Add(1); return true, nil }
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			n, err := s.Dial(t.Context(), "node-1")
			if err != nil {
				t.Error(err)
				return
			}
			_ = n.Close()
		})
	}
	all.Wait()
	if asked.Load() != 1 || strings.Count(read(t, h.file("known_hosts")), "\n") != 1 {
		t.Errorf("asked %d times; known_hosts:\n%s", asked.Load(), read(t, h.file("known_hosts")))
	}
}

func TestWhatCantBeSavedIsAcceptedOnceAndSaidSo(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	s := h.ssh(d)
	var said []string
	asked := 0
	s.Notice = func(text string) { said = append(said, text) }
	s.HostKeys.Files = []string{os.DevNull}
	s.HostKeys.Accept = func(string, ssh.PublicKey) (bool, error) { asked++; return true, nil }
	open(t, s, "node-1")
	open(t, s, "node-1")
	contains(t, strings.Join(said, "\n"), "is accepted until this program exits, and was not saved")
	after, err := os.Stat(os.DevNull)
	if asked != 1 || err != nil || after.Mode() != before.Mode() {
		t.Errorf("asked %d times; %v, %v", asked, after.Mode(), err)
	}
}

func TestADamagedKnownHostsIsNotSkipped(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	h.trust(t, d)
	write(t, h.file("known_hosts"), read(t, h.file("known_hosts"))+"node-1 ssh-ed25519 AAAA\n")
	contains(t, hostKeyErrorText(t, h.ssh(d)), h.file("known_hosts")+":2", "correct or remove that line")
}
