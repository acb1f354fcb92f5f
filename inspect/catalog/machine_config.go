package catalog

import (
	"slices"
	"strings"
)

// machine-config-operator: what brings CAs to nodes, and the machine config
// server's own certificate. Rows about files on nodes are in node_file.go.

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

// configServerCommandName is oc's command for the machine config server's CA.
const configServerCommandName = "`oc adm ocp-certificates regenerate-machine-config-server-serving-cert`"

// configServerCommand is where oc's command for the machine config server's CA was read.
func configServerCommand() Evidence {
	return Evidence{Verified, "openshift/oc pkg/cli/admin/ocpcertificates/regeneratemco @ release-4.12 d69125734 to release-4.22 66dee73f6"}
}

func machineConfigPlaces() []Place {
	synced, rotates := mcoSync(), mcoRotation()
	all := Range{Component: mco}
	managedStub := Evidence{Verified, mcoRepo + "pkg/operator/sync.go (PointerConfig) and manifests/userdata_secret.yaml @ release-4.12 to 4.22; openshift/oc pkg/cli/admin/ocpcertificates/regeneratemco/updatesecrets.go @ release-4.12 to 4.22"}
	to418, from419 := Range{Component: mco, To: Minor{4, 18}}, since(mco, Minor{4, 19})
	command := configServerCommand()
	server := []Lifetime{
		{Validity: 10 * year, In: to418, Doc: "made by the installer; renewed by `oc adm ocp-certificates regenerate-machine-config-server-serving-cert` only",
			Evidence: Evidence{Verified, "openshift/installer pkg/asset/tls/mcscertkey.go (ValidityTenYears) @ 00850eef1"}},
		{Validity: 10 * year, Refresh: 8 * year, RenewAtPercent: 80, Renewer: mcoOwner, In: from419, Evidence: rotates,
			Doc: "only where openshift-machine-api has a MachineSet when machine-config-controller starts; else by hand"},
	}
	initial := func(in Range, when string) Place {
		return Place{
			Ref: bundle(userConfig, "initial-kube-apiserver-server-ca"), Role: CABundle, Owner: mcoOwner, Writer: "installer", Doc: "CAs with which kubelets verify their clients, " + when, In: in,
			Evidence: Evidence{Verified, mcoRepo + "manifests/machineconfigserver/kube-apiserver-serving-ca-configmap.yaml @ release-4.12 to 4.22; pkg/operator/sync.go (syncRenderConfig) @ release-4.12 1d4cfffaa, 4.13 a57ca2912, 4.22 9027c94cd"},
		}
	}
	return []Place{
		{Ref: bundle(mcoTarget, "kubeconfig-data"), Role: CABundle, Owner: mcoOwner, Doc: "the CA that machine-config-daemon writes into the kubelets' kubeconfigs, and that new nodes get", In: since(mco, Minor{4, 16}), Evidence: synced},
		{Ref: NodeBootstrapToken(), Role: Token, Owner: mcoOwner, Writer: "kube-controller-manager", Doc: "the token with which new nodes join, and the CA beside it, which new nodes get up to 4.15", In: all,
			Evidence: Evidence{Verified, mcoRepo + "manifests/machineconfigserver/node-bootstrapper-token.yaml @ release-4.12 to 4.22"}},
		initial(Range{Component: mco, To: Minor{4, 12}}, "at all times"),
		initial(since(mco, Minor{4, 13}), "while a cluster is being installed"),

		{Ref: Ref{Kind: ConfigMap, Namespace: "kube-system", Name: "root-ca", Key: "ca.crt"}, Role: CABundle, Owner: "installer", Doc: "the CA in machine-config-operator's Ignition stubs (from 4.19 on only without machine-config-server-ca); up to 4.17 a new one reboots all nodes", In: all, SecondWriter: configServerCommandName + ", on bare metal only",
			Evidence: Evidence{Verified, synced.Source + "; openshift/oc pkg/cli/admin/ocpcertificates/regeneratemco/updatesecrets.go @ release-4.12 d69125734 to release-5.0 6b8e30c5b"}},
		{Ref: secret(mcoTarget, "machine-config-server-ca"), Role: Signer, Owner: mcoOwner, Writer: "oc", Doc: "signs the machine config server's certificate, where `oc adm ocp-certificates regenerate-machine-config-server-serving-cert` was run", In: to418, Evidence: command,
			Lifetimes: []Lifetime{{Validity: 10 * year, In: to418, Doc: "renewed by `oc adm ocp-certificates regenerate-machine-config-server-serving-cert` only, once it is 8 years old or without its annotation certificate-not-after", Evidence: command}}},
		{Ref: bundle(mcoTarget, "machine-config-server-ca"), Role: CABundle, Owner: mcoOwner, Writer: "oc", Doc: "the CAs of the machine config server's certificate, where `oc adm ocp-certificates regenerate-machine-config-server-serving-cert` was run; no component reads it", In: to418, Evidence: command},
		{Ref: secret(mcoTarget, "machine-config-server-ca"), Role: Signer, Owner: mcoOwner, Doc: "signs the machine config server's certificate", In: from419, Evidence: rotates, Lifetimes: server[1:]},
		{Ref: bundle(mcoTarget, "machine-config-server-ca"), Role: CABundle, Owner: mcoOwner, Writer: "installer, machine-config-controller or oc", Doc: "booting machines verify the machine config server with it; where it is missing, with kube-system/root-ca", In: from419,
			Evidence: Evidence{Verified, rotates.Source + "; openshift/installer data/data/manifests/bootkube/machine-config-server-ca-configmap.yaml.template @ 6fd2928b4"}},
		{Ref: secret(mcoTarget, "machine-config-server-tls"), Role: Serving, Owner: mcoOwner, Doc: "served by the machine config server on port 22623, which booting machines ask for their Ignition", In: all, Evidence: rotates, Lifetimes: server},
		{Ref: secret(mcoTarget, "internal-release-image-tls"), Role: Serving, Owner: mcoOwner, Writer: "installer", SecondWriter: "machine-config-controller, from 4.22.10 on", Doc: "served by the registry that a cluster without external registry runs on its control plane nodes",
			Lifetimes: internalReleaseLives(), In: internalReleaseTLS(), Evidence: internalRelease()},
		{Ref: userData("*-user-data"), Role: CABundle, Owner: "installer", Doc: "the Ignition stub of new machines, with the machine config server's CA; `oc adm ocp-certificates update-ignition-ca-bundle-for-machine-config-server` puts a new one there", In: to418,
			Evidence: Evidence{Verified, command.Source + "; no such secret in " + mcoRepo + "pkg and manifests of release-4.12 to 4.18"}},
		{Ref: userData("*-user-data"), Role: CABundle, Owner: "installer", Writer: "machine-config-controller for a new CA", Doc: "the Ignition stub of new machines; its CA is kept up with a MachineSet, else by `oc adm ocp-certificates update-ignition-ca-bundle-for-machine-config-server`; neither changes a stub with two CAs", In: from419, Evidence: rotates},
		{Ref: userData("*-user-data-managed"), Role: CABundle, Owner: mcoOwner, Doc: "the Ignition stub of a pool's new machines, with kube-system/root-ca: after `oc adm ocp-certificates regenerate-machine-config-server-serving-cert`, except on bare metal, no longer the machine config server's CA", In: to418, Evidence: managedStub},
		{Ref: userData("*-user-data-managed"), Role: CABundle, Owner: mcoOwner, Doc: "the Ignition stub of a pool's new machines, with the machine config server's CA, kept up", In: from419, Evidence: managedStub},

		{Ref: Ref{Kind: ConfigMap, Namespace: managed, Name: "image-registry-ca"}, Role: CABundle, Owner: "image-registry-operator", Doc: "CAs with which nodes verify the cluster's image registry and, where it redirects there, its storage", In: since("image-registry", Minor{4, 14}),
			Evidence: Evidence{Verified, "openshift/cluster-image-registry-operator pkg/resource/imageregistryca.go @ 02bb5c2cd, not in release-4.13"}},
		{Ref: Ref{Kind: ConfigMap, Namespace: managed, Name: "merged-trusted-image-registry-ca"}, Role: CABundle, Owner: mcoOwner, Doc: "image-registry-ca and the CAs of the administrator's additional registries, with which openshift-apiserver verifies registries when it imports images", In: since(mco, Minor{4, 14}), Evidence: synced},
	}
}

// userData is the place of an Ignition stub: what a new machine starts from.
func userData(name string) Ref {
	return Ref{Kind: Secret, Namespace: "openshift-machine-api", Name: name, Key: "userData"}
}

// internalRelease is where the registry of clusters that install without one
// was read.
func internalRelease() Evidence {
	return Evidence{Derived, mcoRepo + "pkg/controller/internalreleaseimage @ release-4.21 db84d8368 (certificates and CA since e8c599280 and 45b4f01c2, merged as c3866b265; " + offered + ") and release-4.22 9027c94cd (feature NoRegistryClusterInstall: a preview in 4.21; in the default set of release-4.22 by openshift/api f9b4fbdd9, 2026-08-12); openshift/installer pkg/asset/tls/iricertkey.go (its root CA signs) @ 006d45739"}
}

// internalReleaseTLS is where that registry serves TLS: 4.21.0 rendered its service alone.
func internalReleaseTLS() Range {
	return since(mco, Minor{4, 21}).since(Change{Lacks: 0, Has: 3, Merged: "2026-02-05"}) // c3866b265
}

// internalReleaseCA is what the files of that registry's CA are for.
const internalReleaseCA = "the machine config server's CA, with which nodes verify the registry that clusters without an external one run themselves"

// internalReleaseLives is the lifetime of what that registry serves.
func internalReleaseLives() []Lifetime {
	controller := mcoRepo + "pkg/controller/certrotation/certrotation_controller.go"
	reissued := Change{Lacks: 7, Has: 10, Merged: "2026-07-30"} // be2cdd92d, merged as a5cba274a
	return []Lifetime{
		{Validity: 10 * year, In: between(mco, Minor{4, 21}, Minor{4, 22}).before(reissued), Doc: "made once, at the installation",
			Evidence: Evidence{Derived, "openshift/installer pkg/asset/tls/iricertkey.go (ValidityTenYears) @ 006d45739; " + controller + " @ release-4.21 db84d8368, which does not speak of it; " + offered}},
		{Validity: 10 * year, In: since(mco, Minor{4, 22}).since(reissued), Doc: "with a MachineSet at machine-config-controller's start, issued again for a new CA or other host names, or expired; else never",
			Evidence: Evidence{Verified, controller + " (Run, reconcileIRICertificate, isIRICertValid) @ release-4.22 9027c94cd, from be2cdd92d on; openshift/installer pkg/asset/tls/iricertkey.go @ 006d45739; " + offered}},
	}
}

// machineConfigRotations: up to 4.18, there is that signer where an administrator ran oc's
// command; before, the installer signed, and its key is not in the cluster.
func machineConfigRotations() []Rotation {
	const command, installers = "`oc adm ocp-certificates regenerate-machine-config-server-serving-cert` was run", "the installer's CA (ConfigMap kube-system/root-ca) signed, whose key is not in the cluster"
	row := func(in Range, e Evidence, doc string) Rotation {
		return Rotation{
			Signer: secret(mcoTarget, "machine-config-server-ca"), Bundle: bundle(mcoTarget, "machine-config-server-ca"),
			Targets: []Ref{secret(mcoTarget, "machine-config-server-tls")}, In: in, Evidence: e, Doc: doc,
		}
	}
	rotates := mcoRotation()
	rotates.Source += "; (loadMCSCA, generateIRICert) @ release-4.22 9027c94cd, since be2cdd92d, not in release-4.19 to 4.21"
	return []Rotation{
		row(Range{Component: mco, To: Minor{4, 18}}, configServerCommand(), "where "+command+"; otherwise "+installers),
		row(since(mco, Minor{4, 19}), rotates, "from 4.22.10 on, with an InternalReleaseImage, also Secret "+mcoTarget+"/internal-release-image-tls. "+
			"In a cluster installed before 4.19 without a MachineSet, only where "+command+"; otherwise "+installers),
	}
}

// configServerTriggers: oc's command is library-go's rotation, run once. What is there, and not due, it
// makes no second time.
func configServerTriggers() []Trigger {
	server := machineConfigRotations()
	const again = "oc annotate -n openshift-machine-config-operator secret machine-config-server-ca machine-config-server-tls auth.openshift.io/certificate-not-after-"
	const command = "oc adm ocp-certificates regenerate-machine-config-server-serving-cert"
	const stops = "Where it stops at an Ignition stub, later ones need the CA by hand. "
	const asked = "verify nodes then says which"
	return slices.Concat(
		triggersOf(server[:1], "no operator renews it: "+command+". A CA it made it keeps for 8 years, unless first: "+again+
			". Up to 4.17 all bare metal nodes reboot. "+stops+asked,
			Evidence{Verified, configServerCommand().Source + " (Run, updateSecrets), and its vendor/github.com/openshift/library-go/pkg/operator/certrotation; " + mcoRepo + "pkg/daemon/update.go @ release-4.12 to 4.17 (a new /etc/kubernetes/ca.crt reboots)"}),
		triggersOf(server[1:], "machine-config-operator rotates it, where the Machine API has a MachineSet when machine-config-controller starts. By hand: "+again+
			"; without a MachineSet then, also after NotFound, "+command+". "+stops+asked,
			Evidence{Verified, mcoRotation().Source + " (New, hasFunctionalMachineAPI, reconcileSecret); " + configServerCommand().Source + " (updateSecrets), and its vendor/github.com/openshift/library-go/pkg/operator/certrotation"}))
}

func machineConfigAggregates() []Aggregate {
	synced := mcoSync()
	copied := func(target, source Ref, in Range, e Evidence) Aggregate {
		return Aggregate{Target: target, Parts: []Ref{source}, Relation: Copy, In: in, Evidence: e}
	}
	root, server := Ref{Kind: ConfigMap, Namespace: "kube-system", Name: "root-ca", Key: "ca.crt"}, bundle(mcoTarget, "machine-config-server-ca")
	// Installed before 4.19 and without MachineSets, a cluster has no machine-config-server-ca.
	first := func(target Ref, in Range, e Evidence) Aggregate {
		return Aggregate{Target: target, Parts: []Ref{server, root}, Relation: FirstCopy, In: in, Evidence: e}
	}
	to418, from419 := Range{Component: mco, To: Minor{4, 18}}, since(mco, Minor{4, 19})
	pools := Evidence{Verified, synced.Source + " (of every pool) and manifests/userdata_secret.yaml"}
	stubs := copied(userData("*-user-data"), server, from419, Evidence{Verified, mcoRepo + "pkg/controller/certrotation (reconcileSecret, isUserDataSecret) @ release-4.19 1a6905d98 to release-4.22"})
	stubs.Doc = "any Secret of openshift-machine-api with an Ignition config and without label machineconfiguration.openshift.io/managed-ca-bundle-derived-from-configmap; not with two CAs, and only where there are MachineSets"
	return []Aggregate{
		copied(bundle(mcoTarget, "kubeconfig-data"), bundle(managed, "kube-apiserver-server-ca"), since(mco, Minor{4, 16}), synced),
		// There are also the certificates of initial-kube-apiserver-server-ca, except
		// signers of this kind, of which this bundle has the ones that count: after
		// removal of old trust the former still has what the latter has no more.
		{Target: controllerConfig("spec.kubeAPIServerServingCAData"), Parts: []Ref{bundle(kasOperator, "kube-apiserver-to-kubelet-client-ca")}, Relation: Union, In: Range{Component: mco, To: Minor{4, 12}}, Evidence: synced},
		copied(controllerConfig("spec.kubeAPIServerServingCAData"), bundle(managed, "kube-apiserver-client-ca"), since(mco, Minor{4, 13}), synced),
		copied(controllerConfig("spec.rootCAData"), root, to418, synced),
		first(controllerConfig("spec.rootCAData"), from419, Evidence{Verified, synced.Source + "; pkg/controller/certrotation (hasFunctionalMachineAPI) @ release-4.19 1a6905d98 to release-4.22"}),
		copied(controllerConfig("spec.cloudProviderCAData"), Ref{Kind: ConfigMap, Namespace: managed, Name: "kube-cloud-config", Key: "ca-bundle.pem"}, Range{Component: mco}, synced),
		{Target: controllerConfig("spec.additionalTrustBundle"), Parts: []Ref{bundle(userConfig, "user-ca-bundle")}, Relation: Union, Doc: "and the ConfigMap in openshift-config that Proxy spec.trustedCA.name names", In: Range{Component: mco}, Evidence: synced},
		copied(userData("*-user-data-managed"), root, to418, pools),
		first(userData("*-user-data-managed"), from419, pools),
		stubs,
	}
}

// RenderedPool returns the pool for which the machine-config-controller rendered a
// MachineConfig of this name, "rendered-POOL-HASH"; false for one that a user
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
