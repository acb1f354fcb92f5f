package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/apiprobe"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// NodeObject is what the API says of a node.
type NodeObject struct {
	Name        string
	Ready       string    // "True", "False", "Unknown"; empty: the API was not asked
	Addresses   []string  // internal ones first
	podCIDRs    []string  // the networks of its pods, CIDR
	Heartbeat   time.Time // see Cluster.Heartbeat; zero: not asked
	Lease       inspect.Lease
	internal    string // its InternalIP; empty: it has none
	kubeletPort int    // of its kubelet; 0: it does not say
	Master      bool   // it runs kube-apiserver
	Role        string // see catalog.RoleOf; empty: the API was not asked
}

// NodeObjects lists the nodes of the cluster.
func (c *Cluster) NodeObjects(ctx context.Context, selector labels.Selector) ([]NodeObject, error) {
	var opts metav1.ListOptions
	if selector != nil {
		opts.LabelSelector = selector.String()
	}
	var out []NodeObject
	l := listJSON(ctx, c, "/api/v1/nodes", opts, func(n *nodeJSON) { out = append(out, n.object()) })
	slices.SortFunc(out, func(a, b NodeObject) int { return strings.Compare(a.Name, b.Name) })
	return out, l.err
}

// nodeJSON is what is read of a Node: what there is of images and volumes is much, and not ours.
type nodeJSON struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
		Labels      map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		PodCIDRs []string `json:"podCIDRs"`
	} `json:"spec"`
	Status struct {
		Addresses  []corev1.NodeAddress   `json:"addresses"`
		Conditions []corev1.NodeCondition `json:"conditions"`
		Daemons    struct {
			Kubelet struct{ Port int } `json:"kubeletEndpoint"`
		} `json:"daemonEndpoints"`
	} `json:"status"`
}

func (n *nodeJSON) object() NodeObject {
	o := NodeObject{
		Name: n.Metadata.Name, Ready: string(corev1.ConditionUnknown), Master: catalog.IsMaster(n.Metadata.Labels), Role: catalog.RoleOf(n.Metadata.Labels),
		kubeletPort: n.Status.Daemons.Kubelet.Port,
		podCIDRs:    podNetworks(n.Spec.PodCIDRs, n.Metadata.Annotations[ovnSubnets]),
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			o.Ready = readiness(cond.Status)
		}
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeInternalDNS, corev1.NodeExternalIP, corev1.NodeExternalDNS} {
		for _, a := range n.Status.Addresses {
			if a.Type == kind {
				if kind == corev1.NodeInternalIP && o.internal == "" {
					o.internal = a.Address
				}
				o.Addresses = append(o.Addresses, a.Address)
			}
		}
	}
	return o
}

// ovnSubnets is the annotation in which OVN-Kubernetes says which addresses it gives
// to the pods of a node (ovn-org/ovn-kubernetes go-controller/pkg/util/subnet_annotations.go):
// by the name of a network, one CIDR or a list.
const ovnSubnets = "k8s.ovn.org/node-subnets"

// WithHeartbeats adds what is read of the nodes' Leases.
func (c *Cluster) WithHeartbeats(ctx context.Context, objects []NodeObject) {
	leaseOf, _ := c.heartbeats(ctx) // of each node it is said that its Lease could not be read
	for i := range objects {
		objects[i].Heartbeat, objects[i].Lease = leaseOf(objects[i].Name)
	}
}

// podNetworks are the networks of a node's pods; what can't be read is left out.
func podNetworks(cidrs []string, annotation string) []string {
	var byNetwork map[string]json.RawMessage
	if json.Unmarshal([]byte(annotation), &byNetwork) == nil {
		var one string
		var many []string
		if raw := byNetwork["default"]; json.Unmarshal(raw, &many) != nil && json.Unmarshal(raw, &one) == nil {
			many = []string{one}
		}
		if len(many) > 0 {
			cidrs = many // with OVN-Kubernetes, podCIDRs are no one's
		}
	}
	var out []string
	for _, c := range cidrs {
		if p, err := netip.ParsePrefix(c); err == nil {
			out = append(out, p.Masked().String())
		}
	}
	return out
}

// node is what the API says of it, as a fact.
func (o NodeObject) node() inspect.Node {
	return inspect.Node{Name: o.Name, Ready: o.Ready, Heartbeat: o.Heartbeat, Lease: o.Lease, Role: o.Role, Addresses: o.Addresses, PodNetworks: o.podCIDRs}
}

// OnNode is a node to which there is a way.
type OnNode interface {
	gather.Runner
	Dialer
	Via() string // what users call the way
	io.Closer
}

// ErrNoTransport means that of the ways that were allowed none applies to a node:
// nothing was tried on it.
var ErrNoTransport = errors.New("no way onto the node")

// ErrNotAllowed means that the user lacks a right: the same for all nodes, most
// likely, and said once.
var ErrNotAllowed = errors.New("not allowed")

// Nodes is the source of what lies on nodes.
type Nodes struct {
	Objects      []NodeObject
	ClusterNodes []NodeObject // of the cluster, as far as the API told; those that are not read are facts by their addresses
	// Open gets onto a node. An error that is ErrNoTransport leaves the node out.
	Open     func(ctx context.Context, node string) (OnNode, error)
	Parallel int           // nodes at the same time, at least 1
	Timeout  time.Duration // for one node
	Options  gather.Options
	// Served makes a TLS handshake from each node with every server that its
	// kubelet's kubeconfigs name.
	Served bool
	// RestartProbe asks on each node what its kubelet would be told if it started now:
	// with the kubelet's own credentials, in one round trip more.
	RestartProbe bool
	Scanner      *pki.Scanner
	Observe      func(what string, n int)
	// NamedByUser: the user named nodes, so that one without a way is a gap. Otherwise
	// it is said how to read it.
	NamedByUser bool
	// ReadHint tells how nodes that were not read could be.
	ReadHint string
	// ReadHintNoSSH tells the same for one to which ssh gets no connection; nil: ReadHint does.
	ReadHintNoSSH func(NodeObject) string
}

// Name is "nodes".
func (n Nodes) Name() string { return "nodes" }

// Collect reads each node once, several at a time.
func (n Nodes) Collect(ctx context.Context) inspect.Snapshot {
	parts := make([]inspect.Snapshot, len(n.Objects))
	left := make([]error, len(n.Objects))
	var g errgroup.Group
	g.SetLimit(max(n.Parallel, 1))
	var mu sync.Mutex
	done, read, absent := 0, 0, map[string]int{}
	if n.Observe != nil {
		n.Observe("nodes", 0)
	}
	for i, o := range n.Objects {
		g.Go(func() error {
			s, missing, err := n.one(ctx, o)
			parts[i], left[i] = s, err
			mu.Lock()
			defer mu.Unlock()
			if len(s.Reads) > 0 {
				read++
			}
			for _, p := range missing {
				absent[p]++
			}
			if done++; n.Observe != nil {
				n.Observe("nodes", done)
			}
			return nil
		})
	}
	_ = g.Wait() // a node that fails is a gap
	s := summed(inspect.Merge(append(parts, n.leftOut(left))...))
	for _, o := range n.ClusterNodes {
		if !slices.ContainsFunc(n.Objects, func(asked NodeObject) bool { return asked.Name == o.Name }) {
			s.OtherNodes = append(s.OtherNodes, o.node())
		}
	}
	for _, p := range n.Options.Paths {
		// One node may well have what another one lacks; on none, it is a mistake.
		if read > 0 && absent[path.Clean(p)] == read {
			s.Gaps = append(s.Gaps, inspect.Gap{What: "nodes", Where: p, Reason: "there is nothing of that name on any node that was read", Next: "is it the whole path, and spelled right?"})
		}
	}
	return s
}

// one reads a node, and tells which of the paths that were asked for are not there;
// the error is that there was no way, or none that is allowed.
func (n Nodes) one(ctx context.Context, o NodeObject) (facts inspect.Snapshot, missing []string, err error) {
	unread := inspect.Snapshot{Nodes: []inspect.Node{o.node()}}
	ctx, cancel := context.WithTimeoutCause(ctx, n.Timeout, fmt.Errorf("not done after %s", n.Timeout))
	defer cancel()
	if err := ctx.Err(); err != nil {
		unread.Gaps = []inspect.Gap{n.gap(o, context.Cause(ctx))}
		return unread, nil, nil
	}
	node, err := n.Open(ctx, o.Name)
	if err != nil {
		if errors.Is(err, ErrNoTransport) && !n.NamedByUser {
			return unread, nil, err
		}
		if errors.Is(err, ErrNotAllowed) {
			return unread, nil, err
		}
		unread.Gaps = []inspect.Gap{n.gap(o, because(ctx, err))}
		return unread, nil, nil
	}
	via := node.Via()
	s, missing, err := n.Read(ctx, o, node)
	if closed := node.Close(); err == nil && closed != nil {
		// what was read stays true; what may be left there must be said
		unread.Gaps = append(unread.Gaps, inspect.Gap{What: "node/" + o.Name, Reason: "clean up: " + closed.Error()})
	}
	if err != nil {
		unread.Gaps = append(unread.Gaps, n.gap(o, fmt.Errorf("via %s: %w", via, because(ctx, err))))
		return unread, nil, nil
	}
	s.Gaps = append(s.Gaps, unread.Gaps...)
	return s, missing, nil
}

// Read reads a node that is open, and tells which of the paths that were asked
// for are not there.
func (n Nodes) Read(ctx context.Context, o NodeObject, node OnNode) (facts inspect.Snapshot, missing []string, err error) {
	sent := clock()
	sc := n.Scanner
	if o.Role != catalog.RoleMaster {
		sc = sc.Alone()
	}
	r, err := gather.Read(ctx, node, sc, n.Options)
	if err != nil {
		return inspect.Snapshot{}, nil, err
	}
	received := clock()
	s, err := r.Snapshot(ctx, o.Name)
	if err != nil {
		return inspect.Snapshot{}, nil, err
	}
	for i := range s.Nodes {
		s.Nodes[i].Via, s.Nodes[i].Ready, s.Nodes[i].Heartbeat = node.Via(), o.Ready, o.Heartbeat
		s.Nodes[i].Lease = o.Lease
		s.Nodes[i].Role, s.Nodes[i].Addresses, s.Nodes[i].PodNetworks = o.Role, o.Addresses, o.podCIDRs
		s.Nodes[i].Clock.Sent, s.Nodes[i].Clock.Received = sent, received
		s.Nodes[i].Reached = reached(o, node)
	}
	if n.Served {
		s = inspect.Merge(s, served(ctx, node, &s.Nodes[0]))
	}
	if n.RestartProbe {
		s.Nodes[0].RestartProbe = apiprobe.ProbeRestart(ctx, node, r, s.Nodes[0].Kubelet, o.Name)
	}
	return s, r.Missing, nil
}

// reached is the address at which a node was reached: by ssh, or by the API server, which reaches
// a kubelet at its first internal one.
func reached(o NodeObject, node OnNode) string {
	if a, ok := node.(interface{ Address() netip.Addr }); ok && a.Address().IsValid() {
		return a.Address().String()
	}
	if nodeexec.WayOf(node.Via()).Kubelet && len(o.Addresses) > 0 {
		return o.Addresses[0]
	}
	return ""
}

// because adds why a context ended, which errors of connections do not say.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", err, cause)
	}
	return err
}

// readiness is what a node's condition Ready is. Its kubelet writes it, and the API server takes
// any text.
func readiness(status corev1.ConditionStatus) string {
	switch status {
	case corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown:
		return string(status)
	}
	return foreign.Quoted(string(status))
}

func (n Nodes) gap(o NodeObject, err error) inspect.Gap {
	g := inspect.Gap{What: "node/" + o.Name, Reason: err.Error(), Next: n.ReadHint}
	if n.ReadHintNoSSH != nil && nodeexec.NoConnection(err) {
		g.Next = n.ReadHintNoSSH(o)
	}
	if life := inspect.NodeHealthOf(o.Ready, o.Heartbeat, o.Lease, 0); life.Alive == catalog.No {
		g.Reason += "; the API says of it: " + life.String()
	} else if life.Unhealthy() {
		g.Reason += "; the API says of it: Ready is " + o.Ready
	}
	return g
}

// leftOut says once which nodes were not read because nothing that may be done
// leads onto them, and once onto which the user is not allowed.
func (n Nodes) leftOut(errs []error) inspect.Snapshot {
	var noWay, notAllowed []string
	why := map[bool]string{}
	for i, err := range errs {
		switch {
		case err == nil:
			continue
		case errors.Is(err, ErrNotAllowed):
			notAllowed = append(notAllowed, n.Objects[i].Name)
		default:
			noWay = append(noWay, n.Objects[i].Name)
		}
		if denied := errors.Is(err, ErrNotAllowed); why[denied] == "" {
			why[denied] = err.Error()
		}
	}
	where := func(names []string) string {
		if len(names) <= 3 {
			return strings.Join(names, ", ")
		}
		return fmt.Sprintf("%d of %d", len(names), len(n.Objects))
	}
	var s inspect.Snapshot
	if len(noWay) > 0 {
		s.Reads = []inspect.Read{{What: "nodes", Where: where(noWay), Skipped: true, Note: why[false], Next: n.ReadHint}}
	}
	if len(notAllowed) > 0 {
		s.Gaps = []inspect.Gap{{What: "nodes", Where: where(notAllowed), Reason: why[true], Next: n.ReadHint}}
	}
	return s
}
