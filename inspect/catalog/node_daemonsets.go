package catalog

import (
	"slices"
)

// NodeDaemonSet is a row: a DaemonSet of whose pods each node has one, and which may have
// an older CA of kube-apiserver in memory than is published by now.
type NodeDaemonSet struct {
	ID        string // lower-kebab, unique
	Namespace string
	DaemonSet string
	Label     string // what selects its pods, such as "app=multus"
	// RestartFirst: who approves what the others ask for. All of them are restarted before the
	// first of any other row.
	RestartFirst bool
	// Trust is what it reads at its start: a file on its node, or kube-root-ca.crt of
	// its namespace, which the kubelet brings into the pod.
	Trust Ref
	// OtherTrust is a file on its node with trust anchors of another client in it, which it reads
	// at its start, too; zero: there is none.
	OtherTrust Ref
	// Command is the program on the node, as StartupReader has it; empty: what the API says
	// of the pod's containers tells when it started.
	Command string
	// Client is its own client certificate on the node; empty: it has none there.
	Client string
	// ReadByInit: an init container reads it, so that only a new pod reads it again.
	ReadByInit bool
	// SelfReloading: it reads again by itself, and a restart is of no use; Doc says when.
	SelfReloading bool
	Doc           string // what it is, and what fails while it has the old CA
	In            Range
	Evidence
}

// DeletePodCommand is the command that restarts the pod on a node; NODE stands for it.
func (p NodeDaemonSet) DeletePodCommand() string {
	return "kubectl -n " + p.Namespace + " delete pod -l " + p.Label + " --field-selector spec.nodeName=NODE"
}

// NodeDaemonSets returns every row, in the order in which pods of one node are to be
// restarted.
func NodeDaemonSets() []NodeDaemonSet {
	const multus, ovnNode = "openshift-multus", "ovnkube-node"
	manifest := networkRepo + "bindata/network/multus/multus.yaml @ 2a6a57fef and release-4.12 28db40f16 to 4.22 6a5fcccf8"
	onOVN := networkRepo + "bindata/network/ovn-kubernetes/self-hosted/ovnkube-node.yaml (4.14: self-hosted/multi-zone-interconnect) @ 2a6a57fef and release-4.12 28db40f16 to 4.22 6a5fcccf8"
	kubelets := file("/var/lib/kubelet/kubeconfig")
	const withoutIdentity = "; without network-node-identity it reads kube-root-ca.crt"
	// 4.13.2 was offered 8 hours after the merge, and so built before it.
	in413, compares := between(network, Minor{4, 13}, Minor{4, 13}), Change{Lacks: 2, Has: 3, Merged: "2023-05-31"}
	return []NodeDaemonSet{
		{
			ID: "network-node-identity", Namespace: nodeIdentity, DaemonSet: "network-node-identity", Label: "app=network-node-identity", RestartFirst: true, Trust: rootCAOf(nodeIdentity),
			Doc: "approves the certificates that multus and ovnkube-node ask for; without it they get none, and lose the API once theirs expire (24 h)",
			In:  since(network, Minor{4, 14}), Evidence: Evidence{Verified, networkRepo + "bindata/network/node-identity/self-hosted/node-identity.yaml @ 2a6a57fef and release-4.14 af41a3620 to 4.22 6a5fcccf8"},
		},
		thinMultus("multus-thin", true, Range{Component: network, To: Minor{4, 12}}),
		thinMultus("multus-thin-at-start", false, in413.before(compares)),
		thinMultus("multus-thin-of-4-13", true, in413.since(compares)),
		{
			ID: "multus", Namespace: multus, DaemonSet: "multus", Label: "app=multus", Trust: kubelets, Command: "multus-daemon", Client: "/etc/cni/multus/certs/multus-client-current.pem",
			Doc: "networks of new pods; restarted before the kubeconfig is right, it serves none" + withoutIdentity,
			In:  since(network, Minor{4, 14}), Evidence: Evidence{Verified, manifest + "; k8snetworkplumbingwg/multus-cni pkg/k8sclient/kubeconfig.go v4.2.2 (PerNodeK8sClient copies CAData once)"},
		},
		{
			ID: "multus-additional-cni-plugins", Namespace: multus, DaemonSet: "multus-additional-cni-plugins", Label: "app=multus-additional-cni-plugins", Trust: rootCAOf(multus), ReadByInit: true,
			Doc: "writes whereabouts' kubeconfig: addresses of new pods' additional networks",
			In:  Range{Component: network}, Evidence: Evidence{Verified, manifest + " (DaemonSet whereabouts-token-watcher)"},
		},
		{
			ID: "ovnkube-node-service-account", Namespace: ovnTarget, DaemonSet: ovnNode, Label: "app=" + ovnNode, Trust: rootCAOf(ovnTarget), Command: "ovnkube",
			Doc: "networks of new pods, where the network is OVN-Kubernetes",
			In:  Range{Component: network, To: Minor{4, 13}}, Evidence: Evidence{Derived, onOVN + " (no bootstrap kubeconfig); k8s.io/client-go transport reads the CA once"},
		},
		{
			ID: "ovnkube-node", Namespace: ovnTarget, DaemonSet: ovnNode, Label: "app=" + ovnNode, Trust: rootCAOf(ovnTarget), OtherTrust: kubelets, Command: "ovnkube", Client: "/var/lib/ovn-ic/etc/ovnkube-node-certs/ovnkube-client-current.pem",
			Doc: "networks of new pods, where the network is OVN-Kubernetes",
			In:  since(network, Minor{4, 14}), Evidence: Evidence{Verified, onOVN + " and common/008-script-lib.yaml (bootstrap-kubeconfig); " + ovnClients + "; k8s.io/client-go transport reads CAData once"},
		},
		{
			ID: "machine-config-daemon", Namespace: mcoTarget, DaemonSet: "machine-config-daemon", Label: "k8s-app=machine-config-daemon", Trust: rootCAOf(mcoTarget), OtherTrust: kubelets, Command: "machine-config-daemon",
			Doc: "the node's configuration" + daemonDelivers,
			In:  Range{Component: mco, To: Minor{4, 22}}, Evidence: Evidence{Verified, mcoRepo + "manifests/machineconfigdaemon/daemonset.yaml @ 7ff337a4f and release-4.12 to 4.22, cmd/machine-config-daemon/start.go; k8s.io/client-go transport reads CAFile once; its NodeWriter: " + nodeWriter().Source},
		},
		{
			ID: "machine-config-daemon-node-writer", Namespace: mcoTarget, DaemonSet: "machine-config-daemon", Label: "k8s-app=machine-config-daemon", Trust: kubelets, Command: "machine-config-daemon",
			Doc: "the node's configuration" + daemonDelivers,
			In:  since(mco, Minor{4, 23}), Evidence: Evidence{Verified, mcoRepo + "pkg/daemon/writer.go and vendor/k8s.io/client-go/transport/transport.go (ClientsAllowCARotation: CAFile is read again, CAData is not) @ release-4.23 and release-5.0 d20efd9b9, not in release-4.22"},
		},
	}
}

// thinMultus is of a script that writes the kubeconfig of a multus without a daemon.
func thinMultus(id string, reloads bool, in Range) NodeDaemonSet {
	const namespace = "openshift-multus"
	when := "only when its pod starts"
	if reloads {
		when = "again when kube-root-ca.crt changes"
	}
	return NodeDaemonSet{
		ID: id, Namespace: namespace, DaemonSet: "multus", Label: "app=multus", Trust: rootCAOf(namespace), SelfReloading: reloads,
		Doc: "networks of new pods; it writes its kubeconfig " + when,
		In:  in, Evidence: Evidence{Verified, networkRepo + "bindata/network/multus/multus.yaml @ release-4.12 28db40f16 and release-4.13; openshift/multus-cni images/entrypoint.sh @ release-4.12 07d8af54, release-4.13 12897bd1, without a comparison from 3f9b2d03 to 38444d9e (2023-02-22 to 2023-05-31); " + offered},
	}
}

// DaemonSetOf is the DaemonSet in whose pods a Command runs; empty: in none's, as the kubelet.
func DaemonSetOf(command string) (namespace, daemonSet string) {
	for _, row := range NodeDaemonSets() {
		if row.Command == command && command != "" {
			return row.Namespace, row.DaemonSet
		}
	}
	return "", ""
}

// NodeDaemonSetsIn returns the rows that hold for these versions. Where a version is
// unknown, those that may hold are left out: of two rows for the same pods only one is
// right.
func NodeDaemonSetsIn(v Versions) []NodeDaemonSet {
	var out []NodeDaemonSet
	for _, row := range NodeDaemonSets() {
		if row.In.Holds(v) == Yes {
			out = append(out, row)
		}
	}
	return out
}

// NodeDaemonSetNamespaces are those of NodeDaemonSets, whose pods and kube-root-ca.crt count, in these versions.
func NodeDaemonSetNamespaces(v Versions) []string {
	var out []string
	for _, row := range NodeDaemonSetsIn(v) {
		if !slices.Contains(out, row.Namespace) {
			out = append(out, row.Namespace)
		}
	}
	return out
}

// ServiceAccountCA is what kube-controller-manager trusts and publishes as
// kube-root-ca.crt. Its revisions are beside it: their names end in a number.
func ServiceAccountCA() Ref { return bundle(kcmTarget, "serviceaccount-ca") }

// RootCAOf is kube-root-ca.crt of a namespace.
func RootCAOf(namespace string) Ref { return rootCAOf(namespace) }
