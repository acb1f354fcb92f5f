package catalog

// What machine-config-operator puts together for nodes: the ControllerConfig,
// from which machine-config-daemon writes certificates from 4.13 on, and
// MachineConfigs, which carried them before. The rendered MachineConfigs of
// earlier versions stay in a cluster with what they carried.

// controllerConfig is a field of the one ControllerConfig.
func controllerConfig(field string) Ref {
	return Ref{Kind: ControllerConfig, Name: "machine-config-controller", Key: field}
}

// carried is a file in MachineConfigs.
func carried(path string) Ref {
	return Ref{Kind: MachineConfig, Name: "*", Key: "spec.config.storage.files[" + path + "]"}
}

func controllerConfigPlaces() []Place {
	all, synced := Range{Component: mco}, mcoSync()
	field := func(name, doc string, in Range) Place {
		return Place{Ref: controllerConfig(name), Role: CABundle, Owner: mcoOwner, Doc: doc, In: in, Evidence: synced}
	}
	return []Place{
		field("spec.kubeAPIServerServingCAData", "CAs with which kubelets verify their clients, despite its name: for nodes' kubelet-ca.crt", Range{Component: mco, To: Minor{4, 12}}),
		field("spec.kubeAPIServerServingCAData", "CAs with which kubelets verify their clients, despite its name: for nodes' kubelet-ca.crt", since(mco, Minor{4, 13})),
		field("spec.rootCAData", "kube-system/root-ca, for nodes' /etc/kubernetes/ca.crt up to 4.17, where a change reboots them; read by no component in 4.18", Range{Component: mco, To: Minor{4, 18}}),
		field("spec.rootCAData", "the machine config server's CA: machine-config-server-ca or, without one, kube-system/root-ca; for nodes' iri-root-ca.crt, where there is one", since(mco, Minor{4, 19})),
		field("spec.cloudProviderCAData", "CAs with which nodes verify the cloud API", all),
		field("spec.additionalTrustBundle", "the administrator's additional trusted CAs, for nodes: user-ca-bundle, and the ConfigMap that Proxy spec.trustedCA names", all),
		field("spec.imageRegistryBundleData*", "CAs with which nodes verify registries: image-registry-ca", since(mco, Minor{4, 14})),
		field("spec.imageRegistryBundleUserData*", "CAs with which nodes verify an administrator's registry: the ConfigMap that Image spec.additionalTrustedCA names", since(mco, Minor{4, 14})),
	}
}

// registryFolders is where it was read what deletes folders of registries that the cluster does not know.
func registryFolders() Evidence {
	return Evidence{Verified, "openshift/cluster-image-registry-operator bindata/nodecadaemon.yaml @ release-4.12 ea0cf34fc, 4.13 c3ad421ea, 4.14 c9f6afc6a, 4.22 90e608b3e; " +
		mcoRepo + "pkg/daemon/certificate_writer.go and on_disk_validation.go (checkV3Files; getFilesToIgnore from 4.16 on) @ release-4.14 00b2e0b1c to release-4.22 9027c94cd"}
}

// userCAReturns is when MachineConfigs of 4.14 got the administrator's CAs back, and their change its effect
// on nodes: before, machine-config-daemon wrote them, and did no more.
func userCAReturns() Change {
	return Change{Lacks: 6, Has: 8, Merged: "2023-12-11"} // 7649b9274
}

// userCAInMachineConfigs is where it was read which versions have them there.
func userCAInMachineConfigs() Evidence {
	return Evidence{Derived, mcoRepo + "templates/common/_base/files (additional-trust-bundle.yaml) @ release-4.14 00b2e0b1c to release-4.22 9027c94cd; not there, and in pkg/daemon/certificate_writer.go instead, before #4063, merged as 7649b9274; " + offered}
}

func machineConfigFilePlaces() []Place {
	all := Range{Component: mco}
	to := func(last Minor) Range { return Range{Component: mco, To: last} }
	templates := func(which string) Evidence {
		return Evidence{Verified, mcoRepo + "templates/common/_base/files " + which}
	}
	file := func(path, doc string, in Range, e Evidence) Place {
		return Place{Ref: carried(path), Role: CABundle, Owner: mcoOwner, Writer: "machine-config-controller", Doc: doc, In: in, Evidence: e}
	}
	// What is in use no more is in MachineConfigs from before an upgrade.
	old := func(path, doc string, from Minor, e Evidence) Place {
		p := file(path, doc+"; left over from an earlier version", since(mco, from), e)
		p.Writer = noComponent
		return p
	}
	const kubeletCA, rootCA = "/etc/kubernetes/kubelet-ca.crt", "/etc/kubernetes/ca.crt"
	const cloudCA = "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem"
	const userCA, userCAs = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", "the administrator's additional trusted CAs"
	uncarried := old(userCA, userCAs, Minor{4, 14}, userCAInMachineConfigs())
	uncarried.In = between(mco, Minor{4, 14}, Minor{4, 14}).before(userCAReturns())
	removed := templates("@ release-4.13 a57ca2912; removed by c2bb862bc (2023-07-05), not in release-4.14 00b2e0b1c")
	return []Place{
		file(kubeletCA, "CAs with which kubelets verify their clients; a change is a new rendered MachineConfig, without a reboot", to(Minor{4, 12}), templates("@ release-4.12 1d4cfffaa")),
		file(kubeletCA, "CAs with which kubelets verify their clients; machine-config-daemon passes it over and writes what the ControllerConfig says", between(mco, Minor{4, 13}, Minor{4, 13}),
			Evidence{Verified, removed.Source + "; pkg/daemon/certificate_writer.go"}),
		old(kubeletCA, "CAs with which kubelets verify their clients", Minor{4, 14}, removed),
		file(rootCA, installersCA, to(Minor{4, 17}), templates("@ release-4.12 1d4cfffaa to release-4.17 3bdd678e8")),
		old(rootCA, "kube-system/root-ca, once the CA of the machine config server", Minor{4, 18}, templates("not in release-4.18 f313997e0: removed by 6f583cb6a (2024-09-18)")),
		file(cloudCA, "CAs with which nodes verify the cloud API", to(Minor{4, 13}), templates("@ release-4.12 1d4cfffaa and release-4.13 a57ca2912")),
		old(cloudCA, "CAs with which nodes verify the cloud API", Minor{4, 14}, removed),
		file(userCA, userCAs, to(Minor{4, 13}), templates("@ release-4.12 1d4cfffaa and release-4.13 a57ca2912")),
		uncarried,
		file(userCA, userCAs, since(mco, Minor{4, 14}).since(userCAReturns()), userCAInMachineConfigs()),
		file("/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", internalReleaseCA, internalReleaseTLS(), internalRelease()),
		{Ref: carried("/etc/iri-registry/certs/tls.crt"), Role: Serving, Owner: mcoOwner, Writer: "machine-config-controller", Doc: "served by the registry that a cluster without external registry runs on its control plane nodes", Lifetimes: internalReleaseLives(),
			In: internalReleaseTLS(), Evidence: internalRelease()},
		{Ref: carried("/etc/pki/ca-trust/source/anchors/*"), Role: CABundle, Owner: "user", Doc: "an administrator's CAs for what runs on the host, not in containers; a change reboots nodes, unless MachineConfiguration spec.nodeDisruptionPolicy (4.17 on) says otherwise", In: all,
			Evidence: Evidence{Verified, mcoRepo + "docs/MachineConfig.md; pkg/daemon/update.go @ release-4.12 1d4cfffaa to release-4.16 7327bb235; pkg/apihelpers/apihelpers.go (defaultClusterPolicies) @ release-4.17 3bdd678e8 to release-4.22 9027c94cd"}},
		{Ref: carried("/etc/docker/certs.d/*/ca.crt"), Role: CABundle, Owner: "user", Doc: "an administrator's CAs for a registry: deleted on nodes (pool Degraded), unless it is the cluster's own or in Image spec.additionalTrustedCA", In: all,
			Evidence: registryFolders()},
	}
}
