package connect

import (
	"context"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
)

// Setup is how the cluster's kubelets are set up, as far as its versions tell.
func (c *Connection) Setup(ctx context.Context) catalog.KubeletSetup {
	s := collect.All(ctx, c.Cluster.Identity(c.Server, c.Context))
	return catalog.KubeletSetups(s.Cluster.Versions)[0]
}
