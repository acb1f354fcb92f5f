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
	rotates := Evidence{Verified, serviceCARepo + "pkg/operator/rotate.go, sync_common.go and starter.go @ release-4.12 46487800f, release-4.22 9fff46a57 and 6391e070d"}
	injects := Evidence{Verified, serviceCARepo + "pkg/controller/cabundleinjector/configmap.go @ release-4.12 46487800f, release-4.22 9fff46a57 and 6391e070d"}
	synced := Evidence{Verified, serviceCARepo + "pkg/operator/starter.go (resourceSyncController) @ release-4.12 46487800f, release-4.22 9fff46a57 and 6391e070d"}
	all := Range{Component: serviceCA}
	known := since(serviceCA, Minor{4, 12})
	return []Place{
		{Ref: secret(serviceCATarget, "signing-key"), Role: Signer, Owner: serviceCAOwner, Doc: "signs the serving certificates of Services; a rotation bridges to the old CA, deletion does not", In: all, Evidence: rotates,
			Lifetimes: []Lifetime{{Validity: 790 * day, Refresh: 395 * day, Renewer: serviceCAOwner, In: known, Evidence: rotates,
				Doc: "by hand, not supported: unsupportedConfigOverrides.forceRotation.reason on servicecas/cluster"}}},
		{Ref: Ref{Kind: Secret, Namespace: serviceCATarget, Name: "signing-key", Key: "ca-bundle.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "after a rotation: the signer's certificate, and the one before it, signed by it", In: all, Evidence: rotates},
		{Ref: Ref{Kind: Secret, Namespace: serviceCATarget, Name: "signing-key", Key: "intermediate-ca.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "the new signer, signed by the old one, after a rotation", In: all, Evidence: rotates},
		{Ref: bundle(serviceCATarget, "signing-cabundle"), Role: CABundle, Owner: serviceCAOwner, Doc: "CAs with which clients verify Services: what service-ca puts into ConfigMaps, webhooks, APIServices and CRDs", In: all,
			Evidence: Evidence{Verified, rotates.Source + "; pkg/controller/cabundleinjector/starter.go @ release-4.12 46487800f and release-4.22 9fff46a57"}},
		{Ref: Ref{Kind: ConfigMap, Namespace: "*", Name: "openshift-service-ca.crt", Key: "service-ca.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "CAs with which pods verify Services; in clusters born in 4.7 or earlier maybe with those of kube-root-ca.crt", In: all,
			Evidence: Evidence{Verified, injects.Source + " (newVulnerableLegacyConfigMapInjectorConfig); " + kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go (useMoreSecureServiceCA) @ release-4.12 c3c07bebb and release-4.22 95150ed5d"}},
		{Ref: Ref{Kind: ConfigMap, Namespace: managed, Name: "service-ca", Key: "ca-bundle.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "the service CA, published for other operators", In: all, Evidence: synced},
		{Ref: Ref{Kind: Secret, Key: "tls.crt"}, Selector: ServiceCASecret(), Role: Serving, Owner: serviceCAOwner, Doc: "serving certificate that service-ca made for a Service", Lifetimes: serviceLives(), In: all, Evidence: serviceServing()},
		{Ref: Ref{Kind: ConfigMap, Key: "service-ca.crt"}, Selector: injectedSelector(ConfigMap), Role: CABundle, Owner: serviceCAOwner, Doc: "the service CA, put in because the annotation asks for it", In: all, Evidence: injects},
	}
}

func serviceServing() Evidence {
	return Evidence{Verified, serviceCARepo + "pkg/controller/servingcert and pkg/controller/api/api.go @ release-4.12 46487800f, release-4.22 9fff46a57 and 6391e070d"}
}

// serviceLives: one hour before the end, or when the CA rotates, whichever comes first; with
// a CA that rotates every 395 days it is the latter.
func serviceLives() []Lifetime {
	return []Lifetime{{Validity: 2 * year, Refresh: 2*year - time.Hour, Renewer: serviceCAOwner, In: since(serviceCA, Minor{4, 12}), Evidence: serviceServing(),
		Doc: "renewed 1 hour before its end, and whenever the CA rotates"}}
}

// serviceCertificate is the place of a certificate that service-ca made for a Service, by its name,
// where more is known than that. Its rotation and its edges are those of the annotation.
func serviceCertificate(namespace, name, doc string, in Range, source string) Place {
	return Place{Ref: secret(namespace, name), Role: Serving, Owner: serviceCAOwner, Doc: doc, Lifetimes: serviceLives(), In: in, Evidence: Evidence{Verified, source}}
}

// readAtStart is the place, which what serves it reads when it starts, and is not restarted for: this
// command does so.
func (p Place) readAtStart(restart string) Place {
	p.Doc += ", which reads it only when it starts"
	p.Restart = restart
	return p
}

func serviceCARotations() []Rotation {
	return []Rotation{{
		Signer: secret(serviceCATarget, "signing-key"), Bundle: bundle(serviceCATarget, "signing-cabundle"), Selector: ServiceCASecret(),
		Bridge: Ref{Kind: Secret, Namespace: serviceCATarget, Name: "signing-key", Key: "intermediate-ca.crt"}, In: Range{Component: serviceCA},
		Evidence: Evidence{Verified, serviceCARepo + "pkg/operator/rotate.go and pkg/controller/servingcert @ release-4.12 46487800f, release-4.22 9fff46a57 and 6391e070d"},
	}}
}

func serviceCAAggregates() []Aggregate {
	published := bundle(serviceCATarget, "signing-cabundle")
	rows := []Aggregate{
		{Target: published, Parts: []Ref{secret(serviceCATarget, "signing-key"), {Kind: Secret, Namespace: serviceCATarget, Name: "signing-key", Key: "ca-bundle.crt"}}, Relation: Union, In: Range{Component: serviceCA},
			Doc:      "written with a new signer, or where the ConfigMap is missing: what was changed in it by hand stays",
			Evidence: Evidence{Verified, serviceCARepo + "pkg/operator/sync_common.go (manageSignerCABundle) and rotate.go (updateSigningSecret) @ release-4.12 46487800f, release-4.22 9fff46a57 and 6391e070d"}},
		// More than a copy in clusters born in 4.7 or earlier.
		{Target: Ref{Kind: ConfigMap, Namespace: "*", Name: "openshift-service-ca.crt", Key: "service-ca.crt"}, Relation: Union, In: Range{Component: serviceCA},
			Parts:    []Ref{published},
			Evidence: Evidence{Verified, serviceCARepo + "pkg/controller/cabundleinjector/configmap.go and starter.go @ release-4.12 46487800f, release-4.22 9fff46a57 and 6391e070d"}},
	}
	for _, at := range []Ref{
		{Kind: ConfigMap, Key: "service-ca.crt"}, {Kind: "ValidatingWebhookConfiguration"}, {Kind: "MutatingWebhookConfiguration"}, {Kind: "APIService"}, {Kind: "CustomResourceDefinition"},
	} {
		rows = append(rows, Aggregate{Target: at, Selector: injectedSelector(at.Kind), Relation: Copy, Parts: []Ref{published}, In: Range{Component: serviceCA},
			Evidence: Evidence{Verified, serviceCARepo + "pkg/controller/cabundleinjector @ release-4.12 46487800f, release-4.22 9fff46a57 and 6391e070d"}})
	}
	return rows
}

// ServiceCASecret selects the Secrets that service-ca makes for Services. Its annotation is the
// alpha one where the Service asked by that, as those of openshift-apiserver, the OAuth server, the
// image registry and the routers do.
func ServiceCASecret() ObjectSelector {
	return ObjectSelector{Annotation: AnnotationServiceName, OtherAnnotation: AnnotationServiceNameAlpha}
}

// injectedSelector selects the objects of a kind into which service-ca puts its CA. The alpha
// annotation counts on ConfigMaps and APIServices alone.
func injectedSelector(kind string) ObjectSelector {
	c := ObjectSelector{Annotation: AnnotationInjectCABundle, Value: "true"}
	if kind == ConfigMap || kind == "APIService" {
		c.OtherAnnotation = AnnotationInjectCABundleAlpha
	}
	return c
}

// ServiceCAInjects reports whether service-ca puts its CA into an object of this kind with these
// annotations.
func ServiceCAInjects(kind string, annotations map[string]string) bool {
	return injectedSelector(kind).Annotated(annotations)
}
