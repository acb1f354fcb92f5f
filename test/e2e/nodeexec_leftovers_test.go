//go:build linux

package e2e

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// Names of the variables by which a test tells the process that it starts what
// to hold.
const (
	holdKubeconfig = "CERTROT_E2E_HOLD_KUBECONFIG"
	holdNode       = "CERTROT_E2E_HOLD_NODE"
)

// TestHoldsADebugPod is the program that other tests start, to end it in their
// way: it runs a command in a debug pod until it is interrupted.
func TestHoldsADebugPod(t *testing.T) {
	node := os.Getenv(holdNode)
	if node == "" {
		t.Skip("run by another test: as a process to be killed")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(holdKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	way := &nodeexec.Debug{Config: config}
	defer func() {
		if err := way.Close(); err != nil {
			t.Error(err)
		}
	}()
	n, err := way.Dial(ctx, node)
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.Stream(ctx, "sh", "-c", "echo runs; exec sleep 12345")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(s)
	for lines.Scan() {
		if _, err := os.Stdout.WriteString("holder: " + lines.Text() + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(lines.Err(), context.Canceled) {
		t.Errorf("interrupted: %v", lines.Err())
	}
}

// hold starts a process that holds a debug pod, and returns once a command runs
// in there.
func hold(t *testing.T, lab *labtest.Lab, node string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestHoldsADebugPod$", "-test.v", "-test.timeout=5m")
	c.Env = append(os.Environ(), holdKubeconfig+"="+lab.Kubeconfig, holdNode+"="+node)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has exited, if all went well
	late := time.AfterFunc(waitLimit, func() { _ = c.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		if said = append(said, lines.Text()); strings.Contains(lines.Text(), "holder: runs") {
			return c
		}
	}
	t.Fatalf("no debug pod on %s:\n%s", node, strings.Join(said, "\n"))
	return nil
}

// A run that is killed leaves its pod, and the next run removes it; a run that
// lives keeps its own; one that is interrupted leaves nothing.
func TestDebugPodsOfKilledRuns(t *testing.T) {
	lab := labtest.RequireNodes(t)
	nodes := lab.Nodes()
	killed, alive := hold(t, lab, nodes[1]), hold(t, lab, nodes[2])

	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // "signal: killed"
	if out, _ := labDo(lab, "ssh", nodes[1], "pgrep -a sleep"); !strings.Contains(out, "12345") {
		t.Fatalf("the killed run has left nothing, and this test shows nothing: %s", out)
	}

	way := &nodeexec.Debug{Config: restConfig(t, lab), Notice: func(s string) { t.Log("note:", s) }}
	left, err := way.Leftovers(t.Context())
	if err != nil || len(left) != 1 || left[0].Why != "the process that made it is gone" {
		t.Fatalf("left are %v, %v; want one namespace", left, err)
	}
	if n := onto(t, way, nodes[0]); n.Close() != nil {
		t.Error("close")
	}
	if err := way.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "the killed run's command is gone", func() string {
		out, _ := labDo(lab, "ssh", nodes[1], "pgrep -a sleep")
		if strings.Contains(out, "12345") {
			return out
		}
		return ""
	})
	eventually(t, "its namespace is gone", func() string {
		out := mustDo(t, lab, "get", "namespaces", "-l", ours, "-o", "name")
		if strings.Contains(out, left[0].Namespace) {
			return out
		}
		return ""
	})
	if out, _ := labDo(lab, "ssh", nodes[2], "pgrep -a sleep"); !strings.Contains(out, "12345") {
		t.Errorf("the run that lives has lost its command: %s", out)
	}

	if err := alive.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := alive.Wait(); err != nil {
		t.Errorf("the interrupted run: %v", err)
	}
	noneLeft(t, lab)
	eventually(t, "all namespaces are gone", func() string {
		return strings.TrimPrefix(mustDo(t, lab, "get", "namespaces", "-l", ours, "-o", "name"), "No resources found\n")
	})
}
