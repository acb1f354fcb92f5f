package labtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
)

// incidentLimit is for one call; a node takes 12 s to become NotReady.
const (
	incidentLimit = 5 * time.Minute
	nodeLimit     = 90 * time.Second
)

// Incident rotates the CA of api-int as far as a stage, signer, leaf or reconnect,
// and returns when that is seen. With reconnect, all nodes become NotReady, or those
// that are named, save for those that trust the new CA. It can be called again, for
// the same stage or a later one. At the end of the test all of it is undone, in any
// case; but for a lab of the test's own, which ends with it.
func (l *Lab) Incident(t testing.TB, stage string, nodes ...string) {
	t.Helper()
	t.Cleanup(func() {
		if l.nodes != nil {
			return
		}
		l.Heal(t)
		if out, up := l.Status(); !up || strings.Contains(out, "incident") {
			t.Errorf("the incident is not undone:\n%s", out)
		}
		for _, n := range l.Nodes() {
			if ready, err := l.condition(n); ready != "True" {
				t.Errorf("node %s after the incident: Ready is %q, %v", n, ready, err)
			}
		}
	})
	out, err := l.tool(incidentLimit, append([]string{"incident", stage}, nodes...)...)
	if err != nil {
		t.Fatalf("incident %s: %v\n%s", stage, err, out)
	}
	t.Logf("note: incident %s:\n%s", stage, out)
}

// Hold has the lab end one of its components, such as cert-rotation or cert-syncer, and
// not start it again before release is called, or the test ends. It returns when that
// has exited.
func (l *Lab) Hold(t testing.TB, component string) (release func()) {
	t.Helper()
	file := labdir.Dir(l.Dir).Inner("hold-" + component) // supervisor.Hold does so too, which is for Linux alone
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	release = func() { _ = os.Remove(file) } // no file is what is wanted
	t.Cleanup(release)
	wait(t, component+" stopped", func() error {
		said, err := os.ReadFile(file)
		if err == nil && string(said) != "stopped" {
			err = errors.New("it runs")
		}
		return err
	})
	return release
}

// WaitNotReady waits until the API says that a node is not Ready.
func (l *Lab) WaitNotReady(t testing.TB, node string) {
	t.Helper()
	wait(t, node+" is NotReady", func() error {
		ready, err := l.condition(node)
		if err == nil && (ready == "True" || ready == "") {
			err = fmt.Errorf("its condition is Ready=%s", ready)
		}
		return err
	})
}

// WaitReady waits until the API says that a node is Ready, by a heartbeat of after
// the call: a node whose kubelet has just lost the API server is said to be Ready
// for 12 s.
func (l *Lab) WaitReady(t testing.TB, node string) {
	t.Helper()
	called := time.Now()
	wait(t, node+" is Ready", func() error {
		ready, err := l.condition(node)
		if err == nil && ready != "True" {
			err = fmt.Errorf("its condition is Ready=%s", ready)
		}
		if err != nil {
			return err
		}
		beat, err := l.kubectl("-n", "kube-node-lease", "get", "lease", node, "-o", "jsonpath={.spec.renewTime}")
		if err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339, beat); err != nil || !at.After(called) {
			return fmt.Errorf("no heartbeat since %s", beat)
		}
		return nil
	})
}

// condition is the status of a node's condition Ready.
func (l *Lab) condition(node string) (string, error) {
	return l.kubectl("get", "node", node, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
}

// kubectl is for when a test may be over.
func (l *Lab) kubectl(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := l.OnHost(ctx, append([]string{"kubectl"}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// wait ends the test if something is not so within nodeLimit.
func wait(t testing.TB, claim string, not func() error) {
	t.Helper()
	deadline := time.Now().Add(nodeLimit)
	for {
		err := not()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not so after %s: %s: %v", nodeLimit, claim, err)
		}
		time.Sleep(300 * time.Millisecond)
	}
}
