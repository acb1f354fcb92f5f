package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// serviceEdges are of who calls Services and routes, by what is published of their CAs.
func serviceEdges() []Edge {
	return []Edge{
		{
			ID: "service-ca", Part: PartServices, Verifier: "clients of Services by TLS", Statement: "the published service CA verifies what Services present",
			Trust: Ref{Kind: ConfigMap, Namespace: "*", Name: "openshift-service-ca.crt", Key: "service-ca.crt"}, Presented: Ref{Kind: Secret, Key: "tls.crt"}, Selector: ServiceCASecret(),
			ServerName: NameAny, Reload: ReloadByProgram, Reader: pki.ReaderUnknown,
			Impact: "calls of Services by pods that verify them by this ConfigMap",
			In:     Range{Component: "service-ca"}, Evidence: Evidence{Verified, "openshift/service-ca-operator pkg/controller @ 6391e070d"},
		},
		{
			// Up to 4.10, and in 4.11 before February 2023, the Secret holds what all IngressControllers present, one key for each
			// domain, and which of them is the cluster's is not read.
			ID: "published-ingress", Part: PartServices, Verifier: "operators of the console and of the OAuth server, pods that call routes", Statement: "the published ingress CA verifies the default certificate of routes",
			Trust: bundle(managed, "default-ingress-cert"), Presented: Ref{Kind: Secret, Namespace: managed, Name: "router-certs"}, ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderUnknown,
			Impact: "ClusterOperators console and authentication, and calls of routes by pods",
			In:     since(ingress, Minor{4, 12}), Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate-publisher @ release-4.12 98d953c92, release-4.22 0c0c64843 and acca9642a; " +
				consoleRepo + "pkg/console/controllers/healthcheck/controller.go @ release-4.12 a67babae3, release-4.22 68028ec98; " + authRepo + "pkg/controllers/oauthendpoints and routercerts @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8"},
		},
	}
}

// routeEdges are of the routers to Services, and of pods to routes.
func routeEdges() []Edge {
	return []Edge{
		{
			ID: "router-services", Part: PartServices, Verifier: "routers", Statement: "routers trust the Services behind Routes that re-encrypt",
			Trust: Ref{Kind: ConfigMap, Namespace: "openshift-ingress", Name: "service-ca-bundle", Key: "service-ca.crt"}, Presented: Ref{Kind: Secret, Key: "tls.crt"}, Selector: ServiceCASecret(),
			ServerName: NameAny, Reload: ReloadByReload, Reader: pki.ReaderOpenSSL, Impact: "Routes that re-encrypt: the console and monitoring among them", In: Range{Component: ingress},
			Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/names.go and pkg/operator/controller/ingress/serviceca_configmap.go @ release-4.12 98d953c92, release-4.22 0c0c64843 and acca9642a; " +
				"openshift/router images/router/haproxy/conf/haproxy-config.template (ca-file; verifyhost: the Service's name, which service-ca gives each) and pkg/router/template/router.go (watchVolumeMountDir: the default certificate and mutual TLS alone) @ release-4.12 7ae57ca0c, release-4.22 b2665a299"},
		},
		{
			ID: "pods-routes", Part: PartServices, Verifier: "pods that call routes", Statement: "pods trust the default certificate of routes",
			Trust: rootCA(), Presented: Ref{Kind: Secret, Namespace: managed, Name: "router-certs"}, ServerName: NameAny, Reload: ReloadByProgram, Reader: pki.ReaderUnknown,
			Impact: "calls of routes by pods that verify them by this ConfigMap alone; not log in at oauth-proxy, which trusts oauth-serving-cert as well", In: since(kcm, Minor{4, 12}),
			Evidence: Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ 4e72164b8 and release-4.12 to 4.22 (manageServiceAccountCABundle); " +
				"openshift/oauth-proxy providers/openshift/provider.go (newOpenShiftClient: reads CA files that changed, at each log in; ConfigMap oauth-serving-cert) @ release-4.12 03e5b13b, release-4.22 b402a1dc; " + authRepo + "pkg/controllers/trustdistribution/trustdistribution_controller.go @ release-4.12 4f7f6b1af, release-4.22 5a44cc2a8"},
		},
	}
}

// proxyEdges are of pods to a proxy, as anchorEdges.
func proxyEdges() []Edge {
	return []Edge{
		{
			ID: "pods-proxy-ca", Part: PartServices, Verifier: "operators that call out of the cluster", Statement: "the bundle for who calls through the proxy holds the CAs by which that is trusted",
			Trust: bundle(managed, "trusted-ca-bundle"), Presented: proxyCA(), Verify: VerifyDelivered, Reload: ReloadByProgram, Reader: pki.ReaderGo, Impact: "what operators fetch " + ofThatCA + ": updates, images, the cloud's API",
			Remediation: "see what the network operator says: kubectl get clusteroperator network -o yaml", In: Range{Component: network}, Evidence: Evidence{Derived, networkRepo + "pkg/controller/proxyconfig @ release-4.12 28db40f16, release-4.22 6a5fcccf8 and 2a6a57fef; " + consoleRepo + "pkg/console/controllers/healthcheck/controller.go (getCA: at each look) @ release-4.12 a67babae3, release-4.22 68028ec98"},
		},
	}
}
