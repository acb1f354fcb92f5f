//go:build linux

package supervisor

import (
	"context"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// Bridge is the lab's network: nodes are plugged into it, the control plane has
// its address. There is no route out of it and none to it.
const Bridge = "lab0"

func createNetwork(ctx context.Context, c *children) error {
	for _, argv := range [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "link", "add", Bridge, "type", "bridge"},
		{"ip", "address", "add", pki.Address + "/24", "dev", Bridge},
		{"ip", "address", "add", pki.PastBalancer + "/24", "dev", Bridge},
		{"ip", "link", "set", Bridge, "up"},
	} {
		if err := c.run(ctx, argv...); err != nil {
			return err
		}
	}
	return nil
}
