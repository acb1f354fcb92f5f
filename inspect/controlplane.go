package inspect

import (
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
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
	UnavailableAPIs []string    // APIs that others serve, and that do not answer
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
	Active catalog.Answer
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
