package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// Node runs commands on one node. Its methods may be called from several
// goroutines.
type Node interface {
	// Name is what the cluster calls the node.
	Name() string

	// Path is where the node's file of that absolute path is for the commands
	// that Run and Stream start: some of them see the node's files below a
	// folder such as /host.
	Path(string) string

	// Run runs a command to its end and returns what it wrote to stdout. A nil
	// stdin is empty. The error of a command that was tried is a *RunError.
	//
	// When ctx ends, so does the command, with all its children. If stdin can't
	// be read to its end, the command is killed before it can take what arrived
	// for everything. A Read of stdin that blocks for ever keeps a goroutine.
	Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error)

	// Stream starts a command and returns its stdin and stdout. When ctx ends,
	// or at Close, so does the command, with all its children.
	Stream(ctx context.Context, argv ...string) (Stream, error)

	// Dial connects to a TCP address, host:port, as a program on the node would:
	// from its network, with its routes, its resolver and its /etc/hosts. ctx
	// bounds the dialling only. Network is "tcp".
	Dial(ctx context.Context, network, addr string) (net.Conn, error)

	// Close gives back what the Node holds; commands still running end. It may
	// be called more than once.
	Close() error
}

// Stream is a running command: Write reaches its stdin, Read is its stdout.
type Stream interface {
	// Read ends with io.EOF when the command exited with 0, and with a
	// *RunError when it ended in any other way.
	//
	// Write and Close are as usual; Close kills a command that still runs.
	io.ReadWriteCloser

	// CloseWrite ends the command's stdin.
	CloseWrite() error
}

// Transport reaches nodes in one way.
type Transport interface {
	// Name is what users call this way: "local", "ssh".
	Name() string

	// Dial gets onto a node, and fails if it can't run a command there. ctx
	// bounds the dialling only.
	Dial(ctx context.Context, node string) (Node, error)
}

// ErrUnknownOutcome means that a command was started and its end was not seen:
// the connection broke, or it was killed half-way. It may have done all of its
// work, or none. Look at what it was to change before running it again.
var ErrUnknownOutcome = errors.New("outcome unknown: the command was started and its end was not seen")

// ErrNoTransport means that a transport does not lead to a node at all: nothing was
// tried on it.
var ErrNoTransport = errors.New("does not lead there")

// errOutputLimit means that a command wrote more than the caller wants to hold.
// It was killed.
var errOutputLimit = errors.New("too much output")

// ErrNoRelay means that a node can't connect for us: its sshd (if that is the
// way) forbids it, and none of the programs that could is there. What is served
// to that node stays unknown.
var ErrNoRelay = errors.New("no way to open a connection from the node")

// RunError is the end of a command that did not succeed.
type RunError struct {
	Node   string
	Argv   []string
	Output []byte // the last 8 kB of stderr
	Code   int    // the exit status; -1 if there is none
	Signal string // "KILL", "TERM": what ended it, if it was a signal
	Inner  error  // what happened, if it was neither
}

func (e *RunError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run on %s: %s: ", e.Node, foreign.Visible(shortened(Quote(e.Argv...)), ""))
	var how []string
	switch {
	case e.Signal != "":
		how = append(how, "killed by signal "+e.Signal)
	case e.Code >= 0:
		how = append(how, fmt.Sprintf("exit status %d", e.Code))
	}
	if e.Inner != nil {
		how = append(how, e.Inner.Error())
	}
	b.WriteString(strings.Join(how, ": "))
	if out := foreign.Output(e.Output); out != "" {
		b.WriteString(": " + out)
	}
	return b.String()
}

func (e *RunError) Unwrap() error { return e.Inner }

// shortened keeps an error readable when an argument is a whole script; Argv
// has all of it.
func shortened(s string) string {
	const most = 1000
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes more)", len(s)-most)
}

// checkArgv refuses what no operating system can run.
func checkArgv(node string, argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return fmt.Errorf("run on %s: no command given", node)
	}
	if argv[0][0] == '-' {
		return fmt.Errorf("run on %s: %s is an option, not a command", node, argv[0])
	}
	for i, a := range argv {
		if strings.IndexByte(a, 0) >= 0 {
			return fmt.Errorf("run on %s: %s: argument %d holds a NUL byte, which no command can be given; pass it by stdin", node, argv[0], i)
		}
	}
	return nil
}
