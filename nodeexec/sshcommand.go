package nodeexec

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	_ "embed" // the scripts that start and kill
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

//go:embed start.sh
var startScript string

//go:embed kill.sh
var killScript string

// SudoError means that sudo did not run a command. Nothing was done.
type SudoError struct {
	Node, User string
	Said       string // by sudo
}

func (e *SudoError) Error() string {
	return fmt.Sprintf("sudo on %s does not let user %s run commands as root: %s; "+
		"log in as a user with passwordless sudo (core, on OpenShift nodes), or as root", e.Node, e.User, foreign.Output([]byte(e.Said)))
}

// sshCommand is a command that runs in a session of its own.
type sshCommand struct {
	n    *sshNode
	argv []string

	session *ssh.Session
	in      io.WriteCloser
	out     *bufio.Reader
	err     *tail  // its stderr
	group   string // its process group on the node

	ctx    context.Context // its end ends the command; the cause says why
	stop   context.CancelCauseFunc
	free   func() bool
	once   sync.Once
	killed sync.Once
	left   error // why it may run on although it was to be killed; set by killed

	begun chan struct{} // begin has returned: session and group are as they stay
	done  chan struct{} // the session is over
	exit  error         // how, once done is closed
}

// line is what the remote shell is given.
func (n *sshNode) line(script string, args ...string) string {
	argv := append([]string{"sh", "-c", script, "sh"}, args...)
	if n.sudo {
		argv = append([]string{"sudo", "-n", "--"}, argv...)
	}
	return Quote(argv...)
}

// start returns when the command runs.
func (n *sshNode) start(ctx context.Context, argv []string) (*sshCommand, error) {
	if err := checkArgv(n.name, argv); err != nil {
		return nil, err
	}
	c := &sshCommand{n: n, argv: argv, err: &tail{}, begun: make(chan struct{}), done: make(chan struct{})}
	select {
	case n.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, c.failed(-1, context.Cause(ctx))
	case <-n.life.Done():
		return nil, c.failed(-1, context.Cause(n.life))
	}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	c.free = context.AfterFunc(n.life, func() { c.stop(context.Cause(n.life)) })
	if !n.enlist(c) {
		c.stop(errClosed)
	}
	if c.ctx.Err() != nil {
		close(c.begun)
		c.release()
		return nil, c.failed(-1, context.Cause(c.ctx))
	}

	var err error
	go func() {
		err = c.begin(rand.Text())
		close(c.begun)
	}()
	select {
	case <-c.begun:
	case <-c.ctx.Done():
		// Somewhere between here and there. It gets a moment to say where it
		// is, so that it can be ended.
		select {
		case <-c.begun:
		case <-time.After(killGrace):
			go func() { // begin ends at the latest with the connection
				<-c.begun
				c.kill()
				c.release()
			}()
			return nil, c.failed(-1, fmt.Errorf("%w: %w", context.Cause(c.ctx), ErrUnknownOutcome))
		}
	}
	if err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// begin opens a session, starts the command, and reads until it says that it
// runs. What login scripts print before that is dropped.
func (c *sshCommand) begin(nonce string) error {
	session, err := c.n.ssh.NewSession()
	if err != nil {
		close(c.done)
		err = foreign.Error(err)
		var refused *ssh.OpenChannelError
		if errors.As(err, &refused) {
			err = fmt.Errorf("sshd opens no more sessions: %w; MaxSessions in its configuration may be below %d", err, maxSessions+1)
		}
		if cause := context.Cause(c.n.life); cause != nil {
			err = cause
		}
		return c.failed(-1, err)
	}
	c.session = session
	session.Stderr = c.err
	out, err := session.StdoutPipe()
	if err == nil {
		c.in, err = session.StdinPipe()
	}
	if err == nil {
		err = session.Start(c.n.line(startScript, append([]string{nonce}, c.argv...)...))
	}
	if err != nil {
		close(c.done)
		return c.failed(-1, fmt.Errorf("start a command: %w", foreign.Error(err)))
	}
	go func() {
		c.exit = session.Wait()
		close(c.done)
	}()
	c.out = bufio.NewReader(out)
	noise, err := c.greeting(nonce)
	if err == nil {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		return c.failed(-1, err)
	}
	<-c.done
	return c.neverRan(noise)
}

// greeting reads up to the line that start.sh writes, which has the nonce and
// the process group.
func (c *sshCommand) greeting(nonce string) (noise []byte, err error) {
	for len(noise) < maxNoise {
		line, err := c.out.ReadSlice('\n')
		if _, after, ok := bytes.Cut(line, []byte(nonce+" ")); ok && err == nil {
			if group := string(bytes.TrimSpace(after)); group != "" && isNumber(group) {
				c.group = group
				return noise, nil
			}
		}
		noise = append(noise, line...)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return noise, err
		}
	}
	return noise, fmt.Errorf("the login shell of %s prints more than %d bytes before it runs a command", c.n.user, maxNoise)
}

// neverRan is the end of a session in which the command did not start.
func (c *sshCommand) neverRan(noise []byte) error {
	said := lastWords(string(noise) + "\n" + string(c.err.Bytes()))
	var exit *ssh.ExitError
	if c.exit == nil {
		e := c.failed(0, errors.New("the server ended well without having run it; is there a forced command for this key?"))
		e.Output = []byte(said)
		return e
	}
	if !errors.As(c.exit, &exit) {
		return c.failed(-1, fmt.Errorf("%w (%w)", ErrUnknownOutcome, c.interrupted()))
	}
	if c.n.sudo {
		if said == "" {
			said = fmt.Sprintf("exit status %d", exit.ExitStatus())
		}
		e := c.failed(-1, &SudoError{Node: c.n.name, User: c.n.user, Said: said})
		e.Output = nil
		return e
	}
	e := c.failed(exit.ExitStatus(), fmt.Errorf("the login shell of %s did not run it", c.n.user))
	e.Output = []byte(said)
	return e
}

// lastWords is the end of what a login said. What its scripts print before that
// is private: this ends up in reports and files.
func lastWords(said string) string {
	const most = 400
	said = strings.TrimSpace(said)
	if len(said) <= most {
		return said
	}
	return "…" + strings.ToValidUTF8(said[len(said)-most:], "")
}

func (c *sshCommand) failed(code int, why error) *RunError {
	return &RunError{Node: c.n.name, Argv: c.argv, Output: c.err.Bytes(), Code: code, Inner: why}
}

// interrupted is why no end was seen.
func (c *sshCommand) interrupted() error {
	err := c.n.ping(c.ctx)
	switch {
	case c.n.life.Err() != nil:
		return context.Cause(c.n.life)
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	case err != nil:
		return fmt.Errorf("the connection to %s was closed: %w", c.n.name, err)
	}
	return foreign.Error(c.exit)
}

// outcome says how the command ended; nil is a success that was seen.
func (c *sshCommand) outcome() error {
	if c.ctx.Err() != nil {
		c.kill() // waits for it, if it is on the way
		e := c.failed(-1, fmt.Errorf("%w: %w", context.Cause(c.ctx), ErrUnknownOutcome))
		if c.left != nil {
			e.Inner = fmt.Errorf("%w; it may still run there, in process group %s: %w", e.Inner, c.group, c.left)
		}
		return e
	}
	var exit *ssh.ExitError
	switch {
	case c.exit == nil:
		// A status may come before the last of the output, and the end of the
		// connection looks like the end of the output. Only if it still stands
		// was that all.
		if err := c.n.ping(c.ctx); err != nil {
			return c.failed(-1, fmt.Errorf("%w (%w)", ErrUnknownOutcome, err))
		}
		return nil
	case errors.As(c.exit, &exit):
		e := c.failed(exit.ExitStatus(), nil)
		if e.Signal = foreign.Name(exit.Signal()); exit.Signal() != "" {
			e.Code = -1
		}
		return e
	default:
		return c.failed(-1, fmt.Errorf("%w (%w)", ErrUnknownOutcome, c.interrupted()))
	}
}

// kill ends the command with all its children, by a command of its own: sshd
// would let it run on, and passes no signal to what sudo runs.
func (c *sshCommand) kill() {
	c.killed.Do(func() {
		select {
		case <-c.begun:
		case <-c.n.life.Done():
			return // and the session with it
		case <-time.After(killGrace):
			return // Close does not wait any longer, and takes the connection away
		}
		if c.session == nil {
			return
		}
		defer func() { _ = c.session.Close() }()
		select {
		case <-c.done:
			return
		default:
		}
		if c.group == "" || c.n.life.Err() != nil {
			return
		}
		ctx, cancel := context.WithTimeout(c.n.life, 3*killGrace)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- c.killFromBeside(ctx) }()
		select {
		case c.left = <-ended:
		case <-c.done:
		case <-c.n.life.Done():
		case <-ctx.Done():
			c.left = fmt.Errorf("no answer within %s", 3*killGrace)
		}
	})
}

func (c *sshCommand) killFromBeside(ctx context.Context) error {
	s, err := c.sessionFromBeside(ctx)
	if err != nil { // sshd itself can, if neither it nor the command is root
		_ = c.session.Signal(ssh.SIGKILL)
		return fmt.Errorf("end it from another session: %w", foreign.Error(err))
	}
	defer func() { _ = s.Close() }()
	err = s.Run(c.n.line(killScript, c.group))
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return nil // it had ended by itself
	}
	return foreign.Error(err)
}

// sessionFromBeside opens a session beside those of commands. Where many commands are
// killed at once, sshd has no sessions left (MaxSessions) until the first of them ended.
func (c *sshCommand) sessionFromBeside(ctx context.Context) (*ssh.Session, error) {
	for {
		s, err := c.n.ssh.NewSession()
		var refused *ssh.OpenChannelError
		if err == nil || !errors.As(err, &refused) {
			return s, err
		}
		select {
		case <-c.done: // it has exited: there is nothing to kill
			return nil, err
		case <-ctx.Done():
			return nil, err
		case <-time.After(killGrace / 20):
		}
	}
}

// awaitKilled waits for the end of a killed command, for a moment.
func (c *sshCommand) awaitKilled() {
	select {
	case <-c.done:
	case <-time.After(killGrace):
	}
}

// release gives back the session.
func (c *sshCommand) release() {
	c.once.Do(func() {
		c.n.delist(c)
		c.free()
		c.stop(nil)
		if c.session != nil {
			_ = c.session.Close() // usually closed from the other side
		}
		<-c.n.slots
	})
}
