package inspect

import (
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// ControlPlaneStatus is what moves nodes and static pods by itself, as the API tells it at
// one moment. It says nothing about certificates: what is true of it now is asked before
// something is changed, and a snapshot keeps it as of its time (ClusterStatus).
type ControlPlaneStatus struct {
	Update          Update
	Operators       []OperatorState
	StaticPods      []StaticPods
	Installers      []Installer
	Pools           []Pool
	Actors          []Actor
	Workloads       []Workload
	Nodes           []NodeState // all of the cluster
	UnavailableAPIs []string    // APIs that others serve, and that are not available
	// Gaps are kinds that could not be read. A kind that is not served is no gap:
	// there is nothing of it.
	Gaps []Gap
}

// Update is what ClusterVersion says of the rollout of a version.
type Update struct {
	Progressing string // the condition: "True", "False", "Unknown"; empty: there is no ClusterVersion
	Message     string // of that condition
	Desired     string // version
	Failing     string // why it does not get on; empty: it does not say
}

// OperatorState is what a ClusterOperator says of itself: conditions, "True" or
// "False" mostly; empty: it does not say.
type OperatorState struct {
	Name                             string
	Available, Progressing, Degraded string
	Message                          string // of Degraded, else of Available
}

// StaticPods are those of a component of the control plane, by its operator.
type StaticPods struct {
	Resource   string            // "kubeapiservers"
	Latest     int               // newest revision that there is
	Masters    []StaticPodState  // by name
	Conditions map[string]string // type: status
	Messages   map[string]string // type: message
}

// StaticPodState is the revision on a master; Target is 0 while none is put there.
type StaticPodState struct {
	Node            string
	Current, Target int
}

// Installer is a pod that has not finished putting a revision on a master.
type Installer struct{ Namespace, Name, Node, Phase string }

// Pool is a MachineConfigPool.
type Pool struct {
	Name               string
	Paused             bool
	Updating, Degraded string // conditions
	Current, Desired   string // MachineConfigs: that of all its nodes, and that to come
	Machines, Updated  int
}

// The kinds of Workload.
const (
	Deployment = "Deployment" // of an operator
	DaemonPod  = "Pod"        // of a DaemonSet, on one node
)

// Workload is by what an operator or a daemon runs that brings certificates to others.
type Workload struct {
	Kind, Namespace, Name string
	Node                  string // of a pod
	Desired, Ready        int    // pods; of a pod, 1 where it is so
}

// Actor is an object that acts on nodes that are not Ready, or replaces machines.
type Actor struct {
	Resource, Namespace, Name string
	// Active says whether it acts on nodes while they are not Ready, or is at it.
	Active catalog.Tristate
	Why    string // of Active: "it heeds Ready False and Unknown"
	// Paused are those who paused it: entries of a list of requests, or the value
	// of an annotation, which may be empty. nil: it is not paused.
	Paused []string
}

// NodeState is what the API says of a node.
type NodeState struct {
	Name   string
	Ready  string // the condition: "True", "False", "Unknown"
	Master bool
	// Heartbeat is its Lease's renewTime, by its own clock; Lease is how that was read.
	Heartbeat time.Time
	Lease     Lease
	Config    catalog.PoolState // as machine-config-daemon says it
}

// Gap returns why a resource could not be read, if it could not.
func (m *ControlPlaneStatus) Gap(resources ...string) (Gap, bool) {
	i := slices.IndexFunc(m.Gaps, func(g Gap) bool { return slices.Contains(resources, g.What) })
	if i < 0 {
		return Gap{}, false
	}
	return m.Gaps[i], true
}

// StaticPodNodes are the nodes on which operators put the control plane's static pods, by name; none where no operator
// does, or one could not be read.
func (m *ControlPlaneStatus) StaticPodNodes() []string {
	for _, row := range catalog.ControlPlaneResources() {
		if _, gap := m.Gap(row.Resource()); gap && row.Reports == catalog.ReportsStaticPods {
			return nil
		}
	}
	var nodes []string
	for _, s := range m.StaticPods {
		for _, at := range s.Masters {
			nodes = append(nodes, at.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// Node returns a node of the cluster.
func (m *ControlPlaneStatus) Node(name string) (NodeState, bool) {
	i := slices.IndexFunc(m.Nodes, func(n NodeState) bool { return n.Name == name })
	if i < 0 {
		return NodeState{}, false
	}
	return m.Nodes[i], true
}

// NodeHealth judges a node of the cluster; of one that was not read nothing is known.
func (m *ControlPlaneStatus) NodeHealth(name string) NodeHealth {
	n, _ := m.Node(name)
	return n.Health()
}

// NodeUnhealthy reports whether a node is known not to work: without a heartbeat, or not Ready.
func (m *ControlPlaneStatus) NodeUnhealthy(name string) bool {
	n, ok := m.Node(name)
	return ok && (n.Ready == "" || n.Health().Unhealthy())
}

// ClusterStatus is what the API server said at one moment that is asked before something is
// changed. It is no certificate, and true for that moment alone. A part that is nil was not
// read; one that could not be read has a gap.
type ClusterStatus struct {
	Read         time.Time // when its reading began, by this machine's clock; zero: unknown
	ControlPlane *ControlPlaneStatus
	StaticPods   *PodList     // of kube-system, where no operator tells of them
	Signers      *SignersRead // what signs certificate requests, where operators keep it
	Network      *NetworkRead // what restarts of the network's pods depend on
	// Published is when the ConfigMap with the CAs of kubelets got the value that it has;
	// zero: unknown.
	Published time.Time
}

// PodList is the pods of some namespaces.
type PodList struct {
	Pods []Pod
	Gap  *Gap // why not all were read; nil: they were
}

// SignersRead are catalog.CSRSigner and catalog.CSRSignerSource, of which it is a copy.
type SignersRead struct{ Signer, Source SignerRead }

// SignerRead is from when to when a certificate that signs is valid.
type SignerRead struct {
	NotBefore, NotAfter time.Time
	Asked               time.Time // what time it was at the API server; zero: unknown
	Unread              string    // why it was not read; empty: it was
}

// NetworkRead is the network's pods, and how far the CAs have come that pods are given.
type NetworkRead struct {
	PodList
	Rollout Rollout
	// Unread says why not all of the rollout was read; empty: it was, or the pods were not.
	Unread string
}

// AsOf says when the status was read, where it is from a file: for the answer of a check that
// depends on the moment. Empty: it was read just now, or not at all.
func (s *Snapshot) AsOf() string {
	switch {
	case s.Status == nil || !s.Hints.file:
		return ""
	case s.Status.Read.IsZero():
		return "as of an unknown time"
	}
	return "as of " + s.Status.Read.UTC().Format("2006-01-02 15:04 MST")
}

// Unread is what could not be read of it, and why. Signers are Secrets, and those that may not
// be read are gaps of the snapshot itself.
func (s *ClusterStatus) Unread() []Gap {
	var out []Gap
	for _, g := range s.gaps() {
		out = append(out, *g)
	}
	if s != nil && s.Network != nil && s.Network.Unread != "" {
		out = append(out, Gap{What: "rollout of CAs", Reason: s.Network.Unread})
	}
	return out
}

// gaps are those of all parts.
func (s *ClusterStatus) gaps() []*Gap {
	if s == nil {
		return nil
	}
	var out []*Gap
	if s.ControlPlane != nil {
		for i := range s.ControlPlane.Gaps {
			out = append(out, &s.ControlPlane.Gaps[i])
		}
	}
	if s.StaticPods != nil && s.StaticPods.Gap != nil {
		out = append(out, s.StaticPods.Gap)
	}
	if s.Network != nil && s.Network.Gap != nil {
		out = append(out, s.Network.Gap)
	}
	return out
}

// MadeByKubeadm tells whether kubeadm made the cluster, or someone who keeps to its
// files: each node that it made has the kubelet.conf with which that joined. Unknown for
// a cluster that may be OpenShift.
func (s *Snapshot) MadeByKubeadm() catalog.Tristate {
	if !s.Cluster.Versions.NotOpenShift {
		return catalog.Unknown
	}
	read := false
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if slices.ContainsFunc(n.Kubeconfigs, func(k Kubeconfig) bool { return slices.Contains(catalog.KubeadmKubeconfigs(), k.Path) }) {
			return catalog.Yes
		}
		read = read || n.Via != "" && !slices.ContainsFunc(s.Gaps, func(g Gap) bool { return g.What == "node/"+n.Name })
	}
	if s.Cluster.Kubeadm != catalog.Unknown || !read {
		return s.Cluster.Kubeadm
	}
	return catalog.No
}

// NodeAt returns the node that has an address, or a name, among those of the Node
// objects; false where none is known to, or several say so: a kubelet writes the addresses of
// its Node, and may name any.
func (s *Snapshot) NodeAt(address string) (*Node, bool) {
	all := s.nodesAt(address)
	if len(all) == 0 || slices.ContainsFunc(all, func(n *Node) bool { return n.Name != all[0].Name }) {
		return nil, false
	}
	return all[len(all)-1], true
}

// nodesAt are the nodes that name an address.
func (s *Snapshot) nodesAt(address string) (out []*Node) {
	at := canonical(address)
	for n := range s.EachNode() {
		if slices.ContainsFunc(n.Addresses, func(text string) bool { return canonical(text) == at }) {
			out = append(out, n)
		}
	}
	return out
}

// MasterAt is NodeAt for nodes that run kube-apiserver. A worker that names the address, too, is not
// the one that answers there.
func (s *Snapshot) MasterAt(address string) (name string, ok bool) {
	var names []string
	for _, n := range s.nodesAt(address) {
		names = append(names, n.Name)
	}
	masters, _ := s.Masters()
	return onlyMaster(names, s.mayBeMaster(), func(node string) bool { return slices.Contains(masters, node) })
}

// Masters are the names of the nodes that run kube-apiserver, as far as the API or a file
// on them says it; all: there are no others.
func (s *Snapshot) Masters() (names []string, all bool) {
	all = true
	for n := range s.EachNode() {
		if n.Role == catalog.RoleMaster {
			names = append(names, n.Name)
		}
		all = all && n.Role != ""
	}
	mayBe := s.mayBeMaster()
	for _, b := range s.Bundles { // root on a worker can put the file there, too
		if at := b.At; at.Kind == pki.KindFile && at.Node != "" && at.Path == catalog.KubeadmServing().Name && mayBe(at.Node) {
			names = append(names, at.Node)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, all && len(names) > 0
}

// mayBeMaster tells of a node, by name, whether it has a kube-apiserver or may have one: its labels,
// which a kubelet cannot set, name no other role.
func (s *Snapshot) mayBeMaster() func(node string) bool {
	no := map[string]bool{}
	for n := range s.EachNode() {
		if n.Role != "" && n.Role != catalog.RoleMaster {
			no[n.Name] = true
		}
	}
	return func(node string) bool { return !no[node] }
}
