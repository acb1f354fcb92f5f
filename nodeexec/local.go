package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Local is the machine that this program runs on.
type Local struct {
	// Node is what the cluster calls this machine; "" is its host name. All
	// other nodes are refused, so that Local can be tried first.
	Node string

	// Root is where the node's file system is, for a program in a container
	// that has it mounted; "" is /.
	Root string

	// Chroot runs commands inside Root, which takes root's rights: they are the
	// node's own programs then, and see plain paths. Without it, commands are
	// those of where this program runs, and Path leads into Root.
	Chroot bool

	// MaxOutput is how many bytes of a command's stdout are held; 0 is 64 MiB.
	MaxOutput int64
}

// Name is "local".
func (Local) Name() string { return ViaLocal }

// Dial says whether this machine is that node.
func (l Local) Dial(ctx context.Context, node string) (Node, error) {
	self := l.Node
	if self == "" {
		var err error
		if self, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("is this machine node %s? %w", node, err)
		}
	}
	if !strings.EqualFold(self, node) {
		return nil, fmt.Errorf("%w: this machine is %s, not node %s", ErrNoTransport, self, node)
	}
	n := &localNode{name: node, limit: limitOr(l.MaxOutput)}
	n.life, n.end = context.WithCancelCause(context.WithoutCancel(ctx))
	if l.Root == "" {
		return n, nil
	}
	root, err := filepath.Abs(l.Root)
	if err != nil {
		return nil, fmt.Errorf("root of node %s: %w", node, err)
	}
	if root == filepath.VolumeName(root)+string(filepath.Separator) {
		return n, nil
	}
	n.root = root
	if info, err := os.Stat(root); err != nil {
		return nil, fmt.Errorf("root of node %s: %w", node, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("root of node %s: %s is not a folder", node, root)
	}
	if n.chroot = l.Chroot; n.chroot {
		if err := canChroot(root); err != nil {
			return nil, fmt.Errorf("commands of node %s are to run inside %s: %w", node, root, err)
		}
	}
	return n, nil
}

func limitOr(n int64) int64 {
	if n <= 0 {
		return defaultOutput
	}
	return n
}

type localNode struct {
	name   string
	root   string // "" when it is /
	chroot bool
	limit  int64

	life context.Context // of the node: its end ends every command
	end  context.CancelCauseFunc
}

var errClosed = errors.New("the node was closed")

func (n *localNode) Name() string { return n.name }

func (n *localNode) Path(p string) string {
	if n.root == "" || n.chroot {
		return p
	}
	// Cleaned as an absolute path, .. can't lead out.
	return filepath.Join(n.root, filepath.FromSlash(path.Clean("/"+p)))
}

func (n *localNode) Close() error {
	n.end(errClosed)
	return nil
}

func (n *localNode) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := context.Cause(n.life); err != nil {
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.name, err)
	}
	if _, _, err := splitTCP(network, addr); err != nil {
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.name, err)
	}
	if n.chroot { // the node's resolver and /etc/hosts are in there
		return relay(ctx, n, addr, allRelays()...)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

func (n *localNode) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	c, err := n.command(ctx, argv)
	if err != nil {
		return nil, err
	}
	defer c.release()
	out := &bounded{limit: n.limit, full: c.stop}
	c.cmd.Stdout = out
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, c.failed(err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, c.failed(err)
	}
	go feed(in, stdin, c.stop)
	if err := c.wait(); err != nil {
		return nil, err
	}
	return out.kept.Bytes(), nil
}

func (n *localNode) Stream(ctx context.Context, argv ...string) (Stream, error) {
	c, err := n.command(ctx, argv)
	if err != nil {
		return nil, err
	}
	s := &localStream{c: c}
	if s.in, err = c.cmd.StdinPipe(); err == nil {
		s.out, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		c.release()
		return nil, c.failed(err)
	}
	// A command that is killed may leave its pipe to a child of its own that
	// got away; the reader must not wait for that one.
	s.unhook = context.AfterFunc(c.ctx, func() {
		time.Sleep(killGrace)
		_ = s.out.Close()
	})
	return s, nil
}

// killGrace is how long what is left of a killed command may hold its pipes.
const killGrace = time.Second

// localCommand is a command with all that may end it.
type localCommand struct {
	node string
	argv []string
	cmd  *exec.Cmd
	err  *tail // its stderr
	ctx  context.Context
	stop context.CancelCauseFunc
	free func() bool
}

func (n *localNode) command(ctx context.Context, argv []string) (*localCommand, error) {
	if err := checkArgv(n.name, argv); err != nil {
		return nil, err
	}
	if err := context.Cause(n.life); err != nil {
		return nil, &RunError{Node: n.name, Argv: argv, Code: -1, Inner: err}
	}
	c := &localCommand{node: n.name, argv: argv, err: &tail{}}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	c.free = context.AfterFunc(n.life, func() { c.stop(context.Cause(n.life)) })
	if n.chroot {
		// The program is to be found on the node's PATH, not on ours.
		c.cmd = exec.CommandContext(c.ctx, "/bin/sh", append([]string{"-c", `exec "$@"`, "sh"}, argv...)...)
		c.cmd.Dir = "/"
	} else {
		c.cmd = exec.CommandContext(c.ctx, argv[0], argv[1:]...)
	}
	c.cmd.Stderr = c.err
	c.cmd.WaitDelay = killGrace
	root := ""
	if n.chroot {
		root = n.root
	}
	ownGroup(c.cmd, root)
	return c, nil
}

func (c *localCommand) release() {
	c.free()
	c.stop(nil)
}

// wait waits for the command's end and says how it was.
func (c *localCommand) wait() error {
	err := c.cmd.Wait()
	if err == nil && c.ctx.Err() == nil {
		return nil
	}
	return c.failed(err)
}

// failed describes a command that did not end well, or did not start.
func (c *localCommand) failed(err error) error {
	e := &RunError{Node: c.node, Argv: c.argv, Output: c.err.Bytes(), Code: -1}
	var exit *exec.ExitError
	switch {
	case c.ctx.Err() != nil && c.cmd.Process == nil:
		e.Inner = context.Cause(c.ctx)
	case c.ctx.Err() != nil:
		e.Inner = fmt.Errorf("%w: %w", context.Cause(c.ctx), ErrUnknownOutcome)
	case errors.As(err, &exit):
		e.Code, e.Signal = exit.ExitCode(), signalOf(exit.ProcessState)
	case errors.Is(err, exec.ErrNotFound):
		e.Code, e.Inner = 127, err // as a shell has it
	default:
		e.Inner = err
	}
	return e
}

// localStream is a Stream. Read must not overlap itself, Write neither.
type localStream struct {
	c      *localCommand
	in     io.WriteCloser
	out    io.ReadCloser
	unhook func() bool

	once sync.Once
	end  error // set by once
}

func (s *localStream) Write(p []byte) (int, error) { return s.in.Write(p) }
func (s *localStream) CloseWrite() error           { return ignoreClosed(s.in.Close()) }

func (s *localStream) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	if err == nil || n > 0 {
		return n, nil
	}
	return 0, s.finish()
}

// finish collects the command, whose stdout is at its end or which was killed.
func (s *localStream) finish() error {
	s.once.Do(func() {
		s.end = s.c.wait()
		s.unhook()
		s.c.release()
		if s.end == nil {
			s.end = io.EOF
		}
	})
	return s.end
}

func (s *localStream) Close() error {
	_ = s.CloseWrite()
	s.c.stop(net.ErrClosed)
	_ = s.finish()
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
