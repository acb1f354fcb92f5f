package catalog

import "slices"

// Topology is a row: whether a kubelet may be restarted, for a value of
// Infrastructure.status.controlPlaneTopology.
type Topology struct {
	Name           string
	RestartAllowed bool
	// SingleAPIServer: there is one kube-apiserver. Nodes have no order to keep, and no other
	// one is to be waited for.
	SingleAPIServer bool
	// HostedComponents are the components of which this cluster holds nothing: they run, and
	// keep their certificates, in another one.
	HostedComponents []string
	Doc              string // why not, or what to mind
	Next             string // what to do instead
	Evidence
}

// Topologies returns every row about topologies.
func Topologies() []Topology {
	api := "openshift/api config/v1/types_infrastructure.go; "
	return []Topology{
		{Name: "HighlyAvailable", RestartAllowed: true, Evidence: Evidence{Verified, api + "containers run outside of the kubelet's unit"}},
		{Name: "SingleReplica", RestartAllowed: true, SingleAPIServer: true, Evidence: Evidence{Verified, api + "containers run outside of the kubelet's unit"}},
		{Name: "HighlyAvailableArbiter", RestartAllowed: true, Evidence: Evidence{Derived, api + "containers run outside of the kubelet's unit"}},
		{
			Name: "DualReplica", Doc: "pacemaker runs the kubelet, and etcd is tied to it: a restart by systemd may stop etcd or fence the node",
			Next:     "have pacemaker do it: pcs resource restart kubelet-clone NODE, one node after the other, with etcd healthy on both: etcd there is restarted, too",
			Evidence: Evidence{Verified, api + "openshift/cluster-etcd-operator pkg/tnf/pkg/pcs/cluster.go and etcd.go (order and colocation of kubelet-clone and etcd-clone), pkg/tnf/after-setup @ release-4.19 to release-4.22; openshift/enhancements two-node-fencing/tnf.md"},
		},
		{
			Name: "External", HostedComponents: []string{kas, kcm, scheduler, etcd}, Doc: "the control plane is hosted elsewhere: it has no such load balancer signer, and nodes get their kubeconfigs from who hosts it",
			Next: "with HyperShift see the HostedCluster and its NodePools on the management cluster, else ask who hosts it", Evidence: Evidence{Derived, api + "openshift/hypershift"},
		},
	}
}

// InHostingCluster reports whether a cluster of this topology has no such place, since
// its component runs in another cluster.
func InHostingCluster(at Ref, topology string) bool {
	row, ok := TopologyOf(topology)
	return ok && slices.ContainsFunc(indexed().byRef[at], func(p Place) bool { return slices.Contains(row.HostedComponents, p.In.Component) })
}

// TopologyOf returns the row of a topology; false where none is known.
func TopologyOf(topology string) (Topology, bool) {
	for _, t := range Topologies() {
		if t.Name == topology {
			return t, true
		}
	}
	return Topology{}, false
}
