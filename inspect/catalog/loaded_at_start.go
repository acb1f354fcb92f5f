package catalog

// StartupReader is a row: who reads trust anchors only when it starts, and so may have older
// ones in memory than its file has.
type StartupReader struct {
	Edge
	EdgeID  string // ID of the edge whose trust anchors it reads
	Command string // last element of the program's path
	// Argument is one of its arguments, up to a "=", where other processes have the
	// same Command; empty: none has.
	Argument string
}

// StartupReaders returns every row about who reads trust anchors only when it starts.
func StartupReaders() []StartupReader {
	multus := Evidence{Verified, "k8snetworkplumbingwg/multus-cni pkg/k8sclient/kubeconfig.go v4.2.2 (PerNodeK8sClient copies CAData once)"}
	// What it trusts is kube-root-ca.crt, of which the time of the last write is not read here: the file stands in for it.
	ovn := Evidence{Verified, networkRepo + "bindata/network/ovn-kubernetes/common/008-script-lib.yaml @ 0010c142d; " + ovnClients + "; k8s.io/client-go transport reads CAData once"}
	kubelet := Evidence{Verified, "kubernetes/kubernetes cmd/kubelet/app/server.go buildKubeletClientConfig v1.35.4"}
	restart := func(namespace, app string) string {
		return "once kube-controller-manager and kube-scheduler trust api-int's serving certificate (without them its pod is not created again), restart its pod: kubectl -n " + namespace + " delete pod -l app=" + app + " --field-selector spec.nodeName=NODE"
	}
	return []StartupReader{
		{
			EdgeID: "kubelet-api-int", Command: "kubelet", Edge: Edge{
				ID: "kubelet-memory-api-int", Part: PartAPIInt, Verifier: "kubelet", Reload: ReloadAtStart, Statement: "running kubelets have loaded the CA of api-int's serving certificate",
				Impact:      "the node becomes NotReady at the kubelet's next reconnect: the file is right, but the kubelet has not read it",
				Remediation: "{} fix-api-int --nodes NODE",
				In:          Range{Component: mco}, Evidence: kubelet,
			},
		},
		{
			EdgeID: "multus-api-int", Command: "multus-daemon", Edge: Edge{
				ID: "multus-memory-api-int", Part: PartAPIInt, Verifier: "multus, thick", Reload: ReloadAtStart, Statement: "multus has loaded the CA of api-int's serving certificate",
				Impact:      "the network of new pods on the node, at its next reconnect, while the node and the DaemonSet are Ready",
				Remediation: restart("openshift-multus", "multus"),
				In:          since(network, Minor{4, 14}), Evidence: multus,
			},
		},
		{
			EdgeID: "machine-config-daemon-node-writer-api-int", Command: "machine-config-daemon", Argument: "start", Edge: Edge{
				ID: "machine-config-daemon-memory-api-int", Part: PartAPIInt, Verifier: "machine-config-daemon's NodeWriter", Reload: ReloadAtStart, Statement: "machine-config-daemon's NodeWriter has loaded the CA of api-int's serving certificate",
				Impact:      "what machine-config-daemon writes to its Node, at its next reconnect: the state of an update; the pool is Degraded or stands still",
				Remediation: "once kube-controller-manager and kube-scheduler trust api-int's serving certificate (without them its pod is not created again), restart its pod: kubectl -n openshift-machine-config-operator delete pod -l k8s-app=machine-config-daemon --field-selector spec.nodeName=NODE",
				In:          Range{Component: mco}, Evidence: nodeWriter(),
			},
		},
		{
			EdgeID: "ovnkube-node-api-int", Command: "ovnkube", Argument: "--init-node", Edge: Edge{
				ID: "ovnkube-node-memory-api-int", Part: PartAPIInt, Verifier: "ovnkube-node", Reload: ReloadAtStart, Statement: "ovnkube-node has loaded the CA of api-int's serving certificate",
				Impact:      "the network of new pods on the node, at its next reconnect; that kube-root-ca.crt got the CA late is not seen",
				Remediation: restart("openshift-ovn-kubernetes", "ovnkube-node"),
				In:          since(network, Minor{4, 14}), Evidence: ovn,
			},
		},
	}
}
