package csr

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestARequestForManyNamesIsNotCompared: root on worker-0 writes addresses into its own Node and asks for those at the
// end of them, so that each name is compared with all addresses.
func TestARequestForManyNamesIsNotCompared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ names, addresses int }{{maxNames, 1_000}, {maxNames + 1, 1_000}, {7_900, 82_000}} {
		node, asks := remediatetest.WorkerZero(), remediatetest.ServingAsking(t)
		asks.Asks.DNSNames, asks.Asks.IPAddresses = nil, nil
		for i := range c.addresses {
			ip := make(net.IP, 4)
			binary.BigEndian.PutUint32(ip, 1<<24|uint32(i)) //nolint:gosec // 1.0.0.0 and on
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.String()})
			if i >= c.addresses-c.names {
				asks.Asks.IPAddresses = append(asks.Asks.IPAddresses, ip)
			}
		}
		api := &remediatetest.RequestsAPI{Nodes: map[string]*corev1.Node{"worker-0": node}, Others: remediatetest.UsualObjects()}
		api.Add(asks.Made(t))
		got, err := PendingOf(t.Context(), api.Client(t), RequestedNode{Name: "worker-0", Versions: catalog.Versions{Cluster: "4.15.0"}})
		if err != nil || len(got) != 1 {
			t.Fatalf("%d names: %v, %v", c.names, got, err)
		}
		many := fmt.Sprintf("it asks for %d names, and of more than 50 none is compared", c.names)
		if strings.Contains(got[0].mismatch, many) != (c.names > maxNames) || got[0].manual == (c.names > maxNames) {
			t.Errorf("%d names: %q, left to a person: %t", c.names, got[0].mismatch, got[0].manual)
		}
	}
}
