package catalog

import "strings"

// machine-config-operator: what brings CAs to nodes, and the machine config
// server's own certificate. Rows about files on nodes are in node.go.

const (
	mco       = "machine-config" // ClusterOperator
	mcoOwner  = "machine-config-operator"
	mcoTarget = "openshift-machine-config-operator"
	mcoRepo   = "openshift/machine-config-operator "
)

func mcoSync() Evidence {
	return Evidence{Verified, mcoRepo + "pkg/operator/sync.go @ 7ff337a4f and release-4.12 to 4.22"}
}

func mcoRotation() Evidence {
	return Evidence{Verified, mcoRepo + "pkg/controller/certrotation/certrotation_controller.go @ release-4.19 1a6905d98"}
}

func machineConfigPlaces() []Place {
	synced, rotates := mcoSync(), mcoRotation()
	all := Range{Component: mco}
	from419 := since(mco, Minor{4, 19})
	server := []Lifetime{
		{Validity: 10 * year, In: Range{Component: mco, To: Minor{4, 18}}, Doc: "made by the installer; renewed by `oc adm ocp-certificates regenerate-machine-config-server-serving-cert` only",
			Evidence: Evidence{Verified, "openshift/installer pkg/asset/tls/mcscertkey.go"}},
		{Validity: 10 * year, Refresh: 8 * year, Share: 80, By: mcoOwner, In: from419, Evidence: rotates,
			Doc: "only where the Machine API works; else by hand as before"},
	}
	return []Place{
		{Ref: bundle(mcoTarget, "kubeconfig-data"), Role: CABundle, Owner: mcoOwner, Doc: "the CA that machine-config-daemon writes into the kubelets' kubeconfigs, and that new nodes get", In: since(mco, Minor{4, 16}), Evidence: synced},
		{Ref: Ref{Kind: Secret, Namespace: mcoTarget, Name: "node-bootstrapper-token", Key: "ca.crt"}, Role: Token, Owner: "kube-controller-manager", Doc: "the token with which new nodes join, and the CA beside it, which new nodes get up to 4.15", In: all,
			Evidence: Evidence{Verified, mcoRepo + "manifests/machineconfigserver/node-bootstrapper-token.yaml @ release-4.12 to 4.22"}},
		{Ref: bundle(userConfig, "initial-kube-apiserver-server-ca"), Role: CABundle, Owner: mcoOwner, Doc: "whom kubelets accept as client while a cluster is being installed; the name is misleading, and it stays as the installer made it", In: all,
			Evidence: Evidence{Verified, mcoRepo + "manifests/machineconfigserver/kube-apiserver-serving-ca-configmap.yaml @ release-4.12 to 4.22"}},

		{Ref: Ref{Kind: ConfigMap, Namespace: "kube-system", Name: "root-ca", Key: "ca.crt"}, Role: CABundle, Owner: "installer", Doc: "booting machines recognise the machine config server by it; up to 4.18 the only source, later the fallback", In: all, Evidence: synced},
		{Ref: secret(mcoTarget, "machine-config-server-ca"), Role: Signer, Owner: mcoOwner, Doc: "signs the machine config server's certificate", In: from419, Evidence: rotates, Lives: server[1:]},
		{Ref: bundle(mcoTarget, "machine-config-server-ca"), Role: CABundle, Owner: mcoOwner, Doc: "booting machines recognise the machine config server by it", In: from419, Evidence: rotates},
		{Ref: secret(mcoTarget, "machine-config-server-tls"), Role: Serving, Owner: mcoOwner, Doc: "served by the machine config server on port 22623, which booting machines ask for their Ignition", In: all, Evidence: rotates, Lives: server},
		{Ref: Ref{Kind: Secret, Namespace: "openshift-machine-api", Name: "*-user-data", Key: "userData"}, Role: CABundle, Owner: "installer", Doc: "the Ignition stub of new machines, with the CA of the machine config server", In: all,
			Evidence: Evidence{Derived, mcoRepo + "pkg/controller/certrotation/certrotation_controller.go @ release-4.19 1a6905d98"}},
		{Ref: Ref{Kind: Secret, Namespace: "openshift-machine-api", Name: "*-user-data-managed", Key: "userData"}, Role: CABundle, Owner: mcoOwner, Doc: "the Ignition stub of new machines, with the CA of the machine config server, kept up by the operator", In: all,
			Evidence: Evidence{Derived, mcoRepo + "pkg/controller/certrotation/certrotation_controller.go @ release-4.19 1a6905d98"}},

		{Ref: Ref{Kind: ConfigMap, Namespace: managed, Name: "image-registry-ca"}, Role: CABundle, Owner: "image-registry-operator", Doc: "whom to trust as registry; the keys are registries, with '..' for ':'", In: all, Evidence: synced},
		{Ref: Ref{Kind: ConfigMap, Namespace: managed, Name: "merged-trusted-image-registry-ca"}, Role: CABundle, Owner: mcoOwner, Doc: "the same and the administrator's additional registries, for nodes' /etc/docker/certs.d", In: since(mco, Minor{4, 14}), Evidence: synced},
	}
}

func machineConfigRotations() []Rotation {
	return []Rotation{{
		Signer: secret(mcoTarget, "machine-config-server-ca"), Bundle: bundle(mcoTarget, "machine-config-server-ca"),
		Targets: []Ref{secret(mcoTarget, "machine-config-server-tls")}, In: since(mco, Minor{4, 19}), Evidence: mcoRotation(),
	}}
}

func machineConfigAggregates() []Aggregate {
	server := bundle(managed, "kube-apiserver-server-ca")
	writer := Evidence{Verified, mcoRepo + "pkg/daemon/certificate_writer.go @ release-4.13 a57ca2912 and later"}
	return []Aggregate{
		{Target: bundle(mcoTarget, "kubeconfig-data"), Parts: []Ref{server}, Relation: Copy, In: since(mco, Minor{4, 16}), Evidence: mcoSync()},
		{Target: file("/etc/kubernetes/kubeconfig"), Parts: []Ref{bundle(mcoTarget, "kubeconfig-data")}, Relation: Union, In: since(mco, Minor{4, 16}),
			Evidence: Evidence{Verified, mcoRepo + "pkg/daemon/certificate_writer.go @ release-4.16 7327bb235"}},
		{Target: file("/etc/kubernetes/kubelet-ca.crt"), Parts: []Ref{bundle(kasOperator, "kube-apiserver-to-kubelet-client-ca")}, Relation: Union, In: Range{Component: mco, To: Minor{4, 12}},
			Evidence: Evidence{Verified, mcoRepo + "pkg/operator/sync.go and templates/common/_base/files/kubelet-ca.yaml @ release-4.12 1d4cfffaa"}},
		{Target: file("/etc/kubernetes/kubelet-ca.crt"), Parts: []Ref{bundle(managed, "kube-apiserver-client-ca")}, Relation: Copy, In: since(mco, Minor{4, 13}), Evidence: writer},
	}
}

// RenderedPool returns the pool for which the machine-config-controller rendered a
// MachineConfig of this name, "rendered-POOL-HASH"; false for one that somebody
// wrote (openshift/machine-config-operator pkg/controller/render/hash.go @
// 7ff337a4f: an md5 in hex). It keeps old ones, and deletes them with their pool.
func RenderedPool(machineConfig string) (pool string, ok bool) {
	rest, ok := strings.CutPrefix(machineConfig, "rendered-")
	dash := strings.LastIndexByte(rest, '-')
	if !ok || dash <= 0 || len(rest)-dash-1 != 32 || strings.Trim(rest[dash+1:], "0123456789abcdef") != "" {
		return "", false
	}
	return rest[:dash], true
}
