package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"sync"
)

// podNode is a node that is reached through a container on it.
type podNode struct {
	name   string
	way    string // "exec", "debug"
	api    *podAPI
	pod    podRef
	root   string // where the node's files are in the container
	chroot bool   // commands run in there, and are the node's own
	net    bool   // the container has the node's network
	limit  int64
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

func newPodNode(ctx context.Context, way, name string, api *podAPI, pod podRef, limit int64) *podNode {
	n := &podNode{
		name: name, way: way, api: api, pod: pod, limit: limitOr(limit),
		slots: make(chan struct{}, maxSessions), leave: func() error { return nil },
	}
	n.life, n.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return n
}

// nodePath is where a node's programs are; a container's image may say otherwise.
const nodePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// shell is what is asked for in the container. In a chroot, the shell's path is
// whole, because a busybox would take its own.
func (n *podNode) shell() []string {
	if n.chroot {
		return []string{"chroot", n.root, "/bin/sh", "-c", podScriptSent(), "sh", nodePath}
	}
	return []string{"sh", "-c", podScriptSent(), "sh", ""}
}

func (n *podNode) Name() string { return n.name }

func (n *podNode) Path(p string) string {
	if n.chroot {
		return p
	}
	return path.Join(n.root, path.Clean("/"+p))
}

func (n *podNode) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	var out *bounded
	c, err := n.start(ctx, argv, false, func(c *podCommand) io.Writer {
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

func (n *podNode) Stream(ctx context.Context, argv ...string) (Stream, error) {
	out, to := io.Pipe()
	c, err := n.start(ctx, argv, true, func(*podCommand) io.Writer { return to })
	if err != nil {
		return nil, err
	}
	s := &podStream{c: c, out: out, over: make(chan struct{})}
	go func() {
		defer close(s.over)
		c.wait()
		_ = to.Close()
	}()
	return s, nil
}

// podStream is a Stream. Read must not overlap itself, Write neither.
type podStream struct {
	c    *podCommand
	out  *io.PipeReader
	over chan struct{} // the command has ended, or was killed
	once sync.Once
	end  error // set by once
}

func (s *podStream) Write(p []byte) (int, error) { return s.c.in.Write(p) }
func (s *podStream) CloseWrite() error           { return s.c.in.Close() }

func (s *podStream) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	if err == nil || n > 0 {
		return n, nil
	}
	return 0, s.finish()
}

func (s *podStream) finish() error {
	s.once.Do(func() {
		s.end = s.c.outcome()
		s.c.release()
		if s.end == nil {
			s.end = io.EOF
		}
	})
	return s.end
}

func (s *podStream) Close() error {
	_ = s.out.Close()
	s.c.stop(net.ErrClosed)
	<-s.over // killing is bounded
	_ = s.finish()
	return nil
}

func (n *podNode) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	err := context.Cause(n.life)
	if err == nil {
		_, _, err = splitTCP(network, addr)
	}
	if err == nil && !n.net {
		err = fmt.Errorf("%w: pod %s has a network of its own", ErrNoRelay, n.pod)
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.name, err)
	}
	return relay(ctx, n, addr, allRelays()...)
}

// Close ends what still runs.
func (n *podNode) Close() error {
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
func (n *podNode) enlist(c *podCommand) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.live.Add(1)
		c.quiet = sync.OnceFunc(n.live.Done)
	}
	return !n.closed
}

// canRun runs a command that does nothing: in the node's own file system if that
// can be, else in the container's.
func (n *podNode) canRun(ctx context.Context, mayChroot bool) error {
	var failed error
	if mayChroot {
		n.chroot = true
		_, err := n.Run(ctx, nil, "true")
		var noShell *noShellError
		if !errors.As(err, &noShell) {
			return err
		}
		failed = err
	}
	n.chroot = false
	if _, err := n.Run(ctx, nil, "test", "-d", n.Path("/etc")); err != nil {
		return errors.Join(failed, err)
	}
	return nil
}
