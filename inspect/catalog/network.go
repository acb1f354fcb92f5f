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
	return Evidence{Verified, networkRepo + "pkg/controller/pki/pki_controller.go and bindata (kind OperatorPKI) @ release-4.12 28db40f16 to release-4.22 6a5fcccf8"}
}

func networkPlaces() []Place {
	src := networkPKI()
	injects := Evidence{Verified, networkRepo + "pkg/controller/configmap_ca_injector/controller.go @ release-4.12 28db40f16, release-4.22 6a5fcccf8 and 2a6a57fef"}
	known := since(network, Minor{4, 12})
	signer := []Lifetime{{Validity: 10 * year, Refresh: 9 * year, RenewAtPercent: 80, Renewer: networkOwner, In: known, Evidence: src}}
	leaf := []Lifetime{{Validity: year / 2, Refresh: year / 4, RenewAtPercent: 80, Renewer: networkOwner, In: known, Evidence: src}}
	// An OperatorPKI has all three, whether anything reads them or not.
	pki := func(namespace, name, signs, trusts, presents string, in Range, e Evidence) []Place {
		return []Place{
			{Ref: secret(namespace, name+"-ca"), Role: Signer, Owner: networkOwner, Doc: signs, Lifetimes: signer, In: in, Evidence: e},
			{Ref: bundle(namespace, name+"-ca"), Role: CABundle, Owner: networkOwner, Doc: trusts, In: in, Evidence: e},
			{Ref: secret(namespace, name+"-cert"), Role: Peer, Owner: networkOwner, Doc: presents, Lifetimes: leaf, In: in, Evidence: e},
		}
	}
	trusted := func(namespace, name string) Place {
		return Place{Ref: bundle(namespace, name), Role: CABundle, Owner: networkOwner, Doc: "the cluster's trusted CAs: by its name, what a component asks for by label", In: Range{Component: network},
			Evidence: Evidence{Verified, "openshift/origin tls/ownership/ownership.md @ 01860260f and tls/testcase/testcase.md @ 196a8c50b"}}
	}
	// What is in openshift-config, only the administrator puts there.
	mine := func(name string) Place {
		return Place{Ref: bundle(userConfig, name), Role: CABundle, Owner: "user", Doc: "by its name, CAs of an administrator (such as Proxy spec.trustedCA)", In: Range{Component: network},
			Evidence: Evidence{Derived, networkRepo + "pkg/controller/proxyconfig/controller.go @ release-4.12 28db40f16, release-4.22 6a5fcccf8 and 2a6a57fef"}}
	}
	mounts := func(files string) Evidence { return Evidence{Verified, src.Source + "; " + files} }
	places := pki(ovnTarget, "ovn", "signs ovn-cert", "verifies ovn-cert; used up to 4.13, in 4.14 only during the upgrade, not after that",
		"presented by OVN's databases and their clients up to 4.13, in 4.14 during the upgrade; not used after that", Range{Component: network},
		mounts("who mounts it: bindata/network/ovn-kubernetes @ release-4.12 28db40f16 and release-4.13 bc45a4d1d; single-zone-interconnect alone, and pkg/network/ovn_kubernetes.go (getTargetInterConnectZoneMode) @ release-4.14 af41a3620 (before 0ede33d16, 2023-12-13, each ovnkube-node, whose databases have Unix sockets); nothing @ release-4.15 aaa0f9330 to release-4.22 6a5fcccf8"))
	places = append(places, pki(ovnTarget, "signer", "signs nodes' certificate requests for IPsec (signer network.openshift.io/signer)", "with which nodes verify each other for IPsec",
		"made beside its CA; nothing reads it", Range{Component: network},
		mounts("pkg/controller/signer and bindata/network/ovn-kubernetes/common/ipsec*.yaml @ release-4.12 28db40f16 and release-4.22 6a5fcccf8"))...)
	places = append(places, pki(nodeIdentity, "network-node-identity", "signs the certificate of network-node-identity's webhook", "verifies network-node-identity's webhook",
		"served by network-node-identity's webhook", since(network, Minor{4, 14}), src)...)
	return append(places,
		Place{Ref: bundle(managed, "trusted-ca-bundle"), Role: CABundle, Owner: networkOwner, Doc: "the system's trusted CAs and the administrator's (Proxy spec.trustedCA): what the cluster's components trust outside the cluster", In: Range{Component: network},
			Evidence: Evidence{Verified, networkRepo + "pkg/controller/proxyconfig/controller.go and pkg/names/names.go @ release-4.12 28db40f16, release-4.22 6a5fcccf8 and 2a6a57fef"}},
		Place{Ref: Ref{Kind: ConfigMap, Key: "ca-bundle.crt"}, Selector: ObjectSelector{Label: labelInjectTrustedCA, Value: "true"}, Role: CABundle, Owner: networkOwner, Doc: "the cluster's trusted CAs, put in because the label asks for it", In: Range{Component: network}, Evidence: injects},
		trusted("openshift-*", "*trusted-ca-bundle"),
		trusted("openshift-*", "*trusted-ca"),
		trusted("openshift-controller-manager", "openshift-global-ca"),
		mine("*trusted-ca-bundle"),
		mine("*trusted-ca"),
		serviceCertificate("openshift-network-console", "networking-console-plugin-cert", "served by networking-console-plugin", since(network, Minor{4, 17}),
			networkRepo+"bindata/networking-console-plugin @ release-4.17 to release-4.22 6a5fcccf8; openshift/networking-console-plugin Dockerfile (nginx) @ release-4.17 296f0c6 and release-4.22 93a0249").readAtStart("oc -n openshift-network-console rollout restart deployment/networking-console-plugin"),
	)
}

func networkRotations() []Rotation {
	row := func(namespace, name string, in Range) Rotation {
		return Rotation{Signer: secret(namespace, name+"-ca"), Bundle: bundle(namespace, name+"-ca"), Targets: []Ref{secret(namespace, name+"-cert")}, In: in, Evidence: networkPKI()}
	}
	ipsec := row(ovnTarget, "signer", Range{Component: network})
	ipsec.Doc = "where IPsec is on, nodes' requests of signer network.openshift.io/signer: /var/lib/openvswitch/etc/keys/ipsec-cert.pem, valid for 5 years, " +
		"made, like ipsec-cacert.pem beside it, only at the IPsec Pod's start: where it is missing, and from 4.13.24 on with less than 6 months left"
	ipsec.Mark = Derived // by the days of merges
	ipsec.Source += "; pkg/controller/signer/{signer-controller,signer}.go and bindata/network/ovn-kubernetes/common/ipsec*.yaml @ release-4.12 28db40f16 (its test of the age fails always), release-4.13 " +
		"since edd0db7b7 (2023-11-15), release-4.14 af41a3620 and release-4.22 6a5fcccf8; with openssl -checkedn, at each start: 4.13 until 257435702 (2024-03-05), " +
		"4.14 until e84a82d82 (2024-03-01), 4.15 until b285fc43f (2024-02-29); " + offered
	return []Rotation{
		row(ovnTarget, "ovn", Range{Component: network}),
		ipsec,
		row(nodeIdentity, "network-node-identity", since(network, Minor{4, 14})),
	}
}

// networkDependents say what depends on the certificates of a rotation of networkRotations.
func networkDependents(r Rotation) []Trigger {
	src := networkPKI()
	read := func(files string) Evidence { return Evidence{Verified, src.Source + "; " + files} }
	switch r.Signer.Name {
	case "ovn-ca":
		return []Trigger{
			{Doc: "the network of every node depends on it", In: Range{Component: network, To: Minor{4, 13}},
				Evidence: read("bindata/network/ovn-kubernetes/self-hosted/ovnkube-{master,node}.yaml @ release-4.12 28db40f16 and release-4.13 bc45a4d1d")},
			{Doc: "during the upgrade from 4.13 the network of every node depends on it, and no component uses ovn-cert after that", In: between(network, Minor{4, 14}, Minor{4, 14}),
				Evidence: read("bindata/network/ovn-kubernetes/self-hosted/single-zone-interconnect and pkg/network/ovn_kubernetes.go (getTargetInterConnectZoneMode) @ release-4.14 af41a3620")},
			{Doc: "no component reads ovn-cert", In: since(network, Minor{4, 15}), Evidence: read("nothing mounts it in bindata/network/ovn-kubernetes/self-hosted @ release-4.15 aaa0f9330 to release-4.22 6a5fcccf8")},
		}
	case "signer-ca":
		return []Trigger{{Doc: "where IPsec is on, traffic between nodes depends on signer-ca; no component reads signer-cert", In: r.In,
			Evidence: read("bindata/network/ovn-kubernetes/common/ipsec*.yaml @ release-4.12 28db40f16 and release-4.22 6a5fcccf8")}}
	}
	return []Trigger{{Doc: "kube-apiserver asks its webhook about each update of a pod's status, and with OVN-Kubernetes of a node's status", In: r.In,
		Evidence: read("pkg/network/node_identity.go and bindata/network/node-identity @ release-4.14 af41a3620 and release-4.22 6a5fcccf8")}}
}

func networkAggregates() []Aggregate {
	sync := func(target Ref) Aggregate {
		return Aggregate{Target: target, Parts: []Ref{bundle(managed, "trusted-ca-bundle")}, Relation: Copy, In: Range{Component: network},
			Evidence: Evidence{Verified, networkRepo + "pkg/controller/configmap_ca_injector/controller.go @ release-4.12 28db40f16, release-4.22 6a5fcccf8 and 2a6a57fef; the label in the bindata of each component's operator"}}
	}
	return []Aggregate{
		sync(bundle("openshift-apiserver", "trusted-ca-bundle")),
		sync(bundle(kcmTarget, "trusted-ca-bundle")),
		sync(bundle(kasTarget, "trusted-ca-bundle")),
	}
}
