package catalog

// Delivery is a row: whether a version brings certificates to a place by
// itself, and what that does to a node.
type Delivery struct {
	To        Ref
	Delivered bool
	// Command is who brings them, a process on the node (see Process); empty: nobody.
	// Argument is one of its arguments.
	Command, Argument string
	// Doc says how, or why not.
	Doc string
	In  Range
	Evidence
}

// KubeletKubeconfigCA is the CA with which a kubelet verifies api-int.
func KubeletKubeconfigCA() Ref { return Ref{Kind: File, Name: "/var/lib/kubelet/kubeconfig"} }

// NodeBootstrapToken is the Secret of the token with which machines ask for the
// certificate of a node. What is read of it is the CA beside the token.
func NodeBootstrapToken() Ref {
	return Ref{Kind: Secret, Namespace: mcoTarget, Name: "node-bootstrapper-token", Key: "ca.crt"}
}

// LoadBalancerSigner signs what the API shows at api and api-int.
func LoadBalancerSigner() Ref {
	return Ref{Kind: Secret, Namespace: "openshift-kube-apiserver-operator", Name: "loadbalancer-serving-signer", Key: "tls.crt"}
}

// InternalLoadBalancerServing is what the API shows at api-int.
func InternalLoadBalancerServing() Ref {
	return Ref{Kind: Secret, Namespace: "openshift-kube-apiserver", Name: "internal-loadbalancer-serving-certkey", Key: "tls.crt"}
}

// Deliveries returns every row about what reaches a place by itself.
func Deliveries() []Delivery {
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
			Doc:      "machine-config-daemon writes the CA into both kubeconfigs and restarts the kubelet",
			In:       Range{Component: "machine-config", From: Minor{4, 16}},
			Evidence: Evidence{Verified, "openshift/machine-config-operator#4106: pkg/operator/sync.go, pkg/daemon/certificate_writer.go, manifests/machineconfigdaemon/daemonset.yaml of release-4.16 (7327bb235)"},
		},
	}
}

// DeliveryOf returns the row about a place that holds for v.
func DeliveryOf(to Ref, v Versions) (Delivery, Answer) {
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
