package remediatetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// fault is what goes wrong with one call to a node, or from one on.
type fault int

const (
	refused fault = iota // it does not run, and that is known
	unended              // it runs, and its end is not seen
	unrun                // it does not run, and that is unknown
	killed               // it is killed on its way
	broken               // the way is dead from then on, and another one leads there
	cut                  // nothing leads there any more
)

func everyFault() map[string]fault {
	return map[string]fault{
		"refused": refused, "its end is not seen": unended, "it never ran, and nobody knows": unrun, "killed on its way": killed,
		"the way is dead, and another one leads there": broken, "nothing leads there any more": cut,
	}
}

var errFault = errors.New("fault: the connection is gone")

// faults are the ways onto the nodes of a world, with what goes wrong there. nil:
// nothing does.
type faults struct {
	how    fault
	at     int                // the number of the call that it happens to, from 1; 0: to none
	op     operation          // or the first call for this
	delay  time.Duration      // after which killed comes
	before func(n int)        // is called before each call
	after  func(op operation) // is called after each call that ran

	mu    sync.Mutex
	calls []operation
	way   int // how often all ways died
}

// operation is what a call asks for: "dial", "gather", or one of host.sh.
type operation string

func operationOf(argv []string) operation {
	if i := slices.Index(argv, "certrot"); i >= 0 && i+2 < len(argv) {
		return operation(argv[i+2])
	}
	return "gather"
}

// hit is the operation to which it happened; empty: none.
func (f *faults) hit() operation {
	if f.at == 0 || len(f.calls) < f.at {
		return ""
	}
	return f.calls[f.at-1]
}

func (f *faults) open() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.how == cut && f.way > 0 {
		return errFault
	}
	return nil
}

// call counts a call, and tells what becomes of it.
func (f *faults) call(op operation, way int) (now, dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, op)
	if f.op == op && f.at == 0 {
		f.at = len(f.calls)
	}
	now = len(f.calls) == f.at
	if now && (f.how == broken || f.how == cut) {
		f.way++
	}
	return now, way < f.way
}

// on is a node reached now.
func (f *faults) on(n nodeexec.Node) nodeexec.Node {
	if f == nil {
		return n
	}
	return faulty{n, f, f.way}
}

type faulty struct {
	nodeexec.Node
	f   *faults
	way int
}

func (n faulty) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	now, dead := n.f.call(operationOf(argv), n.way)
	if n.f.before != nil {
		n.f.before(len(n.f.calls))
	}
	fails := func(inner error) ([]byte, error) {
		return nil, &nodeexec.RunError{Node: n.Name(), Argv: argv, Code: -1, Inner: inner}
	}
	if dead {
		return fails(errFault)
	}
	if now {
		switch n.f.how {
		case refused:
			return fails(errFault)
		case unrun:
			return fails(fmt.Errorf("%w: %w", errFault, nodeexec.ErrUnknownOutcome))
		case unended:
			_, _ = n.Node.Run(ctx, stdin, argv...)
			return fails(fmt.Errorf("%w: %w", errFault, nodeexec.ErrUnknownOutcome))
		case killed:
			short, cancel := context.WithTimeoutCause(ctx, max(n.f.delay, 10*time.Millisecond), errFault)
			defer cancel()
			return n.Node.Run(short, stdin, argv...)
		}
	}
	out, err := n.Node.Run(ctx, stdin, argv...)
	if n.f.after != nil {
		n.f.after(operationOf(argv))
	}
	return out, err
}

func (n faulty) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	now, dead := n.f.call("dial", n.way)
	if n.f.before != nil {
		n.f.before(len(n.f.calls))
	}
	if dead || now && n.f.how != unended && n.f.how != killed {
		return nil, errFault
	}
	conn, err := n.Node.Dial(ctx, network, addr)
	if now && err == nil {
		_ = conn.Close()
	}
	return conn, err
}

// remembering is a node that is read once in each state that it is in, whichever
// world it is of: reading takes longer than all the rest, and a run reads it again
// and again. So that states are the same again, files that change get the time at
// which they would in a world where a restart happens every twenty seconds. The
// clock in an answer is that of when it was given: see world.read.
type remembering struct {
	nodeexec.Node
	*Machine
}

func (n remembering) Name() string { return n.Node.Name() }

func (n remembering) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	op := operationOf(argv)
	if op != "gather" {
		defer n.date()
		return n.Node.Run(ctx, stdin, argv...)
	}
	state := n.state(argv)
	if out, ok := n.answers.Load(state); ok && state != "" && ctx.Err() == nil {
		return out.([]byte), nil
	}
	out, err := n.Node.Run(ctx, stdin, argv...)
	if err == nil && state != "" && state == n.state(argv) {
		n.answers.Store(state, out)
	}
	return out, err
}

// date gives files that were just changed their time.
func (n remembering) date() {
	restarts, _ := os.ReadFile(n.At("/fake/restarts"))
	when := n.epoch.Add(time.Duration(len(restarts)/2) * 20 * time.Second)
	for _, path := range catalog.KubeletKubeconfigs() {
		info, err := os.Stat(n.At(path))
		if err == nil && info.ModTime().After(n.epoch) && time.Since(info.ModTime()) < time.Hour {
			_ = os.Chtimes(n.At(path), when, when)
		}
	}
}
