package nodeexec_test

import (
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

func TestJumpHosts(t *testing.T) {
	h := newHome(t)
	j1, j2, d := startSSHD(t, "", nil, h.key), startSSHD(t, "", nil, h.key), startSSHD(t, "", nil, h.key)
	config := func(t *testing.T) *nodeexec.SSH {
		t.Helper()
		var b strings.Builder
		for name, at := range map[string]*sshd{"jump-1": j1, "jump-2": j2, "node-1": d} {
			b.WriteString("Host " + name + "\n HostName 127.0.0.1\n User " + at.user + "\n Port " + strings.TrimPrefix(at.addr(), "127.0.0.1:") + "\n")
		}
		b.WriteString("Host node-1\n ProxyJump jump-1,jump-2\n")
		write(t, h.file("config"), b.String())
		return &nodeexec.SSH{Home: h.dir}
	}
	t.Run("two of them", func(t *testing.T) {
		noLeaks(t)
		h.trust(t, j1, j2, d)
		n := open(t, config(t), "node-1")
		if out, err := n.Run(t.Context(), strings.NewReader("through two"), "cat"); err != nil || string(out) != "through two" {
			t.Errorf("%q, %v", out, err)
		}
		_ = n.Close()
	})
	t.Run("each with a key of its own", func(t *testing.T) {
		noLeaks(t)
		h.trust(t, j1, d)
		s := config(t)
		e := hostKeyError(t, s)
		if !e.Unknown() || ssh.FingerprintSHA256(e.Key) != ssh.FingerprintSHA256(j2.keys[0]) {
			t.Errorf("%v", e)
		}
		contains(t, hostKeyErrorText(t, s), "jump host jump-2 (for node-1)")
	})
	t.Run("asked for one after the other", func(t *testing.T) {
		noLeaks(t)
		write(t, h.file("known_hosts"), "")
		s := config(t)
		var asked []string
		s.HostKeys.Accept = func(_ string, key ssh.PublicKey) (bool, error) {
			asked = append(asked, ssh.FingerprintSHA256(key))
			return true, nil
		}
		_ = open(t, s, "node-1").Close()
		want := []string{ssh.FingerprintSHA256(j1.keys[0]), ssh.FingerprintSHA256(j2.keys[0]), ssh.FingerprintSHA256(d.keys[0])}
		if strings.Join(asked, " ") != strings.Join(want, " ") {
			t.Errorf("asked about %v, not %v", asked, want)
		}
	})
	t.Run("one that forbids it", func(t *testing.T) {
		no := startSSHD(t, "AllowTcpForwarding no", nil, h.key)
		h.trust(t, no, d)
		s := config(t)
		write(t, h.file("config"), read(t, h.file("config"))+"Host jump-no\n HostName 127.0.0.1\n User "+no.user+"\n Port "+strings.TrimPrefix(no.addr(), "127.0.0.1:")+
			"\nHost node-2\n HostName 127.0.0.1\n ProxyJump jump-no\n")
		_, err := s.Dial(t.Context(), "node-2")
		if err == nil || !strings.Contains(err.Error(), "the jump host says: ") || !strings.Contains(err.Error(), "prohibited") {
			t.Error(err)
		}
	})
}
