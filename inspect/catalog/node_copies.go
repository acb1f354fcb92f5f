package catalog

import (
	"path"
	"strings"
)

// NodeCopy is a row: a file on nodes holds what an object of the API holds.
type NodeCopy struct {
	// File is the file's path; one '*' in it stands for the object's name.
	File string
	// Object is the object; "*" as Name stands for what '*' stands for in File.
	// An empty Key means the file's own name.
	Object Ref
	// Embedded: the certificates are in the clusters of a kubeconfig.
	Embedded bool
	// Writer is who copies; what it does can be seen in its log.
	Writer string
	// Doc says when it does not, where that is not evident; mostly empty.
	Doc string
	// Late are parts of names of CAs. Where each CA that the file lacks has one of them in its
	// name, the Writer leaves the file as it is.
	Late []string
	In   Range
	Evidence
}

// Maintained reports whether a component writes the copy again when its object changes.
func (c NodeCopy) Maintained() bool { return !strings.HasPrefix(c.Writer, noComponent) }

// NodeCopies returns every row about files that are copies of objects. What a file
// must hold of an object stands here alone: the targets of Aggregates are objects.
func NodeCopies() []NodeCopy {
	const dir = "/etc/kubernetes/static-pod-resources/"
	registry := Evidence{Verified, "openshift/origin tls/raw-data @ 01860260f; machine-config-operator pkg/operator/sync.go"}
	synced := certSyncers()
	kubeconfigs := Evidence{Verified, "machine-config-operator pkg/server/cluster_server.go, pkg/daemon/certificate_writer.go, pkg/daemon/daemon.go (kubeletRebootstrap), pkg/operator/sync.go @ release-4.12 to 4.22; kubelet bootstrap.go v1.35.4"}
	clientCA := Ref{Kind: ConfigMap, Namespace: "openshift-config-managed", Name: "kube-apiserver-client-ca", Key: "ca-bundle.crt"}
	rows := []NodeCopy{
		{File: "/etc/kubernetes/kubelet-ca.crt", Object: Ref{Kind: ConfigMap, Namespace: "openshift-kube-apiserver-operator", Name: "kube-apiserver-to-kubelet-client-ca", Key: "ca-bundle.crt"},
			Writer: "the rendered MachineConfig of its pool", In: Range{Component: mco, To: Minor{4, 12}}, Evidence: Evidence{Verified, mcoRepo + "pkg/operator/sync.go @ release-4.12 1d4cfffaa"}},
		{File: "/etc/kubernetes/kubelet-ca.crt", Object: clientCA, Writer: "machine-config-daemon", In: since(mco, Minor{4, 13}), Evidence: registry},
	}
	const announced = "only a CA that is added, and only if it runs while machine-config-operator announces it"
	for _, file := range KubeletKubeconfigs() {
		kept := NodeCopy{File: file, Object: APIServerCA(), Embedded: true, Writer: "machine-config-daemon", Doc: announced, In: since(mco, Minor{4, 16}), Evidence: kubeconfigs}
		if file == KubeletKubeconfigCA().Name {
			kept.Late = noRestart()
			kept.Doc += "; where all new CAs are named (" + strings.Join(kept.Late, ", ") + "), only once it logs an x509 error"
		}
		rows = append(rows,
			NodeCopy{File: file, Object: APIServerCA(), Embedded: true, Writer: noComponent + ": the node keeps the CA with which it was made", In: Range{Component: mco, To: Minor{4, 15}}, Evidence: kubeconfigs},
			kept)
	}
	rows = append(rows,
		NodeCopy{File: dir + "configmaps/cloud-config/ca-bundle.pem", Object: Ref{Kind: ConfigMap, Namespace: managed, Name: "kube-cloud-config", Key: "ca-bundle.pem"},
			Writer: "machine-config-daemon", In: since(mco, Minor{4, 14}), Evidence: Evidence{Verified, mcoRepo + "pkg/operator/sync.go and pkg/daemon/certificate_writer.go @ release-4.14 00b2e0b1c to 4.22"}},
		NodeCopy{File: dir + "etcd-certs/secrets/etcd-all-certs/*.crt", Object: Ref{Kind: Secret, Namespace: etcdTarget, Name: "etcd-all-certs"},
			Writer: installerPod, In: Range{Component: etcd}, Evidence: etcdPod()},
		NodeCopy{File: dir + "etcd-certs/configmaps/*/ca-bundle.crt", Object: Ref{Kind: ConfigMap, Namespace: etcdTarget, Name: "*"},
			Writer: installerPod, In: Range{Component: etcd, To: Minor{4, 16}}, Evidence: etcdPod()},
		NodeCopy{File: dir + "etcd-certs/configmaps/etcd-all-bundles/*.crt", Object: Ref{Kind: ConfigMap, Namespace: etcdTarget, Name: "etcd-all-bundles"},
			Writer: installerPod, In: since(etcd, Minor{4, 17}), Evidence: etcdPod()})
	for _, p := range []struct{ folder, component, namespace string }{
		{"kube-apiserver-certs", kas, "openshift-kube-apiserver"},
		{"kube-controller-manager-certs", kcm, "openshift-kube-controller-manager"},
		{"kube-scheduler-certs", scheduler, "openshift-kube-scheduler"},
	} {
		in, writer := Range{Component: p.component}, certSyncer
		rows = append(rows, NodeCopy{File: dir + p.folder + "/secrets/*/tls.crt", Object: Ref{Kind: Secret, Namespace: p.namespace, Name: "*"}, Writer: writer, In: in, Evidence: synced})
		if p.component != scheduler { // its CertConfigMaps are empty
			rows = append(rows, NodeCopy{File: dir + p.folder + "/configmaps/*/ca-bundle.crt", Object: Ref{Kind: ConfigMap, Namespace: p.namespace, Name: "*"}, Writer: writer, In: in, Evidence: synced})
		}
	}
	return rows
}

// Who copies what static pods read to masters.
const (
	certSyncer   = "the cert-syncer container of its static pod, or the installer pod of a new revision"
	installerPod = "the installer pod of its revision"
)

// certSyncers is where static pods have a container that keeps such copies: not in etcd's.
func certSyncers() Evidence {
	return Evidence{Verified, "openshift/library-go pkg/operator/staticpod/certsyncpod and installerpod/cmd.go (copyContent) @ 93ac9206a, release-4.12 ba257b06b, 4.22 889c2cd3e; pod.yaml (cert-syncer) below bindata/assets, and pkg/operator/starter.go (CertConfigMaps, CertSecrets, deploymentConfigMaps, deploymentSecrets, RevisionConfigMaps, RevisionSecrets), of " +
		"openshift/cluster-kube-apiserver-operator @ release-4.12 0217c88fb and 4.22 9c413cd4d, cluster-kube-controller-manager-operator @ release-4.12 c3c07bebb and 4.22 95150ed5d, cluster-kube-scheduler-operator @ release-4.12 a0e7f248a and 4.22 51ea59abd"}
}

// KubeletKubeconfigs are the kubeconfigs of OpenShift's kubelets, in the order in
// which they are to be written: the one to join with, which does nothing as long
// as the kubelet's client certificate is valid, then its own. They are in the
// flags of its unit (machine-config-operator
// templates/{master,worker}/01-*-kubelet/_base/units/kubelet.service.yaml).
func KubeletKubeconfigs() []string {
	return []string{"/etc/kubernetes/kubeconfig", "/var/lib/kubelet/kubeconfig"}
}

// KubeadmKubeconfigs are those of kubeadm's kubelets, in the same order
// (kubernetes/kubernetes cmd/kubeadm/app/constants/constants.go, and
// 10-kubeadm.conf in kubernetes/release cmd/krel/templates/latest/kubeadm).
func KubeadmKubeconfigs() []string {
	return []string{"/etc/kubernetes/bootstrap-kubelet.conf", "/etc/kubernetes/kubelet.conf"}
}

// APIServerCA are the CAs of everything that the API server serves, as OpenShift
// publishes them.
func APIServerCA() Ref {
	return Ref{Kind: ConfigMap, Namespace: "openshift-config-managed", Name: "kube-apiserver-server-ca", Key: "ca-bundle.crt"}
}

// NodeCopyOf returns the row of a file that is a copy in the versions that run, with
// the object's name and key filled in.
func NodeCopyOf(file string, v Versions) (NodeCopy, bool) {
	for _, c := range NodeCopies() {
		if !glob(c.File, file, true) || c.In.Holds(v) == No {
			continue
		}
		if before, after, found := strings.Cut(c.File, "*"); found && c.Object.Name == "*" {
			c.Object.Name = strings.TrimSuffix(strings.TrimPrefix(file, before), after)
		}
		if c.Object.Key == "" {
			c.Object.Key = path.Base(file)
		}
		return c, true
	}
	return NodeCopy{}, false
}

// CopiedNamespaces are the namespaces of the objects of which nodes hold copies.
func CopiedNamespaces() []string {
	var out []string
	seen := map[string]bool{}
	for _, c := range NodeCopies() {
		if !seen[c.Object.Namespace] {
			seen[c.Object.Namespace] = true
			out = append(out, c.Object.Namespace)
		}
	}
	return out
}
