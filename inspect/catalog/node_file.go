package catalog

import (
	"slices"
	"strings"
)

// installersCA is what /etc/kubernetes/ca.crt holds.
const installersCA = "kube-system/root-ca: the machine config server's CA, except after " + configServerCommandName + " elsewhere than on bare metal"

// Files on nodes. Their ranges are tested against the version of what writes
// them on that very node: its machine-config-daemon for rows of
// machine-config, whatever the cluster's other nodes run.

func nodeKubeletPlaces() []Place {
	all := Range{Component: mco}
	template := Evidence{Verified, mcoRepo + "templates/common and templates/{master,worker}/01-*-kubelet @ 7ff337a4f and release-4.12 to 4.22"}
	writer := Evidence{Verified, mcoRepo + "pkg/daemon/certificate_writer.go @ release-4.13 a57ca2912 to release-4.22"}
	bootstrap := Evidence{Verified, "kubernetes/kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go v1.35.4"}
	manager := Evidence{Verified, "kubernetes/client-go util/certificate/certificate_manager.go (run, rotateCerts, jitteryDuration) v0.35.4"}
	lives := []Lifetime{
		{Validity: 30 * day, RenewFromPercent: 70, RenewAtPercent: 90, Renewer: "kubelet", In: since(kcm, Minor{4, 12}), Evidence: manager,
			Doc: "by request, so never beyond the end of csr-signer"},
		{Validity: year, RenewFromPercent: 70, RenewAtPercent: 90, Renewer: "kubelet", In: Range{Component: Kubernetes}, Evidence: manager,
			Doc: "the validity is kube-controller-manager's --cluster-signing-duration"},
	}
	clientLives := slices.Clone(lives)
	clientLives[1].Doc = "only with rotateCertificates; " + lives[1].Doc
	livesOf := func(role Role) []Lifetime {
		if role == Client {
			return clientLives
		}
		return lives
	}
	place := func(path string, role Role, owner, doc string, in Range, e Evidence) Place {
		return Place{Ref: file(path), Role: role, Owner: owner, Doc: doc, In: in, Evidence: e}
	}
	const daemon = "machine-config-daemon"
	const userCA, userCAs = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", "the administrator's additional trusted CAs, on the node"
	byDaemon := func(path, doc string, in Range, e Evidence) Place {
		return Place{Ref: file(path), Role: CABundle, Owner: mcoOwner, Writer: daemon, Doc: doc, In: in, Evidence: e}
	}
	own := func(path string, role Role, doc string) Place {
		return Place{Ref: file(path), Role: role, Owner: "kubelet", Doc: doc, Lifetimes: livesOf(role), Evidence: manager}
	}
	issued := func(signer string, role Role, doc string) Place {
		return Place{Ref: Ref{Kind: Request, Key: "status.certificate"}, Selector: ObjectSelector{Signer: signer}, Role: role, Owner: "kubelet", Writer: "kube-controller-manager", Doc: doc, Lifetimes: livesOf(role), Evidence: manager}
	}
	selfSigned := Evidence{Verified, "kubernetes/kubernetes cmd/kubelet/app/server.go (InitializeTLS) v1.35.4; kubernetes/client-go util/cert/cert.go (GenerateSelfSignedCertKeyWithFixtures) and io.go (CanReadCertAndKey) release-1.25 4f1c2e7b9, 1.35 c9748d3a3"}
	to415, from416 := Range{Component: mco, To: Minor{4, 15}}, since(mco, Minor{4, 16})
	served := mcoRepo + "pkg/server/cluster_server.go @ release-4.12 to 4.22"
	const ownKubeconfig = "the kubelet's kubeconfig, made from the bootstrap one whenever there is no valid client certificate; read at its start; other daemons use it, too"
	const usedBy = mcoRepo + "pkg/daemon/writer.go (nodeWriterKubeconfigPath), templates/common/on-prem/files, templates/master/00-master/on-prem/files/haproxy.yaml @ release-4.12 to 4.22; openshift/cluster-node-tuning-operator pkg/tuned/controller.go, openshift/machine-api-operator pkg/operator/sync.go @ release-4.12 to 4.22"
	return []Place{
		{Ref: file("/etc/kubernetes/kubeconfig"), Role: Kubeconfig, Owner: mcoOwner, Writer: "Ignition, once", In: to415, Evidence: Evidence{Verified, served},
			Doc: "the kubelet's bootstrap kubeconfig, with the CA of api-int as it was when the node was made"},
		{Ref: file("/etc/kubernetes/kubeconfig"), Role: Kubeconfig, Owner: mcoOwner, Writer: daemon, In: from416, Evidence: Evidence{Verified, served + "; pkg/daemon/certificate_writer.go @ release-4.16 7327bb235 to 4.22"},
			Doc: "the kubelet's bootstrap kubeconfig, with the CA of api-int: a new one is added if machine-config-daemon runs then"},
		{Ref: file("/var/lib/kubelet/kubeconfig"), Role: Kubeconfig, Owner: "kubelet", In: to415, Doc: ownKubeconfig, Evidence: Evidence{Verified, bootstrap.Source + "; " + usedBy}},
		{Ref: file("/var/lib/kubelet/kubeconfig"), Role: Kubeconfig, Owner: "kubelet", Writer: "the kubelet, and " + daemon + " for a new CA", In: from416,
			Evidence: Evidence{Verified, bootstrap.Source + "; " + usedBy + "; pkg/daemon/certificate_writer.go @ release-4.16 7327bb235 to 4.22"},
			Doc:      ownKubeconfig},
		byDaemon("/etc/kubernetes/kubelet-ca.crt", "CAs with which the kubelet verifies its clients; part of a rendered MachineConfig, which a paused pool delays", Range{Component: mco, To: Minor{4, 12}}, template),
		byDaemon("/etc/kubernetes/kubelet-ca.crt", "CAs with which the kubelet verifies its clients; from the ControllerConfig, reloaded by the kubelet", since(mco, Minor{4, 13}), writer),
		byDaemon("/etc/kubernetes/ca.crt", installersCA, Range{Component: mco, To: Minor{4, 17}}, template),
		{Ref: file("/etc/kubernetes/ca.crt"), Role: CABundle, Owner: mcoOwner, Writer: noComponent, Doc: "kube-system/root-ca, once the CA of the machine config server; the node's first MachineConfig of 4.18 or later deletes it", In: since(mco, Minor{4, 18}),
			Evidence: Evidence{Verified, mcoRepo + "pkg/daemon/update.go (deleteStaleData) @ release-4.18 f313997e0 and release-4.22 9027c94cd; no root-ca.yaml in templates/common/_base/files there"}},
		own("/var/lib/kubelet/pki/kubelet-client-*.pem", Client, "the kubelet's client certificate; kubelet-client-current.pem points to the one in use"),
		own("/var/lib/kubelet/pki/kubelet-server-*.pem", Serving, "served by the kubelet; kubelet-server-current.pem points to the one in use; renewed at once for a new name or address"),
		{Ref: file("/var/lib/kubelet/pki/kubelet.crt"), Role: Serving, Owner: "kubelet", In: Range{Component: Kubernetes}, Evidence: selfSigned,
			Doc:       "served by a kubelet with neither serverTLSBootstrap nor tlsCertFile; signed by a CA that is made with it",
			Lifetimes: []Lifetime{{Validity: year, In: Range{Component: Kubernetes}, Evidence: selfSigned, Doc: "made at start where file and key are missing; with only one, the kubelet does not start"}}},
		issued("kubernetes.io/kube-apiserver-client-kubelet", Client, "a kubelet's client certificate, as issued"),
		issued("kubernetes.io/kubelet-serving", Serving, "a kubelet's serving certificate, as issued"),
		byDaemon(userCA, userCAs+"; part of a rendered MachineConfig", Range{Component: mco, To: Minor{4, 13}}, template),
		byDaemon(userCA, userCAs+"; from the ControllerConfig, without update-ca-trust", between(mco, Minor{4, 14}, Minor{4, 14}).before(userCAReturns()), userCAInMachineConfigs()),
		byDaemon(userCA, userCAs+"; part of a rendered MachineConfig", since(mco, Minor{4, 14}).since(userCAReturns()), userCAInMachineConfigs()),
		{Ref: file("/etc/docker/certs.d/*/ca.crt"), Role: CABundle, Owner: "image-registry-operator", Writer: "its DaemonSet node-ca", Doc: "CAs with which the node verifies that registry; node-ca deletes what is there for other registries", In: Range{Component: mco, To: Minor{4, 13}},
			Evidence: Evidence{Verified, "openshift/cluster-image-registry-operator bindata/nodecadaemon.yaml @ release-4.12 and release-4.13"}},
		{Ref: file("/etc/docker/certs.d/*/ca.crt"), Role: CABundle, Owner: mcoOwner, Writer: daemon + ", and each minute image-registry-operator's DaemonSet node-ca", Doc: "CAs with which the node verifies that registry; both delete what is there for other registries", In: since(mco, Minor{4, 14}),
			Evidence: Evidence{Verified, writer.Source + "; openshift/cluster-image-registry-operator bindata/nodecadaemon.yaml @ release-4.14 c9f6afc6a to release-4.22 90e608b3e"}},
		byDaemon("/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem", "CAs with which the node verifies the cloud API; part of a rendered MachineConfig", Range{Component: mco, To: Minor{4, 13}}, template),
		byDaemon("/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem", "CAs with which the node verifies the cloud API", since(mco, Minor{4, 14}), writer),
		byDaemon("/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", internalReleaseCA, internalReleaseTLS(), internalRelease()),
		{Ref: file("/etc/iri-registry/certs/tls.crt"), Role: Serving, Owner: mcoOwner, Writer: daemon, Doc: "served by the registry that a cluster without external registry runs on its control plane nodes", Lifetimes: internalReleaseLives(), In: internalReleaseTLS(), Evidence: internalRelease()},
		place("/etc/pki/tls/certs/ca-bundle.crt", CABundle, "RHCOS", "the system's trusted CAs and the administrator's", all,
			Evidence{Verified, "openshift/origin tls/ownership/ownership.md @ 01860260f"}),
		place("/etc/pki/tls/cert.pem", CABundle, "RHCOS", "the system's trusted CAs and the administrator's: a link to /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", all,
			Evidence{Verified, "openshift/origin tls/ownership/ownership.md @ 01860260f"}),
	}
}

func nodeNetworkPlaces() []Place {
	from414 := since(network, Minor{4, 14})
	multus := Evidence{Verified, networkRepo + "bindata/network/multus/multus.yaml @ 2a6a57fef"}
	ovn := Evidence{Verified, networkRepo + "bindata/network/ovn-kubernetes/common/008-script-lib.yaml @ 2a6a57fef and release-4.15"}
	perNode := func(renewer string, e Evidence) []Lifetime {
		return []Lifetime{{Validity: day, RenewFromPercent: 70, RenewAtPercent: 90, Renewer: renewer, In: from414, Evidence: Evidence{Derived, e.Source}}}
	}
	return append([]Place{
		{Ref: file("/etc/cni/multus/certs/multus-client-*.pem"), Role: Client, Owner: networkOwner, Doc: "multus' own client certificate, asked for with the kubelet's kubeconfig", Writer: "multus", Lifetimes: perNode("multus", multus), In: from414, Evidence: multus},
		{Ref: file("/var/lib/ovn-ic/etc/ovnkube-node-certs/ovnkube-client-*.pem"), Role: Client, Owner: networkOwner, Doc: "ovnkube-node's own client certificate, asked for with the kubelet's kubeconfig", Writer: "ovnkube-node", Lifetimes: perNode("ovnkube-node", ovn), In: from414, Evidence: ovn},
		{Ref: file("/etc/kubernetes/cni/net.d/multus.d/multus.kubeconfig"), Role: Kubeconfig, Owner: networkOwner, Writer: "multus", Doc: "multus' kubeconfig, made from the CA that pods trust, and again when that changes, but in 4.13.0 to 4.13.2 only when its pod starts", In: Range{Component: network, To: Minor{4, 13}},
			Evidence: Evidence{Verified, networkRepo + "bindata/network/multus @ release-4.12 28db40f16; openshift/multus-cni images/entrypoint.sh @ release-4.13 before and after 38444d9e"}},
	}, whereaboutsPlaces()...)
}

// whereaboutsPlaces: a DaemonSet is to write whereabouts' kubeconfig again when its CA changes. As it was
// added to 4.17 to 4.20, it does not: it has no mount of the directory, and its script stops at a change.
func whereaboutsPlaces() []Place {
	const plugins, multusFile = "multus-additional-cni-plugins", networkRepo + "bindata/network/multus/multus.yaml @ "
	written := func(writer, when string, in Range, e Evidence) Place {
		return Place{Ref: file("/etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.kubeconfig"), Role: Kubeconfig, Owner: networkOwner, Writer: writer, In: in, Evidence: e,
			Doc: "whereabouts' kubeconfig, made from the CA that pods trust, " + when}
	}
	atStart := func(in Range, e Evidence) Place { return written(plugins, "at the start of its pod only", in, e) }
	again := func(in Range, e Evidence) Place {
		return written(plugins+" and the DaemonSet whereabouts-token-watcher", "again when that changes where Network cluster's spec.additionalNetworks has whereabouts, else when its pod starts", in, e)
	}
	rows := []Place{atStart(Range{Component: network, To: Minor{4, 15}}, Evidence{Verified, multusFile + "release-4.12 28db40f16 to release-4.15 aaa0f9330"})}
	for _, fixed := range []struct {
		minor  int
		change Change
		source string
	}{
		{16, Change{Lacks: 68, Has: 69, Merged: "2026-08-12"}, "release-4.16: merged as 869ac0a49, with the DaemonSet"},
		{17, Change{Lacks: 54, Has: 56, Merged: "2026-06-26"}, "release-4.17: merged as dc98c59e2; the DaemonSet since c766c4635"},
		{18, Change{Lacks: 37, Has: 38, Merged: "2026-04-07"}, "release-4.18: merged as c7c587b0d; the DaemonSet since 90a296e51"},
		{19, Change{Lacks: 24, Has: 26, Merged: "2026-02-27"}, "release-4.19: merged as b7adb6895"},
		{20, Change{Lacks: 6, Has: 9, Merged: "2025-12-11"}, "release-4.20: merged as 698e349cb"},
	} {
		in, e := between(network, Minor{4, fixed.minor}, Minor{4, fixed.minor}), Evidence{Derived, multusFile + fixed.source + "; " + offered}
		rows = append(rows, atStart(in.before(fixed.change), e), again(in.since(fixed.change), e))
	}
	return append(rows, again(since(network, Minor{4, 21}), Evidence{Verified, multusFile + "release-4.21 and release-4.22 6a5fcccf8, since 7ad5624d8 (2025-12-04), and 2a6a57fef"}))
}

func nodeStaticPodPlaces() []Place {
	synced := certSyncers()
	const dir = "/etc/kubernetes/static-pod-resources/"
	const hot, cold = "; synced without a new revision", "; of one revision"
	place := func(path string, role Role, component, owner, doc string) Place {
		writer := certSyncer
		if strings.HasSuffix(doc, cold) {
			writer = installerPod
		}
		return Place{Ref: file(dir + path), Role: role, Owner: owner, Writer: writer, Doc: doc, In: Range{Component: component}, Evidence: synced}
	}
	installed := func(path string, role Role, doc string, in Range) Place {
		return Place{Ref: file(dir + path), Role: role, Owner: etcdOwner, Writer: installerPod, Doc: doc, In: in, Evidence: etcdPod()}
	}
	all := Range{Component: etcd}
	const trusted = "what etcd trusts; written with each new revision, and read at etcd's start"
	const unread = "; etcd reads those below etcd-certs instead" + cold
	left := installed("etcd-certs/configmaps/*/ca-bundle.crt", CABundle, "what etcd trusted up to 4.16, left over: no component reads it", since(etcd, Minor{4, 17}))
	left.Writer = noComponent
	peers := installed("etcd-certs/secrets/etcd-all-certs/etcd-*.crt", Peer, "what etcd presents, for all nodes; written with each new revision, and read again for each connection", all)
	cloud := place("kube-controller-manager-pod-*/configmaps/cloud-config/ca-bundle.pem", CABundle, kcm, kcmOwner, "CAs with which kube-controller-manager verifies the cloud API: ConfigMap openshift-config-managed/kube-cloud-config"+cold)
	cloud.In.To = Minor{4, 15}
	cloud.Source = kcmRepo + "bindata/assets/kube-controller-manager/pod.yaml (AWS_CA_BUNDLE), vendor/github.com/openshift/library-go/pkg/operator/configobserver/cloudprovider/observe_cloudprovider.go @ release-4.12 c3c07bebb, 4.15 4c1078415; from 4.16 b3faac1f4 on that deletes the ConfigMap"
	vault := place("kube-apiserver-pod-*/secrets/encryption-config/kms-plugin-configmap-*_ca-bundle.crt-*", CABundle, kas, kasOwner, "with which the KMS plugin beside kube-apiserver verifies Vault (a preview): the Secret encryption-config"+cold)
	vault.In = since(kas, Minor{4, 23})
	vault.Evidence = Evidence{Derived, "openshift/cluster-kube-apiserver-operator vendored library-go pkg/operator/encryption/kms/pluginlifecycle, bindata/assets/kube-apiserver/pod.yaml @ release-4.23 and release-5.0 440392249"}
	return []Place{
		vault,
		{Ref: file(dir + "kube-apiserver-certs/secrets/node-kubeconfigs/*.kubeconfig"), Role: Kubeconfig, Owner: kasOwner, Writer: certSyncer, Doc: "the emergency administrator's kubeconfigs: localhost-recovery is the last way in", In: Range{Component: kas},
			Evidence: Evidence{Verified, "openshift/cluster-kube-apiserver-operator bindata/assets/kube-apiserver/node-kubeconfigs.yaml @ c813e820b"}},
		place("kube-apiserver-certs/secrets/*-certkey/tls.crt", Serving, kas, kasOwner, "what kube-apiserver serves: the Secret of the same name"+hot),
		place("kube-apiserver-certs/secrets/user-serving-cert-*/tls.crt", Serving, kas, "user", "what kube-apiserver serves for an administrator's names: the Secret of the same name"+hot),
		place("kube-apiserver-certs/secrets/*-client*/tls.crt", Client, kas, kasOwner, "client certificates of kube-apiserver, of its container check-endpoints, and of control-plane-node-kubeconfig: the Secret of the same name"+hot),
		place("kube-apiserver-certs/configmaps/*/ca-bundle.crt", CABundle, kas, kasOwner, "what kube-apiserver trusts: the ConfigMap of the same name"+hot),
		place("kube-apiserver-pod-*/secrets/*-certkey/tls.crt", Serving, kas, kasOwner, "what kube-apiserver serves: the Secret of the same name"+cold),
		place("kube-apiserver-pod-*/secrets/*-client*/tls.crt", Client, kas, kasOwner, "what kube-apiserver presents as client: the Secret of the same name"+cold),
		place("kube-apiserver-pod-*/configmaps/*/ca-bundle.crt", CABundle, kas, kasOwner, "what kube-apiserver trusts, and with which containers beside it verify it: the ConfigMap of the same name"+cold),
		place("kube-controller-manager-certs/secrets/csr-signer/tls.crt", Signer, kcm, kcmOwner, "with which kube-controller-manager signs certificate requests"+hot),
		place("kube-controller-manager-certs/secrets/*-client-cert-key/tls.crt", Client, kcm, kcmOwner, "what kube-controller-manager presents as client: the Secret of the same name"+hot),
		place("kube-controller-manager-certs/configmaps/*/ca-bundle.crt", CABundle, kcm, kcmOwner, "what kube-controller-manager trusts: the ConfigMap of the same name"+hot),
		place("kube-controller-manager-pod-*/configmaps/*/ca-bundle.crt", CABundle, kcm, kcmOwner, "what kube-controller-manager trusts and publishes: the ConfigMap of the same name"+cold),
		cloud,
		place("kube-controller-manager-pod-*/secrets/serving-cert/tls.crt", Serving, kcm, kcmOwner, "served by kube-controller-manager (port 10257) and cluster-policy-controller: the Secret of the same name"+cold),
		place("kube-scheduler-certs/secrets/*-client-cert-key/tls.crt", Client, scheduler, schedulerOwner, "what kube-scheduler presents as client: the Secret of the same name"+hot),
		place("kube-scheduler-pod-*/configmaps/*/ca-bundle.crt", CABundle, scheduler, schedulerOwner, "what kube-scheduler trusts: the ConfigMap of the same name"+cold),
		place("kube-scheduler-pod-*/secrets/serving-cert/tls.crt", Serving, scheduler, schedulerOwner, "served by kube-scheduler on port 10259: the Secret of the same name"+cold),
		peers,
		installed("etcd-certs/configmaps/*/ca-bundle.crt", CABundle, trusted, Range{Component: etcd, To: Minor{4, 16}}),
		installed("etcd-certs/configmaps/etcd-all-bundles/*.crt", CABundle, trusted, since(etcd, Minor{4, 17})),
		left,
		installed("etcd-pod-*/secrets/etcd-all-certs/etcd-*.crt", Peer, "what etcd presents, for all nodes"+unread, all),
		installed("etcd-pod-*/configmaps/*/*.crt", CABundle, "what etcd trusts"+unread, all),
	}
}

// Where masters have the CAs of kube-apiserver's serving certificates: in the emergency
// administrator's kubeconfigs, which cert-syncer keeps current, and for each revision of
// the static pod (openshift/cluster-kube-apiserver-operator
// bindata/assets/kube-apiserver/node-kubeconfigs.yaml, pkg/operator/starter.go).
const (
	NodeKubeconfigs = "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs"
	MasterServerCAs = "/etc/kubernetes/static-pod-resources/kube-apiserver-pod-*/configmaps/kube-apiserver-server-ca/ca-bundle.crt"
)

// IsAPIServerFile reports whether a file is one that only nodes with a kube-apiserver have:
// what OpenShift's cert-syncer keeps there, or kubeadm's serving certificate.
func IsAPIServerFile(path string) bool {
	return strings.HasPrefix(path, "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/") || path == "/etc/kubernetes/pki/apiserver.crt"
}

// EmergencyKubeconfigs are the administrator's kubeconfigs on a master, the one that
// survives most first. On OpenShift, its server is the master's own kube-apiserver, by a
// certificate whose signer signs no other (openshift/cluster-kube-apiserver-operator
// bindata/assets/kube-apiserver/node-kubeconfigs.yaml). kubeadm's are those of the
// cluster's administrators (kubernetes/kubernetes cmd/kubeadm/app/constants/constants.go).
func EmergencyKubeconfigs() []string {
	return []string{NodeKubeconfigs + "/localhost-recovery.kubeconfig", NodeKubeconfigs + "/localhost.kubeconfig", NodeKubeconfigs + "/lb-int.kubeconfig",
		"/etc/kubernetes/super-admin.conf", "/etc/kubernetes/admin.conf"}
}
