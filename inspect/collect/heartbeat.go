package collect

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Heartbeat is a sign of life of a node.
type Heartbeat struct {
	At    time.Time // when its kubelet last renewed its Lease, by the node's clock; zero: never
	Ready string    // the Node's condition: "True", "False", "Unknown"
}

// Heartbeat asks the API server for a node's sign of life.
func (c *Cluster) Heartbeat(ctx context.Context, node string) (Heartbeat, error) {
	var h Heartbeat
	var lease struct {
		Spec struct {
			RenewTime time.Time `json:"renewTime"`
		} `json:"spec"`
	}
	if err := c.getJSON(ctx, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+node, &lease); err != nil {
		return h, fmt.Errorf("read the Lease of node %s: %w", node, err)
	}
	h.At = lease.Spec.RenewTime
	var object struct {
		Status struct {
			Conditions []corev1.NodeCondition `json:"conditions"`
		} `json:"status"`
	}
	if err := c.getJSON(ctx, "/api/v1/nodes/"+node, &object); err != nil {
		return h, fmt.Errorf("read node %s: %w", node, err)
	}
	h.Ready = string(corev1.ConditionUnknown)
	for _, cond := range object.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			h.Ready = string(cond.Status)
		}
	}
	return h, nil
}

// Value returns one value of a ConfigMap, byte for byte.
func (c *Cluster) Value(ctx context.Context, of catalog.Ref) ([]byte, error) {
	var object struct {
		Data       map[string]string `json:"data"`
		BinaryData map[string][]byte `json:"binaryData"`
	}
	if err := c.getJSON(ctx, "/api/v1/namespaces/"+of.Namespace+"/configmaps/"+of.Name, &object); err != nil {
		return nil, fmt.Errorf("read %s: %w", of, err)
	}
	if text, ok := object.Data[of.Key]; ok {
		return []byte(text), nil
	}
	if raw, ok := object.BinaryData[of.Key]; ok {
		return raw, nil
	}
	return nil, fmt.Errorf("read %s: it has no such key", of)
}
