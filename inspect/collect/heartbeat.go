package collect

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Heartbeat is a sign of life of a node.
type Heartbeat struct {
	At    time.Time // when its kubelet last renewed its Lease, by the node's clock; zero: never
	Ready string    // the Node's condition: "True", "False", "Unknown"
	Lease inspect.Lease
}

// NodeHealth judges it.
func (h Heartbeat) NodeHealth() inspect.NodeHealth {
	return inspect.NodeHealthOf(h.Ready, h.At, h.Lease, 0)
}

// nodeLeases is where kubelets renew their Leases.
const nodeLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

// leaseObject is what certrot reads of a node's Lease; the field names are the API's.
type leaseObject struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		RenewTime time.Time `json:"renewTime"`
		Seconds   int       `json:"leaseDurationSeconds"`
	} `json:"spec"`
}

// Renewals are those of nodes' Leases that were seen by this process: one that advances
// proves that a kubelet is alive, whatever its clock says. The zero value is ready to use.
type Renewals struct {
	mu   sync.Mutex
	last map[string]beat // by node
}

type beat struct {
	renewed  time.Time
	read     time.Time // when it was read, by this machine's clock
	advanced time.Time // when it was last seen to; zero: never
}

// advanced reports whether a node's Lease was seen to advance, not long before now.
func (h *Renewals) advanced(node string, renewed, now time.Time) bool {
	if h == nil || renewed.IsZero() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	was, seen := h.last[node]
	// Between readings that are far apart, the last renewal may be long ago.
	if seen && renewed.After(was.renewed) && now.Sub(was.read) <= inspect.HeartbeatAge {
		was.advanced = now
	}
	was.renewed, was.read = renewed, now
	if h.last == nil {
		h.last = map[string]beat{}
	}
	h.last[node] = was
	return !was.advanced.IsZero() && now.Sub(was.advanced) <= inspect.HeartbeatAge
}

// lease is how a Lease was read just now.
func (c *Cluster) lease(node string, o *leaseObject) inspect.Lease {
	return inspect.Lease{Duration: time.Duration(o.Spec.Seconds) * time.Second, Asked: c.asked(), Advanced: c.Renewals.advanced(node, o.Spec.RenewTime, clock())}
}

// asked is what time it is at the API server; zero: unknown.
func (c *Cluster) asked() time.Time {
	if c.Now == nil {
		return time.Time{}
	}
	return c.Now()
}

// Heartbeat asks the API server for a node's sign of life.
func (c *Cluster) Heartbeat(ctx context.Context, node string) (Heartbeat, error) {
	var h Heartbeat
	var lease leaseObject
	switch err := c.getJSON(ctx, nodeLeases+"/"+node, &lease); {
	case apierrors.IsNotFound(err):
		h.Lease = inspect.Lease{Absent: true, Asked: c.asked()}
	case err != nil:
		return h, fmt.Errorf("read the Lease of node %s: %w", node, err)
	default:
		h.At, h.Lease = lease.Spec.RenewTime, c.lease(node, &lease)
	}
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
			h.Ready = readiness(cond.Status)
		}
	}
	return h, nil
}

// heartbeats lists the Leases of all nodes. leaseOf returns what was read of a node's: where they
// may not be listed, why.
func (c *Cluster) heartbeats(ctx context.Context) (leaseOf func(node string) (time.Time, inspect.Lease), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, controlPlaneTimeout, fmt.Errorf("no answer within %s", controlPlaneTimeout))
	defer cancel()
	found := map[string]leaseObject{}
	l := listJSON(ctx, c, nodeLeases, metav1.ListOptions{}, func(o *leaseObject) { found[o.Metadata.Name] = *o })
	if l.err != nil {
		unread := inspect.Lease{Unread: "list leases in kube-node-lease: " + because(ctx, l.err).Error()}
		return func(string) (time.Time, inspect.Lease) { return time.Time{}, unread }, l.err
	}
	return func(node string) (time.Time, inspect.Lease) {
		o, ok := found[node]
		if !ok {
			return time.Time{}, inspect.Lease{Absent: true, Asked: c.asked()}
		}
		return o.Spec.RenewTime, c.lease(node, &o)
	}, nil
}

// RereadLeases reads the Leases once more of those nodes that had no recent heartbeat: one that
// advanced meanwhile tells that the node is alive, and its clock wrong.
func (c *Cluster) RereadLeases(ctx context.Context, s *inspect.Snapshot) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Heartbeat.IsZero() || s.NodeHealth(n).Alive == catalog.Yes {
			continue
		}
		if h, err := c.Heartbeat(ctx, n.Name); err == nil { // else what was read before stands
			n.Heartbeat, n.Lease, n.Ready = h.At, h.Lease, h.Ready
		}
	}
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
