package nodetest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// serve answers each connection to a new listener and returns its address.
func serve(t *testing.T, o Options, answer func(net.Conn)) string {
	t.Helper()
	ln := o.Listen(t)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = c.Close() }()
				answer(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		all.Wait()
	})
	return ln.Addr().String()
}

func echoBack(c net.Conn) { _, _ = io.Copy(c, c) }

func dial(t *testing.T, n nodeexec.Node, addr string) net.Conn {
	t.Helper()
	c, err := n.Dial(deadline(t), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// bounce sends bytes and reads them back.
func bounce(t *testing.T, c net.Conn, size int) {
	t.Helper()
	want := noise(size)
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(want)
		sent <- err
	}()
	got := make([]byte, size)
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatalf("read: %v", err)
	}
	if err := <-sent; err != nil {
		t.Fatalf("write: %v", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("of %d bytes, some came back otherwise", size)
	}
}

func echo(t *testing.T, n nodeexec.Node, o Options) {
	addr := serve(t, o, echoBack)
	c := dial(t, n, addr)
	bounce(t, c, 64<<10)
	bounce(t, c, 1) // nothing waits for more
	var several sync.WaitGroup
	for range 3 {
		several.Go(func() {
			c := dial(t, n, addr)
			bounce(t, c, 64<<10)
			_ = c.Close()
		})
	}
	several.Wait()
}

func dialHalfClose(t *testing.T, n nodeexec.Node, o Options) {
	if o.NoHalfClose {
		t.Log("this way can't tell the far side")
	}
	c := dial(t, n, serve(t, o, func(c net.Conn) {
		all, _ := io.ReadAll(c)
		_, _ = c.Write(append([]byte("all I got: "), all...))
	}))
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		t.Fatalf("%T has no CloseWrite", c)
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if o.NoHalfClose {
		return
	}
	want := "all I got: hello"
	if got, err := readAnswer(c, len(want), o); err != nil || got != want {
		t.Errorf("after CloseWrite: %q, %v", got, err)
	}
}

func dialName(t *testing.T, n nodeexec.Node, o Options) {
	names := []string{"localhost"}
	if o.HostName != "" {
		names = append(names, o.HostName)
	}
	_, port, err := net.SplitHostPort(serve(t, o, echoBack))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		bounce(t, dial(t, n, net.JoinHostPort(name, port)), 100)
	}
}

func dialRefused(t *testing.T, n nodeexec.Node, o Options) {
	ln := o.Listen(t)
	addr := ln.Addr().String()
	_ = ln.Close()
	if err := dialFails(t, n, addr, o); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a closed port: %v", err)
	}
}

func dialUnknown(t *testing.T, n nodeexec.Node, o Options) {
	err := dialFails(t, n, "certrot-no-such-name.invalid:443", o)
	var dns *net.DNSError
	if !errors.As(err, &dns) {
		t.Errorf("an unknown name: %v", err)
	}
}

// readAnswer reads to the far side's end, or as much as is to come.
func readAnswer(c net.Conn, size int, o Options) (string, error) {
	var r io.Reader = c
	if o.NoFarEnd {
		r = io.LimitReader(c, int64(size))
	}
	got, err := io.ReadAll(r)
	return string(got), err
}

// dialFails is the error of a Dial that can't succeed, or of the first Read.
func dialFails(t *testing.T, n nodeexec.Node, addr string, o Options) error {
	t.Helper()
	c, err := n.Dial(deadline(t), "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if !o.LateRefusal {
		t.Errorf("dial %s succeeds", addr)
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

func dialNonsense(t *testing.T, n nodeexec.Node, _ Options) {
	for _, addr := range []string{"", "host", ":1", "host:", "host:0", "host:99999", "host:https", "-e:1", "a b:1", "$(id):1", "host,fork:1", "host/x:1"} {
		if c, err := n.Dial(deadline(t), "tcp", addr); err == nil {
			_ = c.Close()
			t.Errorf("dial %q succeeds", addr)
		}
	}
	if c, err := n.Dial(deadline(t), "udp", "127.0.0.1:53"); err == nil {
		_ = c.Close()
		t.Error("dial udp succeeds")
	}
}

func deadlines(t *testing.T, n nodeexec.Node, o Options) {
	hold := make(chan struct{})
	c := dial(t, n, serve(t, o, func(c net.Conn) {
		<-hold
		_, _ = c.Write([]byte("x"))
		_, _ = io.Copy(io.Discard, c)
	}))
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read beyond the deadline: %v", err)
	}
	if err := c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	// Nothing is read, so at some point nothing is taken any more.
	if _, err := c.Write(make([]byte, 64<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write beyond the deadline: %v", err)
	}
	close(hold)
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Errorf("read within a new deadline: %v", err)
	}
}

func farClose(t *testing.T, n nodeexec.Node, o Options) {
	c := dial(t, n, serve(t, o, func(c net.Conn) { _, _ = c.Write([]byte("bye")) }))
	if got, err := readAnswer(c, len("bye"), o); err != nil || got != "bye" {
		t.Errorf("%q, %v", got, err)
	}
	if c.RemoteAddr() == nil || c.LocalAddr() == nil || !strings.Contains(c.RemoteAddr().String(), ":") {
		t.Errorf("addresses: %v, %v", c.LocalAddr(), c.RemoteAddr())
	}
}

func dialClose(t *testing.T, n nodeexec.Node, o Options) {
	closed := make(chan struct{}, 1)
	c := dial(t, n, serve(t, o, func(c net.Conn) {
		_, _ = c.Write([]byte("x"))
		_, _ = io.Copy(io.Discard, c)
		closed <- struct{}{}
	}))
	if _, err := c.Read(make([]byte, 1)); err != nil { // now it is connected, whatever the way
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	<-time.After(20 * time.Millisecond) // nothing tells that a Read blocks; Close must end it at any time
	for range 2 {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
	select {
	case err := <-read:
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("read of a closed connection: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Read goes on after Close")
	}
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("the far side does not see the end")
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write to a closed connection: %v", err)
	}
}
