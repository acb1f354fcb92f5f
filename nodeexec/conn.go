package nodeexec

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// drainGrace is how long Close waits for the far side to take what was written
// before. A far side that is dead may take as long as the keep-alive to say so.
const drainGrace = time.Second

// conn makes a net.Conn of two pipes and a Stream (or an SSH channel, which
// offers the same). The pipes bring deadlines, which neither of those has, and
// cost one copy.
type conn struct {
	far           Stream
	local, remote nodeAddr
	r, w          net.Conn // the caller's ends

	readErr  atomic.Pointer[error] // why the far side ended, where not by EOF
	writeErr atomic.Pointer[error]
	closed   atomic.Bool
	once     sync.Once
	drained  chan struct{} // everything written has reached the far side, or never will
}

// newConn owns far from now on. explain may give its errors another shape.
func newConn(node, addr string, far Stream, explain func(op string, err error) error) *conn {
	r, fromFar := net.Pipe()
	w, toFar := net.Pipe()
	c := &conn{far: far, local: nodeAddr("node " + node), remote: nodeAddr(addr), r: r, w: w, drained: make(chan struct{})}
	go func() {
		defer func() { _ = fromFar.Close() }()
		src := &remembering{r: far}
		_, _ = io.Copy(fromFar, src)
		if src.err != nil {
			err := explain("read", src.err)
			c.readErr.Store(&err)
		}
	}()
	go func() {
		defer close(c.drained)
		defer func() { _ = toFar.Close() }()
		if _, err := io.Copy(far, toFar); err != nil {
			err = explain("write", err)
			c.writeErr.Store(&err)
			return
		}
		_ = far.CloseWrite() // the far side is told, or is gone
	}()
	return c
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	return n, c.meant(err, &c.readErr)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	return n, c.meant(err, &c.writeErr)
}

// meant turns what a pipe says into what happened on the far side.
func (c *conn) meant(err error, why *atomic.Pointer[error]) error {
	if err == nil || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	if c.closed.Load() {
		return net.ErrClosed
	}
	if e := why.Load(); e != nil {
		return *e
	}
	return err
}

// CloseWrite tells the far side that nothing more comes. How far that gets
// depends on the way: see relay.
func (c *conn) CloseWrite() error { return c.w.Close() }

// Close lets what was written before go out, for a moment, and ends both ways.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.closed.Store(true)
		_ = c.w.Close()
		_ = c.r.Close()
		late := time.NewTimer(drainGrace)
		defer late.Stop()
		select {
		case <-c.drained:
		case <-late.C:
		}
		_ = c.far.Close()
	})
	return nil
}

func (c *conn) LocalAddr() net.Addr                { return c.local }
func (c *conn) RemoteAddr() net.Addr               { return c.remote }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.r.SetReadDeadline(t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.w.SetWriteDeadline(t) }
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// nodeAddr is an end of a connection that was made on a node: its numbers are
// unknown here.
type nodeAddr string

func (nodeAddr) Network() string  { return "tcp" }
func (a nodeAddr) String() string { return string(a) }

// splitTCP takes an address apart and refuses what could mean anything else to
// one of the programs that will be given it.
func splitTCP(network, addr string) (host, port string, err error) {
	if network != "tcp" {
		return "", "", fmt.Errorf("network %q: only tcp is possible from a node", network)
	}
	host, port, err = net.SplitHostPort(addr)
	if err != nil {
		return "", "", err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	if host == "" || host[0] == '-' || strings.ContainsFunc(host, notInHost) {
		return "", "", fmt.Errorf("%q is neither an IP address nor the name of a host", host)
	}
	return host, port, nil
}

func notInHost(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune(".-_:%", r)
}

// farError is what a program on the node said, with what it means to errors.Is.
type farError struct {
	text  string
	means error
}

func (e *farError) Error() string   { return e.text }
func (e *farError) Unwrap() error   { return e.means }
func (e *farError) Timeout() bool   { return errors.Is(e.means, syscall.ETIMEDOUT) }
func (e *farError) Temporary() bool { return e.Timeout() }

// dialError reads what sshd and the relays say of a connection that failed, so
// that callers need not: refused and unknown are findings, not trouble.
func dialError(addr, said string, cause error) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	low := strings.ToLower(said)
	op := &net.OpError{Op: "dial", Net: "tcp", Addr: nodeAddr(addr)}
	for _, m := range []struct {
		says  string
		means error
	}{
		{"connection refused", syscall.ECONNREFUSED},
		{"no route to host", syscall.EHOSTUNREACH},
		{"network is unreachable", syscall.ENETUNREACH},
		{"timed out", syscall.ETIMEDOUT},
	} {
		if strings.Contains(low, m.says) {
			op.Err = &farError{text: m.says, means: m.means}
			return op
		}
	}
	for _, says := range []string{
		"name or service not known", "unknown host", "could not resolve", "bad address", "no address associated",
		"temporary failure in name resolution", "try again", "name does not resolve", "nodename nor servname",
	} {
		if strings.Contains(low, says) {
			again := strings.Contains(says, "temporary") || strings.Contains(says, "again")
			op.Err = &net.DNSError{Err: says, Name: host, Server: "the node's resolver", IsNotFound: !again, IsTemporary: again}
			return op
		}
	}
	op.Err = cause
	return op
}
