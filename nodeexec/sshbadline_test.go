package nodeexec_test

import (
	"net"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// badLine stands between us and a server, and can go silent or be cut.
type badLine struct {
	ln          net.Listener
	mu          sync.Mutex
	conns       []net.Conn
	silent, off bool
	all         sync.WaitGroup
}

func startBadLine(t *testing.T, to string) *badLine {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &badLine{ln: ln}
	l.all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = c.Close()
				continue
			}
			l.mu.Lock()
			l.conns = append(l.conns, c, far)
			off := l.off
			l.mu.Unlock()
			if off {
				l.cut()
			}
			l.all.Go(func() { l.pass(c, far) })
			l.all.Go(func() { l.pass(far, c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		l.cut()
		l.all.Wait()
	})
	return l
}

func (l *badLine) pass(from, to net.Conn) {
	defer to.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		l.mu.Lock()
		silent := l.silent
		l.mu.Unlock()
		if silent {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (l *badLine) goSilent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = true
}

func (l *badLine) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = true
	for _, c := range l.conns {
		_ = c.Close()
	}
}

func (l *badLine) port() int { return l.ln.Addr().(*net.TCPAddr).Port }

// over is a transport that reaches a server over a bad line.
func (h home) over(t *testing.T, d *sshd, l *badLine) *nodeexec.SSH {
	t.Helper()
	write(t, h.file("known_hosts"), knownhosts.Line([]string{l.ln.Addr().String()}, d.keys[0])+"\n")
	s := h.ssh(d)
	s.Inventory = nodeexec.Inventory{"node-1": {Host: "127.0.0.1", User: d.user, Port: l.port()}}
	return s
}
