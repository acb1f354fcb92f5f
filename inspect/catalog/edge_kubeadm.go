package catalog

import (
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Clusters that kubeadm made: which client trusts which server there, what servers present, and
// what signs next. All read in kubernetes/kubernetes v1.35.4. kube-apiserver does not verify what
// kubelets serve there, so that there is no such edge.

const kubeadmRepo = "kubernetes/kubernetes cmd/kubeadm/app/"

// inPKI is a file in kubeadm's folder of certificates.
func inPKI(name string) Ref { return file("/etc/kubernetes/pki/" + name) }

// clientIn is the client certificate in a kubeconfig on nodes.
func clientIn(path string) Ref {
	return Ref{Kind: File, Name: path, Key: "client-certificate-data"}
}

// kubeadmEdges: what is only on control plane nodes is optional, since a node may be
// none, and etcd may run elsewhere.
func kubeadmEdges() []Edge {
	plain := Range{Component: Kubernetes}
	components := Evidence{Verified, kubeadmRepo + "phases/controlplane/manifests.go and phases/kubeconfig/kubeconfig.go v1.35.4"}
	etcds := Evidence{Verified, kubeadmRepo + "phases/etcd/local.go v1.35.4; go.etcd.io/etcd client/pkg/v3 transport/listener.go"}
	// Who reads a kubeconfig, and what kube-apiserver presents to it.
	api := func(id, conf, verifier, claim, impact string, part Part, reads ReloadPolicy) Edge {
		return Edge{
			ID: id, Part: part, Verifier: verifier, Statement: claim, Trust: file("/etc/kubernetes/" + conf), Optional: part != PartNodes,
			Presented: inPKI("apiserver.crt"), ServerName: NameInKubeconfig, Reload: reads, Reader: pki.ReaderGo, Impact: impact, In: plain, Evidence: components,
		}
	}
	kubelets := api("kubeadm-kubelet-api", "kubelet.conf", "kubelet", "kubelets trust the API server's serving certificate", "the node becomes NotReady at the kubelet's next reconnect or restart", PartNodes, ReloadAtStart)
	kubelets.Remediation = "{} fix-api-int --nodes NODE --dry-run=client"
	// Which client certificates kube-apiserver trusts, by its file on control plane nodes. What it
	// publishes (extension-apiserver-authentication) keeps a CA that was removed from the file until that expires.
	clients := Evidence{Verified, components.Source + "; kubernetes/apiserver pkg/server/dynamiccertificates/dynamic_cafile_content.go v0.35.4"}
	client := func(id, claim, impact string, part Part, presented Ref) Edge {
		return Edge{
			ID: id, Part: part, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts " + claim, Trust: inPKI("ca.crt"), OnNodesWith: KubeadmServing().Name,
			Optional: presented.Key != "", Presented: presented, ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll, Impact: impact, In: plain, Evidence: clients,
		}
	}
	// Up to 1.28, admin.conf has the group system:masters itself.
	const administrators = "kubectl, kubeadm; up to 1.28 the way in past all rules of access, too"
	from129 := func(e Edge) Edge { e.In = since(Kubernetes, Minor{1, 29}); return e }
	etcd := func(id, verifier, claim, presented, impact string, name ServerName) Edge {
		return Edge{
			ID: id, Part: PartControlPlane, Verifier: verifier, Statement: claim, Trust: inPKI("etcd/ca.crt"), Optional: true,
			Presented: inPKI(presented), ServerName: name, Reload: ReloadAtStart, Reader: pki.ReaderUnknown, Impact: impact, In: plain, Evidence: etcds,
		}
	}
	return []Edge{
		kubelets,
		api("kubeadm-controller-manager-api", "controller-manager.conf", "kube-controller-manager", "kube-controller-manager trusts the API server's serving certificate", "controllers: kube-controller-manager cannot reach the API", PartControlPlane, ReloadAtStart),
		api("kubeadm-scheduler-api", "scheduler.conf", "kube-scheduler", "kube-scheduler trusts the API server's serving certificate", "new pods are not placed", PartControlPlane, ReloadAtStart),
		api("kubeadm-admin-api", "admin.conf", "the administrator", "the administrator's kubeconfig trusts the API server's serving certificate", administrators, PartAccess, ReloadEachTime),
		from129(api("kubeadm-super-admin-api", "super-admin.conf", "the administrator", "the kubeconfig of system:masters trusts the API server's serving certificate", "the way in past all rules of access", PartAccess, ReloadEachTime)),
		client("kubeadm-apiserver-kubelet", "kubelets' client certificates", "the node becomes NotReady: the API refuses its kubelet", PartNodes, file("/var/lib/kubelet/pki/kubelet-client-current.pem")),
		client("kubeadm-apiserver-controller-manager", "kube-controller-manager's client certificate", "controllers: the API refuses kube-controller-manager", PartControlPlane, clientIn("/etc/kubernetes/controller-manager.conf")),
		client("kubeadm-apiserver-scheduler", "kube-scheduler's client certificate", "new pods are not placed", PartControlPlane, clientIn("/etc/kubernetes/scheduler.conf")),
		client("kubeadm-apiserver-admin", "the client certificate in the administrator's kubeconfig", administrators, PartAccess, clientIn("/etc/kubernetes/admin.conf")),
		from129(client("kubeadm-apiserver-super-admin", "the client certificate in the kubeconfig of system:masters", "the way in past all rules of access", PartAccess, clientIn("/etc/kubernetes/super-admin.conf"))),
		{
			ID: "kubeadm-pods-kubernetes-service", Part: PartServices, Verifier: "pods", Statement: "pods trust kubernetes.default's serving certificate",
			Trust: rootCA(), Presented: inPKI("apiserver.crt"), ServerName: nameServiceNetwork, Reload: ReloadAtStart, Reader: pki.ReaderUnknown, MayBeOutdated: true,
			Impact: "pods that call the API server", In: plain, Evidence: Evidence{Verified, components.Source + "; " + readsCAOnce},
		},
		{
			ID: "kubeadm-new-node-api", Part: PartNodes, Verifier: "the kubelet of a node that joins", Statement: "a node that joins now trusts the API server's serving certificate",
			// Who joins nodes by a file, or by hand, may have deleted it.
			Trust: clusterInfo(), Optional: true, Presented: inPKI("apiserver.crt"), ServerName: NameAny, Reload: ReloadByNewNodes, Reader: pki.ReaderGoAll,
			Impact: "nodes that are added: they never join", Remediation: "on a control plane node: kubeadm init phase bootstrap-token, which writes the CA of admin.conf there", In: plain,
			Evidence: Evidence{Verified, kubeadmRepo + "phases/bootstraptoken/clusterinfo/clusterinfo.go and discovery/token/token.go (validateClusterCA: ParseCertsPEM) v1.35.4"},
		},
		{
			ID: "kubeadm-kubelet-client-ca", Part: PartNodes, Verifier: "kubelet, for client certificates", Statement: "kubelets trust kube-apiserver's client certificate",
			Trust: inPKI("ca.crt"), Presented: inPKI("apiserver-kubelet-client.crt"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: proxiedByAPI, In: plain, Evidence: Evidence{Verified, kubeadmRepo + "componentconfigs/kubelet.go and phases/controlplane/manifests.go v1.35.4"},
		},
		etcd("kubeadm-apiserver-etcd", "kube-apiserver", "kube-apiserver trusts what etcd serves", "etcd/server.crt", "every API call: kube-apiserver cannot use etcd", NameAny),
		etcd("kubeadm-etcd-apiserver", "etcd", "etcd trusts kube-apiserver's client certificate", "apiserver-etcd-client.crt", "every API call: kube-apiserver cannot use etcd", NameClient),
		etcd("kubeadm-etcd-peers", "etcd", "etcd's members trust each other", "etcd/peer.crt", "the quorum of etcd, and with it the API", NameAny),
		etcd("kubeadm-etcd-peer-clients", "etcd", "etcd's members trust each other's certificates as clients", "etcd/peer.crt", "the quorum of etcd, and with it the API", NameClient),
		etcd("kubeadm-etcd-healthcheck", "etcd", "etcd trusts the client certificate of its health checks", "etcd/healthcheck-client.crt", "kubeadm's look at etcd: upgrades and joins of control plane nodes", NameClient),
		{
			ID: "kubeadm-front-proxy", Part: PartControlPlane, Verifier: "extension API servers", Statement: "extension API servers trust kube-apiserver's front proxy certificate",
			Trust: publishedRequestHeaderCA(), Presented: inPKI("front-proxy-client.crt"), ServerName: NameClient, Reload: ReloadOnChange, Reader: pki.ReaderGoAll,
			Impact: "aggregated APIs, metrics among them", In: plain, Evidence: components,
		},
	}
}

// KubeadmServing is what kube-apiserver presents in such a cluster: each control plane node
// has its own, whatever the name that it is asked for.
func KubeadmServing() Ref { return inPKI("apiserver.crt") }

// OfKubeadm reports whether a row is about what kubeadm makes. There is no Kubernetes
// but OpenShift of which the catalog knows more.
func OfKubeadm(in Range) bool { return in.Component == Kubernetes }

// clusterInfo is what a node that joins first sees of a cluster.
func clusterInfo() Ref {
	return Ref{Kind: ConfigMap, Namespace: "kube-public", Name: "cluster-info", Key: "kubeconfig"}
}

// kubeadmServers are what listens on nodes of such a cluster. All of them reload
// their files, kubelets from 1.31 on.
func kubeadmServers() []Server {
	plain := Range{Component: Kubernetes}
	serving := Evidence{Verified, "kubernetes/apiserver pkg/server/options/serving.go and pkg/server/dynamiccertificates/dynamic_serving_content.go v0.35.4; " + kubeadmRepo + "phases/controlplane/manifests.go v1.35.4"}
	each := Evidence{Verified, "go.etcd.io/etcd client/pkg/v3 transport/listener.go (GetCertificate reads the files for each connection); " + kubeadmRepo + "phases/etcd/local.go v1.35.4"}
	row := func(id, verifier, claim, impact, remediation string, at Listener, cert ServedCert, e Evidence) Server {
		return Server{
			Edge:     Edge{ID: id, Part: PartControlPlane, Verifier: verifier, Statement: claim, Optional: true, Impact: impact, Remediation: remediation, In: plain, Evidence: e},
			Listener: at, Certs: []ServedCert{cert},
		}
	}
	const restart = "restart its static pod: on NODE, move its manifest out of /etc/kubernetes/manifests, and back after 20 s"
	peers := row("kubeadm-etcd-peers-show-file", "etcd", "each etcd presents the certificate in its file to its peers", "the quorum of etcd, once the old certificate expires", restart,
		Listener{Name: ListenerEtcdPeer, MastersOnly: true, Port: "2380"}, ServedCert{Name: NameAny, From: inPKI("etcd/peer.crt"), Reload: ReloadEachTime}, each)
	peers.Direct = true
	kubelets := func(id, remediation string, in Range, reads ServedCert, source string) Server {
		reads.Name, reads.From, reads.Custom = NameAny, file("/var/lib/kubelet/pki/kubelet.crt"), []Ref{file("/var/lib/kubelet/pki/kubelet-server-current.pem")}
		reads.CustomReload = ReloadByRenewal
		r := row(id, "kube-apiserver", "each kubelet presents the certificate in its file", "nothing of kube-apiserver's, which does not verify it there; clients that do, such as metrics-server, once the old certificate expires",
			remediation+"on NODE: systemctl restart kubelet; pods keep running", Listener{Name: "kubelet", Port: "10250"}, reads,
			Evidence{Verified, "kubernetes/kubernetes cmd/kubelet/app/server.go (InitializeTLS), pkg/kubelet/kubelet.go and pkg/features/kube_features.go (ReloadKubeletServerCertificateFile, by default from 1.31 on" + source + ") v1.35.4"})
		r.Part, r.In = PartNodes, in
		return r
	}
	return []Server{
		row("kubeadm-apiservers-show-file", "clients of kube-apiserver", "each control plane node presents the certificate in its file", "nothing yet, while the old certificate is valid; then clients that reach that node", restart,
			Listener{Name: ListenerAPIServer, MastersOnly: true, Port: "6443"}, ServedCert{Name: nameServiceNetwork, From: inPKI("apiserver.crt"), Reload: ReloadOnChange, ReloadWithin: 5 * time.Minute}, serving),
		row("kubeadm-etcd-show-file", "kube-apiserver", "each etcd presents the certificate in its file", "the API server, once the old certificate expires", restart,
			Listener{Name: ListenerEtcd, MastersOnly: true, Port: "2379"}, ServedCert{Name: NameAny, From: inPKI("etcd/server.crt"), Reload: ReloadEachTime}, each),
		peers,
		kubelets("kubeadm-kubelets-show-file", "", Range{Component: Kubernetes, To: Minor{1, 30}}, ServedCert{Reload: ReloadAtStart}, ", not there before"),
		kubelets("kubeadm-kubelets-show-changed-file", "it reads a changed certificate without a restart; where it does not: ", since(Kubernetes, Minor{1, 31}), ServedCert{Reload: ReloadOnChange, ReloadWithin: 5 * time.Minute}, ""),
	}
}

// kubeadmRotations are by hand: `kubeadm certs renew` and `kubeadm upgrade` sign with
// the CAs that lie on the very node, and kube-controller-manager with these CAs, too.
func kubeadmRotations() []Rotation {
	plain := Range{Component: Kubernetes}
	src := Evidence{Verified, kubeadmRepo + "phases/certs/certlist.go, phases/certs/renewal/manager.go and phases/controlplane/manifests.go v1.35.4"}
	conf := func(name string) Ref { return file("/etc/kubernetes/" + name + ".conf") }
	return []Rotation{
		{Signer: inPKI("ca.crt"), Bundle: rootCA(), In: plain, Evidence: src, Targets: []Ref{
			inPKI("apiserver.crt"), inPKI("apiserver-kubelet-client.crt"), conf("admin"), conf("super-admin"), conf("controller-manager"), conf("scheduler"),
			file("/var/lib/kubelet/pki/kubelet-client-*.pem"), file("/var/lib/kubelet/pki/kubelet-server-*.pem"),
		}},
		{Signer: inPKI("front-proxy-ca.crt"), Bundle: publishedRequestHeaderCA(), Targets: []Ref{inPKI("front-proxy-client.crt")}, In: plain, Evidence: src},
		{Signer: inPKI("etcd/ca.crt"), Targets: []Ref{inPKI("etcd/server.crt"), inPKI("etcd/peer.crt"), inPKI("etcd/healthcheck-client.crt"), inPKI("apiserver-etcd-client.crt")}, In: plain, Evidence: src},
	}
}
