package catalog

// etcd's own PKI. Up to 4.15 its signers are the installer's and nothing
// rotates them. 4.16 makes new signers in openshift-etcd and bundles them, but
// still signs with the installer's; from 4.17 on the new ones sign and rotate.

const (
	etcd         = "etcd" // ClusterOperator
	etcdOwner    = "cluster-etcd-operator"
	etcdTarget   = "openshift-etcd"
	etcdOperator = "openshift-etcd-operator"
	etcdRepo     = "openshift/cluster-etcd-operator "
	etcdRead     = "release-4.12 a357bfbe6 to release-4.22 bba8f344c, each branch, release-4.23 and release-5.0 b4786ae33 (2026-11-26)"
)

func etcdTLS() Evidence {
	return Evidence{Verified, etcdRepo + "pkg/tlshelpers/tlshelpers.go and pkg/operator/etcdcertsigner/etcdcertsignercontroller.go @ " + etcdRead}
}

func etcdSynced() Evidence {
	return Evidence{Verified, etcdRepo + "pkg/operator/resourcesynccontroller/resourcesynccontroller.go @ " + etcdRead}
}

// etcdPod is what etcd's static pods read: from copies that installer pods make of all
// these objects once for each revision. Nothing writes them meanwhile: there is no cert-syncer.
func etcdPod() Evidence {
	return Evidence{Verified, etcdRepo + "bindata/etcd/pod.yaml, from 4.18 on pod.gotpl.yaml, and pkg/operator/starter.go (RevisionConfigMaps, RevisionSecrets, CertConfigMaps, CertSecrets) @ " +
		"release-4.12 a357bfbe6, 4.15 f1569c6cc, 4.16 d9e83020b, 4.17 bfffdcbac, 4.18 3af8b9d6c, 4.20 9acf049b2, 4.22 bba8f344c"}
}

// etcdServerCA are the CAs with which etcd verifies its peers and its clients from 4.17 on.
func etcdServerCA() Ref {
	return Ref{Kind: ConfigMap, Namespace: etcdTarget, Name: "etcd-all-bundles", Key: "server-ca-bundle.crt"}
}

// etcdClient is the lifetime of etcd's client certificates, wherever they are
// copied to.
func etcdClient() []Lifetime {
	return []Lifetime{
		{Validity: 10 * year, In: Range{Component: etcd, To: Minor{4, 15}}, Doc: "made once by the installer",
			Evidence: Evidence{Verified, "openshift/installer pkg/asset/tls/etcd.go; " + etcdSynced().Source}},
		etcdThreeYears(),
		etcdLong(),
	}
}

// etcdThreeYears is the lifetime of what etcd's signers sign since they are library-go's.
func etcdThreeYears() Lifetime {
	src := Evidence{Verified, etcdTLS().Source + "; vendored library-go pkg/operator/certrotation/target.go (setTargetCertKeyPairSecret) @ release-4.16 d9e83020b to release-4.19 024f8af51"}
	return rotated(etcdOwner, 3*year, 803*day, between(etcd, Minor{4, 16}, Minor{4, 19}), src).with(expiresWithSigner)
}

// etcdLong is the lifetime of what etcd's signers sign since 4.20, where the
// controller passes the signers' own numbers for leafs too.
func etcdLong() Lifetime {
	return Lifetime{Validity: 5 * year, Refresh: 1533 * day, RenewAtPercent: 80, Renewer: etcdOwner, In: since(etcd, Minor{4, 20}),
		Doc:      expiresWithSigner,
		Evidence: Evidence{Verified, etcdRepo + "pkg/operator/etcdcertsigner/etcdcertsignercontroller.go @ fed682e9d (2025-05-12), release-4.20 9acf049b2 to 4.22 bba8f344c"}}
}

func etcdPlaces() []Place {
	const goneNode = "; not renewed once its node is gone (deleted from 4.16 on)"
	src, synced := etcdTLS(), etcdSynced()
	all := Range{Component: etcd}
	old := Range{Component: etcd, To: Minor{4, 15}}
	upTo416 := Range{Component: etcd, To: Minor{4, 16}}
	from416 := since(etcd, Minor{4, 16})
	from417 := since(etcd, Minor{4, 17})
	installers := []Lifetime{{Validity: 10 * year, In: upTo416,
		Doc:      "made once, at the installation (5 years where that was 4.16); nothing renews it",
		Evidence: Evidence{Verified, "openshift/installer pkg/asset/tls/etcd.go; openshift/cluster-etcd-operator pkg/tlshelpers/tlshelpers.go @ release-4.16 d9e83020b"}}}
	signers := []Lifetime{
		{Validity: 5 * year, Refresh: 1533 * day, RenewAtPercent: 80, Renewer: etcdOwner, In: from416, Evidence: src,
			Doc: "in 4.16 it is only bundled and signs nothing yet"},
	}
	leafs := []Lifetime{
		{Validity: 3 * year, RenewAtPercent: 80, Renewer: etcdOwner, In: between(etcd, Minor{4, 12}, Minor{4, 15}), Evidence: src},
		etcdThreeYears(),
		etcdLong(),
	}
	clients := etcdClient()
	row := func(at Ref, role Role, doc string, lives []Lifetime, in Range, e Evidence) Place {
		return Place{Ref: at, Role: role, Owner: etcdOwner, Doc: doc, Lifetimes: lives, In: in, Evidence: e}
	}
	ca := func(at Ref, doc string, in Range) Place { return row(at, CABundle, doc, nil, in, synced) }
	// What was synced up to then: nothing deletes it.
	unused := func(at Ref, role Role, from Range) Place {
		p := row(at, role, "left over from an earlier version: no component writes or reads it", nil, from, Evidence{Derived, synced.Source})
		p.Writer = noComponent
		return p
	}
	return []Place{
		row(secret(userConfig, "etcd-signer"), Signer, "signs etcd's peer, serving and client certificates up to 4.16", installers, upTo416, src),
		row(secret(userConfig, "etcd-signer"), Signer, "left over from the installation or an earlier version: signs nothing any more", nil, from417, Evidence{Derived, src.Source}),
		row(secret(userConfig, "etcd-metric-signer"), Signer, "signs the certificates of etcd's metrics up to 4.16", installers, upTo416, src),
		row(secret(userConfig, "etcd-metric-signer"), Signer, "left over from the installation or an earlier version: signs nothing any more", nil, from417, Evidence{Derived, src.Source}),
		row(secret(etcdTarget, "etcd-signer"), Signer, "signs etcd's peer, serving and client certificates", signers, from416, src),
		row(secret(etcdTarget, "etcd-metric-signer"), Signer, "signs the certificates of etcd's metrics", signers, from416, src),

		row(secret(etcdTarget, "etcd-peer-*"), Peer, "one node's etcd, toward its peers"+goneNode, leafs, all, src),
		row(secret(etcdTarget, "etcd-serving-*"), Serving, "one node's etcd, toward its clients"+goneNode, leafs, all, src),
		row(secret(etcdTarget, "etcd-serving-metrics-*"), Serving, "one node's etcd, toward who scrapes its metrics"+goneNode, leafs, all, src),
		row(Ref{Kind: Secret, Namespace: etcdTarget, Name: "etcd-all-certs"}, Peer, "the certificates of all nodes in one object, so that a change makes one revision", leafs, all, src),
		row(secret(etcdTarget, "etcd-client"), Client, "for API servers and cluster-etcd-operator, toward etcd; up to 4.15 a copy of openshift-config/etcd-client", clients, all, src),
		row(secret(userConfig, "etcd-client"), Client, "for API servers, toward etcd: their operators copy it from here", clients, all, synced),
		row(secret(etcdOperator, "etcd-client"), Client, "for cluster-etcd-operator itself, toward etcd", clients, all, synced),
		row(secret(etcdTarget, "etcd-metric-client"), Client, "for Prometheus, toward etcd", clients[1:], from416, src),
		row(secret(userConfig, "etcd-metric-client"), Client, "for Prometheus, toward etcd, as the installer made it", clients[:1], old, synced),
		unused(secret(userConfig, "etcd-metric-client"), Client, from416),
		row(secret(etcdOperator, "etcd-metric-client"), Client, "for Prometheus, toward etcd, a copy", clients, since(etcd, Minor{4, 14}), synced),

		ca(bundle(etcdTarget, "etcd-ca-bundle"), "CAs with which clients verify etcd, and etcd its clients", all),
		ca(bundle(userConfig, "etcd-ca-bundle"), "etcd's CA bundle; the original up to 4.15, a copy from 4.16 on", all),
		ca(bundle(etcdOperator, "etcd-ca-bundle"), "etcd's CA bundle, for cluster-etcd-operator itself", all),
		ca(bundle(userConfig, "etcd-serving-ca"), "etcd's CA bundle, under the name by which API servers' operators copy it", all),
		ca(bundle(etcdTarget, "etcd-serving-ca"), "CAs with which etcd verifies its clients", upTo416),
		unused(bundle(etcdTarget, "etcd-serving-ca"), CABundle, from417),
		ca(bundle(etcdTarget, "etcd-peer-client-ca"), "CAs with which etcd verifies its peers", upTo416),
		unused(bundle(etcdTarget, "etcd-peer-client-ca"), CABundle, from417),
		ca(bundle(etcdTarget, "etcd-metrics-ca-bundle"), "CAs that etcd's metrics trust", from416),
		ca(bundle(userConfig, "etcd-metric-serving-ca"), "CAs that etcd's metrics trust, the original up to 4.15", upTo416),
		unused(bundle(userConfig, "etcd-metric-serving-ca"), CABundle, from417),
		ca(bundle(etcdTarget, "etcd-metrics-proxy-client-ca"), "the same as etcd-metrics-proxy-serving-ca; no process reads it", upTo416),
		unused(bundle(etcdTarget, "etcd-metrics-proxy-client-ca"), CABundle, from417),
		ca(bundle(etcdTarget, "etcd-metrics-proxy-serving-ca"), "CAs with which etcd's metrics proxy verifies its clients", upTo416),
		unused(bundle(etcdTarget, "etcd-metrics-proxy-serving-ca"), CABundle, from417),
		ca(bundle(etcdOperator, "etcd-metric-serving-ca"), "for Prometheus, to verify the server of etcd's metrics", since(etcd, Minor{4, 14})),
		row(Ref{Kind: ConfigMap, Namespace: etcdTarget, Name: "etcd-all-bundles"}, CABundle, "both bundles in one object: etcd verifies peers and clients with server-ca-bundle.crt, its metrics proxy with metrics-ca-bundle.crt", nil, from417, etcdPod()),
	}
}

func etcdRotations() []Rotation {
	src := etcdTLS()
	leafs := []Ref{secret(etcdTarget, "etcd-peer-*"), secret(etcdTarget, "etcd-serving-*"), secret(etcdTarget, "etcd-client")}
	made := Evidence{Verified, src.Source + "; pkg/cmd/render/certs.go (createKeyMaterial) @ release-4.12 and 4.15"}
	metrics := []Ref{secret(etcdTarget, "etcd-serving-metrics-*"), secret(etcdTarget, "etcd-metric-client")}
	old := Range{Component: etcd, To: Minor{4, 15}}
	in416 := between(etcd, Minor{4, 16}, Minor{4, 16})
	from417 := since(etcd, Minor{4, 17})
	return []Rotation{
		{Signer: secret(userConfig, "etcd-signer"), Bundle: bundle(userConfig, "etcd-ca-bundle"), Targets: leafs[:2], Others: []Ref{secret(userConfig, "etcd-client")}, In: old, Evidence: made},
		{Signer: secret(userConfig, "etcd-metric-signer"), Bundle: bundle(userConfig, "etcd-metric-serving-ca"), Targets: metrics[:1], Others: []Ref{secret(userConfig, "etcd-metric-client")}, In: old, Evidence: made},
		{Signer: secret(userConfig, "etcd-signer"), Bundle: bundle(etcdTarget, "etcd-ca-bundle"), Targets: leafs, In: in416, Evidence: src},
		{Signer: secret(userConfig, "etcd-metric-signer"), Bundle: bundle(etcdTarget, "etcd-metrics-ca-bundle"), Targets: metrics, In: in416, Evidence: src},
		{Signer: secret(etcdTarget, "etcd-signer"), Bundle: bundle(etcdTarget, "etcd-ca-bundle"), Targets: leafs, In: from417, Evidence: src},
		{Signer: secret(etcdTarget, "etcd-metric-signer"), Bundle: bundle(etcdTarget, "etcd-metrics-ca-bundle"), Targets: metrics, In: from417, Evidence: src},
	}
}

func etcdAggregates() []Aggregate {
	synced := etcdSynced()
	old := Range{Component: etcd, To: Minor{4, 15}}
	in416 := between(etcd, Minor{4, 16}, Minor{4, 16})
	from416 := since(etcd, Minor{4, 16})
	bundled := Evidence{Verified, etcdRepo + "pkg/operator/etcdcertsigner/etcdcertsignercontroller.go (ensureBundles) @ release-4.17 bfffdcbac to 4.22 bba8f344c"}
	row := func(target, source Ref, in Range) Aggregate {
		return Aggregate{Target: target, Parts: []Ref{source}, Relation: Copy, In: in, Evidence: synced}
	}
	configs, configMetrics := bundle(userConfig, "etcd-ca-bundle"), bundle(userConfig, "etcd-metric-serving-ca")
	targets, targetMetrics := bundle(etcdTarget, "etcd-ca-bundle"), bundle(etcdTarget, "etcd-metrics-ca-bundle")
	return []Aggregate{
		row(bundle(etcdOperator, "etcd-ca-bundle"), configs, old),
		row(targets, configs, old),
		row(bundle(etcdTarget, "etcd-peer-client-ca"), configs, old),
		row(bundle(etcdTarget, "etcd-serving-ca"), bundle(userConfig, "etcd-serving-ca"), old),
		row(bundle(etcdTarget, "etcd-metrics-proxy-client-ca"), configMetrics, old),
		row(bundle(etcdTarget, "etcd-metrics-proxy-serving-ca"), configMetrics, old),
		row(bundle(etcdOperator, "etcd-metric-serving-ca"), configMetrics, between(etcd, Minor{4, 14}, Minor{4, 15})),

		row(bundle(etcdOperator, "etcd-ca-bundle"), targets, from416),
		row(configs, targets, from416),
		row(bundle(userConfig, "etcd-serving-ca"), targets, from416),
		row(bundle(etcdOperator, "etcd-metric-serving-ca"), targetMetrics, from416),
		row(bundle(etcdTarget, "etcd-peer-client-ca"), targets, in416),
		row(bundle(etcdTarget, "etcd-serving-ca"), targets, in416),
		row(configMetrics, targetMetrics, in416),
		row(bundle(etcdTarget, "etcd-metrics-proxy-client-ca"), targetMetrics, in416),
		row(bundle(etcdTarget, "etcd-metrics-proxy-serving-ca"), targetMetrics, in416),

		{Target: etcdServerCA(), Parts: []Ref{targets}, Relation: Copy, In: since(etcd, Minor{4, 17}), Evidence: bundled},
		{Target: Ref{Kind: ConfigMap, Namespace: etcdTarget, Name: "etcd-all-bundles", Key: "metrics-ca-bundle.crt"}, Parts: []Ref{targetMetrics}, Relation: Copy, In: since(etcd, Minor{4, 17}), Evidence: bundled},
	}
}
