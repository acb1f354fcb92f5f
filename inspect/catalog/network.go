package catalog

// cluster-network-operator: OVN's PKI, node identity, and the trust of
// proxies that it puts into labelled ConfigMaps.

const (
	network      = "network" // ClusterOperator
	networkOwner = "cluster-network-operator"
	ovnTarget    = "openshift-ovn-kubernetes"
	nodeIdentity = "openshift-network-node-identity"
	networkRepo  = "openshift/cluster-network-operator "
)

func networkPKI() Evidence {
	return Evidence{Verified, networkRepo + "pkg/controller/pki/pki_controller.go and bindata (kind OperatorPKI) @ 2a6a57fef and release-4.12 to 4.22"}
}

func networkPlaces() []Place {
	src := networkPKI()
	injects := Evidence{Verified, networkRepo + "pkg/controller/configmap_ca_injector/controller.go @ 2a6a57fef"}
	known := since(network, Minor{4, 12})
	signer := []Lifetime{{Validity: 10 * year, Refresh: 9 * year, RenewAtPercent: 80, Renewer: networkOwner, In: known, Evidence: src,
		Doc: "the 80 % rule (8 years) comes before the refresh of 9 years"}}
	leaf := []Lifetime{{Validity: year / 2, Refresh: year / 4, RenewAtPercent: 80, Renewer: networkOwner, In: known, Evidence: src}}
	pki := func(namespace, name, doc string, in Range) []Place {
		return []Place{
			{Ref: secret(namespace, name+"-ca"), Role: Signer, Owner: networkOwner, Doc: "signs " + doc, Lifetimes: signer, In: in, Evidence: src},
			{Ref: bundle(namespace, name+"-ca"), Role: CABundle, Owner: networkOwner, Doc: "trust anchors for " + doc, In: in, Evidence: src},
			{Ref: secret(namespace, name+"-cert"), Role: Peer, Owner: networkOwner, Doc: "presented by " + doc, Lifetimes: leaf, In: in, Evidence: src},
		}
	}
	trusted := func(namespace, name string) Place {
		return Place{Ref: bundle(namespace, name), Role: CABundle, Owner: networkOwner, Doc: "the cluster's trusted CAs: by its name, what a component asks for by label", In: Range{Component: network},
			Evidence: Evidence{Verified, "openshift/origin tls/ownership/ownership.md @ 01860260f and tls/testcase/testcase.md @ 196a8c50b"}}
	}
	// What is in openshift-config, only the administrator puts there.
	mine := func(name string) Place {
		return Place{Ref: bundle(userConfig, name), Role: CABundle, Owner: "user", Doc: "by its name, CAs of an administrator (such as Proxy spec.trustedCA)", In: Range{Component: network},
			Evidence: Evidence{Derived, networkRepo + "pkg/controller/proxyconfig/controller.go @ 2a6a57fef"}}
	}
	places := pki(ovnTarget, "ovn", "OVN's databases and their clients", Range{Component: network})
	places = append(places, pki(ovnTarget, "signer", "OVN's certificate requests (IPsec)", Range{Component: network})...)
	places = append(places, pki(nodeIdentity, "network-node-identity", "network-node-identity's webhook", since(network, Minor{4, 14}))...)
	return append(places,
		Place{Ref: bundle(managed, "trusted-ca-bundle"), Role: CABundle, Owner: networkOwner, Doc: "the system's trusted CAs and the administrator's (Proxy spec.trustedCA): what the cluster's components trust outside the cluster", In: Range{Component: network},
			Evidence: Evidence{Verified, networkRepo + "pkg/controller/proxyconfig/controller.go and pkg/names/names.go @ 2a6a57fef"}},
		Place{Ref: Ref{Kind: ConfigMap, Key: "ca-bundle.crt"}, Selector: ObjectSelector{Label: labelInjectTrustedCA, Value: "true"}, Role: CABundle, Owner: networkOwner, Doc: "the cluster's trusted CAs, put in because the label asks for it", In: Range{Component: network}, Evidence: injects},
		trusted("openshift-*", "*trusted-ca-bundle"),
		trusted("openshift-*", "*trusted-ca"),
		trusted("openshift-controller-manager", "openshift-global-ca"),
		mine("*trusted-ca-bundle"),
		mine("*trusted-ca"),
	)
}

func networkRotations() []Rotation {
	row := func(namespace, name string, in Range) Rotation {
		return Rotation{Signer: secret(namespace, name+"-ca"), Bundle: bundle(namespace, name+"-ca"), Targets: []Ref{secret(namespace, name+"-cert")}, In: in, Evidence: networkPKI()}
	}
	return []Rotation{
		row(ovnTarget, "ovn", Range{Component: network}),
		row(ovnTarget, "signer", Range{Component: network}),
		row(nodeIdentity, "network-node-identity", since(network, Minor{4, 14})),
	}
}

func networkAggregates() []Aggregate {
	sync := func(target Ref) Aggregate {
		return Aggregate{Target: target, Parts: []Ref{bundle(managed, "trusted-ca-bundle")}, Relation: Copy, In: Range{Component: network},
			Evidence: Evidence{Verified, networkRepo + "pkg/controller/configmap_ca_injector/controller.go @ 2a6a57fef; the label in the bindata of each component's operator"}}
	}
	return []Aggregate{
		sync(bundle("openshift-apiserver", "trusted-ca-bundle")),
		sync(bundle(kcmTarget, "trusted-ca-bundle")),
		sync(bundle(kasTarget, "trusted-ca-bundle")),
	}
}
