package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// nodeEdges are of those who verify what kubelets present.
func nodeEdges() []Edge {
	flags := Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/config/defaultconfig.yaml @ " + kasRead}
	scrapes := Evidence{Verified, monitoringRepo + "assets/control-plane/service-monitor-kubelet.yaml (tlsConfig.caFile) @ release-4.12 16c55ea0b to release-4.22 5e1f02a52; " +
		"prometheus/common config/http_config.go (tlsRoundTripper, updateRootCA) @ v0.37.0 49b36038a, v0.53.0 e54e4df4b and v0.67.0 603559577"}
	return []Edge{
		{
			ID: "apiserver-kubelet-client", Part: PartNodes, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts kubelets' client certificates",
			Trust: bundle(kasTarget, "client-ca"), Presented: file("/var/lib/kubelet/pki/kubelet-client-current.pem"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "the node becomes NotReady: the API refuses its kubelet",
			In:     Range{Component: kas}, Evidence: flags,
		},
		{
			// A cluster may be without monitoring, as OpenShift Local is.
			ID: "prometheus-kubelet-serving", Part: PartNodes, Verifier: "Prometheus", Statement: "Prometheus trusts kubelets' serving certificates",
			Trust: bundle(monitoringTarget, "kubelet-serving-ca-bundle"), Optional: true, Presented: file("/var/lib/kubelet/pki/kubelet-server-current.pem"), ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderGo,
			Impact: "metrics of the node and of its pods: alerts and dashboards go without them; up to 4.15 also oc adm top of pods, and autoscaling",
			In:     since(monitoring, Minor{4, 12}), Evidence: scrapes,
		},
	}
}

// metricsAPI is what fails with the server of the metrics API.
const metricsAPI = "oc adm top, and autoscaling by CPU and memory"

// metricsEdges are of who scrapes kubelets, beside Prometheus' trust in them. A cluster may be without
// monitoring. Up to 4.12 kubelets have no CA for such certificates, and Prometheus presents a token, too.
func metricsEdges() []Edge {
	scraped := bundle(monitoringTarget, "kubelet-serving-ca-bundle")
	client := func(id, claim, presented, impact string, in Range, source string) Edge {
		return Edge{
			ID: id, Part: PartNodes, Verifier: "kubelet, for client certificates", Statement: claim,
			Trust: file("/etc/kubernetes/kubelet-ca.crt"), Optional: true, OnlyIfExists: scraped, Presented: secret(monitoringTarget, presented), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: impact, In: in, Evidence: Evidence{Verified, monitoringRepo + source},
		}
	}
	return []Edge{
		client("kubelet-prometheus-client", "kubelets trust Prometheus' client certificate", "metrics-client-certs",
			"metrics of the node and its pods; up to 4.18 also "+metricsAPI+" (to 4.15 of pods)", since(mco, Minor{4, 13}),
			"assets/control-plane/service-monitor-kubelet.yaml (certFile; no token since abd4282d1, 2022-11-30) and assets/metrics-server/deployment.yaml @ release-4.12 16c55ea0b to release-4.22 5e1f02a52; assets/prometheus-adapter/config-map.yaml @ release-4.13 and 4.15"),
		client("kubelet-metrics-server-client", "kubelets trust metrics-server's client certificate", "metrics-server-client-certs", metricsAPI, since(monitoring, Minor{4, 19}),
			"assets/metrics-server/deployment.yaml (kubelet-client-certificate) @ release-4.19 and release-4.22 5e1f02a52"),
		{
			ID: "metrics-server-kubelet-serving", Part: PartNodes, Verifier: "metrics-server", Statement: "metrics-server trusts kubelets' serving certificates",
			Trust: scraped, Optional: true, Presented: file("/var/lib/kubelet/pki/kubelet-server-current.pem"), ServerName: NameAny, Reload: ReloadByDeployment, Reader: pki.ReaderGo,
			Impact: metricsAPI, In: since(monitoring, Minor{4, 16}),
			Evidence: Evidence{Verified, monitoringRepo + "assets/metrics-server/deployment.yaml (kubelet-certificate-authority) and pkg/manifests/manifests.go (kubelet-serving-ca-bundle-hash) @ release-4.16 and release-4.22 5e1f02a52"},
		},
	}
}

// newMachineEdges are of machines that are added. Their stubs are optional: who makes machines
// by hand, or has no Machine API, may have deleted them. On bare metal the installer makes the managed
// ones alone.
func newMachineEdges() []Edge {
	server := func(id, pool string) Edge {
		return Edge{
			ID: id, Part: PartNodes, Verifier: "Ignition on a new " + pool, Statement: "a new " + pool + " trusts the machine config server",
			Trust: userData(pool + "-user-data"), Optional: true, Presented: secret(mcoTarget, "machine-config-server-tls"), ServerName: NameAny, Reload: ReloadByNewNodes, Reader: pki.ReaderUnknown,
			Impact:      "nodes that are added: they never get their configuration",
			Remediation: "where Secret openshift-machine-config-operator/machine-config-server-ca signed it (on bare metal all nodes reboot, up to 4.17): oc adm ocp-certificates update-ignition-ca-bundle-for-machine-config-server",
			In:          Range{Component: mco}, Evidence: Evidence{Verified, mcoRepo + "pkg/server and pkg/controller/certrotation @ release-4.12 to 4.22; " + configServerCommand().Source + " (updateSecrets)"},
		}
	}
	managedStub := func(id, pool, beside string) Edge {
		e := server(id, pool)
		e.OnlyWithout = e.Trust
		e.Trust, e.Beside = userData(pool+"-user-data-managed"), beside
		e.Evidence.Source += "; openshift/installer pkg/asset/machines/" + pool + ".go (case baremetaltypes)"
		return e
	}
	return []Edge{
		server("new-worker-config-server", "worker"),
		managedStub("new-worker-managed-config-server", "worker", "also where MachineSets name it, which is not judged"),
		server("new-master-config-server", "master"),
		managedStub("new-master-managed-config-server", "master", "also where the ControlPlaneMachineSet names it, which is not judged"),
	}
}

// registryEdges are of nodes to the cluster's own registry: a cluster may be without one.
func registryEdges() []Edge {
	const host = "image-registry.openshift-image-registry.svc"
	served := secret("openshift-image-registry", "image-registry-tls")
	// Builds have the service CA in their pods (openshift/openshift-controller-manager pkg/build/controller/strategy/util.go, setupBuildCAs, @ 01191fedd).
	const impact = "pods that run images of the cluster's own registry"
	delivery := Evidence{Verified, "openshift/cluster-image-registry-operator pkg/resource/imageregistryca.go @ 840d24058; " + mcoRepo + "pkg/daemon/certificate_writer.go @ release-4.14 to 4.22"}
	return []Edge{
		{
			ID: "node-registry", Part: PartNodes, Verifier: "CRI-O", Statement: "nodes trust the serving certificate of the cluster's own registry",
			Trust: file("/etc/docker/certs.d/" + host + ":5000/ca.crt"), Optional: true, Presented: served, ServerName: host, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: impact, In: Range{Component: mco}, Evidence: delivery,
		},
		{
			ID: "new-node-registry", Part: PartNodes, Verifier: "CRI-O, by what machine-config-daemon brings to nodes", Statement: "the published registry CA verifies the serving certificate of the cluster's own registry",
			Trust: Ref{Kind: ConfigMap, Namespace: managed, Name: "image-registry-ca", Key: host + "..5000"}, Optional: true, Presented: served, ServerName: host, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: impact, In: since("image-registry", Minor{4, 14}), Evidence: delivery,
		},
	}
}

// userAnchors is the file with the administrator's additional CAs, and systemStore what
// update-ca-trust makes of it and of the system's own.
func userAnchors() Ref {
	return file("/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt")
}

func systemStore() Ref { return file("/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem") }

// ofThatCA is said of who trusts the administrator's CAs: there may be no proxy, and a mirror of images.
const ofThatCA = "from servers, or through a proxy, with a certificate of that CA"

// proxyCA is the field that names the CAs by which the proxy is trusted.
func proxyCA() Ref { return Ref{Kind: "Proxy", Name: "cluster", Key: "spec.trustedCA.name"} }

// anchorEdges are of nodes to what is outside of the cluster: a proxy, and registries. What these
// present is nowhere in the cluster; but that the administrator's CAs arrive can be seen: what has
// to arrive is in Presented, the place where in Trust.
func anchorEdges() []Edge {
	all := Range{Component: mco}
	anchors := Evidence{Verified, mcoRepo + "pkg/operator/sync.go and templates/common/_base/files @ release-4.12 1d4cfffaa to release-4.22 9027c94cd"}
	const pool = "look at the node's pool: kubectl get machineconfigpools; a pool that is paused brings nothing"
	const impact = "images, and what else the node fetches, " + ofThatCA
	return []Edge{
		{
			ID: "node-user-ca", Part: PartNodes, Verifier: "the node: CRI-O, kubelet", Statement: "nodes have the administrator's additional CAs", Trust: userAnchors(),
			Presented: bundle(userConfig, "user-ca-bundle"), Verify: VerifyDelivered, Reload: ReloadAtStart, Reader: pki.ReaderUnknown, Impact: impact, Remediation: pool, In: all, Evidence: anchors,
		},
		{
			ID: "node-proxy-ca", Part: PartNodes, Verifier: "the node: CRI-O, kubelet", Statement: "nodes have the CAs by which the proxy is trusted", Trust: userAnchors(),
			Presented: proxyCA(), Verify: VerifyDelivered, Reload: ReloadAtStart, Reader: pki.ReaderUnknown, Impact: impact, Remediation: pool, In: all, Evidence: anchors,
		},
		{
			// Only nodes whose trust store was read have one.
			ID: "node-system-trust", Part: PartNodes, Verifier: "the node: CRI-O, kubelet", Statement: "the system's trust store on nodes holds the administrator's additional CAs", Trust: systemStore(), Optional: true,
			Presented: userAnchors(), Verify: VerifyDelivered, Reload: ReloadAtStart, Reader: pki.ReaderGo, Impact: impact, Remediation: "on NODE: update-ca-trust extract, then systemctl restart crio", In: all,
			Evidence: Evidence{Verified, mcoRepo + "pkg/daemon/update.go @ release-4.14 to 4.22 (coreos-update-ca-trust.service, update-ca-trust)"},
		},
	}
}

// registryCAEdges are of nodes to the administrator's registries, as anchorEdges.
func registryCAEdges() []Edge {
	registries := Ref{Kind: "Image", Name: "cluster", Key: "spec.additionalTrustedCA.name"}
	certs := func(id, claim, remediation string, in Range, e Evidence) Edge {
		return Edge{
			ID: id, Part: PartNodes, Verifier: "CRI-O", Statement: claim, Trust: file("/etc/docker/certs.d/*/ca.crt"), Presented: registries, Verify: VerifyDelivered, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: "images of that registry on the node", Remediation: remediation, In: in, Evidence: e,
		}
	}
	const delivered = "nodes have the CAs of the administrator's registries"
	return []Edge{
		certs("node-ca-registries", delivered, "look at the log of the DaemonSet node-ca: oc -n openshift-image-registry logs -l name=node-ca", Range{Component: mco, To: Minor{4, 13}},
			Evidence{Verified, "openshift/cluster-image-registry-operator bindata/nodecadaemon.yaml @ release-4.12 and release-4.13"}),
		certs("node-registries", delivered, "look at the log of machine-config-daemon on NODE: it writes the file from ControllerConfig spec.imageRegistryBundleUserData", since(mco, Minor{4, 14}),
			Evidence{Verified, mcoRepo + "pkg/operator/sync.go and pkg/daemon/certificate_writer.go @ release-4.14 00b2e0b1c to 4.22"}),
	}
}
