//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/identity"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
)

// plant gives the running control plane its OpenShift identity, from the host:
// so it is also the first proof that the host gets through.
func plant(ctx context.Context, dir labdir.Dir, p parts, w *watch) error {
	kubectl := func(ctx context.Context, stdin []byte, args ...string) error {
		c := exec.CommandContext(ctx, dir.Bin("kubectl"), args...)
		c.Stdin = bytes.NewReader(stdin)
		c.Env = append(os.Environ(), dir.KubectlEnv()...)
		c.Env = append(c.Env, "KUBECONFIG="+dir.Kubeconfig())
		var stderr strings.Builder
		c.Stderr = &stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("run kubectl %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
		}
		return nil
	}
	return identity.Plant(ctx, identity.Cluster{
		Kubectl: kubectl,
		PKI:     dir.PKI(),
		CRDs:    p.binaries.CRDs(),
		Version: version(),
		Nodes:   p.machines.plan.Nodes,
		Multus:  p.machines.plan.Multus,
		Now:     time.Now(),
	}, func(what string) { w.say("%s", what) })
}
