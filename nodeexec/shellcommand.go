package nodeexec

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed" // the script below which commands run
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

//go:embed shell.sh
var shellScript string

const (
	// greetLimit is for shell.sh to come up; where the API server can't reach a
	// kubelet, it may try for longer.
	greetLimit = 30 * time.Second

	// endGrace is how long the rest of stderr may take once a command has
	// exited: a child that lives on may hold it for ever. A busy node takes seconds.
	endGrace = 10 * time.Second

	// killLimit is for killing a command from beside, by a shell.sh of its own.
	killLimit = 5 * time.Second
)

// remote starts shell.sh on a node, and says what it means when that, or what
// runs below it, does not end as it should.
type remote interface {
	// exec runs shell.sh until it ends, or ctx does. Its error says how that was,
	// as far as the remote knows.
	exec(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error

	// noShell is the error where that ended before shell.sh said that it is there.
	noShell(exit error) error

	// noAnswer is the error where shell.sh said nothing within a limit.
	noAnswer(limit time.Duration) error

	// interrupted is why the end of a command was not seen.
	interrupted(ctx context.Context, exit error) error

	// String names the remote in errors.
	String() string
}

// shellScriptSent is shell.sh without its comments: it is a part of a URL.
func shellScriptSent() string {
	var sent strings.Builder
	for line := range strings.Lines(shellScript) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			sent.WriteString(line)
		}
	}
	return sent.String()
}

// shellCommand is a command that runs below a shell.sh of its own.
type shellCommand struct {
	n      *shellNode
	argv   []string
	beside bool // it is there to kill another one, and is not killed itself

	in    *io.PipeWriter
	out   *shellOutput
	err   *tail
	group string // its process group; "0" if it shares it with others

	ctx    context.Context // its end ends the command; the cause says why
	stop   context.CancelCauseFunc
	free   func() bool
	once   sync.Once
	quiet  func() // says that it has exited, or was killed
	killed sync.Once
	left   error // why it may run on although it was to be killed; set by killed

	cut  context.CancelFunc // ends the remote's stream, which does not end the command
	done chan struct{}      // the stream is over
	exit error              // what the remote says of it, once done is closed
}

func (n *shellNode) command(ctx context.Context, argv []string) *shellCommand {
	c := &shellCommand{n: n, argv: argv, err: &tail{}, done: make(chan struct{}), cut: func() {}}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	c.free, c.quiet = func() bool { return true }, func() {}
	return c
}

// start returns when the command runs. What it writes goes to where to says; live
// says that its output is waited for.
func (n *shellNode) start(ctx context.Context, argv []string, live bool, to func(*shellCommand) io.Writer) (*shellCommand, error) {
	if err := checkArgv(n.name, argv); err != nil {
		return nil, err
	}
	c := n.command(ctx, argv)
	select {
	case n.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, c.failed(-1, context.Cause(ctx))
	case <-n.life.Done():
		return nil, c.failed(-1, context.Cause(n.life))
	}
	c.free = context.AfterFunc(n.life, func() { c.stop(context.Cause(n.life)) })
	if !n.enlist(c) {
		c.stop(errClosed)
	}
	err := context.Cause(c.ctx)
	if err != nil {
		err = c.failed(-1, err)
	} else {
		err = c.begin(to(c), live)
	}
	if err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// begin starts shell.sh, waits until it says that it is there, and passes the
// arguments: so that whatever fails before has changed nothing.
func (c *shellCommand) begin(to io.Writer, live bool) error {
	word := rand.Text()
	c.out = newShellOutput(word, to, live)
	var stdin *io.PipeReader
	stdin, c.in = io.Pipe()
	var stream context.Context
	stream, c.cut = context.WithCancel(context.WithoutCancel(c.ctx))
	go func() {
		c.exit = c.n.remote.exec(stream, stdin, c.out, c.err)
		_ = c.in.Close()
		close(c.done)
	}()
	limit := time.NewTimer(c.n.greet)
	defer limit.Stop()
	select {
	case line := <-c.out.greeted:
		group, ok := strings.CutPrefix(line, "certrot-exec ")
		if !ok || !isNumber(group) {
			return c.failed(-1, fmt.Errorf("%s: the shell begins with %s, and not as it should", c.n.remote, foreign.Quoted(fmt.Sprintf("%.80s", line))))
		}
		c.group = group
	case <-c.done:
		e := c.failed(-1, c.n.remote.noShell(c.exit))
		if errors.As(e.Inner, new(*SudoError)) {
			e.Output = nil // which is what sudo said
		}
		return e
	case <-c.ctx.Done():
		c.cut()
		<-c.done // a process that runs here is not left behind
		return c.failed(-1, context.Cause(c.ctx))
	case <-limit.C:
		c.cut()
		<-c.done
		return c.failed(-1, c.n.remote.noAnswer(c.n.greet))
	}
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		_, _ = c.in.Write(shellArguments(word, c.argv)) // what goes wrong here ends the stream
	}()
	select {
	case <-wrote:
	case <-c.done:
	case <-c.ctx.Done():
	}
	return nil
}

// shellArguments are what shell.sh reads.
func shellArguments(word string, argv []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%d\n", word, len(argv))
	for _, arg := range argv {
		for _, c := range []byte(arg) {
			if ' ' <= c && c < 0x7f && c != '\\' {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, `\0%03o`, c)
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// wait waits until the command has exited, or has been killed.
func (c *shellCommand) wait() {
	defer c.quiet()
	select {
	case <-c.out.ended:
		_ = c.in.Close() // for which shell.sh waits
		select {
		case <-c.done:
		case <-time.After(endGrace):
			c.cut()
			<-c.done
		}
	case <-c.done:
	case <-c.ctx.Done():
		c.kill()
	}
}

// kill ends the command with all its children, by a shell.sh of its own: nothing
// happens to a command when its stream ends.
func (c *shellCommand) kill() {
	c.killed.Do(func() {
		defer func() {
			c.cut()
			<-c.done
		}()
		select {
		case <-c.out.ended:
			return
		case <-c.done:
			return
		default:
		}
		if c.beside {
			return
		}
		if c.left = c.killFromBeside(); c.left == nil {
			select {
			case <-c.done:
			case <-time.After(killGrace):
			}
		}
	})
}

func (c *shellCommand) killFromBeside() error {
	if c.group == "0" {
		return errors.New("it has no process group of its own")
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(c.ctx), killLimit, fmt.Errorf("no answer within %s", killLimit))
	defer cancel()
	k := c.n.command(ctx, []string{"sh", "-c", killScript, "sh", c.group})
	k.beside = true
	defer k.release()
	err := k.begin(io.Discard, false)
	if err == nil {
		_ = k.in.Close()
		k.wait()
		err = k.outcome()
	}
	var run *RunError
	switch {
	case !errors.As(err, &run):
		return err
	case run.Inner == nil:
		return nil // it had ended by itself
	}
	return fmt.Errorf("kill it from beside: %w", run.Inner)
}

// outcome says how the command ended; nil is a success that was seen. What the
// remote says is no such thing: an exec whose kubelet restarts ends with 0.
func (c *shellCommand) outcome() error {
	if c.ctx.Err() != nil {
		c.kill() // waits for it, if it is on the way
		e := c.failed(-1, fmt.Errorf("%w: %w", context.Cause(c.ctx), ErrUnknownOutcome))
		if c.left != nil {
			e.Inner = fmt.Errorf("%w; it may still run there, in process group %s: %w", e.Inner, c.group, c.left)
		}
		return e
	}
	select {
	case <-c.out.ended:
	default:
		return c.failed(-1, fmt.Errorf("%w (%w)", ErrUnknownOutcome, c.n.remote.interrupted(c.ctx, c.exit)))
	}
	if c.out.status != 0 {
		return c.failed(c.out.status, nil)
	}
	return nil
}

func (c *shellCommand) failed(code int, why error) *RunError {
	return &RunError{Node: c.n.name, Argv: c.argv, Output: c.err.Bytes(), Code: code, Inner: why}
}

// release gives back what the command holds.
func (c *shellCommand) release() {
	c.once.Do(func() {
		c.free()
		c.stop(nil)
		c.cut()
		c.quiet()
		if c.beside {
			return
		}
		<-c.n.slots
	})
}
