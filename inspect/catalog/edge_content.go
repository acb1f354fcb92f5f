package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// Edges that are judged by what bundles hold, or by what calls what; and those of
// registries.

// bundleEdges say that what is made of others holds all of it.
func bundleEdges() []Edge {
	const impact = "whoever reads it refuses what the CA that it lacks has signed"
	return []Edge{
		{
			ID: "bundle-parts", Part: PartBundles, Verifier: "who trusts a bundle that is made of others", Claim: "bundles hold all that they are made of",
			Verify: VerifyAggregate, Reload: ReloadOnChange, Reader: pki.ReaderUnknown, Impact: impact, Remediation: "do not edit the bundle: find out why its owner does not update it",
			Evidence: Evidence{Verified, "the rows about what a bundle must contain"},
		},
		{
			ID: "file-copies", Part: PartBundles, Verifier: "who trusts a file on a node", Claim: "files on nodes hold all of the objects of which they are copies",
			Verify: VerifyNodeCopies, Reload: ReloadOnChange, Reader: pki.ReaderUnknown, Impact: impact, Remediation: "do not edit the file: find out why who brings it there does not update it",
			Evidence: Evidence{Verified, "the rows about files on nodes that are copies of objects"},
		},
	}
}

// serviceCallEdges are of kube-apiserver to Services, with a CA bundle beside each name.
func serviceCallEdges() []Edge {
	src := Evidence{Field, "kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers; kubernetes.io/docs/tasks/extend-kubernetes/setup-extension-api-server"}
	edge := func(id, kind, what, impact string) Edge {
		return Edge{
			ID: id, Part: PartControlPlane, Verifier: "kube-apiserver", Claim: "kube-apiserver trusts the " + what + " that it calls",
			Trust: Ref{Kind: kind, Name: "*"}, Presented: Ref{Kind: Secret, Key: "tls.crt"}, Verify: VerifyServiceCertificate, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Remediation: "have whoever keeps the CA bundle put the CA there that signs the Service's certificate",
			Impact:      impact, Evidence: src,
		}
	}
	return []Edge{
		edge("apiserver-validating-webhooks", "ValidatingWebhookConfiguration", "validating webhooks", "writes that the webhook has to see, where its failurePolicy is Fail"),
		edge("apiserver-mutating-webhooks", "MutatingWebhookConfiguration", "mutating webhooks", "writes that the webhook has to see, where its failurePolicy is Fail"),
		edge("apiserver-aggregated-apis", "APIService", "API servers", "that API"),
		edge("apiserver-conversion-webhooks", "CustomResourceDefinition", "conversion webhooks", "reading and writing of that kind in its other versions"),
	}
}

// registryEdges are of nodes to the cluster's own registry, of the routers to
// Services, and of pods to routes. A cluster may be without a registry of its own.
func registryEdges() []Edge {
	const host = "image-registry.openshift-image-registry.svc"
	served := secret("openshift-image-registry", "image-registry-tls")
	const impact = "images of the cluster's own registry: builds, and pods that run them"
	brought := Evidence{Verified, "openshift/cluster-image-registry-operator pkg/resource/imageregistryca.go @ 840d24058; " + mcoRepo + "pkg/daemon/certificate_writer.go @ release-4.14 to 4.22"}
	return []Edge{
		{
			ID: "node-registry", Part: PartNodes, Verifier: "CRI-O", Claim: "nodes trust the serving certificate of the cluster's own registry",
			Trust: file("/etc/docker/certs.d/" + host + ":5000/ca.crt"), Optional: true, Presented: served, ServerName: host, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: impact, In: Range{Component: mco}, Evidence: brought,
		},
		{
			ID: "new-node-registry", Part: PartNodes, Verifier: "CRI-O, by what machine-config-daemon brings to nodes", Claim: "the published registry CA verifies the serving certificate of the cluster's own registry",
			Trust: Ref{Kind: ConfigMap, Namespace: managed, Name: "image-registry-ca", Key: host + "..5000"}, Optional: true, Presented: served, ServerName: host, Reload: ReloadOnChange, Reader: pki.ReaderGo,
			Impact: impact, In: since("image-registry", Minor{4, 14}), Evidence: brought,
		},
		{
			ID: "router-services", Part: PartServices, Verifier: "routers", Claim: "routers trust the Services behind Routes that re-encrypt",
			Trust: Ref{Kind: ConfigMap, Namespace: "openshift-ingress", Name: "service-ca-bundle", Key: "service-ca.crt"}, Presented: Ref{Kind: Secret, Key: "tls.crt"}, Selector: ObjectSelector{Annotation: AnnotationServiceName},
			ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderOpenSSL, Impact: "Routes that re-encrypt: the console and monitoring among them", In: Range{Component: ingress},
			Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/names.go @ acca9642a"},
		},
		{
			ID: "pods-routes", Part: PartServices, Verifier: "pods that call routes", Claim: "pods trust the default certificate of routes",
			Trust: rootCA(), Presented: Ref{Kind: Secret, Namespace: managed, Name: "router-certs"}, ServerName: NameAny, Reload: ReloadOnChange, Reader: pki.ReaderUnknown,
			Impact: "log in by OAuth of what runs in pods, such as monitoring", In: since(kcm, Minor{4, 12}),
			Evidence: Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ 4e72164b8 and release-4.12 to 4.22 (manageServiceAccountCABundle)"},
		},
		{
			ID: "openshift-apiserver-etcd", Part: PartControlPlane, Verifier: "openshift-apiserver", Claim: "openshift-apiserver trusts what etcd serves",
			Trust: bundle("openshift-apiserver", "etcd-serving-ca"), Presented: secret(etcdTarget, "etcd-serving-*"), ServerName: NameAny, Reload: ReloadAtStart, Reader: pki.ReaderUnknown,
			Impact: "OpenShift's own APIs: routes, projects, images", In: Range{Component: openShiftAPI}, Evidence: Evidence{Verified, openShiftAPIRepo + "pkg/operator @ 8206430b0"},
		},
		{
			// There is none where users log in elsewhere (Authentication's type OIDC).
			ID: "oauth-apiserver-etcd", Part: PartAccess, Verifier: "the OAuth API server", Claim: "the OAuth API server trusts what etcd serves",
			Trust: bundle("openshift-oauth-apiserver", "etcd-serving-ca"), Optional: true, Presented: secret(etcdTarget, "etcd-serving-*"), ServerName: NameAny, Reload: ReloadAtStart, Reader: pki.ReaderUnknown,
			Impact: "log in by token: users and consoles get 401", In: Range{Component: authentication}, Evidence: Evidence{Verified, authRepo + "pkg/operator/starter.go @ f3df4f5b2"},
		},
	}
}
