package catalog

// Operators with a certificate or two of their own, and what an administrator
// writes.

func otherOperatorPlaces() []Place {
	const olm = "operator-lifecycle-manager" // ClusterOperator
	registry := Evidence{Verified, "openshift/origin tls/ownership/ownership.md @ 01860260f"}
	olmSource := Evidence{Verified, "operator-framework/operator-lifecycle-manager pkg/controller/install/certresources.go"}
	fresh := []Lifetime{{Validity: 730 * day, Refresh: 729 * day, By: "operator-lifecycle-manager", Evidence: olmSource,
		Doc: "made anew, with a new CA, a day before its end"}}
	return []Place{
		{Ref: secret("openshift-operator-lifecycle-manager", "packageserver-service-cert"), Role: Serving, Owner: "operator-lifecycle-manager", Doc: "served by packageserver, the API server of OperatorHub's packages", Lives: fresh, In: Range{Component: olm}, Evidence: registry},
		{Ref: secret("openshift-operator-lifecycle-manager", "pprof-cert"), Role: Peer, Owner: "operator-lifecycle-manager", Doc: "for OLM's profiles", In: Range{Component: olm}, Evidence: registry},
		{Ref: Ref{Kind: Secret, Key: "tls.crt"}, Carries: Carries{Annotation: AnnotationOLM}, Role: Serving, Owner: "operator-lifecycle-manager", Doc: "certificate that OLM made for an operator's webhook or API server", Lives: fresh, Evidence: olmSource},
		{Ref: Ref{Kind: Secret, Key: "olmCAKey"}, Carries: Carries{Annotation: AnnotationOLM}, Role: CABundle, Owner: "operator-lifecycle-manager", Doc: "the CA of a certificate that OLM made, whose key OLM threw away", Lives: fresh, Evidence: olmSource},
		{Ref: secret("openshift-machine-api", "metal3-ironic-tls"), Role: Serving, Owner: "cluster-baremetal-operator", Doc: "served by Ironic, which provisions bare metal hosts", In: Range{Component: "baremetal"}, Evidence: registry},
		{Ref: bundle("openshift-cloud-controller-manager", "ccm-trusted-ca"), Role: CABundle, Owner: "cloud-controller-manager-operator", Doc: "whom the cloud controller manager trusts outside the cluster", In: Range{Component: "cloud-controller-manager"}, Evidence: registry},
	}
}

func userPlaces() []Place {
	return []Place{
		{Ref: bundle(userConfig, "user-ca-bundle"), Role: CABundle, Owner: "user", Doc: "the administrator's additional trusted CAs (Proxy spec.trustedCA); goes to nodes too", In: Range{Component: mco}, Evidence: mcoSync()},
	}
}
