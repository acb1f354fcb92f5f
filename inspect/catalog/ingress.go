package catalog

// The default certificates of routes. None of them carries rotation
// annotations and nothing renews them.

const (
	ingress      = "ingress" // ClusterOperator
	ingressOwner = "ingress-operator"
	ingressRepo  = "openshift/cluster-ingress-operator "
)

func ingressPlaces() []Place {
	made := Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate/ca.go and default_cert.go @ release-4.12 98d953c92, release-4.22 0c0c64843 and acca9642a"}
	published := Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate-publisher @ release-4.12 98d953c92, release-4.22 0c0c64843 and acca9642a"}
	all := Range{Component: ingress}
	manual := func(doc string) []Lifetime {
		return []Lifetime{{Validity: 2 * year, In: since(ingress, Minor{4, 12}), Doc: doc, Evidence: made}}
	}
	return []Place{
		{Ref: secret("openshift-ingress-operator", "router-ca"), Role: Signer, Owner: ingressOwner, Doc: "signs the routers' default certificates", In: all, Evidence: made,
			Lifetimes: manual("once deleted, it is created again at the next change of an IngressController")},
		{Ref: secret("openshift-ingress", "router-certs-*"), Role: Serving, Owner: ingressOwner, Doc: "an IngressController's default certificate for *.apps, where the administrator gave none", In: all, Evidence: made,
			Lifetimes: manual("not even a new router-ca renews it; once deleted, it is created again")},
		{Ref: Ref{Kind: Secret, Namespace: managed, Name: "router-certs"}, Role: Serving, Owner: ingressOwner, Doc: "the ingress domain's default certificate and key, for the OAuth server; up to 4.22 unreadable without a line end after the certificate", In: all,
			Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate-publisher/publish_certs.go @ release-4.12 98d953c92 (6660fb0f4, OCPBUGS-853), release-4.22 0c0c64843 and acca9642a"}},
		{Ref: bundle(managed, "default-ingress-cert"), Role: CABundle, Owner: ingressOwner, Doc: "the chain that the default IngressController serves, the administrator's own where there is one; part of kube-root-ca.crt", In: all, Evidence: published},
		{Ref: Ref{Kind: ConfigMap, Namespace: "openshift-ingress", Name: "service-ca-bundle", Key: "service-ca.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "the routers verify Services with it when they re-encrypt", In: all,
			Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/names.go and pkg/operator/controller/ingress/serviceca_configmap.go @ release-4.12 98d953c92, release-4.22 0c0c64843 and acca9642a"}},
		{Ref: Ref{Kind: ConfigMap, Namespace: "openshift-ingress", Name: "router-client-ca-*", Key: "ca-bundle.pem"}, Role: CABundle, Owner: "user", Writer: ingressOwner, Doc: "CAs with which routers verify clients (IngressController spec.clientTLS.clientCA): a copy from openshift-config", In: all,
			Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/names.go, pkg/operator/controller/clientca-configmap/clientca_configmap.go and pkg/operator/controller/ingress/deployment.go @ release-4.12 98d953c92 and release-4.22 0c0c64843"}},
	}
}

// canaryPlaces are of the ingress canary, which serves by TLS since 4.17: at first by service-ca's
// certificate, then by the one of the default IngressController.
func canaryPlaces() []Place {
	const restart = "oc -n openshift-ingress-canary rollout restart daemonset/ingress-canary"
	const server = "test/http/serve-healthcheck.go (ListenAndServeTLS) and pkg/operator/controller/canary/daemonset.go @ "
	copied := func(in Range, source string) Place {
		return Place{Ref: secret("openshift-ingress-canary", "canary-serving-cert"), Role: Serving, Owner: ingressOwner, In: in, Evidence: Evidence{Verified, ingressRepo + source},
			Doc: "a copy of the default IngressController's certificate, served by the canary"}
	}
	const controller = "pkg/operator/controller/canary-certificate/controller.go"
	made := func(in Range, source string) Place {
		return serviceCertificate("openshift-ingress-canary", "canary-serving-cert", "served by the ingress canary", in,
			ingressRepo+server+source+"; pkg/manifests/assets/canary/service.yaml").readAtStart(restart)
	}
	derived := func(p Place) Place { // by the days of merges
		p.Evidence.Mark = Derived
		return p
	}
	in420, in421 := between(ingress, Minor{4, 20}, Minor{4, 20}), between(ingress, Minor{4, 21}, Minor{4, 21})
	copied420, copied421 := Change{Lacks: 30, Has: 32, Merged: "2026-07-16"}, Change{Lacks: 4, Has: 6, Merged: "2026-02-27"}
	return []Place{
		made(between(ingress, Minor{4, 17}, Minor{4, 19}), "release-4.17 to release-4.19 a3c5d8daf"),
		derived(made(in420.before(copied420), "release-4.20 2371120ee; "+offered)),
		derived(made(in421.before(copied421), "release-4.21 before c2ed7331f; "+offered)),
		derived(copied(in420.since(copied420), server+"release-4.20 f86aaea41; "+controller+", merged as 4565e7d1f; "+offered).readAtStart(restart)),
		derived(copied(in421.since(copied421), server+"release-4.21 3da316787; "+controller+", merged as c2ed7331f; "+offered).readAtStart(restart)),
		copied(since(ingress, Minor{4, 22}), "pkg/operator/controller/canary/daemonset.go (1e5f50475) and "+controller+" @ release-4.22 0c0c64843"),
	}
}

// gatewayPlaces are of Gateway API: istiod, which ingress-operator installs for the first
// GatewayClass of its own, has a CA that it makes itself.
func gatewayPlaces() []Place {
	const istiod, istio = "istiod", "; openshift-service-mesh/istio security/pkg/cmd/constants.go, security/pkg/pki/ca and pilot/pkg/bootstrap/istio_ca.go @ release-1.26 and release-1.28"
	made := Evidence{Derived, ingressRepo + "pkg/operator/controller/gatewayclass @ release-4.19 a3c5d8daf, release-4.20 f86aaea41, release-4.21 3da316787 and release-4.22 0c0c64843" + istio}
	from419 := since(ingress, Minor{4, 19})
	in420, in421 := between(ingress, Minor{4, 20}, Minor{4, 20}), between(ingress, Minor{4, 21}, Minor{4, 21})
	named420, named421 := Change{Lacks: 19, Has: 21, Merged: "2026-04-23"}, Change{Lacks: 11, Has: 13, Merged: "2026-04-22"}
	published := func(name, doc string, in Range) Place {
		return Place{Ref: Ref{Kind: ConfigMap, Namespace: "*", Name: name, Key: "root-cert.pem"}, Role: CABundle, Owner: istiod, Doc: doc, In: in, Evidence: made}
	}
	// ingress-operator gives it this name since 85b6fc9a9 (2025-10-02); what named it before had no effect (c10b83178).
	named := func(in Range, source string) Place {
		p := published("openshift-gw-ca-root-cert", "Gateway API: the CA with which a Gateway's proxies verify istiod", in)
		p.Source += source
		return p
	}
	return []Place{
		{Ref: Ref{Kind: Secret, Namespace: "openshift-ingress", Name: "istio-ca-secret", Key: "ca-cert.pem"}, Role: Signer, Owner: istiod, Doc: "Gateway API: signs the certificates of istiod and of Gateways' proxies", In: from419, Evidence: made,
			Lifetimes: []Lifetime{{Validity: 10 * year, RenewAtPercent: 80, Renewer: istiod, In: from419, Evidence: made, Doc: "with the same key"}}},
		named(in420.since(named420), "; release-4.20 merged 85b6fc9a9 as 0aca1e808; "+offered),
		named(in421.since(named421), "; release-4.21 merged 85b6fc9a9 as 6c70966cd; "+offered),
		named(since(ingress, Minor{4, 22}), ""),
		published("istio-ca-root-cert", "the CA with which proxies verify istiod: a service mesh's and, before openshift-gw-ca-root-cert, Gateway API's", from419),
	}
}

func ingressRotations() []Rotation {
	return []Rotation{{
		Doc:    "its certificate is in default-ingress-cert while IngressController default has no certificate of its own (spec.defaultCertificate)",
		Signer: secret("openshift-ingress-operator", "router-ca"), Bundle: bundle(managed, "default-ingress-cert"),
		Targets: []Ref{secret("openshift-ingress", "router-certs-*")}, In: Range{Component: ingress},
		Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate and certificate-publisher @ release-4.12 98d953c92, release-4.22 0c0c64843 and acca9642a"},
	}}
}

// ingressTriggers: the controller makes what is missing when an IngressController changes.
func ingressTriggers() []Trigger {
	src := Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate/ca.go (ensureRouterCASecret), default_cert.go and controller.go @ acca9642a"}
	const again = "no operator renews it: set IngressController spec.defaultCertificate, or delete the Secret and annotate the IngressController: ingress-operator creates it again"
	rows := triggersOf(ingressRotations(), again+". What the old CA signed stays until openshift-ingress/router-certs-NAME is deleted. Clients given the previous CA by hand distrust the new one", src)
	for i := range rows {
		if rows[i].Secret.Name != "router-ca" {
			rows[i].Doc = again + ", signed by the current router-ca. Until then a router's Pod does not start"
		}
	}
	return rows
}

// routePlaces are the certificates in Routes. Mostly there are none: a Route
// without one presents what its IngressController presents.
func routePlaces() []Place {
	api, all := Evidence{Verified, "openshift/api route/v1/types.go @ release-4.12 7ca3a4634 and release-4.22 9fda5179a; openshift/router pkg/router/template/router.go @ release-4.22 b2665a299"}, Range{Component: ingress}
	route := func(namespace, name, field string, role Role, doc string, e Evidence) Place {
		return Place{Ref: Ref{Kind: Route, Namespace: namespace, Name: name, Key: field}, Role: role, Owner: "user", Doc: doc, In: all, Evidence: e}
	}
	registry := Evidence{Verified, "openshift/cluster-image-registry-operator pkg/resource/route.go @ release-4.12 ea0cf34fc, release-4.22 90e608b3e and 02bb5c2cd"}
	custom := Evidence{Verified, consoleRepo + "pkg/console/controllers/route/controller.go and pkg/console/subresource/route/route.go (NewRouteConfig, setTLS) @ release-4.12 a67babae3, release-4.22 68028ec98 and 684157180"}
	copied := func(p Place, writer string) Place {
		p.Writer = writer
		return p
	}
	consoles := func(name, doc string) Place {
		p := copied(route("openshift-console", name, "spec.tls.certificate", Serving, doc, custom), consoleOwner)
		p.In = Range{Component: console}
		return p
	}
	further := func(name, doc string) Place {
		p := consoles(name, doc)
		p.In = since(console, Minor{4, 23})
		p.Evidence = Evidence{Verified, consoleRepo + "pkg/console/controllers/route/controller.go (syncAdditionalRoutes) and pkg/console/subresource/route/route.go (MakeAdditionalRoute) @ release-4.23 and release-5.0 684157180, not in release-4.22 68028ec98"}
		return p
	}
	return []Place{
		route("*", "*", "spec.tls.certificate", Serving, "served for this Route instead of the default certificate; from 4.19 on a Secret may be named instead (spec.tls.externalCertificate)", api),
		route("*", "*", "spec.tls.caCertificate", CABundle, "the chain of a Route's certificate, served with it; it is no trust anchor", api),
		route("*", "*", "spec.tls.destinationCACertificate", CABundle, "CAs with which a router verifies a re-encrypting Route's service; without any, the service CA", api),
		consoles("console-custom", "the administrator's certificate for the console's own host name (Ingress spec.componentRoutes, or spec.route of consoles.operator.openshift.io/cluster), a copy"),
		consoles("console", "the administrator's certificate for the console, a copy, where its host name is the default one"),
		consoles("downloads-custom", "the administrator's certificate for the own host name of the console's downloads (Ingress spec.componentRoutes), a copy"),
		consoles("downloads", "the administrator's certificate for the console's downloads, a copy, where their host name is the default one"),
		further("console*", "the administrator's certificate for a further host name of the console (an entry of Ingress spec.componentRoutes), a copy"),
		further("downloads*", "the administrator's certificate for a further host name of the console (an entry of Ingress spec.componentRoutes), a copy"),
		copied(route("openshift-image-registry", "*", "spec.tls.certificate", Serving, "the administrator's certificate for a Route of the image registry (its Config spec.routes), a copy", registry), "image-registry-operator"),
		copied(route("openshift-image-registry", "*", "spec.tls.caCertificate", CABundle, "the chain of that certificate, served with it", registry), "image-registry-operator"),
	}
}
