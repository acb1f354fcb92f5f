package catalog

import "time"

// service-ca: serving certificates for Services that ask for one by
// annotation, and the bundle to trust them.

const (
	serviceCA       = "service-ca" // ClusterOperator
	serviceCAOwner  = "service-ca-operator"
	serviceCATarget = "openshift-service-ca"
	serviceCARepo   = "openshift/service-ca-operator "
)

func serviceCAPlaces() []Place {
	rotates := Evidence{Verified, serviceCARepo + "pkg/operator/rotate.go and pkg/operator/starter.go @ 6391e070d and release-4.12 to 4.22"}
	serves := Evidence{Verified, serviceCARepo + "pkg/controller/servingcert and pkg/controller/api/api.go @ 6391e070d and release-4.12 to 4.22"}
	injects := Evidence{Verified, serviceCARepo + "pkg/controller/cabundleinjector/configmap.go @ 6391e070d and release-4.12"}
	registry := Evidence{Verified, "openshift/origin tls/ownership/ownership.md @ 01860260f"}
	all := Range{Component: serviceCA}
	known := since(serviceCA, Minor{4, 12})
	// One hour before the end, or when the CA rotates: whichever comes first,
	// and with a CA that rotates every 395 days it is the latter.
	leaf := []Lifetime{{Validity: 2 * year, Refresh: 2*year - time.Hour, Renewer: serviceCAOwner, In: known, Evidence: serves,
		Doc: "renewed 1 hour before its end, and whenever the CA rotates (every 395 days)"}}
	served := func(annotation string) Place {
		return Place{Ref: Ref{Kind: Secret, Key: "tls.crt"}, Selector: ObjectSelector{Annotation: annotation}, Role: Serving, Owner: serviceCAOwner,
			Doc: "serving certificate that service-ca made for a Service", Lifetimes: leaf, In: all, Evidence: serves}
	}
	injected := func(annotation string) Place {
		return Place{Ref: Ref{Kind: ConfigMap, Key: "service-ca.crt"}, Selector: ObjectSelector{Annotation: annotation}, Role: CABundle, Owner: serviceCAOwner,
			Doc: "the service CA, put in by service-ca because the annotation asks for it", In: all, Evidence: injects}
	}
	return []Place{
		{Ref: secret(serviceCATarget, "signing-key"), Role: Signer, Owner: serviceCAOwner, Doc: "signs the serving certificates of Services; a new one is cross-signed by the old", In: all, Evidence: rotates,
			Lifetimes: []Lifetime{{Validity: 790 * day, Refresh: 395 * day, Renewer: serviceCAOwner, In: known, Evidence: rotates,
				Doc: "renewed when less than 395 days are left; by hand: delete the secret, or unsupportedConfigOverrides.forceRotation.reason on servicecas/cluster"}}},
		{Ref: Ref{Kind: Secret, Namespace: serviceCATarget, Name: "signing-key", Key: "ca-bundle.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "the signer's certificate and, after a rotation, what bridges old and new", In: all, Evidence: rotates},
		{Ref: Ref{Kind: Secret, Namespace: serviceCATarget, Name: "signing-key", Key: "intermediate-ca.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "the new signer, signed by the old one, after a rotation", In: all, Evidence: rotates},
		{Ref: bundle(serviceCATarget, "signing-cabundle"), Role: CABundle, Owner: serviceCAOwner, Doc: "CAs with which clients verify Services: what service-ca puts into ConfigMaps, webhooks, APIServices and CRDs", In: all, Evidence: rotates},
		{Ref: Ref{Kind: ConfigMap, Namespace: "*", Name: "openshift-service-ca.crt", Key: "service-ca.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "CAs with which pods verify Services; every namespace has it", In: all, Evidence: injects},
		{Ref: Ref{Kind: ConfigMap, Namespace: managed, Name: "service-ca", Key: "ca-bundle.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "the service CA, published for other operators", In: all, Evidence: registry},
		served(AnnotationServiceName),
		served(AnnotationServiceNameAlpha),
		injected(AnnotationInjectCABundle),
		injected(AnnotationInjectCABundleAlpha),
	}
}

func serviceCARotations() []Rotation {
	return []Rotation{{
		Signer: secret(serviceCATarget, "signing-key"), Bundle: bundle(serviceCATarget, "signing-cabundle"), Selector: ObjectSelector{Annotation: AnnotationServiceName},
		Bridge: Ref{Kind: Secret, Namespace: serviceCATarget, Name: "signing-key", Key: "intermediate-ca.crt"}, In: Range{Component: serviceCA},
		Evidence: Evidence{Verified, serviceCARepo + "pkg/operator/rotate.go @ 6391e070d"},
	}}
}

func serviceCAAggregates() []Aggregate {
	published := bundle(serviceCATarget, "signing-cabundle")
	rows := []Aggregate{
		{Target: published, Parts: []Ref{secret(serviceCATarget, "signing-key")}, Relation: Union, In: Range{Component: serviceCA},
			Evidence: Evidence{Verified, serviceCARepo + "pkg/operator/sync_common.go @ 6391e070d"}},
		{Target: Ref{Kind: ConfigMap, Namespace: "*", Name: "openshift-service-ca.crt", Key: "service-ca.crt"}, Relation: Copy, In: Range{Component: serviceCA},
			Parts:    []Ref{published},
			Evidence: Evidence{Verified, serviceCARepo + "pkg/controller/cabundleinjector/configmap.go and starter.go @ 6391e070d and release-4.12"}},
	}
	for _, annotation := range []string{AnnotationInjectCABundle, AnnotationInjectCABundleAlpha} {
		for _, at := range []Ref{
			{Kind: ConfigMap, Key: "service-ca.crt"}, {Kind: "ValidatingWebhookConfiguration"}, {Kind: "MutatingWebhookConfiguration"}, {Kind: "APIService"}, {Kind: "CustomResourceDefinition"},
		} {
			rows = append(rows, Aggregate{Target: at, Selector: ObjectSelector{Annotation: annotation}, Relation: Copy, Parts: []Ref{published}, In: Range{Component: serviceCA},
				Evidence: Evidence{Verified, serviceCARepo + "pkg/controller/cabundleinjector @ 6391e070d and release-4.12"}})
		}
	}
	return rows
}
