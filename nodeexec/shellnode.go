package nodeexec

import (
	"context"
	"fmt"
	"io"
	"net"
	"path"
	"sync"
	"time"
)

// shellNode is a node on which every command runs below a shell.sh of its own.
type shellNode struct {
	name   string
	remote remote
	root   string // where the node's files are for commands; "" where that is /
	noNet  bool   // commands do not have the node's network
	limit  int64
	greet  time.Duration // how long shell.sh may take to come up
	slots  chan struct{}
	leave  func() error // the last thing that Close does

	life context.Context
	end  context.CancelCauseFunc

	closing sync.Once
	left    error // of leave

	mu     sync.Mutex
	closed bool
	live   sync.WaitGroup // commands that run
}

func newShellNode(ctx context.Context, name string, by remote, limit int64) *shellNode {
	n := &shellNode{
		name: name, remote: by, limit: limitOr(limit), greet: greetLimit,
		slots: make(chan struct{}, maxSessions), leave: func() error { return nil },
	}
	n.life, n.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return n
}

func (n *shellNode) Name() string { return n.name }

func (n *shellNode) Path(p string) string {
	if n.root == "" {
		return p
	}
	return path.Join(n.root, path.Clean("/"+p))
}

func (n *shellNode) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	var out *bounded
	c, err := n.start(ctx, argv, false, func(c *shellCommand) io.Writer {
		out = &bounded{limit: n.limit, full: c.stop}
		return out
	})
	if err != nil {
		return nil, err
	}
	defer c.release()
	go feed(c.in, stdin, c.stop)
	c.wait()
	if err := c.outcome(); err != nil {
		return nil, err
	}
	return out.kept.Bytes(), nil
}

func (n *shellNode) Stream(ctx context.Context, argv ...string) (Stream, error) {
	out, to := io.Pipe()
	c, err := n.start(ctx, argv, true, func(*shellCommand) io.Writer { return to })
	if err != nil {
		return nil, err
	}
	s := &shellStream{c: c, out: out, over: make(chan struct{})}
	go func() {
		defer close(s.over)
		c.wait()
		_ = to.Close()
	}()
	return s, nil
}

// shellStream is a Stream. Read must not overlap itself, Write neither.
type shellStream struct {
	c    *shellCommand
	out  *io.PipeReader
	over chan struct{} // the command has exited, or was killed
	once sync.Once
	end  error // set by once
}

func (s *shellStream) Write(p []byte) (int, error) { return s.c.in.Write(p) }
func (s *shellStream) CloseWrite() error           { return s.c.in.Close() }

func (s *shellStream) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	if err == nil || n > 0 {
		return n, nil
	}
	return 0, s.finish()
}

func (s *shellStream) finish() error {
	s.once.Do(func() {
		s.end = s.c.outcome()
		s.c.release()
		if s.end == nil {
			s.end = io.EOF
		}
	})
	return s.end
}

func (s *shellStream) Close() error {
	_ = s.out.Close()
	s.c.stop(net.ErrClosed)
	<-s.over // killing is bounded
	_ = s.finish()
	return nil
}

func (n *shellNode) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	err := context.Cause(n.life)
	if err == nil {
		_, _, err = splitTCP(network, addr)
	}
	if err == nil && n.noNet {
		err = fmt.Errorf("%w: %s has a network of its own", ErrNoRelay, n.remote)
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.name, err)
	}
	return relay(ctx, n, addr, allRelays()...)
}

// Close ends what still runs.
func (n *shellNode) Close() error {
	n.closing.Do(func() {
		n.mu.Lock()
		n.closed = true
		n.mu.Unlock()
		n.end(errClosed)
		n.live.Wait() // killing is bounded
		n.left = n.leave()
	})
	return n.left
}

// enlist says that a command is about to start; false if the node was closed.
func (n *shellNode) enlist(c *shellCommand) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.live.Add(1)
		c.quiet = sync.OnceFunc(n.live.Done)
	}
	return !n.closed
}
