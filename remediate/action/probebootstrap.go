package action

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// ProbeBootstrap asks the API server on a node, by the bootstrap kubeconfig and with what is
// in it, which does not leave the node, whether it is accepted.
type ProbeBootstrap struct{ NodeName string }

// ID is such as "ask worker-0:/etc/kubernetes/kubeconfig".
func (a ProbeBootstrap) ID() string {
	return "ask " + a.NodeName + ":" + catalog.KubeletKubeconfigs()[0]
}

// Node is the node.
func (a ProbeBootstrap) Node() string { return a.NodeName }

// Diff is always to be done: an answer from before is none.
func (a ProbeBootstrap) Diff(snapshot inspect.Snapshot, _ time.Time) (*remediate.Change, error) {
	return &remediate.Change{Summary: "ask the API server, on the node, whether it accepts what is in " + catalog.KubeletKubeconfigs()[0], Versions: snapshot.Cluster.Versions}, nil
}

// Apply does nothing.
func (a ProbeBootstrap) Apply(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// Verify asks.
func (a ProbeBootstrap) Verify(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	snapshot, err := env.Read(ctx, a.NodeName)
	if err != nil {
		return err
	}
	n, ok := snapshot.Node(a.NodeName)
	if !ok {
		return fmt.Errorf("node %s was not read", a.NodeName)
	}
	return csr.CheckBootstrap(snapshot, n, false)
}
