package nodeexec

import (
	"bufio"
	"context"
	_ "embed" // the relay scripts
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

//go:embed relay.sh
var relayScript string

//go:embed relay.bash
var relayBash string

// allRelays are the programs that can connect for us, in the order in which
// they are asked.
//
// bash comes first because every OpenShift node has it and because it tells
// when a connection fails. The others don't say when they are connected: there,
// Dial succeeds at once and a refusal comes with the first Read. In return they
// pass on a half-close, which bash can't. ncat and nc are last because they hide
// it when the far side has closed.
func allRelays() []string { return []string{"bash", "busybox", "socat", "ncat", "nc"} }

// streamer is what a relay needs of a Node.
type streamer interface {
	Name() string
	Stream(ctx context.Context, argv ...string) (Stream, error)
}

// relay connects to addr from a node by a program that runs there. It asks for
// all of them in one command.
func relay(ctx context.Context, n streamer, addr string, relays ...string) (net.Conn, error) {
	host, port, err := splitTCP("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.Name(), err)
	}
	argv := append([]string{"sh", "-c", relayScript, "sh", host, port, relayBash}, relays...)

	// ctx bounds the dialling; the command lives as long as the connection.
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer stop()
	s, err := n.Stream(life, argv...)
	if err != nil {
		end(err)
		return nil, fmt.Errorf("dial %s from %s: start a relay: %w", addr, n.Name(), err)
	}
	r := &relayed{Stream: s, in: bufio.NewReader(s), end: end, addr: addr}
	if err := r.greet(); err != nil {
		_ = r.Close()
		if ctx.Err() != nil {
			err = &net.OpError{Op: "dial", Net: "tcp", Addr: nodeAddr(addr), Err: context.Cause(ctx)}
		}
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.Name(), err)
	}
	if !stop() { // ctx is done since this very moment, and so is the command
		_ = r.Close()
		return nil, fmt.Errorf("dial %s from %s: %w", addr, n.Name(), context.Cause(ctx))
	}
	return newConn(n.Name(), addr, r, r.explain), nil
}

// relayed is the Stream of a relay, behind its greeting.
type relayed struct {
	Stream
	in   *bufio.Reader
	end  context.CancelCauseFunc
	addr string

	unproven bool // nothing has proven yet that the relay is connected
}

// greet reads the relay's first line, which it writes once it is connected, or
// is about to be.
func (r *relayed) greet() error {
	line, err := r.in.ReadSlice('\n')
	if err != nil {
		return r.dialling(err)
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "certrot-relay ")
	switch {
	case !ok:
		return fmt.Errorf("relay: %s is not how it starts; does a login script print something?", foreign.Quoted(fmt.Sprintf("%.80s", line)))
	case name == "none":
		return fmt.Errorf("%w: it has none of bash (with /dev/tcp), busybox nc, socat, ncat and nc", ErrNoRelay)
	}
	r.unproven = name != "bash"
	return nil
}

func (r *relayed) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if n > 0 {
		r.unproven = false
	}
	return n, err
}

func (r *relayed) Close() error {
	err := r.Stream.Close()
	r.end(nil)
	return err
}

func (r *relayed) explain(op string, err error) error {
	if op == "read" && r.unproven {
		return r.dialling(err)
	}
	return &net.OpError{Op: op, Net: "tcp", Addr: nodeAddr(r.addr), Err: err}
}

// dialling is what the end of a relay means that was never connected.
func (r *relayed) dialling(err error) error {
	var run *RunError
	if errors.As(err, &run) && run.Inner == nil {
		said := strings.TrimSpace(string(run.Output))
		if said == "" {
			said = fmt.Sprintf("the relay ended with status %d", run.Code)
		}
		return dialError(r.addr, said, errors.New(foreign.Output([]byte(said))))
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the relay ended before it was connected")
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: nodeAddr(r.addr), Err: err}
}
