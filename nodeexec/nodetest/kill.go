package nodetest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// family starts a command with a child; both write their process IDs to a file.
// $1 is the file.
const family = `sleep 1000 & echo "$$ $!" >"$1.new" && mv "$1.new" "$1"; wait`

// tempFile is a path on the node at which there is nothing yet.
func tempFile(t *testing.T, n nodeexec.Node) string {
	t.Helper()
	out, err := n.Run(deadline(t), nil, "mktemp", "-d")
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(out))
	return dir + "/pids"
}

// pids waits until the family has written its file.
func pids(t *testing.T, n nodeexec.Node, file string) []string {
	t.Helper()
	var out []byte
	if !await(func() (ok bool) {
		var err error
		out, err = n.Run(deadline(t), nil, "cat", file)
		return err == nil
	}) {
		t.Fatal("the command did not start")
	}
	return strings.Fields(string(out))
}

// await asks until the answer is yes, for five seconds, and returns the last
// answer.
func await(ask func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		if ask() {
			return true
		}
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
}

// gone waits until none of the processes is there.
func gone(t *testing.T, n nodeexec.Node, ids []string) {
	t.Helper()
	const left = `for p do [ ! -d "/proc/$p" ] || grep -q '^State:.Z' "/proc/$p/status" || echo "$p"; done`
	var out []byte
	if !await(func() bool {
		var err error
		if out, err = n.Run(deadline(t), nil, append([]string{"sh", "-c", left, "sh"}, ids...)...); err != nil {
			t.Fatal(err)
		}
		return len(out) == 0
	}) {
		t.Errorf("of %v, these still run: %s", ids, out)
	}
}

func cancelRun(t *testing.T, n nodeexec.Node, _ Options) {
	file := tempFile(t, n)
	ctx, cancel := context.WithCancel(deadline(t))
	ended := make(chan error, 1)
	go func() {
		_, err := n.Run(ctx, nil, "sh", "-c", family, "sh", file)
		ended <- err
	}()
	ids := pids(t, n, file)
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) || !errors.Is(err, nodeexec.ErrUnknownOutcome) {
			t.Errorf("a cancelled command: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Run does not end with its context")
	}
	gone(t, n, ids)
}

func cancelledBefore(t *testing.T, n nodeexec.Node, _ Options) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := n.Run(ctx, nil, "true")
	if !errors.Is(err, context.Canceled) || errors.Is(err, nodeexec.ErrUnknownOutcome) {
		t.Errorf("Run: %v", err)
	}
	if s, err := n.Stream(ctx, "true"); err == nil {
		_ = s.Close()
		t.Error("Stream starts")
	}
}

func cancelStream(t *testing.T, n nodeexec.Node, _ Options) {
	file := tempFile(t, n)
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	s, err := n.Stream(ctx, "sh", "-c", family, "sh", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ids := pids(t, n, file)
	cancel()
	if _, err := io.ReadAll(s); !errors.Is(err, context.Canceled) {
		t.Errorf("read of a cancelled stream: %v", err)
	}
	gone(t, n, ids)
}

func closeStream(t *testing.T, n nodeexec.Node, _ Options) {
	file := tempFile(t, n)
	s, err := n.Stream(deadline(t), "sh", "-c", family, "sh", file)
	if err != nil {
		t.Fatal(err)
	}
	ids := pids(t, n, file)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	gone(t, n, ids)
}
