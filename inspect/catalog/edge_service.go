package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// serviceEdges are those of what runs on the cluster, and of new machines. Stubs of
// new machines are optional: who makes machines by hand, or has no Machine API, may
// have deleted them.
func serviceEdges() []Edge {
	userData := func(name string) Ref {
		return Ref{Kind: Secret, Namespace: "openshift-machine-api", Name: name, Key: "userData"}
	}
	server := func(id, pool string) Edge {
		return Edge{
			ID: id, Part: PartNodes, Verifier: "Ignition on a new " + pool, Claim: "a new " + pool + " trusts the machine config server",
			Trust: userData(pool + "-user-data"), Optional: true, Presented: secret(mcoTarget, "machine-config-server-tls"), ServerName: NameAny, Reload: ReloadByNewNodes, Reader: pki.ReaderUnknown,
			Impact:      "nodes that are added: they never get their configuration",
			Remediation: "where Secret openshift-machine-config-operator/machine-config-server-ca signed it (on bare metal all nodes reboot, up to 4.17): oc adm ocp-certificates update-ignition-ca-bundle-for-machine-config-server",
			In:          Range{Component: mco}, Evidence: Evidence{Verified, mcoRepo + "pkg/server and pkg/controller/certrotation @ release-4.12 to 4.22; " + configServerCommand().Source + " (updateSecrets)"},
		}
	}
	return []Edge{
		server("new-worker-config-server", "worker"),
		server("new-master-config-server", "master"),
		{
			ID: "service-ca", Part: PartServices, Verifier: "clients of Services by TLS", Claim: "the published service CA verifies what Services show",
			Trust: Ref{Kind: ConfigMap, Namespace: "*", Name: "openshift-service-ca.crt", Key: "service-ca.crt"}, Presented: Ref{Kind: Secret, Key: "tls.crt"}, Selector: ServiceCASecret(),
			ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderUnknown,
			Impact: "calls between the cluster's own components: metrics, webhooks, the image registry",
			In:     Range{Component: "service-ca"}, Evidence: Evidence{Verified, "openshift/service-ca-operator pkg/controller @ 6391e070d"},
		},
		{
			// Up to 4.11 the Secret holds what all IngressControllers present, one key for each
			// domain, and which of them is the cluster's is not read.
			ID: "published-ingress", Part: PartServices, Verifier: "operators of the console and of the OAuth server, pods that call routes", Claim: "the published ingress CA verifies the default certificate of routes",
			Trust: bundle(managed, "default-ingress-cert"), Presented: Ref{Kind: Secret, Namespace: managed, Name: "router-certs"}, ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderUnknown,
			Impact: "ClusterOperators console and authentication, and log in by OAuth of what runs in pods",
			In:     since(ingress, Minor{4, 12}), Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate-publisher @ release-4.12 98d953c92, release-4.22 0c0c64843 and acca9642a; " +
				consoleRepo + "pkg/console/controllers/healthcheck/controller.go @ release-4.12 a67babae3, release-4.22 68028ec98; " + authRepo + "pkg/controllers/oauthendpoints and routercerts @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8"},
		},
	}
}

// registryEdges are of nodes to the cluster's own registry, of the routers to
// Services, and of pods to routes. A cluster may be without a registry of its own.
func registryEdges() []Edge {
	const host = "image-registry.openshift-image-registry.svc"
	served := secret("openshift-image-registry", "image-registry-tls")
	// Builds have the service CA in their pods (openshift/openshift-controller-manager pkg/build/controller/strategy/util.go, setupBuildCAs, @ 01191fedd).
	const impact = "pods that run images of the cluster's own registry"
	delivery := Evidence{Verified, "openshift/cluster-image-registry-operator pkg/resource/imageregistryca.go @ 840d24058; " + mcoRepo + "pkg/daemon/certificate_writer.go @ release-4.14 to 4.22"}
	return []Edge{
		{
			ID: "node-registry", Part: PartNodes, Verifier: "CRI-O", Claim: "nodes trust the serving certificate of the cluster's own registry",
			Trust: file("/etc/docker/certs.d/" + host + ":5000/ca.crt"), Optional: true, Presented: served, ServerName: host, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: impact, In: Range{Component: mco}, Evidence: delivery,
		},
		{
			ID: "new-node-registry", Part: PartNodes, Verifier: "CRI-O, by what machine-config-daemon brings to nodes", Claim: "the published registry CA verifies the serving certificate of the cluster's own registry",
			Trust: Ref{Kind: ConfigMap, Namespace: managed, Name: "image-registry-ca", Key: host + "..5000"}, Optional: true, Presented: served, ServerName: host, Reload: ReloadOnChange, Reader: pki.ReaderGo,
			Impact: impact, In: since("image-registry", Minor{4, 14}), Evidence: delivery,
		},
		{
			ID: "router-services", Part: PartServices, Verifier: "routers", Claim: "routers trust the Services behind Routes that re-encrypt",
			Trust: Ref{Kind: ConfigMap, Namespace: "openshift-ingress", Name: "service-ca-bundle", Key: "service-ca.crt"}, Presented: Ref{Kind: Secret, Key: "tls.crt"}, Selector: ServiceCASecret(),
			ServerName: NameAny, Reload: ReloadByReload, Reader: pki.ReaderOpenSSL, Impact: "Routes that re-encrypt: the console and monitoring among them", In: Range{Component: ingress},
			Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/names.go and pkg/operator/controller/ingress/serviceca_configmap.go @ release-4.12 98d953c92, release-4.22 0c0c64843 and acca9642a; " +
				"openshift/router images/router/haproxy/conf/haproxy-config.template (ca-file) and pkg/router/template/router.go (watchVolumeMountDir: the default certificate and mutual TLS alone) @ release-4.12 7ae57ca0c, release-4.22 b2665a299"},
		},
		{
			ID: "pods-routes", Part: PartServices, Verifier: "pods that call routes", Claim: "pods trust the default certificate of routes",
			Trust: rootCA(), Presented: Ref{Kind: Secret, Namespace: managed, Name: "router-certs"}, ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderUnknown,
			Impact: "log in by OAuth of what runs in pods, such as monitoring", In: since(kcm, Minor{4, 12}),
			Evidence: Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ 4e72164b8 and release-4.12 to 4.22 (manageServiceAccountCABundle)"},
		},
		{
			ID: "openshift-apiserver-etcd", Part: PartControlPlane, Verifier: "openshift-apiserver", Claim: "openshift-apiserver trusts what etcd serves",
			Trust: bundle("openshift-apiserver", "etcd-serving-ca"), Presented: secret(etcdTarget, "etcd-serving-*"), ServerName: NameAny, Reload: ReloadByDeployment, Reader: pki.ReaderUnknown,
			Impact: "OpenShift's own APIs: routes, projects, images", In: Range{Component: openShiftAPI},
			Evidence: Evidence{Verified, openShiftAPIRepo + "pkg/operator/resourcesynccontroller and pkg/operator/workload/workload_openshiftapiserver_v311_00_sync.go (inputHashes) @ release-4.12 a1d5d0d79, release-4.22 8417fa983 and 8206430b0"},
		},
		{
			// There is none where users log in elsewhere (Authentication's type OIDC).
			ID: "oauth-apiserver-etcd", Part: PartAccess, Verifier: "the OAuth API server", Claim: "the OAuth API server trusts what etcd serves",
			Trust: bundle("openshift-oauth-apiserver", "etcd-serving-ca"), Optional: true, Presented: secret(etcdTarget, "etcd-serving-*"), ServerName: NameAny, Reload: ReloadByDeployment, Reader: pki.ReaderUnknown,
			Impact: "log in by token: users and consoles get 401", In: Range{Component: authentication},
			Evidence: Evidence{Verified, authRepo + "pkg/operator/starter.go and pkg/operator/workload/sync_openshift_oauth_apiserver.go (inputHashes) @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8 and f3df4f5b2"},
		},
	}
}
