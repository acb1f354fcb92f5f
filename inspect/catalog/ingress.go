package catalog

// The default certificates of routes. None of them carries rotation
// annotations and nothing renews them.

const (
	ingress      = "ingress" // ClusterOperator
	ingressOwner = "ingress-operator"
	ingressRepo  = "openshift/cluster-ingress-operator "
)

func ingressPlaces() []Place {
	made := Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate/ca.go and default_cert.go @ acca9642a and release-4.12"}
	published := Evidence{Verified, ingressRepo + "pkg/operator/controller/certificate-publisher @ acca9642a and release-4.12"}
	all := Range{Component: ingress}
	manual := func(doc string) []Lifetime {
		return []Lifetime{{Validity: 2 * year, In: since(ingress, Minor{4, 12}), Doc: doc, Evidence: made}}
	}
	return []Place{
		{Ref: secret("openshift-ingress-operator", "router-ca"), Role: Signer, Owner: ingressOwner, Doc: "signs the routers' default certificates", In: all, Evidence: made,
			Lives: manual("nothing renews it; deleted, it is made anew")},
		{Ref: secret("openshift-ingress", "router-certs-*"), Role: Serving, Owner: ingressOwner, Doc: "an IngressController's default certificate for *.apps, where the administrator gave none", In: all, Evidence: made,
			Lives: manual("nothing renews it, not even a new router-ca; deleted, it is made anew")},
		{Ref: Ref{Kind: Secret, Namespace: managed, Name: "router-certs"}, Role: Serving, Owner: ingressOwner, Doc: "the default certificate of the cluster's ingress domain, for the OAuth server; the keys are domains", In: all, Evidence: published},
		{Ref: bundle(managed, "default-ingress-cert"), Role: CABundle, Owner: ingressOwner, Doc: "the chain that the default IngressController serves, the administrator's own where there is one; part of kube-root-ca.crt", In: all, Evidence: published},
		{Ref: Ref{Kind: ConfigMap, Namespace: "openshift-ingress", Name: "service-ca-bundle", Key: "service-ca.crt"}, Role: CABundle, Owner: serviceCAOwner, Doc: "the routers recognise Services by it when they re-encrypt", In: all,
			Evidence: Evidence{Verified, ingressRepo + "pkg/operator/controller/names.go @ acca9642a"}},
	}
}
