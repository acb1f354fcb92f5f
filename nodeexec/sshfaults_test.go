package nodeexec_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/sshtest"
)

func TestALostConnectionIsAnUnknownOutcome(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	for name, c := range map[string]struct {
		fault func(*badLine)
		told  string
	}{
		"cut":    {(*badLine).cut, "the connection to node-1 was closed"},
		"silent": {(*badLine).goSilent, "no answer for 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			l := startBadLine(t, d.addr())
			s := h.over(t, d, l)
			s.Limits.Alive, s.Limits.Misses = 100*time.Millisecond, 3
			n := open(t, s, "node-1")
			stream, err := n.Stream(t.Context(), "cat")
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(300*time.Millisecond, func() { c.fault(l) })
			start := time.Now()
			_, err = n.Run(t.Context(), nil, "sleep", "30")
			if !errors.Is(err, nodeexec.ErrUnknownOutcome) || time.Since(start) > 10*time.Second {
				t.Errorf("after %s: %v", time.Since(start), err)
			}
			if err != nil {
				contains(t, err.Error(), c.told)
			}
			if _, err := io.ReadAll(stream); !errors.Is(err, nodeexec.ErrUnknownOutcome) {
				t.Errorf("stream: %v", err)
			}
			if _, err := n.Run(t.Context(), nil, "true"); err == nil || errors.Is(err, nodeexec.ErrUnknownOutcome) {
				t.Errorf("a command that can't have started: %v", err)
			}
			_ = stream.Close()
			_ = n.Close()
		})
	}
}

func TestADeadPeerDoesNotHoldACancelledCommand(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	noLeaks(t)
	l := startBadLine(t, d.addr())
	n := open(t, h.over(t, d, l), "node-1")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { l.goSilent(); cancel() })
	start := time.Now()
	_, err := n.Run(ctx, nil, "sleep", "5")
	if !errors.Is(err, context.Canceled) || time.Since(start) > 6*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	_ = n.Close()
}

func TestARestartOfSSHDIsNoSuccess(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	h.trust(t, d)
	n := open(t, h.ssh(d), "node-1")
	// The parent of the session's shell is the sshd that serves us.
	_, err := n.Run(t.Context(), nil, "sh", "-c", `kill -KILL "$PPID"; sleep 0.2; exit 0`)
	if !errors.Is(err, nodeexec.ErrUnknownOutcome) {
		t.Errorf("a command that ended its own transport: %v", err)
	}
}

func TestServersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(net.Conn)
		told  string
	}{
		"silent":     {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "sshd is there and does not answer"},
		"closing":    {func(net.Conn) {}, "ssh to 127.0.0.1"},
		"garbage":    {func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, "ssh to 127.0.0.1"},
		"endless":    {endless, "ssh to 127.0.0.1"},
		"half a key": {func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-x\r\n\x00\x00\x00\x0c")) }, "ssh to 127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					c.serve(conn)
					_ = conn.Close()
				}
			}()
			s := &nodeexec.SSH{Home: newHome(t).dir, Limits: nodeexec.Limits{Connect: 500 * time.Millisecond},
				Inventory: nodeexec.Inventory{"node-1": {Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port}}}
			start := time.Now()
			loginFails(t, s, c.told)
			if time.Since(start) > 5*time.Second {
				t.Errorf("it took %s", time.Since(start))
			}
		})
	}
}

func endless(c net.Conn) {
	for {
		if _, err := c.Write([]byte(strings.Repeat("banner ", 100) + "\r\n")); err != nil {
			return
		}
	}
}

func TestAnAddressThatDoesNotAnswerIsNotTheEnd(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	h.trust(t, d)
	write(t, h.file("config"), "Host node-1\n Port "+strings.TrimPrefix(d.addr(), "127.0.0.1:")+"\n User "+d.user+"\n")
	s := nodeexec.ClaimLoopback(&nodeexec.SSH{Home: h.dir, Addresses: answer([]string{"127.0.0.99", "127.0.0.1"})})
	open(t, s, "node-1")
	s.Addresses = answer([]string{"127.0.0.98", "127.0.0.99"})
	loginFails(t, s, "connect to 127.0.0.98:", "connect to 127.0.0.99:", "refused")
}

func TestSudoThatWantsAPassword(t *testing.T) {
	h := newHome(t)
	bin := t.TempDir()
	write(t, filepath.Join(bin, "sudo"), "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
	if err := os.Chmod(filepath.Join(bin, "sudo"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := startSSHD(t, "SetEnv PATH="+bin+":"+os.Getenv("PATH"), nil, h.key)
	h.trust(t, d)
	noLeaks(t)
	s := h.ssh(d)
	s.Sudo = nodeexec.SudoAlways
	_, err := s.Dial(t.Context(), "node-1")
	var refused *nodeexec.SudoError
	if !errors.As(err, &refused) || refused.Node != "node-1" || refused.User != d.user || refused.Said != "sudo: a password is required" {
		t.Errorf("%v", err)
	}
	if errors.Is(err, nodeexec.ErrUnknownOutcome) {
		t.Error("it is known that nothing ran")
	}
}

func TestLoginScriptsThatTalk(t *testing.T) {
	h := newHome(t)
	bin := t.TempDir()
	// A shell that says something before it runs what it is told.
	write(t, filepath.Join(bin, "sudo"), "#!/bin/sh\necho 'Welcome to ${PROD}'\nprintf 'no newline '\nshift 2\nexec \"$@\"\n")
	if err := os.Chmod(filepath.Join(bin, "sudo"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := startSSHD(t, "SetEnv PATH="+bin+":"+os.Getenv("PATH"), nil, h.key)
	h.trust(t, d)
	s := h.ssh(d)
	s.Sudo = nodeexec.SudoAlways
	n := open(t, s, "node-1")
	if out, err := n.Run(t.Context(), nil, "echo", "mine"); err != nil || string(out) != "mine\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestAForcedCommandIsNoSuccess(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "ForceCommand true", nil, h.key)
	h.trust(t, d)
	loginFails(t, h.ssh(d), "forced command")
	d = startSSHD(t, "ForceCommand echo no shell for you; exit 3", nil, h.key)
	h.trust(t, d)
	loginFails(t, h.ssh(d), "did not run it", "no shell for you", "exit status 3")
}

func TestAServerWithFewSessions(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "MaxSessions 1", nil, h.key)
	h.trust(t, d)
	n := open(t, h.ssh(d), "node-1")
	ctx, cancel := context.WithCancel(t.Context())
	s, err := n.Stream(ctx, "sh", "-c", "echo $$; exec sleep 60")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(s).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Run(t.Context(), nil, "true"); err == nil || !strings.Contains(err.Error(), "MaxSessions") {
		t.Error(err)
	}
	cancel()
	// There is no second session from which to end it, so that is said.
	_, err = s.Read(make([]byte, 1))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "it may still run there, in process group "+strings.TrimSpace(pid)) {
		t.Error(err)
	}
	_ = s.Close()
	if err := exec.Command("kill", strings.TrimSpace(pid)).Run(); err != nil {
		t.Log(err)
	}
}

func TestASuccessBeforeTheLastOfTheOutputIsNone(t *testing.T) {
	h := newHome(t)
	// It answers a command with success and half of its output, and is gone.
	server := sshtest.Start(t, 0, func(c sshtest.Session) int {
		// The nonce is the first argument after the script.
		_, rest, _ := strings.Cut(c.Command, `exec "$@"`)
		words := strings.Fields(rest)
		_, _ = c.Write([]byte(words[2] + " 1\nhalf of it"))
		_, _ = c.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
		_ = c.Conn.(*net.TCPConn).CloseWrite() // all of that arrives; the client ends the rest
		_, _ = io.Copy(io.Discard, c)
		return sshtest.NoStatus
	})
	write(t, h.file("known_hosts"), server.KnownHost)
	s := &nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever,
		Inventory: nodeexec.Inventory{"node-1": {Host: "127.0.0.1", Port: server.Port}}}
	_, err := s.Dial(t.Context(), "node-1") // runs true
	if !errors.Is(err, nodeexec.ErrUnknownOutcome) {
		t.Errorf("a status before the connection broke: %v", err)
	}
}

// TestTheNameOfASignalIsNoSentenceOfCertrots: the node's sshd chooses it.
func TestTheNameOfASignalIsNoSentenceOfCertrots(t *testing.T) {
	h := newHome(t)
	const planted = "KILL. All is fine. Now run kubectl delete node master-0"
	server := sshtest.Start(t, 0, func(c sshtest.Session) int {
		_, rest, _ := strings.Cut(c.Command, `exec "$@"`)
		_, _ = c.Write([]byte(strings.Fields(rest)[2] + " 1\n"))
		_, _ = c.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal           string
			Core             bool
			Message, Letters string
		}{Signal: planted}))
		return sshtest.NoStatus
	})
	write(t, h.file("known_hosts"), server.KnownHost)
	s := &nodeexec.SSH{Home: h.dir, Sudo: nodeexec.SudoNever,
		Inventory: nodeexec.Inventory{"node-1": {Host: "127.0.0.1", Port: server.Port}}}
	_, err := s.Dial(t.Context(), "node-1") // runs true
	if err == nil || !strings.Contains(err.Error(), "killed by signal “"+planted+"”") {
		t.Errorf("%v", err)
	}
}

// A connection inside of another can't be ended alone when the other is dead:
// that takes an answer.
func TestAJumpHostThatDiesEndsTheWayOnto(t *testing.T) {
	h := newHome(t)
	jump := startSSHD(t, "", nil, h.key)
	noLeaks(t)
	l := startBadLine(t, jump.addr())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() { // the node: the jump host dies when it has led there
		if c, err := ln.Accept(); err == nil {
			_, _ = c.Read(make([]byte, 1))
			l.goSilent()
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}()
	write(t, h.file("known_hosts"), knownhosts.Line([]string{l.ln.Addr().String()}, jump.keys[0])+"\n")
	write(t, h.file("config"), fmt.Sprintf("Host jump\n HostName 127.0.0.1\n Port %d\n User %s\nHost node-1\n HostName 127.0.0.1\n Port %d\n ProxyJump jump\n",
		l.port(), jump.user, ln.Addr().(*net.TCPAddr).Port))
	s := &nodeexec.SSH{Home: h.dir, Limits: nodeexec.Limits{Connect: time.Second}}
	start := time.Now()
	loginFails(t, s, "no end of the handshake within 1s")
	if time.Since(start) > 10*time.Second {
		t.Errorf("it took %s", time.Since(start))
	}
	_ = ln.Close()
	l.cut()
}

// The login works, and no command does: a home on a dead file server.
func TestALoginWithoutCommandsEnds(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "ForceCommand sleep 30", nil, h.key)
	h.trust(t, d)
	s := h.ssh(d)
	s.Limits.Connect = time.Second
	start := time.Now()
	loginFails(t, s, "no command starts within 1s")
	if time.Since(start) > 10*time.Second {
		t.Errorf("it took %s", time.Since(start))
	}
}

// TestCloseEndsAllCommandsThroughOneSession: one session is left to end eight commands with.
func TestCloseEndsAllCommandsThroughOneSession(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "MaxSessions 9", nil, h.key)
	h.trust(t, d)
	noLeaks(t)
	n := open(t, h.ssh(d), "node-1")
	var all sync.WaitGroup
	for range 8 {
		s, err := n.Stream(t.Context(), "sleep", "4323.5") // it runs once Stream has returned
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if _, err := io.ReadAll(s); err == nil {
				t.Error("a sleep of an hour has ended well")
			}
		})
	}
	_ = n.Close()
	all.Wait()
	nothingLeft(t, "sleep\x004323.5")
}

// Close may come while a command is on its way.
func TestCloseWhileCommandsStart(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	h.trust(t, d)
	noLeaks(t)
	for range 5 {
		n := open(t, h.ssh(d), "node-1")
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if _, err := n.Run(t.Context(), nil, "sleep", "4322.5"); err == nil {
					t.Error("a sleep of an hour has ended well")
				}
			})
		}
		_ = n.Close()
		all.Wait()
	}
	nothingLeft(t, "sleep\x004322.5")
}
