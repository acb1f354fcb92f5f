package collect

import (
	"context"
	"fmt"
	"path"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// IsNode reads of a machine what says who it is, its kubelet's certificate and its host
// name, and nothing else. The error says why it is not this node. A way by an address
// needs it: addresses are what a kubelet reports, and may lead to any machine.
func IsNode(ctx context.Context, machine gather.Runner, node string) error {
	r, err := gather.Read(ctx, machine, pki.NewScanner(), gather.Options{Only: true, Paths: []string{path.Dir(inspect.KubeletClient)}})
	if err != nil {
		return fmt.Errorf("identify node %s: %w", node, err)
	}
	s, err := r.Snapshot(ctx, node)
	if err != nil {
		return fmt.Errorf("identify node %s: %w", node, err)
	}
	if reason := s.WhyNotNode(node); reason != "" {
		return fmt.Errorf("identify node %s: %s; nothing else was read there, and nothing changed; look where the name leads: %s, ssh configuration, --ssh-inventory, --node-command", node, reason, foreign.Command(inspect.NodeNames, "kubectl get node %s -o wide", node))
	}
	return nil
}
