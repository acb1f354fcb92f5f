// Package sshtest is an SSH server in the test's own process, which can be as
// far away, and as broken, as a test wants it to be. Where it matters what a real
// sshd does, tests start one.
package sshtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Server listens on 127.0.0.1 and lets every user in.
type Server struct {
	Port      int
	KnownHost string // a line for known_hosts

	away   time.Duration
	answer func(Session) int
}

// Session is a command that a client asks for.
type Session struct {
	ssh.Channel          // its stdin and stdout
	Command     string   // what a login shell would be given
	Conn        net.Conn // below all sessions of the client
}

// NoStatus ends a session without saying how its command ended.
const NoStatus = -1

// Start serves until the test ends. What is said takes half of roundTrip to
// arrive, either way, connecting excepted. answer returns the exit status of a
// command, or NoStatus.
func Start(t testing.TB, roundTrip time.Duration, answer func(Session) int) *Server {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_, port, _ := strings.Cut(addr, ":")
	s := &Server{KnownHost: knownhosts.Line([]string{addr}, signer.PublicKey()) + "\n", away: roundTrip / 2, answer: answer}
	if s.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.AddHostKey(signer)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.serve(raw, config) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		all.Wait() // clients are closed by now
	})
	return s
}

func (s *Server) serve(raw net.Conn, config *ssh.ServerConfig) {
	defer func() { _ = raw.Close() }()
	conn := raw
	if s.away > 0 {
		conn = distant(raw, s.away)
		defer func() { _ = conn.Close() }()
	}
	_, chans, reqs, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	for asked := range chans {
		ch, reqs, err := asked.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range reqs {
				_ = r.Reply(r.Type == "exec", nil)
				if r.Type == "exec" {
					go s.session(ch, string(r.Payload[4:]), raw)
				}
			}
		}()
	}
}

func (s *Server) session(ch ssh.Channel, command string, raw net.Conn) {
	defer func() { _ = ch.Close() }()
	if status := s.answer(Session{Channel: ch, Command: command, Conn: raw}); status != NoStatus {
		_, _ = ch.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, uint32(status)))
	}
}

// distant is the near end of a line on which everything takes a while, and
// nothing waits for what was sent before.
func distant(far net.Conn, away time.Duration) net.Conn {
	near, mine := net.Pipe()
	go carry(far, mine, away)
	go carry(mine, far, away)
	return near
}

// carry passes on what it reads, a while later, and then the end.
func carry(from, to net.Conn, away time.Duration) {
	type packet struct {
		data []byte
		due  time.Time
	}
	line := make(chan packet, 1024) // as much as is under way at a time
	go func() {
		defer close(line)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if err != nil {
				return
			}
			line <- packet{data[:n], time.Now().Add(away)}
		}
	}()
	defer func() { _ = to.Close() }()
	for p := range line {
		<-time.After(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			_ = from.Close()
		}
	}
}
