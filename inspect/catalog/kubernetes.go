package catalog

// What any Kubernetes has, kubeadm's PKI, and cert-manager.

func kubernetesPlaces() []Place {
	extension := Evidence{Verified, "kubernetes/kubernetes pkg/controlplane/controller/clusterauthenticationtrust/cluster_authentication_trust_controller.go (combinedClusterAuthenticationInfo, filterExpiredCerts) v1.35.4"}
	authentication := func(key, doc string) Place {
		return Place{Ref: Ref{Kind: ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: key}, Role: CABundle, Owner: "kube-apiserver", Doc: doc, Evidence: extension}
	}
	return []Place{
		authentication("client-ca-file", "extension API servers verify clients with it; a CA that kube-apiservers load no more stays until it expires"),
		authentication("requestheader-client-ca-file", "extension API servers verify the front proxy with it; a CA that kube-apiservers load no more stays until it expires"),
		{Ref: clusterInfo(), Role: Kubeconfig, Owner: "kubeadm", Doc: "what a joining node first sees of the cluster: address and CA, signed with the bootstrap tokens", In: Range{Component: Kubernetes},
			Evidence: Evidence{Verified, kubeadmRepo + "phases/bootstraptoken/clusterinfo/clusterinfo.go v1.35.4"}},
		{Ref: Ref{Kind: Secret, Namespace: "kube-system", Name: "bootstrap-token-*"}, Role: Token, Owner: "kubeadm", Doc: "a bootstrap token; holds no certificate",
			Evidence: Evidence{Field, "kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens"}},
		{Ref: Ref{Kind: Secret, Namespace: "kube-system", Name: "kubeadm-certs"}, Role: Signer, Owner: "kubeadm", In: Range{Component: Kubernetes},
			Doc:      "for joining control plane nodes: CAs with their keys, and the service accounts' signing key, encrypted; gone after two hours",
			Evidence: Evidence{Verified, kubeadmRepo + "phases/copycerts/copycerts.go (certsToTransfer, getSecretOwnerRef) and constants/constants.go (DefaultCertTokenDuration) v1.35.4"}},
	}
}

func kubeadmPlaces() []Place {
	src := Evidence{Verified, kubeadmRepo + "constants/constants.go (CertificateValidityPeriod, CACertificateValidityPeriod), phases/certs/certlist.go, phases/certs/renewal/manager.go (RenewUsingLocalCA), phases/kubeconfig/kubeconfig.go, apis/kubeadm/v1beta4/types.go v1.35.4; kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-certs"}
	plain := Range{Component: Kubernetes}
	ca := []Lifetime{{Validity: 10 * year, In: plain, Evidence: src, Doc: "nothing renews it",
		Detail: "that long by default (caCertificateValidityPeriod, from 1.31 on)"}}
	leaf := []Lifetime{{Validity: year, In: plain, Evidence: src, Doc: "renewed by `kubeadm upgrade` or `kubeadm certs renew` only",
		Detail: "that long by default (certificateValidityPeriod, from 1.31 on); neither renews it without its CA's key (an external CA); up to 1.30 an upgrade renews etcd's where etcd's manifest changes"}}
	place := func(path string, role Role, doc string, lives []Lifetime) Place {
		return Place{Ref: file(path), Role: role, Owner: "kubeadm", Doc: doc, Lifetimes: lives, In: plain, Evidence: src}
	}
	return []Place{
		place("/etc/kubernetes/pki/ca.crt", Signer, "the cluster's CA: what nodes, pods and administrators trust as API server, and what signs its clients", ca),
		place("/etc/kubernetes/pki/apiserver.crt", Serving, "served by kube-apiserver", leaf),
		place("/etc/kubernetes/pki/apiserver-kubelet-client.crt", Client, "kube-apiserver's certificate for calling kubelets", leaf),
		place("/etc/kubernetes/pki/apiserver-etcd-client.crt", Client, "kube-apiserver's client certificate for the etcd that kubeadm runs; kubeadm does not renew that for an external etcd", leaf),
		place("/etc/kubernetes/pki/front-proxy-ca.crt", Signer, "signs the front proxy's certificate", ca),
		place("/etc/kubernetes/pki/front-proxy-client.crt", Client, "with which kube-apiserver presents itself as front proxy to aggregated API servers", leaf),
		place("/etc/kubernetes/pki/etcd/ca.crt", Signer, "etcd's CA", ca),
		place("/etc/kubernetes/pki/etcd/server.crt", Serving, "served by etcd", leaf),
		place("/etc/kubernetes/pki/etcd/peer.crt", Peer, "one node's etcd, toward its peers", leaf),
		place("/etc/kubernetes/pki/etcd/healthcheck-client.crt", Client, "kubeadm's client certificate for etcd, used at join, reset and upgrade of control plane nodes", leaf),
		place("/etc/kubernetes/admin.conf", Kubeconfig, "the administrator's kubeconfig", leaf),
		place("/etc/kubernetes/super-admin.conf", Kubeconfig, "the kubeconfig of system:masters, since 1.29; only on the node where kubeadm init ran, or the upgrade to 1.29", leaf),
		place("/etc/kubernetes/controller-manager.conf", Kubeconfig, "kube-controller-manager's kubeconfig", leaf),
		place("/etc/kubernetes/scheduler.conf", Kubeconfig, "kube-scheduler's kubeconfig", leaf),
		place("/etc/kubernetes/kubelet.conf", Kubeconfig, "the kubelet's kubeconfig; its client certificate is in /var/lib/kubelet/pki", nil),
		place("/etc/kubernetes/bootstrap-kubelet.conf", Kubeconfig, "with which a joining kubelet asks for its client certificate; kubeadm join removes it: where it stays, a join was interrupted", nil),
	}
}

func certManagerPlaces() []Place {
	src := Evidence{Verified, "cert-manager/cert-manager pkg/util/pki/renewaltime.go, pkg/apis/certmanager/v1/types.go and pkg/apis/meta/v1/types.go @ 2d0d7f7f7; pkg/apis/certmanager/v1/types_certificate.go @ release-1.15, 1.16, 1.20 and 1.21; internal/controller/feature/features.go @ release-1.21; cert-manager.io/docs/usage/certificate"}
	lives := []Lifetime{{RenewAtPercent: 67, Renewer: "cert-manager", Evidence: src,
		Doc: "unless the Certificate says otherwise (spec.renewBefore, spec.renewBeforePercentage, spec.renewal), or its ACME server (gate ACMEUseARI)"}}
	place := func(key string, role Role, doc string, lives []Lifetime) Place {
		return Place{Ref: Ref{Kind: Secret, Key: key}, Selector: ObjectSelector{Annotation: AnnotationCertManager}, Role: role, Owner: "cert-manager", Doc: doc, Lifetimes: lives, Evidence: src}
	}
	issuers := place("ca.crt", CABundle, "the topmost CA of the chain that the issuer of a cert-manager Certificate returned", nil)
	issuers.Source = "cert-manager/cert-manager pkg/util/pki/parse_certificate_chain.go (toBundleAndCA), pkg/controller/certificates/issuing/internal/secret.go @ 2d0d7f7f7"
	return []Place{
		place("tls.crt", Serving, "certificate of a cert-manager Certificate, mostly a server's: see its spec.usages and spec.isCA", lives),
		issuers,
	}
}
