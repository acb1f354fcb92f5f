//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// debugPods are a way that is closed at the end of the test, and leaves nothing.
func debugPods(t *testing.T, lab *labtest.Lab, edit func(*nodeexec.Debug)) *nodeexec.Debug {
	t.Helper()
	way := &nodeexec.Debug{Config: restConfig(t, lab), Notice: func(s string) { t.Log("note:", s) }}
	if edit != nil {
		edit(way)
	}
	t.Cleanup(func() {
		if err := way.Close(); err != nil {
			t.Error(err)
		}
		noneLeft(t, lab)
	})
	return way
}

// refusal is the error of a Dial that can't succeed.
func refusal(t *testing.T, way nodeexec.Transport, node string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	began := time.Now()
	n, err := way.Dial(ctx, node)
	if err == nil {
		_ = n.Close()
		t.Fatalf("%s leads onto %s", way.Name(), node)
	}
	if ctx.Err() != nil {
		t.Fatalf("no word within %s: %v", waitLimit, err)
	}
	t.Logf("note: after %s: %v", time.Since(began).Round(100*time.Millisecond), err)
	return err
}

func says(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("does not say %q: %v", w, err)
		}
	}
}

// namespace makes one that is gone at the end of the test.
func namespace(t *testing.T, lab *labtest.Lab, labels ...string) string {
	t.Helper()
	name := fmt.Sprintf("certrot-e2e-nodeexec-%d", time.Now().UnixNano())
	t.Cleanup(func() {
		if _, err := labDo(lab, "delete", "namespace", name, "--ignore-not-found", "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	mustDo(t, lab, "create", "namespace", name)
	if len(labels) > 0 {
		mustDo(t, lab, append([]string{"label", "namespace", name}, labels...)...)
	}
	return name
}

// Where no debug pod comes up, the error says why and what to do, and nothing of
// it is left.
func TestDebugPodsThatDoNotCome(t *testing.T) {
	lab := labtest.RequireNodes(t)
	var all sync.WaitGroup
	free := make(chan struct{}, 4) // most of it is waiting
	for _, c := range []struct {
		name string
		node string // "" is a worker
		edit func(t *testing.T, d *nodeexec.Debug)
		says []string
	}{
		{name: "the image can't be pulled", edit: func(_ *testing.T, d *nodeexec.Debug) { d.Image.Name = "registry.invalid/none:1" },
			says: []string{"the node can't get image registry.invalid/none:1", "ErrImagePull", "pull secret"}},
		{name: "the image is not there and must not be pulled", edit: func(_ *testing.T, d *nodeexec.Debug) {
			d.Image = nodeexec.DebugImage{Name: "registry.invalid/none:1", Pull: "Never"}
		}, says: []string{"the node can't get image", "ErrImageNeverPull"}},
		{name: "the image has no chroot", edit: func(t *testing.T, d *nodeexec.Debug) { d.Image.Name = emptyImage(t, lab, lab.Workers()[0]) },
			says: []string{"localhost/certrot-e2e/empty:1 needs the program chroot"}},
		{name: "the name of the image is none", edit: func(_ *testing.T, d *nodeexec.Debug) { d.Image.Name = "UPPER CASE" },
			says: []string{"InvalidImageName"}},
		{name: "the namespace allows no privileged pods", edit: func(t *testing.T, d *nodeexec.Debug) {
			d.Namespace = namespace(t, lab, "pod-security.kubernetes.io/enforce=restricted")
		}, says: []string{"violates PodSecurity", "pod-security.kubernetes.io/enforce=privileged", "none for a temporary one"}},
		{name: "the quota is used up", edit: func(t *testing.T, d *nodeexec.Debug) {
			d.Namespace = namespace(t, lab)
			mustDo(t, lab, "create", "quota", "none", "-n", d.Namespace, "--hard=pods=0")
			eventually(t, "the quota is counted", func() string {
				if out := mustDo(t, lab, "get", "quota", "none", "-n", d.Namespace, "-o", "jsonpath={.status.hard.pods}"); out != "0" {
					return "it is not"
				}
				return ""
			})
		}, says: []string{"exceeded quota: none", "name another namespace"}},
		{name: "the namespace is not there", edit: func(_ *testing.T, d *nodeexec.Debug) { d.Namespace = "certrot-no-such-namespace" },
			says: []string{`namespaces "certrot-no-such-namespace" not found`}},
		{name: "the node is not there", node: "worker-99", says: []string{"the cluster has no node worker-99"}},
		{name: "the user may make no namespace", edit: func(_ *testing.T, d *nodeexec.Debug) {
			d.Config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
			d.Image.Name = "x"
		},
			says: []string{`cannot create resource "namespaces"`, "debug needs create and delete namespaces"}},
		{name: "the user may make no pod", edit: func(_ *testing.T, d *nodeexec.Debug) {
			d.Config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
			d.Namespace, d.Image.Name = "default", "x"
		}, says: []string{`cannot create resource "pods"`, "create, get and delete pods, create and get pods/exec in namespace default"}},
	} {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			t.Run(c.name, func(t *testing.T) {
				node := c.node
				if node == "" {
					node = lab.Workers()[0]
				}
				way := &nodeexec.Debug{Config: restConfig(t, lab), Notice: func(s string) { t.Log("note:", s) }}
				if c.edit != nil {
					c.edit(t, way)
				}
				says(t, refusal(t, way, node), c.says...)
				if err := way.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	all.Wait()
	noneLeft(t, lab) // of any
}

func TestExecWithoutAWay(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	t.Run("no pod fits", func(t *testing.T) {
		err := refusal(t, nodeexec.Exec{Config: restConfig(t, lab), Namespaces: []string{"kube-system"}}, node)
		says(t, err, "no pod runs on node "+node+" that is privileged", "kube-system", "machine-config-daemon")
		if !errors.Is(err, nodeexec.ErrNoTransport) {
			t.Error("is not ErrNoWay")
		}
	})
	t.Run("pods may not be listed", func(t *testing.T) {
		config := restConfig(t, lab)
		config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
		says(t, refusal(t, nodeexec.Exec{Config: config}, node), `cannot list resource "pods"`, "exec needs list pods, and create and get pods/exec")
	})
	t.Run("pods may be listed and not entered", func(t *testing.T) {
		config := restConfig(t, lab)
		config.Impersonate = rest.ImpersonationConfig{UserName: "certrot-e2e-viewer"}
		const ns, role = "openshift-machine-config-operator", "certrot-e2e-viewer"
		t.Cleanup(func() {
			for _, kind := range []string{"role", "rolebinding"} {
				if _, err := labDo(lab, "delete", kind, role, "-n", ns, "--ignore-not-found"); err != nil {
					t.Error(err)
				}
			}
		})
		mustDo(t, lab, "create", "role", role, "-n", ns, "--verb=list,get", "--resource=pods")
		mustDo(t, lab, "create", "rolebinding", role, "-n", ns, "--role="+role, "--user=certrot-e2e-viewer")
		var err error
		eventually(t, "the role counts", func() string {
			if err = refusal(t, nodeexec.Exec{Config: config}, node); strings.Contains(err.Error(), `cannot list resource "pods"`) {
				return err.Error()
			}
			return ""
		})
		says(t, err, `cannot create resource "pods/exec"`, "create and get pods/exec in namespace "+ns)
	})
}

// Nodes that take no pods from the scheduler take ours.
func TestDebugPodOnAGuardedNode(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	t.Cleanup(func() {
		for _, undo := range [][]string{{"uncordon", node}, {"taint", "node", node, "certrot-e2e:NoExecute-"}} {
			if _, err := labDo(lab, undo...); err != nil {
				t.Error(err)
			}
		}
	})
	mustDo(t, lab, "cordon", node)
	mustDo(t, lab, "taint", "node", node, "certrot-e2e=x:NoExecute", "--overwrite")
	n := onto(t, debugPods(t, lab, nil), node)
	out, err := n.Run(t.Context(), nil, "systemctl", "is-active", "kubelet")
	if err != nil || strings.TrimSpace(string(out)) != "active" {
		t.Errorf("in the debug pod: %q, %v", out, err)
	}
}

// With a namespace that is there, pods are all that is made and removed.
func TestDebugPodInANamespaceOfTheUsers(t *testing.T) {
	lab := labtest.RequireNodes(t)
	ns := namespace(t, lab)
	way := debugPods(t, lab, func(d *nodeexec.Debug) { d.Namespace = ns })
	for _, node := range lab.Nodes() {
		n := onto(t, way, node)
		out, err := n.Run(t.Context(), nil, "hostname")
		if err != nil || strings.TrimSpace(string(out)) != node {
			t.Errorf("hostname says %q, %v", out, err)
		}
	}
	if pods := mustDo(t, lab, "get", "pods", "-n", ns, "-l", ours, "-o", "name"); strings.Count(pods, "\n") != len(lab.Nodes()) {
		t.Errorf("pods in %s: %s", ns, pods)
	}
}

// One run makes one namespace, however many nodes it is for.
func TestDebugPodsShareANamespace(t *testing.T) {
	lab := labtest.RequireNodes(t)
	way := debugPods(t, lab, nil)
	for _, node := range lab.Nodes() {
		onto(t, way, node)
	}
	if all := mustDo(t, lab, "get", "namespaces", "-l", ours, "-o", "name"); strings.Count(all, "\n") != 1 {
		t.Errorf("namespaces: %s", all)
	}
	if pods := mustDo(t, lab, "get", "pods", "-A", "-l", ours, "-o", "name"); strings.Count(pods, "\n") != len(lab.Nodes()) {
		t.Errorf("pods: %s", pods)
	}
}

// Between two nodes, a run has no pod, and another one may take its namespace
// for left. It makes another.
func TestDebugPodsWhoseNamespaceIsTaken(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	way := debugPods(t, lab, nil)
	if err := onto(t, way, node).Close(); err != nil {
		t.Fatal(err)
	}
	mustDo(t, lab, "delete", "namespaces", "-l", ours, "--wait=false")
	n := onto(t, way, node)
	if _, err := n.Run(t.Context(), nil, "true"); err != nil {
		t.Error(err)
	}
}

// What becomes of a command whose pod ends is unknown, and why is told.
func TestDebugPodThatEndsHalfWay(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	for _, c := range []struct {
		name string
		edit func(*nodeexec.Debug)
		end  func(t *testing.T)
		says string
	}{
		{name: "somebody deletes it", says: "delete", end: func(t *testing.T) {
			mustDo(t, lab, "delete", "pods", "-A", "-l", ours, "--wait=false")
		}},
		{name: "its time is over", says: "does not run any more", edit: func(d *nodeexec.Debug) { d.Deadline = 12 * time.Second }, end: func(*testing.T) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := onto(t, debugPods(t, lab, c.edit), node)
			ended := make(chan error, 1)
			go func() {
				_, err := n.Run(t.Context(), nil, "sleep", "12345")
				ended <- err
			}()
			eventually(t, "the command runs", func() string {
				out, _ := labDo(lab, "ssh", node, "pgrep -x sleep -a | grep 12345")
				if out == "" {
					return "not yet"
				}
				return ""
			})
			c.end(t)
			select {
			case err := <-ended:
				t.Log("note:", err)
				if !errors.Is(err, nodeexec.ErrUnknownOutcome) {
					t.Errorf("the outcome is known: %v", err)
				}
				says(t, err, c.says)
			case <-time.After(waitLimit):
				t.Fatal("the command does not end")
			}
		})
	}
}

// Interrupted at any moment, nothing is left.
func TestDebugPodsAreInterrupted(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			way := debugPods(t, lab, nil)
			ctx, cancel := context.WithTimeoutCause(t.Context(), after, errors.New("interrupted"))
			defer cancel()
			n, err := way.Dial(ctx, node)
			if err == nil {
				_, err = n.Run(ctx, nil, "sleep", "12345")
			}
			if err == nil || !strings.Contains(err.Error(), "interrupted") && !strings.Contains(err.Error(), "context") {
				t.Errorf("interrupted after %s: %v", after, err)
			}
		})
	}
}
