package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// Edges of nodes: of what balances the API where no balancer does, of what calls the API
// server of its own master, and of who verifies kubelets.

// onPremEdges are of the static pods by which a cluster keeps the addresses of its
// API itself: their monitors ask for the nodes by the kubelet's kubeconfig. keepalived's
// init container reads /etc/kubernetes/kubeconfig, but for the names of the cluster alone.
// HAProxy's, on masters, reads it each time in 4.22, too; where api-int does not verify, it asks
// the API server of its own master.
func onPremEdges() []Edge {
	platforms := []string{"BareMetal", "Nutanix", "OpenStack", "oVirt", "VSphere"}
	const templates = "templates/common/on-prem/files/{keepalived,coredns}.yaml, templates/master/00-master/on-prem/files/haproxy.yaml @ "
	const monitors = "; openshift/baremetal-runtimecfg pkg/monitor and pkg/config/node.go @ "
	edge := func(id, verifier, claim string, reads ReloadPolicy, in Range, e Evidence) Edge {
		return Edge{
			ID: id, Part: PartAPIInt, Verifier: verifier, Claim: claim,
			Trust: file("/var/lib/kubelet/kubeconfig"), Optional: true, Platforms: platforms, Presented: InternalLoadBalancerServing(), ServerName: NameInKubeconfig, Reload: reads, Reader: pki.ReaderGo,
			Remediation: "{} fix-api-int --nodes NODE --dry-run=client", Ahead: "{} pretrust --nodes NODE --dry-run=client",
			Impact: "which nodes there are: keepalived and CoreDNS on the node do not learn of nodes that come and go", In: in, Evidence: e,
		}
	}
	return []Edge{
		edge("balancers-api-int", "the monitors of keepalived, HAProxy and CoreDNS", "the monitors of keepalived, HAProxy and CoreDNS trust api-int's serving certificate", ReloadEachTime, Range{Component: mco, To: Minor{4, 21}},
			Evidence{Verified, mcoRepo + templates + "release-4.12 1d4cfffaa to release-4.21 db84d8368" + monitors + "release-4.12 474ed48e8 to release-4.21 d7e3fc12b (GetNodes, getSortedBackends)"}),
		edge("balancers-watch-api-int", "the monitors of keepalived and CoreDNS", "the monitors of keepalived and CoreDNS, once restarted, trust api-int's serving certificate", ReloadAtStart, since(mco, Minor{4, 22}),
			Evidence{Verified, mcoRepo + templates + "release-4.22 9027c94cd" + monitors + "release-4.22 dca8cb1be; pkg/nodeconfig/watcher.go (NewNodeWatcher)"}),
	}
}

// localhostEdges are of what calls the API server on its own master, past every
// balancer, by the name of the recovery certificate.
func localhostEdges() []Edge {
	recovery := secret(kasTarget, "localhost-recovery-serving-certkey")
	token := func(namespace string) Ref {
		return Ref{Kind: Secret, Namespace: namespace, Name: "localhost-recovery-client-token", Key: "ca.crt"}
	}
	syncer := func(id, component, of string, trust Ref, src Evidence) Edge {
		return Edge{
			ID: id, Part: PartControlPlane, Verifier: "the cert-syncer and the recovery controller of " + of, Claim: "the cert-syncer of " + of + " trusts localhost-recovery's serving certificate",
			Trust: trust, Presented: recovery, ServerName: "localhost-recovery", Reload: ReloadByRollout, Reader: pki.ReaderGo,
			Impact: "new certificates for " + of + ": those on control plane nodes are not replaced, and expire", In: Range{Component: component}, Evidence: src,
		}
	}
	const path = "bindata/assets/"
	return []Edge{
		syncer("apiserver-syncer-localhost", kas, "kube-apiserver", bundle(kasTarget, "kube-apiserver-server-ca"),
			Evidence{Verified, "openshift/cluster-kube-apiserver-operator " + path + "kube-apiserver/kubeconfig-cm.yaml @ " + kasRead}),
		syncer("controller-manager-syncer-localhost", kcm, "kube-controller-manager", token(kcmTarget),
			Evidence{Verified, kcmRepo + path + "kube-controller-manager/kubeconfig-cert-syncer.yaml @ " + kcmRead}),
		syncer("scheduler-syncer-localhost", scheduler, "kube-scheduler", token(schedulerTarget),
			Evidence{Verified, schedulerRepo + path + "kube-scheduler/kubeconfig-cert-syncer.yaml @ " + schedulerRead}),
	}
}

// nodeEdges are of those who verify what kubelets present.
func nodeEdges() []Edge {
	flags := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/config/defaultconfig.yaml @ " + kasRead}
	scrapes := Evidence{Verified, monitoringRepo + "assets/control-plane/service-monitor-kubelet.yaml (tlsConfig.caFile) @ release-4.12 16c55ea0b to release-4.22 5e1f02a52; " +
		"prometheus/common config/http_config.go (tlsRoundTripper, updateRootCA) @ v0.37.0 49b36038a, v0.53.0 e54e4df4b and v0.67.0 603559577"}
	return []Edge{
		{
			ID: "apiserver-kubelet-client", Part: PartNodes, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts kubelets' client certificates",
			Trust: bundle(kasTarget, "client-ca"), Presented: file("/var/lib/kubelet/pki/kubelet-client-current.pem"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "the node becomes NotReady: the API refuses its kubelet",
			In:     Range{Component: kas}, Evidence: flags,
		},
		{
			// A cluster may be without monitoring, as OpenShift Local is.
			ID: "prometheus-kubelet-serving", Part: PartNodes, Verifier: "Prometheus", Claim: "Prometheus trusts kubelets' serving certificates",
			Trust: bundle(monitoringTarget, "kubelet-serving-ca-bundle"), Optional: true, Presented: file("/var/lib/kubelet/pki/kubelet-server-current.pem"), ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderGo,
			Impact: "metrics of the node and of its pods: alerts and dashboards go without them",
			In:     since(monitoring, Minor{4, 12}), Evidence: scrapes,
		},
	}
}
