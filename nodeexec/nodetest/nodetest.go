// Package nodetest is the test of what every nodeexec.Node promises. A transport
// is right when TestNode passes on it.
package nodetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// Options are what a node under test can't do, and what the test needs to know.
type Options struct {
	// Listen opens a port that the node can reach; nil is one on 127.0.0.1,
	// for nodes that share the network of the test.
	Listen func(t *testing.T) net.Listener

	// HostName is a name that the node's own /etc/hosts gives to the address of
	// Listen, and that is best unknown here; "" leaves that out.
	HostName string

	// NoHalfClose: the far side of a Dial does not see CloseWrite.
	NoHalfClose bool

	// LateRefusal: that a port is closed is seen at the first Read, not in Dial.
	LateRefusal bool

	// NoFarEnd: that the far side has closed is not seen.
	NoFarEnd bool

	// DialOnly leaves commands out.
	DialOnly bool

	// NoDial leaves connections out.
	NoDial bool

	// AtOnce is how many parts run beside each other, each on what open returns for
	// it; 0 is one after the other.
	AtOnce int
}

const patience = time.Minute

// TestNode runs the whole test. open is called once per part; the node is closed
// afterwards.
func TestNode(t *testing.T, open func(t *testing.T) nodeexec.Node, o Options) {
	if o.Listen == nil {
		o.Listen = listenHere
	}
	commands := []part{
		{"arguments arrive byte for byte", arguments},
		{"a NUL byte in an argument is refused", nul},
		{"stdin of 1 MB comes back", roundTrip},
		{"a command that does not read stdin ends all the same", unreadStdin},
		{"a failing stdin kills the command", brokenStdin},
		{"exit status and stderr are in the error", exitStatus},
		{"a signal is told", signalled},
		{"a command that does not exist is status 127", missing},
		{"only the last 8 kB of stderr are kept", longStderr},
		{"cancel ends Run with all children", cancelRun},
		{"a cancelled context starts nothing", cancelledBefore},
		{"cancel ends Stream", cancelStream},
		{"Close ends Stream with all children", closeStream},
		{"a stream's stdin can end before its stdout", halfClose},
		{"a stream tells how its command ended", streamError},
		{"Runs at the same time do not mix", concurrent},
		{"Path leads to the node's files", path},
		{"Close may come twice and ends what runs", closeTwice},
	}
	dials := []part{
		{"Dial carries 64 kB byte for byte both ways", echo},
		{"Dial half-closes", dialHalfClose},
		{"Dial knows the names that the node knows", dialName},
		{"Dial tells that a port is closed", dialRefused},
		{"Dial tells that a name is unknown", dialUnknown},
		{"Dial refuses what is no address", dialNonsense},
		{"deadlines end Read and Write", deadlines},
		{"the far side's end is the end", farClose},
		{"Close ends a blocked Read", dialClose},
	}
	if !o.DialOnly {
		run(t, open, o, commands)
	}
	if !o.NoDial {
		run(t, open, o, dials)
	}
}

type part struct {
	name string
	test func(t *testing.T, n nodeexec.Node, o Options)
}

func run(t *testing.T, open func(t *testing.T) nodeexec.Node, o Options, parts []part) {
	// Not t.Parallel, which would have no more at a time than there are processors:
	// these wait.
	var all sync.WaitGroup
	free := make(chan struct{}, max(o.AtOnce, 1))
	for _, p := range parts {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			t.Run(p.name, func(t *testing.T) {
				n := open(t)
				defer func() {
					if err := n.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				}()
				p.test(t, n, o)
			})
		})
	}
	all.Wait()
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func listenHere(t *testing.T) net.Listener {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func arguments(t *testing.T, n nodeexec.Node, _ Options) {
	var every []byte
	for b := 1; b < 256; b++ {
		every = append(every, byte(b))
	}
	for _, args := range [][]string{
		{string(every)},
		{"", " ", "\n", "''", `"`, `\`, "$HOME", "`id`", "$(id)", "*", "~", "-n", "--", "!x", "#", "a\nb\n", "\n\n", "é", "\xff\xfe"},
		{"x=y", "&&", "|", ";", ">", "<", "{a,b}", "[a]", "if", "%s", "\t\t", "'\\''", strings.Repeat("long ", 10000)},
	} {
		// printf writes each argument and a NUL, so that nothing can be mistaken.
		got, err := n.Run(deadline(t), nil, append([]string{"printf", `%s\000`}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join(args, "\x00") + "\x00"
		if string(got) != want {
			t.Errorf("arguments %.200q arrived as %.200q", want, got)
		}
	}
}

func nul(t *testing.T, n nodeexec.Node, _ Options) {
	if _, err := n.Run(deadline(t), nil, "echo", "a\x00b"); err == nil || !strings.Contains(err.Error(), "NUL") {
		t.Errorf("Run with a NUL byte: %v", err)
	}
	if s, err := n.Stream(deadline(t), "echo", "\x00"); err == nil {
		_ = s.Close()
		t.Error("Stream takes a NUL byte")
	}
}

func noise(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.Read(b) // it never fails
	return b
}

func roundTrip(t *testing.T, n nodeexec.Node, _ Options) {
	want := noise(1 << 20)
	got, err := n.Run(deadline(t), bytes.NewReader(want), "cat")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back otherwise, %d of them", len(want), len(got))
	}
}

func unreadStdin(t *testing.T, n nodeexec.Node, _ Options) {
	if _, err := n.Run(deadline(t), bytes.NewReader(noise(1<<20)), "true"); err != nil {
		t.Error(err)
	}
}

func brokenStdin(t *testing.T, n nodeexec.Node, _ Options) {
	broken := errors.New("the disk is gone")
	_, err := n.Run(deadline(t), io.MultiReader(strings.NewReader("half of it"), failing{broken}), "cat")
	if !errors.Is(err, broken) || !errors.Is(err, nodeexec.ErrUnknownOutcome) {
		t.Errorf("a command whose stdin broke: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// runError is the *RunError that err must be.
func runError(t *testing.T, err error) *nodeexec.RunError {
	t.Helper()
	var e *nodeexec.RunError
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *RunError", err, err)
	}
	return e
}

func exitStatus(t *testing.T, n nodeexec.Node, _ Options) {
	for _, code := range []int{1, 2, 42, 126, 255} {
		argv := []string{"sh", "-c", `echo "it's $1" >&2; exit "$1"`, "sh", fmt.Sprint(code)}
		_, err := n.Run(deadline(t), nil, argv...)
		e := runError(t, err)
		if e.Code != code || strings.TrimSpace(string(e.Output)) != fmt.Sprintf("it's %d", code) || e.Node != n.Name() {
			t.Errorf("exit %d: %#v", code, e)
		}
		if errors.Is(err, nodeexec.ErrUnknownOutcome) {
			t.Errorf("exit %d: the outcome is known: %v", code, err)
		}
		if !strings.Contains(err.Error(), nodeexec.Quote(argv...)) {
			t.Errorf("the command can't be pasted from: %v", err)
		}
	}
}

func signalled(t *testing.T, n nodeexec.Node, _ Options) {
	_, err := n.Run(deadline(t), nil, "sh", "-c", "kill -KILL $$")
	if e := runError(t, err); e.Signal != "KILL" && e.Code != 137 {
		t.Errorf("killed: %#v", e)
	}
}

func missing(t *testing.T, n nodeexec.Node, _ Options) {
	_, err := n.Run(deadline(t), nil, "certrot-no-such-command")
	if e := runError(t, err); e.Code != 127 {
		t.Errorf("a command that is not there: %#v", e)
	}
}

func longStderr(t *testing.T, n nodeexec.Node, _ Options) {
	_, err := n.Run(deadline(t), nil, "sh", "-c", `head -c 100000 /dev/zero | tr '\0' x >&2; echo end >&2; exit 1`)
	e := runError(t, err)
	if len(e.Output) > 8<<10 || !bytes.HasSuffix(bytes.TrimSpace(e.Output), []byte("xxxend")) {
		t.Errorf("%d bytes of stderr, ending in %q", len(e.Output), e.Output[max(0, len(e.Output)-10):])
	}
}

func halfClose(t *testing.T, n nodeexec.Node, _ Options) {
	s, err := n.Stream(deadline(t), "sh", "-c", `cat >/dev/null; echo "stdin has ended"`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Write([]byte("something")); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(s); err != nil || string(out) != "stdin has ended\n" {
		t.Errorf("after CloseWrite: %q, %v", out, err)
	}
}

func streamError(t *testing.T, n nodeexec.Node, _ Options) {
	s, err := n.Stream(deadline(t), "sh", "-c", "echo out; echo why >&2; exit 7")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	out, err := io.ReadAll(s)
	if e := runError(t, err); string(out) != "out\n" || e.Code != 7 || string(e.Output) != "why\n" {
		t.Errorf("%q, %#v", out, e)
	}
}

func concurrent(t *testing.T, n nodeexec.Node, _ Options) {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			want := noise(10000 + i)
			got, err := n.Run(deadline(t), bytes.NewReader(want), "cat")
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("run %d: %d of %d bytes, %v", i, len(got), len(want), err)
			}
		})
	}
	all.Wait()
}

func path(t *testing.T, n nodeexec.Node, _ Options) {
	if _, err := n.Run(deadline(t), nil, "test", "-d", n.Path("/etc")); err != nil {
		t.Error(err)
	}
}

func closeTwice(t *testing.T, n nodeexec.Node, _ Options) {
	s, err := n.Stream(deadline(t), "cat")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := io.ReadAll(s); err == nil {
		t.Error("a stream ends well although its node was closed")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := n.Run(deadline(t), nil, "true"); err == nil {
		t.Error("a closed node runs commands")
	}
	if c, err := n.Dial(deadline(t), "tcp", "127.0.0.1:1"); err == nil || errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a closed node dials: %v, %v", c, err)
	}
}
