package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// What nodes and pods trust outside of the cluster: a proxy, and registries. What these
// present is nowhere in the cluster; but that the administrator's CAs arrive can be seen.

// userAnchors is the file with the administrator's additional CAs, and systemStore what
// update-ca-trust makes of it and of the system's own.
func userAnchors() Ref {
	return file("/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt")
}

func systemStore() Ref { return file("/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem") }

// outsideEdges: what has to arrive is in Presented, the place where in Trust.
func outsideEdges() []Edge {
	all := Range{Component: mco}
	proxied := Ref{Kind: "Proxy", Name: "cluster", Key: "spec.trustedCA.name"}
	registries := Ref{Kind: "Image", Name: "cluster", Key: "spec.additionalTrustedCA.name"}
	anchors := Evidence{Verified, mcoRepo + "pkg/operator/sync.go and templates/common/_base/files @ release-4.12 1d4cfffaa to release-4.22 9027c94cd"}
	const pool = "look at the node's pool: kubectl get machineconfigpools; a pool that is paused brings nothing"
	const impact = "images, and what else the node fetches, through a proxy that presents a certificate of that CA"
	certs := func(id, claim, remediation string, in Range, e Evidence) Edge {
		return Edge{
			ID: id, Part: PartNodes, Verifier: "CRI-O", Statement: claim, Trust: file("/etc/docker/certs.d/*/ca.crt"), Presented: registries, Verify: VerifyDelivered, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Impact: "images of that registry on the node", Remediation: remediation, In: in, Evidence: e,
		}
	}
	const delivered = "nodes have the CAs of the administrator's registries"
	return []Edge{
		{
			ID: "node-user-ca", Part: PartNodes, Verifier: "the node: CRI-O, kubelet", Statement: "nodes have the administrator's additional CAs", Trust: userAnchors(),
			Presented: bundle(userConfig, "user-ca-bundle"), Verify: VerifyDelivered, Reload: ReloadAtStart, Reader: pki.ReaderUnknown, Impact: impact, Remediation: pool, In: all, Evidence: anchors,
		},
		{
			ID: "node-proxy-ca", Part: PartNodes, Verifier: "the node: CRI-O, kubelet", Statement: "nodes have the CAs by which the proxy is trusted", Trust: userAnchors(),
			Presented: proxied, Verify: VerifyDelivered, Reload: ReloadAtStart, Reader: pki.ReaderUnknown, Impact: impact, Remediation: pool, In: all, Evidence: anchors,
		},
		{
			// Only nodes whose trust store was read have one.
			ID: "node-system-trust", Part: PartNodes, Verifier: "the node: CRI-O, kubelet", Statement: "the system's trust store on nodes holds the administrator's additional CAs", Trust: systemStore(), Optional: true,
			Presented: userAnchors(), Verify: VerifyDelivered, Reload: ReloadAtStart, Reader: pki.ReaderGo, Impact: impact, Remediation: "on NODE: update-ca-trust extract, then systemctl restart crio", In: all,
			Evidence: Evidence{Verified, mcoRepo + "pkg/daemon/update.go @ release-4.14 to 4.22 (coreos-update-ca-trust.service, update-ca-trust)"},
		},
		{
			ID: "pods-proxy-ca", Part: PartServices, Verifier: "operators that call out of the cluster", Statement: "the bundle for who calls through the proxy holds the CAs by which that is trusted",
			Trust: bundle(managed, "trusted-ca-bundle"), Presented: proxied, Verify: VerifyDelivered, Reload: ReloadAtStart, Reader: pki.ReaderGo, Impact: "what operators fetch through the proxy: updates, images, the cloud's API",
			Remediation: "see what the network operator says: kubectl get clusteroperator network -o yaml", In: Range{Component: network}, Evidence: Evidence{Derived, networkRepo + "pkg/controller/proxyconfig @ release-4.12 28db40f16, release-4.22 6a5fcccf8 and 2a6a57fef"},
		},
		certs("node-ca-registries", delivered, "look at the log of the DaemonSet node-ca: oc -n openshift-image-registry logs -l name=node-ca", Range{Component: mco, To: Minor{4, 13}},
			Evidence{Verified, "openshift/cluster-image-registry-operator bindata/nodecadaemon.yaml @ release-4.12 and release-4.13"}),
		certs("node-registries", delivered, "look at the log of machine-config-daemon on NODE: it writes the file from ControllerConfig spec.imageRegistryBundleUserData", since(mco, Minor{4, 14}),
			Evidence{Verified, mcoRepo + "pkg/operator/sync.go and pkg/daemon/certificate_writer.go @ release-4.14 00b2e0b1c to 4.22"}),
	}
}
