package catalog

import (
	"slices"
	"strings"
)

// Delivery is a row: whether a version brings certificates to a place by
// itself, and what that does to a node.
type Delivery struct {
	To        Ref
	Delivered bool
	// Command is who brings them, a process on the node (see StartupReader); empty: no process.
	// Argument is one of its arguments.
	Command, Argument string
	// Doc says how, or why not.
	Doc string
	// Node is what it does to each node beside the file, Effect says it for people, and
	// Pools whether a MachineConfigPool that is paused holds it up.
	Node   NodeEffect
	Effect string
	Pools  bool
	// NoRestart are parts of names of CAs. Where each CA that is new has one of them in
	// its name, the kubelet is not restarted for it.
	NoRestart []string
	// Hops are who does what on the way, in order, from the bundle that is published.
	Hops []Hop
	In   Range
	Evidence
}

// Hop is one step of a Delivery. To is the place that it is done to; zero: To of the
// Delivery.
type Hop struct {
	Actor, Action string
	To            Ref
}

// KubeletKubeconfigCA is the CA with which a kubelet verifies api-int.
func KubeletKubeconfigCA() Ref { return Ref{Kind: File, Name: "/var/lib/kubelet/kubeconfig"} }

// kubeletClientCA is the CA with which a kubelet verifies its clients.
func kubeletClientCA() Ref { return Ref{Kind: File, Name: "/etc/kubernetes/kubelet-ca.crt"} }

// NodeBootstrapToken is the Secret of the token with which machines ask for the
// certificate of a node. What is read of it is the CA beside the token.
func NodeBootstrapToken() Ref {
	return Ref{Kind: Secret, Namespace: mcoTarget, Name: "node-bootstrapper-token", Key: "ca.crt"}
}

// LoadBalancerSigner signs what the API presents at api and api-int.
func LoadBalancerSigner() Ref {
	return Ref{Kind: Secret, Namespace: "openshift-kube-apiserver-operator", Name: "loadbalancer-serving-signer", Key: "tls.crt"}
}

// InternalLoadBalancerServing is what the API presents at api-int.
func InternalLoadBalancerServing() Ref {
	return Ref{Kind: Secret, Namespace: "openshift-kube-apiserver", Name: "internal-loadbalancer-serving-certkey", Key: "tls.crt"}
}

func allDeliveries() []Delivery {
	return []Delivery{
		{
			To: KubeletKubeconfigCA(), Delivered: false,
			Doc: "the kubelets' kubeconfigs keep the CA with which the node was made",
			In:  Range{Component: "machine-config", To: Minor{4, 15}},
			Evidence: Evidence{Verified, "openshift/machine-config-operator: no kubeconfig-data in pkg/operator/sync.go of release-4.12 (1d4cfffaa) to release-4.15 (1ffa8341f); " +
				"openshift/cincinnati-graph-data blocked-edges/4.15.*-EarlyAPICertRotation.yaml; okd-project/okd#1881"},
		},
		{
			To: KubeletKubeconfigCA(), Delivered: true, Command: "machine-config-daemon", Argument: "start",
			Doc:  "machine-config-daemon writes the CA into both kubeconfigs, without a kubelet's restart into /etc/kubernetes/kubeconfig alone; nodes where it is down miss it",
			Node: NodeKubelet, NoRestart: noRestart(),
			Effect: "the kubelet is restarted, on every node at once, unless machine-config-daemon's list has each new CA: " + strings.Join(noRestart(), ", "),
			Hops: []Hop{
				{"machine-config-operator", "copies ConfigMap openshift-config-managed/kube-apiserver-server-ca there, once that has not changed for a minute", bundle(mcoTarget, "kubeconfig-data")},
				{"machine-config-operator", "tells machine-config-daemon of it by an annotation (machineconfiguration.openshift.io/service-ca-rotate), which it takes back at its next turn", controllerConfig("")},
				{"machine-config-daemon", "looks on its node for each certificate of kubeconfig-data, and where one is missing writes them all there", file("/etc/kubernetes/kubeconfig")},
				{"machine-config-daemon", "stops the kubelet, writes the CA there, and starts the kubelet", Ref{}},
				{"kubelet", "reconnects, and trusts the new CA", Ref{}},
			},
			In:       Range{Component: "machine-config", From: Minor{4, 16}},
			Evidence: Evidence{Verified, "openshift/machine-config-operator#4106: pkg/operator/sync.go, pkg/daemon/certificate_writer.go, manifests/machineconfigdaemon/daemonset.yaml of release-4.16 (7327bb235) to release-4.22 (9027c94cd)"},
		},
		{
			To: kubeletClientCA(), Delivered: true, Pools: true, Node: NodeReload,
			Doc:    "each pool's new rendered MachineConfig brings it, to one node after another; a paused pool gets none",
			Effect: "reload: neither drain nor reboot; the kubelet reloads it",
			Hops: []Hop{
				{"machine-config-operator", "puts ConfigMap openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-client-ca there", controllerConfig("spec.kubeAPIServerServingCAData")},
				{"machine-config-controller", "renders a new MachineConfig for each pool", Ref{Kind: MachineConfig, Name: "rendered-POOL-*"}},
				{"machine-config-controller", "names it to the pool's nodes (annotation desiredConfig), maxUnavailable at once; to none of a paused pool", Ref{Kind: "MachineConfigPool", Name: "*"}},
				{"machine-config-daemon", "compares it with the node's: kubelet-ca.crt asks for nothing; what else has waited in the pool comes with it, and mostly drains and reboots", Ref{Kind: MachineConfig, Name: "rendered-POOL-*"}},
				{"machine-config-daemon", "writes all files of it, those that do not differ too, and enables and disables its units, for which systemd prints \"Reloading.\"", Ref{}},
			},
			In:       Range{Component: "machine-config", To: Minor{4, 12}},
			Evidence: Evidence{Verified, "openshift/machine-config-operator templates/common/_base/files/kubelet-ca.yaml, pkg/operator/sync.go and pkg/daemon/update.go (calculatePostConfigChangeAction, enableUnits) of release-4.12 (1d4cfffaa)"},
		},
		{
			To: kubeletClientCA(), Delivered: true, Node: NodeReload,
			Doc:    "machine-config-daemon writes it on every node from the ControllerConfig, in paused pools too; the copy in a new rendered MachineConfig is passed over",
			Effect: "reload: the kubelet reloads it. The new MachineConfig asks for neither drain nor reboot for this file; what else has waited comes with it",
			Hops: []Hop{
				{"machine-config-operator", "copies ConfigMap openshift-config-managed/kube-apiserver-client-ca there", controllerConfig("spec.kubeAPIServerServingCAData")},
				{"machine-config-controller", "renders a new MachineConfig for each pool, which brings what else has waited in it; its copy of kubelet-ca.crt is passed over", Ref{Kind: MachineConfig, Name: "rendered-POOL-*"}},
				{"machine-config-daemon", "writes what the ControllerConfig says on its node, in paused pools too", Ref{}},
			},
			In: between("machine-config", Minor{4, 13}, Minor{4, 13}),
			Evidence: Evidence{Verified, "openshift/machine-config-operator#3575: pkg/daemon/certificate_writer.go, file_writers.go (skipCertificateWrite), update.go (calculatePostConfigChangeActionFromFileDiffs) and templates/common/_base/files/kubelet-ca.yaml " +
				"of release-4.13 (a57ca2912)"},
		},
		{
			To: kubeletClientCA(), Delivered: true, Node: NodeReload,
			Doc:    "machine-config-daemon writes it on every node from the ControllerConfig, without a new MachineConfig; a paused pool does not hold it up",
			Effect: "reload: the kubelet reloads it",
			Hops: []Hop{
				{"machine-config-operator", "copies ConfigMap openshift-config-managed/kube-apiserver-client-ca there", controllerConfig("spec.kubeAPIServerServingCAData")},
				{"machine-config-daemon", "writes what the ControllerConfig says on its node, in paused pools too; no MachineConfig is made", Ref{}},
			},
			In:       Range{Component: "machine-config", From: Minor{4, 14}},
			Evidence: Evidence{Verified, "openshift/machine-config-operator pkg/daemon/certificate_writer.go, and no kubelet-ca.yaml in templates, of release-4.14 (00b2e0b1c) to release-4.22 (9027c94cd)"},
		},
	}
}

// noRestart are the parts of CAs' names for which machine-config-daemon does not restart
// the kubelet (openshift/machine-config-operator pkg/daemon/certificate_writer.go @
// release-4.16 7327bb235 to release-4.22 9027c94cd).
func noRestart() []string {
	return []string{"kube-apiserver-localhost-signer", "openshift-kube-apiserver-operator_localhost-recovery-serving-signer", "kube-apiserver-lb-signer"}
}

// forSigner is the delivery of a CA that the owner of a signer makes: its name decides whether the
// kubelet is restarted.
func (d Delivery) forSigner(signer Ref) Delivery {
	if len(d.NoRestart) == 0 {
		return d
	}
	name, list := "its name ("+signerName(signer)+"TIME)", "machine-config-daemon's list of those that need no restart ("+strings.Join(d.NoRestart, ", ")+")"
	if !slices.ContainsFunc(d.NoRestart, func(part string) bool { return strings.Contains(signerName(signer), part) }) {
		d.Effect = "the kubelet is restarted, on every node at once: " + name + " is not on " + list
		return d
	}
	d.Node, d.Effect = NodeNone, "none: "+name+" is on "+list+"; when machine-config-daemon next sees an x509 error itself, it has the kubelet join again"
	d.Hops = slices.Clone(d.Hops[:len(d.Hops)-2]) // without the restart, and what follows it
	return d
}

// signerName is how library-go names the CAs of a signer; the time follows
// (openshift/library-go pkg/operator/certrotation/signer.go, setSigningCertKeyPairSecret @
// 93ac9206a).
func signerName(signer Ref) string { return signer.Namespace + "_" + signer.Name + "@" }

// DeliveryOf returns the row about a place that holds for v.
func DeliveryOf(to Ref, v Versions) (Delivery, Tristate) {
	answer := No
	for _, d := range Deliveries() {
		if d.To != to {
			continue
		}
		switch d.In.Holds(v) {
		case Yes:
			return d, Yes
		case Unknown:
			answer = Unknown
		}
	}
	return Delivery{}, answer
}

// PublishedCopies are the ConfigMaps that a publisher writes into every
// namespace, and their keys: the root-CA publisher of kube-controller-manager,
// and service-ca.
func PublishedCopies() map[string]string {
	return map[string]string{"kube-root-ca.crt": "ca.crt", "openshift-service-ca.crt": "service-ca.crt"}
}
