package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// maxSessions is how many commands run at a time on one connection; sshd allows
// 10 sessions by default, and one is kept for ending another.
const maxSessions = 8

// sshNode is a node at the end of an SSH connection, which all its commands
// share.
type sshNode struct {
	name  string
	user  string
	sudo  bool
	links []*ssh.Client // the last is the node's, inside of the ones before
	ssh   *ssh.Client
	limit int64
	slots chan struct{}

	life context.Context // of the connection; its cause is why it ended
	end  context.CancelCauseFunc
	busy sync.WaitGroup // goroutines that look after the connection

	mu     sync.Mutex
	closed bool
	live   map[*sshCommand]bool
}

func newSSHNode(ctx context.Context, name string, links []*ssh.Client, limits Limits) *sshNode {
	n := &sshNode{
		name: name, links: links, ssh: links[len(links)-1],
		limit: limitOr(limits.Output), slots: make(chan struct{}, maxSessions), live: map[*sshCommand]bool{},
	}
	n.life, n.end = context.WithCancelCause(context.WithoutCancel(ctx))
	every, misses := limits.Alive, limits.Misses
	if every <= 0 {
		every = defaultAlive
	}
	if misses <= 0 {
		misses = defaultMisses
	}
	n.busy.Go(func() {
		err := n.ssh.Wait()
		n.end(fmt.Errorf("the connection to %s was closed: %w", name, foreign.Error(err)))
		closeLinks(links)
	})
	n.busy.Go(func() { n.keepAlive(every, misses) })
	return n
}

// keepAlive ends the connection when the node does not answer any more. Nothing
// else would: TCP waits for ever for a peer that went away without a word.
func (n *sshNode) keepAlive(every time.Duration, misses int) {
	for tick := time.NewTicker(every); ; {
		select {
		case <-n.life.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		patience := time.Duration(misses) * every
		ctx, cancel := context.WithTimeout(n.life, patience)
		err := n.ping(ctx)
		cancel()
		if err != nil {
			n.end(fmt.Errorf("the connection to %s was closed: no answer for %s", n.name, patience))
			closeLinks(n.links)
		}
	}
}

// ping asks for an answer, whatever it is. What came before it has arrived when
// it returns nil.
func (n *sshNode) ping(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() {
		_, _, err := n.ssh.SendRequest("keepalive@openssh.com", true, nil)
		answer <- foreign.Error(err) // with what sshd said as it disconnected
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *sshNode) Name() string         { return n.name }
func (n *sshNode) Path(p string) string { return p }

// Close ends what still runs before it ends the connection over which that is
// possible.
func (n *sshNode) Close() error {
	n.mu.Lock()
	n.closed = true
	var kills sync.WaitGroup
	for c := range n.live {
		c.stop(errClosed)
		kills.Go(c.kill)
	}
	n.mu.Unlock()
	kills.Wait() // kill is bounded
	n.end(errClosed)
	closeLinks(n.links)
	n.busy.Wait()
	return nil
}

// enlist says that a command is about to start; false if the node was closed.
func (n *sshNode) enlist(c *sshCommand) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.live[c] = true
	}
	return !n.closed
}

func (n *sshNode) delist(c *sshCommand) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.live, c)
}

func (n *sshNode) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	c, err := n.start(ctx, argv)
	if err != nil {
		return nil, err
	}
	defer c.release()
	out := &bounded{limit: n.limit, full: c.stop}
	copied := make(chan struct{})
	go feed(c.in, stdin, c.stop)
	go func() {
		defer close(copied)
		_, _ = io.Copy(out, c.out) // it ends as the session does, which says how
		<-c.done
	}()
	select {
	case <-copied:
	case <-c.ctx.Done():
		c.kill()
	}
	if err := c.outcome(); err != nil {
		return nil, err
	}
	return out.kept.Bytes(), nil
}

func (n *sshNode) Stream(ctx context.Context, argv ...string) (Stream, error) {
	c, err := n.start(ctx, argv)
	if err != nil {
		return nil, err
	}
	s := &sshStream{c: c}
	var out *io.PipeWriter
	s.out, out = io.Pipe()
	go func() {
		_, _ = io.Copy(out, c.out)
		<-c.done // which comes with the end of the output
		_ = out.Close()
	}()
	s.unhook = context.AfterFunc(c.ctx, func() {
		c.kill()
		c.awaitKilled()
		_ = out.Close() // even if the other side did not confirm
	})
	return s, nil
}

// sshStream is a Stream. Read must not overlap itself, Write neither.
type sshStream struct {
	c      *sshCommand
	out    *io.PipeReader
	unhook func() bool
	once   sync.Once
	end    error // set by once
}

func (s *sshStream) Write(p []byte) (int, error) { return s.c.in.Write(p) }

func (s *sshStream) CloseWrite() error {
	if err := s.c.in.Close(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func (s *sshStream) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	if err == nil || n > 0 {
		return n, nil
	}
	return 0, s.finish()
}

func (s *sshStream) finish() error {
	s.once.Do(func() {
		s.end = s.c.outcome()
		s.unhook()
		s.c.release()
		if s.end == nil {
			s.end = io.EOF
		}
	})
	return s.end
}

func (s *sshStream) Close() error {
	_ = s.out.Close()
	if s.unhook() { // else it is being killed, or has exited
		s.c.stop(net.ErrClosed)
		s.c.kill()
	}
	s.c.awaitKilled()
	_ = s.finish()
	return nil
}

func (n *sshNode) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if _, _, err := splitTCP(network, addr); err != nil {
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.name, err)
	}
	if n.life.Err() != nil {
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.name, context.Cause(n.life))
	}
	c, err := n.ssh.DialContext(ctx, network, addr)
	if err == nil {
		far, ok := c.(Stream)
		if !ok {
			_ = c.Close()
			return nil, fmt.Errorf("dial %s from %s: the connection can't be half-closed", addr, n.name)
		}
		return newConn(n.name, addr, forwarded{far, n}, func(op string, err error) error {
			return &net.OpError{Op: op, Net: network, Addr: nodeAddr(addr), Err: err}
		}), nil
	}
	var refused *ssh.OpenChannelError
	switch {
	case !errors.As(err, &refused):
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.name, foreign.Error(err))
	case refused.Reason == ssh.Prohibited: // AllowTcpForwarding no: a hardened sshd
		return relay(ctx, n, addr, allRelays()...)
	}
	return nil, fmt.Errorf("dial %s from %s: %w", addr, n.name, dialError(addr, refused.Message, foreign.Error(err)))
}

// forwarded is a connection that sshd made for us. When the SSH connection
// breaks, it looks as if the far side had said all, so that is asked.
type forwarded struct {
	Stream
	n *sshNode
}

func (f forwarded) Read(p []byte) (int, error) {
	n, err := f.Stream.Read(p)
	if n == 0 && errors.Is(err, io.EOF) {
		if closed := f.n.ping(f.n.life); closed != nil {
			err = closed
		}
	}
	return n, err
}
