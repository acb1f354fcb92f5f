//go:build linux

package e2e

import (
	"context"
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
		t.Logf("by %s onto %s in %s", way.Name(), node, took)
	}
	return n
}

// Whatever the way, a node keeps its promises: the same test for all.
func TestNodesByExec(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	way := nodeexec.Exec{Config: restConfig(t, lab)}
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return onto(t, way, node) }, overRelay(lab, node))
}

// overRelay: connections are made by bash on the node.
func overRelay(lab *labtest.Lab, node string) nodetest.Options {
	return nodetest.Options{Listen: listenOn(lab, node), HostName: "localhost-recovery", NoHalfClose: true}
}

func TestNodesBySSH(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	way := sshTo(t, lab, node)
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return onto(t, way, node) },
		nodetest.Options{Listen: listenOn(lab, node), HostName: "localhost-recovery"})
}

func TestNodesByDebugPod(t *testing.T) {
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[0]
	way := &nodeexec.Debug{Config: restConfig(t, lab), Notice: func(s string) { t.Log(s) }}
	t.Cleanup(func() {
		if err := way.Close(); err != nil {
			t.Error(err)
		}
		noneLeft(t, lab)
	})
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return onto(t, way, node) }, overRelay(lab, node))
}
