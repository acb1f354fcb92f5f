//go:build linux

package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/nodetest"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// onto gets onto a node.
func onto(t *testing.T, way nodeexec.Transport, node string) nodeexec.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	began := time.Now()
	n, err := way.Dial(ctx, node)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Logf("note: by %s onto %s in %s", way.Name(), node, took)
	}
	return n
}

// contract runs the test that all ways have to pass, and removes what it made on
// the node.
func contract(t *testing.T, lab *labtest.Lab, way nodeexec.Transport, node string, o nodetest.Options) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := labDo(lab, "ssh", node, `sudo sh -c 'for f in /tmp/tmp.*/pids; do rm -rf "${f%/pids}"; done'`); err != nil {
			t.Error(err)
		}
	})
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return onto(t, way, node) }, o)
}

// Whatever the way, a node keeps its promises: the same test for all.
func TestNodesByExec(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	way := nodeexec.Exec{Config: restConfig(t, lab)}
	contract(t, lab, way, node, overRelay(lab, node))
}

// overRelay: connections are made by bash on the node.
func overRelay(lab *labtest.Lab, node string) nodetest.Options {
	return nodetest.Options{Listen: listenOn(lab, node), HostName: "localhost-recovery", NoHalfClose: true}
}

func TestNodesBySSH(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	way := sshTo(t, lab, node)
	contract(t, lab, way, node, nodetest.Options{Listen: listenOn(lab, node), HostName: "localhost-recovery"})
}

// Without the right to get pods/exec there is no WebSocket, and SPDY remains.
func TestNodesByExecOverSPDY(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	const user, ns = "certrot-e2e-exec", "openshift-machine-config-operator"
	t.Cleanup(func() {
		for _, kind := range []string{"role", "rolebinding"} {
			if _, err := labDo(lab, "delete", kind, user, "-n", ns, "--ignore-not-found"); err != nil {
				t.Error(err)
			}
		}
	})
	rules := object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": object{"name": user, "namespace": ns}, "rules": []object{
		{"apiGroups": []string{""}, "resources": []string{"pods"}, "verbs": []string{"get", "list"}},
		{"apiGroups": []string{""}, "resources": []string{"pods/exec"}, "verbs": []string{"create"}},
	}}
	file := filepath.Join(t.TempDir(), "role.json")
	if err := os.WriteFile(file, asJSON(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	mustDo(t, lab, "create", "-f", file)
	mustDo(t, lab, "create", "rolebinding", user, "-n", ns, "--role="+user, "--user="+user)
	config := restConfig(t, lab)
	config.Impersonate.UserName = user
	way := nodeexec.Exec{Config: config}
	eventually(t, "the role counts", func() string {
		n, err := way.Dial(t.Context(), node)
		if err != nil {
			return err.Error()
		}
		_ = n.Close()
		return ""
	})
	contract(t, lab, way, node, overRelay(lab, node))
}

// A pod that has the node's files and neither its processes nor its network:
// commands are the container's, here those of a busybox.
func TestNodesByExecIntoAPodOfItsOwn(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	ns := namespace(t, lab, "pod-security.kubernetes.io/enforce=privileged")
	pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "files", "namespace": ns}, "spec": object{
		"nodeName": node, "terminationGracePeriodSeconds": 0,
		"containers": []object{{
			"name": "files", "image": "localhost/lab/tools:1", "command": []string{"sleep", "600"}, "securityContext": object{"privileged": true},
			"volumeMounts": []object{{"name": "node", "mountPath": "/node"}},
		}},
		"volumes": []object{{"name": "node", "hostPath": object{"path": "/"}}},
	}}
	file := filepath.Join(t.TempDir(), "pod.json")
	if err := os.WriteFile(file, asJSON(pod), 0o600); err != nil {
		t.Fatal(err)
	}
	mustDo(t, lab, "create", "-f", file)
	mustDo(t, lab, "wait", "-n", ns, "pod/files", "--for=condition=Ready", "--timeout=60s")
	way := nodeexec.Exec{Config: restConfig(t, lab), Namespaces: []string{ns}}
	contract(t, lab, way, node, nodetest.Options{NoDial: true})

	n := onto(t, way, node)
	defer n.Close()
	if got := n.Path("/etc/hostname"); got != "/node/etc/hostname" {
		t.Errorf("the path is %s", got)
	}
	out, err := n.Run(t.Context(), nil, "cat", n.Path("/etc/hostname"))
	if err != nil || strings.TrimSpace(string(out)) != node {
		t.Errorf("/etc/hostname of the node holds %q, %v", out, err)
	}
	if _, err := n.Dial(t.Context(), "tcp", "127.0.0.1:22"); !errors.Is(err, nodeexec.ErrNoRelay) {
		t.Errorf("dial from a network that is not the node's: %v", err)
	}
}

func TestNodesByDebugPod(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	way := &nodeexec.Debug{Config: restConfig(t, lab), Notice: func(s string) { t.Log("note:", s) }}
	t.Cleanup(func() {
		if err := way.Close(); err != nil {
			t.Error(err)
		}
		noneLeft(t, lab)
	})
	o := overRelay(lab, node)
	o.AtOnce = 4 // each part waits for a pod to come and to go
	contract(t, lab, way, node, o)
}
