package gather

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestNothingRunsOn kills the program as a way onto a node does, in the middle
// of a command of its own.
func TestNothingRunsOn(t *testing.T) {
	w := shell("dash", "dash")
	if w.skip != "" {
		t.Skip(w.skip)
	}
	root := newRoot(t)
	tree(t, root, map[string]string{"/etc/kubernetes/ca.crt": "x"})
	stuck := newRoot(t) + "/sha256sum"
	if err := os.WriteFile(stuck, []byte("#!/bin/sh\nexec sleep 4324.5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.path = tools(t, map[string]string{"sha256sum": stuck, "timeout": ""})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := Read(ctx, &node{world: w, root: root}, pki.NewScanner(), Options{Only: true, Paths: []string{"/etc/kubernetes"}})
		ended <- err
	}()
	running := func() bool {
		found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		return slices.ContainsFunc(found, func(file string) bool {
			line, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(line), "4324.5")
		})
	}
	await(t, 30*time.Second, running)
	cancel()
	if err := <-ended; err == nil {
		t.Error("an answer from a program that was killed")
	}
	await(t, 3*time.Second, func() bool { return !running() }) // by itself, it would end after ten
}

// await waits until something is so.
func await(t *testing.T, limit time.Duration, so func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(limit); !so(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("that does not come about")
		}
	}
}

// ended is a node whose answer comes when the time for it has just ended.
type ended struct {
	node
	end context.CancelCauseFunc
}

func (e *ended) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	out, err := e.node.Run(ctx, stdin, argv...)
	e.end(errors.New("not done after 2m0s"))
	return out, err
}

func TestReadingANodesAnswerEndsWhenItsTimeIsOver(t *testing.T) {
	root := newIdentity().plant(t, "secret")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	sc := pki.NewScanner()
	_, err := Read(ctx, &ended{node{world: shell("sh", "sh"), root: root}, cancel}, sc, Options{})
	if err == nil || !strings.Contains(err.Error(), "not done after 2m0s") {
		t.Errorf("got %v", err)
	}
	if certs, _ := sc.Stats(); certs != 0 {
		t.Errorf("after the end, %d certificates were read", certs)
	}
}
