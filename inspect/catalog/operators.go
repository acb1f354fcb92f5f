package catalog

import "time"

// Operators with a certificate or two of their own, and what an administrator
// writes.

const olm = "operator-lifecycle-manager" // ClusterOperator, and who answers for what it makes

// olmLives is the lifetime of what OLM makes for an operator. Up to operator-framework/operator-lifecycle-manager#3217
// it compared the day in its CSV's status, which is written only when the certificate was made for that CSV. Since
// then it looks at the certificate and its CA.
func olmLives(src Evidence) []Lifetime {
	src.Mark = Derived
	made := Lifetime{Validity: 730 * day, Refresh: 729 * day, Renewer: olm, Evidence: src, Doc: "with a new CA"}
	var out []Lifetime
	for minor, looks := range []Change{
		{Lacks: 65, Has: 67, Merged: "2024-09-14"}, // 4.12, 588e0caf2
		{Lacks: 49, Has: 51, Merged: "2024-09-12"}, // 4.13, 42d01eb1e
		{Lacks: 34, Has: 35, Merged: "2024-08-07"}, // 4.14, b1d51eb2f
		{Lacks: 21, Has: 23, Merged: "2024-07-11"}, // 4.15, 882fdf4d4
		{Lacks: 0, Has: 3, Merged: "2024-06-27"},   // 4.16, 555e529c9
	} {
		of := Minor{4, 12 + minor}
		l := made.with(made.Doc + ", only where its CSV's status.certsRotateAt says when")
		l.In = between(olm, of, of).before(looks)
		out = append(out, l)
	}
	return append(out, made)
}

func otherOperatorPlaces() []Place {
	registry := Evidence{Verified, "openshift/origin tls/ownership/ownership.md @ 01860260f"}
	olmSource := Evidence{Verified, "openshift/operator-framework-olm staging/operator-lifecycle-manager/pkg/controller/install/certresources.go @ release-4.12 3e6152a31 and release-4.22 de6260e53; its ShouldRotateCerts, and pkg/controller/operators/olm/operator.go, before and after " +
		"release-4.12 588e0caf2, 4.13 42d01eb1e, 4.14 b1d51eb2f, 4.15 882fdf4d4, 4.16 555e529c9; " + offered}
	fresh := olmLives(olmSource)
	collects := Evidence{Verified, "openshift/operator-framework-olm cmd/collect-profiles/main.go and manifests/0000_50_olm_07-collect-profiles.cronjob.yaml @ release-4.12 3e6152a31, release-4.13 9e62118dc and release-4.22 de6260e53; manifests/0000_50_olm_00-pprof-secret.yaml (release.openshift.io/delete) @ release-4.16 66f29b298, 4.17 21d30d285, 4.18 cd9d4dc4c, 4.19 7eaf98ab3, 4.20 bd9e0cd38, 4.21 e497da160, 4.22 0085e3c90; " + offered}
	profiles := []Lifetime{
		{Validity: time.Hour, RenewAtPercent: 25, Renewer: "its CronJob collect-profiles", In: between(olm, Minor{4, 12}, Minor{4, 12}), Evidence: collects,
			Doc: "a new one every 15 minutes, unless the ConfigMap collect-profiles-config says disabled"},
		{Validity: day, RenewFromPercent: 98, RenewAtPercent: 100, Renewer: "its CronJob collect-profiles", In: between(olm, Minor{4, 13}, Minor{4, 21}), Evidence: collects,
			Doc: "in its last 15 minutes, unless the ConfigMap collect-profiles-config says disabled"},
	}
	const metal = "baremetal" // ClusterOperator
	crypto := "openshift/cluster-baremetal-operator provisioning/baremetal_crypto.go @ "
	ironic := []Lifetime{
		{Validity: 2 * year, Refresh: 550 * day, Renewer: "cluster-baremetal-operator", In: between(metal, Minor{4, 12}, Minor{4, 21}),
			Evidence: Evidence{Verified, crypto + "release-4.12 497529d0c to release-4.21 13af370f5"}},
		{Validity: year, Refresh: 335 * day, Renewer: "cluster-baremetal-operator", In: since(metal, Minor{4, 22}),
			Evidence: Evidence{Verified, crypto + "release-4.22 e65972f99 and 4ecb36c02"}},
	}
	const images = "image-registry" // ClusterOperator
	registryCA := Evidence{Verified, "openshift/cluster-image-registry-operator pkg/resource/caconfig.go and bindata/nodecadaemon.yaml @ release-4.12 ea0cf34fc, release-4.22 90e608b3e and 02bb5c2cd"}
	return []Place{
		{Ref: secret("openshift-operator-lifecycle-manager", "packageserver-service-cert"), Role: Serving, Owner: "operator-lifecycle-manager", Doc: "served by packageserver, the API server of OperatorHub's packages", Lifetimes: fresh, In: Range{Component: olm}, Evidence: olmSource},
		{Ref: secret("openshift-operator-lifecycle-manager", "pprof-cert"), Role: Client, Owner: "operator-lifecycle-manager", Doc: "self-signed, of CronJob collect-profiles; an update to 4.16.58, 4.17.51, 4.18.35, 4.19.25, 4.20.15, 4.21.3 or later removes both", Lifetimes: profiles, In: Range{Component: olm, To: Minor{4, 21}}, Evidence: collects},
		{Ref: secret("openshift-operator-lifecycle-manager", "pprof-cert"), Role: Client, Owner: "operator-lifecycle-manager", Writer: noComponent, Doc: "left over, where the update has not removed it: no component renews it or reads it", In: since(olm, Minor{4, 22}), Evidence: collects},
		{Ref: Ref{Kind: Secret, Key: "tls.crt"}, Selector: ObjectSelector{Annotation: annotationOLM}, Role: Serving, Owner: "operator-lifecycle-manager", Doc: "certificate that OLM made for an operator's webhook or API server", Lifetimes: fresh, Evidence: olmSource},
		{Ref: Ref{Kind: Secret, Key: "olmCAKey"}, Selector: ObjectSelector{Annotation: annotationOLM}, Role: CABundle, Owner: "operator-lifecycle-manager", Doc: "the CA of a certificate that OLM made; OLM discards the CA's key", Lifetimes: fresh, Evidence: olmSource},
		{Ref: secret("openshift-machine-api", "metal3-ironic-tls"), Role: Serving, Owner: "cluster-baremetal-operator", Doc: "served by Ironic, which provisions bare metal hosts; self-made, with a CA of its own", Lifetimes: ironic, In: Range{Component: metal}, Evidence: Evidence{Verified, crypto + "release-4.12 497529d0c to release-4.22 e65972f99"}},
		{Ref: bundle("openshift-cloud-controller-manager", "ccm-trusted-ca"), Role: CABundle, Owner: "cloud-controller-manager-operator", Doc: "CAs that the cloud controller manager trusts outside the cluster", In: Range{Component: "cloud-controller-manager"},
			Evidence: Evidence{Verified, "openshift/cluster-cloud-controller-manager-operator pkg/cloud/*/assets @ release-4.12 3b1f0843e and release-4.22 b99c3d88b; " + registry.Source}},
		{Ref: Ref{Kind: Secret, Namespace: "openshift-machine-api", Name: "metal3-ironic-tls", Key: "ca.crt"}, Role: CABundle, Owner: "cluster-baremetal-operator", Doc: "the CA of Ironic's certificate, with which pods of metal3-image-cache verify Ironic at their start", Lifetimes: ironic[1:], In: since(metal, Minor{4, 23}),
			Evidence: Evidence{Verified, "openshift/cluster-baremetal-operator provisioning/baremetal_secrets.go, baremetal_crypto.go and image_cache.go @ release-4.23 and release-5.0 4ecb36c02, not in release-4.22 e65972f99"}},
		{Ref: Ref{Kind: ConfigMap, Namespace: managed, Name: "kube-cloud-config", Key: "ca-bundle.pem"}, Role: CABundle, Owner: "config-operator", Doc: "CAs of the cloud API, from the administrator's cloud provider configuration, where there is one", In: Range{Component: "config-operator"},
			Evidence: Evidence{Verified, "openshift/cluster-config-operator pkg/operator/kube_cloud_config/controller.go @ release-4.12 92c3b1023 and release-4.22 e0c2428e4; " + mcoRepo + "pkg/operator/sync.go, which reads it, @ release-4.12 1d4cfffaa and release-4.22 9027c94cd"}},
		{Ref: Ref{Kind: ConfigMap, Namespace: "openshift-image-registry", Name: "image-registry-certificates"}, Role: CABundle, Owner: "image-registry-operator", Doc: "CAs with which the image registry and nodes verify registries: the cluster's own and the administrator's additional ones", In: Range{Component: images}, Evidence: registryCA},
	}
}

func userPlaces() []Place {
	return []Place{
		{Ref: bundle(userConfig, "user-ca-bundle"), Role: CABundle, Owner: "user", Doc: "the administrator's additional trusted CAs: nodes trust them always, most components only where Proxy spec.trustedCA names this ConfigMap", In: Range{Component: mco}, Evidence: Evidence{Verified, mcoSync().Source + "; " + networkRepo + "pkg/controller/proxyconfig/controller.go @ release-4.12 28db40f16 and release-4.22 6a5fcccf8"}},
	}
}
