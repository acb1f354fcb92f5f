package plugin

import (
	"context"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// apiServers are the nodes of which the API has a kube-apiserver's pod, whatever their
// labels say; nil: not all of these pods could be listed. A master that is lost has its
// pod there still.
func (c *connection) apiServers(ctx context.Context) []string {
	var namespaces []string
	for _, row := range catalog.KubeletSetups(catalog.Versions{}) {
		namespaces = append(namespaces, row.Pods)
	}
	pods, gaps := c.cluster.Pods(ctx, namespaces...)
	if len(gaps) > 0 {
		return nil
	}
	nodes := []string{}
	for _, p := range pods {
		if p.OwnerKind == "Node" && p.Name == "kube-apiserver-"+p.Node && !slices.Contains(nodes, p.Node) {
			nodes = append(nodes, p.Node)
		}
	}
	return nodes
}
