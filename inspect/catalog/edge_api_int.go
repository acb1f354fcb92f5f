package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// apiIntEdges are of the clients of api-int, beside those of networkEdges.
func apiIntEdges() []Edge {
	kubelet := Evidence{Verified, "kubernetes/kubernetes cmd/kubelet/app/server.go buildKubeletClientConfig and pkg/kubelet/certificate/bootstrap/bootstrap.go v1.35.4; " +
		mcoRepo + "templates/{master,worker}/01-*-kubelet/_base/units/kubelet.service.yaml @ release-4.12 to 4.22"}
	published := Evidence{Verified, kcmRepo + "bindata/assets/config/defaultconfig.yaml and kube-controller-manager/kubeconfig-cm.yaml @ " + kcmRead + "; kubernetes/kubernetes pkg/controller/certificates/rootcacertpublisher/publisher.go"}
	return []Edge{
		{
			ID: "kubelet-api-int", Part: PartAPIInt, Verifier: "kubelet", Statement: "kubelets trust api-int's serving certificate",
			Trust: file("/var/lib/kubelet/kubeconfig"), Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE --dry-run=client",
			Ahead:       "{} pretrust --nodes NODE --dry-run=client",
			Impact:      "the node becomes NotReady at the kubelet's next reconnect or restart; no new Pods start on it",
			In:          Range{Component: mco}, Evidence: kubelet,
		},
		{
			ID: "kubelet-bootstrap-api-int", Part: PartAPIInt, Verifier: "kubelet, when it has no valid client certificate", Statement: "kubelets that must join again trust api-int's serving certificate",
			Trust: file("/etc/kubernetes/kubeconfig"), Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE --dry-run=client",
			Ahead:       "{} pretrust --nodes NODE --dry-run=client",
			Impact:      "the node cannot join again once its client certificate is missing or has expired",
			In:          Range{Component: mco}, Evidence: kubelet,
		},
		{
			ID: "controller-manager-api-int", Part: PartAPIInt, Verifier: "kube-controller-manager", Statement: "kube-controller-manager trusts api-int's serving certificate",
			Trust: bundle(kcmTarget, "serviceaccount-ca"), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "controllers: no certificate request is signed, no kubelet's renewal of its client certificate is approved, and kube-root-ca.crt stays as it is",
			In:     Range{Component: kcm}, Evidence: published,
		},
		{
			ID: "scheduler-api-int", Part: PartAPIInt, Verifier: "kube-scheduler", Statement: "kube-scheduler trusts api-int's serving certificate",
			Trust: bundle(schedulerTarget, "serviceaccount-ca"), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "new pods are not placed",
			In:     Range{Component: scheduler}, Evidence: Evidence{Verified, schedulerRepo + "bindata/assets/kube-scheduler/kubeconfig-cm.yaml and pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ " + schedulerRead},
		},
		{
			ID: "published-server-ca-api-int", Part: PartAPIInt, Verifier: "clients that are given the cluster's CA", Statement: "the CA that the cluster publishes verifies api-int's serving certificate",
			Trust: APIServerCA(), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadByProgram, Reader: pki.ReaderUnknown,
			Impact: "the server side itself is not consistent: fix kube-apiserver-operator before anything else",
			In:     Range{Component: kas}, Evidence: kasRotation(),
		},
		{
			ID: "pods-kubernetes-service", Part: PartAPIInt, Verifier: "pods", Statement: "pods trust kubernetes.default's serving certificate",
			Trust: rootCA(), Presented: secret(kasTarget, "service-network-serving-certkey"), ServerName: nameServiceNetwork, Reload: ReloadAtStart, Reader: pki.ReaderUnknown, MayBeOutdated: true,
			Impact: "pods that call the API server, most operators among them",
			In:     Range{Component: kcm}, Evidence: Evidence{Verified, published.Source + "; " + readsCAOnce},
		},
		{
			ID: "machine-config-daemon-api-int", Part: PartAPIInt, Verifier: "machine-config-daemon", Statement: "the machine-config-daemon trusts api-int's serving certificate",
			Trust: rootCAOf(mcoTarget), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadAtStart, Reader: pki.ReaderGoAll,
			Impact: "the nodes' configuration" + daemonDelivers,
			In:     Range{Component: mco, To: Minor{4, 22}}, Evidence: Evidence{Verified, mcoRepo + "cmd/machine-config-daemon/start.go @ release-4.12 to 4.22, pkg/daemon/certificate_writer.go @ release-4.13 to 4.22"},
		},
		{
			ID: "machine-config-daemon-reloaded-api-int", Part: PartAPIInt, Verifier: "machine-config-daemon", Statement: "the machine-config-daemon trusts api-int's serving certificate",
			Trust: rootCAOf(mcoTarget), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "the nodes' configuration" + daemonDelivers,
			In:     since(mco, Minor{4, 23}), Evidence: Evidence{Verified, mcoRepo + "go.mod (client-go v0.36.2), vendor/k8s.io/client-go/transport/ca_rotation.go and features/known_features.go (ClientsAllowCARotation), pkg/daemon/daemon.go @ release-4.23 and release-5.0 d20efd9b9"},
		},
		{
			ID: "new-node-api-int", Part: PartAPIInt, Verifier: "the kubelet of a node that is added", Statement: "a node added now trusts api-int's serving certificate",
			Trust: Ref{Kind: Secret, Namespace: mcoTarget, Name: "node-bootstrapper-token", Key: "ca.crt"}, Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadByNewNodes, Reader: pki.ReaderGo,
			Impact: "nodes that are added: they never join",
			In:     Range{Component: mco, To: Minor{4, 15}}, Evidence: Evidence{Verified, mcoRepo + "pkg/server/cluster_server.go @ release-4.12 to 4.15"},
		},
		{
			ID: "new-node-kubeconfig-data-api-int", Part: PartAPIInt, Verifier: "the kubelet of a node that is added", Statement: "a node added now trusts api-int's serving certificate",
			Trust: bundle(mcoTarget, "kubeconfig-data"), Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadByNewNodes, Reader: pki.ReaderGo,
			Impact: "nodes that are added: they never join",
			In:     since(mco, Minor{4, 16}), Evidence: Evidence{Verified, mcoRepo + "pkg/server/cluster_server.go @ release-4.16 to 4.22"},
		},
	}
}

// readsCAOnce is about clients in pods: client-go before v0.36 reads its CA file at the start, and
// operators of 4.12 to 4.22 have 0.25 to 0.35. From v0.36 on it reads a changed file within 5 minutes.
const readsCAOnce = "kubernetes/client-go rest/config.go (InClusterConfig) and transport @ release-1.25 to release-1.35: no reload of a CA file; transport/ca_rotation.go is new in release-1.36"

// daemonDelivers is what else fails with machine-config-daemon.
const daemonDelivers = ", from 4.13 on the delivery of CAs, and from 4.16 on that of api-int's CA"

// rootCAOf is kube-root-ca.crt in one namespace.
func rootCAOf(namespace string) Ref {
	r := rootCA()
	r.Namespace = namespace
	return r
}

// networkEdges are of what runs on nodes, by kubeconfigs there. All are optional:
// which of them runs is the administrator's choice of a network. The namespaces of
// those that are not there are not there either, and each namespace has its copy of
// kube-root-ca.crt.
func networkEdges() []Edge {
	inNetwork := func(path string) Ref { return file("/etc/kubernetes/cni/net.d/" + path) }
	const identity = "not where network-node-identity is disabled (ConfigMap openshift-network-operator/network-node-identity)"
	const byNodeIdentity = "; pkg/platform/platform.go (isNetworkNodeIdentityEnabled) @ release-4.14 af41a3620, release-4.22 6a5fcccf8"
	multus := Evidence{Verified, networkRepo + "bindata/network/multus/multus.yaml @ 2a6a57fef and release-4.12 to 4.22"}
	thick := Evidence{Verified, multus.Source + byNodeIdentity}
	ovn := Evidence{Verified, networkRepo + "bindata/network/ovn-kubernetes/common/008-script-lib.yaml @ 2a6a57fef and release-4.14 to 4.22" + byNodeIdentity + "; " + ovnClients}
	kubelets := file("/var/lib/kubelet/kubeconfig")
	return []Edge{
		{
			ID: "multus-thin-api-int", Part: PartAPIInt, Verifier: "multus, thin", Statement: "multus trusts api-int's serving certificate",
			Trust: inNetwork("multus.d/multus.kubeconfig"), Optional: true, Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: "the network of new pods on the node",
			In:     Range{Component: network, To: Minor{4, 13}}, Evidence: multus,
		},
		{
			ID: "multus-api-int", Part: PartAPIInt, Verifier: "multus, thick", Statement: "multus, once restarted, trusts api-int's serving certificate",
			Trust: kubelets, Optional: true, OnlyIfExists: rootCAOf("openshift-multus"), Beside: identity, Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE --dry-run=client", RestartedPods: "multus",
			Ahead:  "{} pretrust --nodes NODE --dry-run=client",
			Impact: "the network of new pods on the node; restarted before the file is right, it serves none",
			In:     since(network, Minor{4, 14}), Evidence: thick,
		},
		{
			ID: "ovnkube-node-api-int", Part: PartAPIInt, Verifier: "ovnkube-node, when it has no valid client certificate", Statement: "ovnkube-node, without a valid client certificate, trusts api-int's serving certificate",
			Trust: kubelets, Optional: true, OnlyIfExists: rootCAOf(ovnTarget), Beside: identity, Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE --dry-run=client", RestartedPods: "ovnkube-node",
			Ahead:  "{} pretrust --nodes NODE --dry-run=client",
			Impact: "the network of new pods on the node, once ovnkube-node's client certificate is missing or has expired",
			In:     since(network, Minor{4, 14}), Evidence: ovn,
		},
		{
			ID: "ovnkube-node-service-account-api-int", Part: PartAPIInt, Verifier: "ovnkube-node", Statement: "ovnkube-node trusts api-int's serving certificate",
			Trust: rootCAOf(ovnTarget), Optional: true, Presented: InternalLoadBalancerServing(), ServerName: NameInternal, Reload: ReloadAtStart, Reader: pki.ReaderGoAll,
			Impact: "the network of new pods on nodes",
			In:     Range{Component: network}, Evidence: Evidence{Verified, networkRepo + "bindata/network/ovn-kubernetes/self-hosted/004-config.yaml (apiserver; no CA) @ release-4.22, and the same in release-4.12 to 4.23; " + ovnClients},
		},
		{
			ID: "machine-config-daemon-node-writer-api-int", Part: PartAPIInt, Verifier: "machine-config-daemon's NodeWriter", Statement: "machine-config-daemon's NodeWriter, once restarted, trusts api-int's serving certificate",
			Trust: kubelets, Optional: true, OnlyIfExists: rootCAOf(mcoTarget), Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadAtStart, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE --dry-run=client", RestartedPods: "machine-config-daemon",
			Ahead:  "{} pretrust --nodes NODE --dry-run=client",
			Impact: "what machine-config-daemon writes to its Node: the state of an update; the pool is Degraded or stands still",
			In:     Range{Component: mco}, Evidence: nodeWriter(),
		},
		{
			ID: "whereabouts-api-int", Part: PartAPIInt, Verifier: "whereabouts", Statement: "whereabouts trusts api-int's serving certificate",
			Trust: inNetwork("whereabouts.d/whereabouts.kubeconfig"), Optional: true, Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: "addresses of new pods' additional networks",
			In:     Range{Component: network}, Evidence: multus,
		},
	}
}

// onPremEdges are of the static pods by which a cluster keeps the addresses of its
// API itself: their monitors ask for the nodes by the kubelet's kubeconfig. keepalived's
// init container reads /etc/kubernetes/kubeconfig, but for the names of the cluster alone.
// HAProxy's, on masters, reads it each time in every version; where api-int does not verify, it asks
// the API server of its own master, so that nothing fails and there is no row.
func onPremEdges() []Edge {
	platforms := []string{"BareMetal", "Nutanix", "OpenStack", "oVirt", "VSphere"}
	const clouds = "from 4.19 on, that of CoreDNS also where Infrastructure's cloudLoadBalancerConfig.dnsType is ClusterHosted, which is not judged"
	const templates = "templates/common/on-prem/files/{keepalived,coredns}.yaml, templates/master/00-master/on-prem/files/haproxy.yaml @ "
	const monitors = "; openshift/baremetal-runtimecfg pkg/monitor and pkg/config/node.go @ "
	edge := func(id, verifier, claim string, reads ReloadPolicy, in Range, e Evidence) Edge {
		return Edge{
			ID: id, Part: PartAPIInt, Verifier: verifier, Statement: claim,
			Trust: file("/var/lib/kubelet/kubeconfig"), Optional: true, Platforms: platforms, Beside: clouds, Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: reads, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE --dry-run=client", Ahead: "{} pretrust --nodes NODE --dry-run=client",
			Impact: "which nodes there are: keepalived and CoreDNS on the node do not learn of nodes that come and go", In: in, Evidence: e,
		}
	}
	return []Edge{
		edge("balancers-api-int", "the monitors of keepalived and CoreDNS", "the monitors of keepalived and CoreDNS trust api-int's serving certificate", ReloadEachTime, Range{Component: mco, To: Minor{4, 21}},
			Evidence{Verified, mcoRepo + templates + "release-4.12 1d4cfffaa to release-4.21 db84d8368" + monitors + "release-4.12 474ed48e8 to release-4.21 d7e3fc12b (GetNodes, getSortedBackends)"}),
		edge("balancers-watch-api-int", "the monitors of keepalived and CoreDNS", "the monitors of keepalived and CoreDNS, once restarted, trust api-int's serving certificate", ReloadAtStart, since(mco, Minor{4, 22}),
			Evidence{Verified, mcoRepo + templates + "release-4.22 9027c94cd" + monitors + "release-4.22 dca8cb1be; pkg/nodeconfig/watcher.go (NewNodeWatcher)"}),
	}
}

// ovnClients is about the two clients of ovnkube-node: with a certificate of its own it trusts what its
// service account has, and by the kubelet's kubeconfig it asks for that certificate.
const ovnClients = "openshift/ovn-kubernetes go-controller/pkg/util/kube.go (newKubernetesRestConfig, StartNodeCertificateManager) and pkg/config/config.go (buildKubernetesConfig: ca.crt of the service account) @ 010f7c296, 04a98b6fc"

// nodeWriter is about the second client of machine-config-daemon, beside that of its
// service account.
func nodeWriter() Evidence {
	return Evidence{Verified, mcoRepo + "pkg/daemon/writer.go @ release-4.11 to 4.22 (nodeWriterKubeconfigPath, read once by newNodeWriter); k8s.io/client-go transport reads CAData once; OCPBUGS-76338"}
}
