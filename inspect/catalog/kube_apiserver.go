package catalog

// What kube-apiserver-operator puts together and copies from its own and
// others' certificates.

func kubeAPIServerPlaces() []Place {
	repo := "openshift/cluster-kube-apiserver-operator "
	combinedToo := Evidence{Verified, repo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go and pkg/cmd/certregenerationcontroller @ " + kasRead + secondRead}
	combined := Evidence{Verified, repo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ " + kasRead}
	synced := Evidence{Verified, repo + "pkg/operator/resourcesynccontroller/resourcesynccontroller.go @ " + kasRead}
	mounted := Evidence{Verified, repo + "pkg/operator/starter.go @ " + kasRead}
	all := Range{Component: kas}
	ca := func(at Ref, doc string, e Evidence) Place {
		return Place{Ref: at, Role: CABundle, Owner: kasOwner, Doc: doc, In: all, Evidence: e}
	}
	return []Place{
		ca(bundle(kasTarget, "kube-apiserver-server-ca"), "CAs with which clients verify kube-apiserver, except for certificates of APIServer spec.servingCerts", combined),
		ca(bundle(managed, "kube-apiserver-server-ca"), "published copy of openshift-kube-apiserver/kube-apiserver-server-ca: it belongs into kubelets' kubeconfigs, and administrators' unless api has a certificate of spec.servingCerts", synced),
		ca(bundle(kasTarget, "client-ca"), "CAs with which kube-apiserver verifies its clients", combinedToo).also(kasSecondWriter),
		ca(bundle(managed, "kube-apiserver-client-ca"), "published copy of openshift-kube-apiserver/client-ca: on nodes of 4.13 and later it becomes kubelet-ca.crt, with which kubelets verify their clients", synced),
		ca(bundle(kasTarget, "kubelet-serving-ca"), "kube-apiserver verifies kubelets' serving certificates with it", synced),
		ca(bundle(managed, "kubelet-serving-ca"), "published copy of openshift-kube-apiserver/kubelet-serving-ca, for clients that scrape kubelets", synced),
		ca(bundle(kasTarget, "aggregator-client-ca"), "published to extension API servers, which verify the front proxy with it", synced),
		ca(bundle(kasTarget, "etcd-serving-ca"), "kube-apiserver verifies etcd's serving certificates with it", synced),
		{Ref: secret(kasTarget, "etcd-client"), Role: Client, Owner: kasOwner, Doc: "kube-apiserver's client certificate for etcd, a copy", Lifetimes: etcdClient(), In: all, Evidence: synced},
		{Ref: bundle(kasTarget, "user-client-ca"), Role: CABundle, Owner: "user", Writer: kasOwner, Doc: "client CA that an administrator added by APIServer spec.clientCA, a copy", In: all,
			Evidence: Evidence{Verified, repo + "pkg/operator/configobservation/apiserver/observe_apiserver.go @ " + kasRead}},
		{Ref: secret(kasTarget, "user-serving-cert-*"), Role: Serving, Owner: "user", Writer: kasOwner, Doc: "an administrator's named serving certificate (APIServer spec.servingCerts), a copy", In: all, Evidence: mounted},
		{Ref: Ref{Kind: Secret, Namespace: kasTarget, Name: "node-kubeconfigs"}, Role: Kubeconfig, Owner: kasOwner, Doc: "the emergency administrator's kubeconfigs that lie on control plane nodes: localhost, localhost-recovery, lb-int, lb-ext", Lifetimes: systemAdmin(), In: all,
			Evidence: Evidence{Verified, repo + "pkg/operator/nodekubeconfigcontroller/nodekubeconfigcontroller.go @ " + kasRead}},
		{Ref: Ref{Kind: Secret, Namespace: kasTarget, Name: "localhost-recovery-client-token"}, Role: Token, Owner: kasOwner, Writer: "kube-controller-manager", Doc: "service account token for recovery, with the CA beside it", In: all, Evidence: mounted},
		{Ref: Ref{Kind: Secret, Namespace: kasTarget, Name: "webhook-authenticator", Key: "kubeConfig"}, Role: Kubeconfig, Owner: "authentication-operator", Writer: kasOwner, Doc: "how kube-apiserver asks the OAuth API server about tokens (Authentication spec.type None: an administrator's webhook), a copy", Lifetimes: authenticator(), In: all, Evidence: mounted},
		{Ref: Ref{Kind: Secret, Namespace: userConfig, Name: "webhook-authentication-integrated-oauth", Key: "kubeConfig"}, Role: Kubeconfig, Owner: "authentication-operator", Doc: "how kube-apiserver asks the OAuth API server about tokens; renewed only with Authentication spec.type IntegratedOAuth, the default", Lifetimes: authenticator(), In: all,
			Evidence: Evidence{Verified, repo + "pkg/operator/configobservation/auth/webhook_authenticator.go @ " + kasRead}},
		{Ref: bundle(userConfig, "admin-kubeconfig-client-ca"), Role: CABundle, Owner: "installer", Doc: "kube-apiserver accepts the installer's admin kubeconfig by it; replaced by hand only", In: all,
			Evidence: Evidence{Verified, repo + "bindata/bootkube/manifests/configmap-admin-kubeconfig-client-ca.yaml @ release-4.12 0217c88fb and 4.22 9c413cd4d; openshift/installer pkg/asset/tls/adminkubeconfig.go"}},
		{Ref: bundle(managed, "kubelet-bootstrap-kubeconfig"), Role: CABundle, Owner: "installer", Doc: "kube-apiserver accepts the first control plane nodes' bootstrap kubeconfig by it; valid 10 years, never rotated", In: all,
			Evidence: Evidence{Verified, repo + "bindata/bootkube/manifests/configmap-kubelet-bootstrap-kubeconfig-ca.yaml @ release-4.12 0217c88fb and 4.22 9c413cd4d; openshift/installer pkg/asset/tls/kubelet.go"}},
		vaultCA(Ref{Kind: Secret, Namespace: kasTarget, Name: "encryption-config"}, "kube-apiserver", kasOwner, kas, repo+"pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ release-4.23 and release-5.0 440392249"),
	}
}

// vaultCA is the place of the CAs with which a sidecar, the KMS plugin of an API server, verifies
// Vault. release-4.22 has no such sidecar.
func vaultCA(at Ref, server, owner, component, source string) Place {
	at.Key = "kms-plugin-configmap-*_ca-bundle.crt-*"
	return Place{
		Ref: at, Role: CABundle, Owner: owner, In: since(component, Minor{4, 23}),
		Doc:      "the KMS plugin of " + server + " verifies Vault with it (preview KMSEncryption); copied only with a new encryption key",
		Evidence: Evidence{Derived, source + "; openshift/library-go pkg/operator/encryption/controllers/key_controller.go (fetchReferencedResources, sameProviderInstance), encryptiondata/secret.go, kms/pluginlifecycle/vault.go @ 93ac9206a"},
	}
}

func kubeAPIServerAggregates() []Aggregate {
	repo := "openshift/cluster-kube-apiserver-operator "
	combined := Evidence{Verified, repo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ " + kasRead}
	synced := Evidence{Verified, repo + "pkg/operator/resourcesynccontroller/resourcesynccontroller.go @ " + kasRead}
	all := Range{Component: kas}
	duplicate := func(target, source Ref) Aggregate {
		return Aggregate{Target: target, Parts: []Ref{source}, Relation: Copy, In: all, Evidence: synced}
	}
	return []Aggregate{
		{
			Target: bundle(kasTarget, "kube-apiserver-server-ca"), Relation: Union, In: all, Evidence: combined,
			Parts: []Ref{
				bundle(kasOperator, "loadbalancer-serving-ca"),
				bundle(kasOperator, "localhost-serving-ca"),
				bundle(kasOperator, "service-network-serving-ca"),
				bundle(kasOperator, "localhost-recovery-serving-ca"),
			},
		},
		duplicate(bundle(managed, "kube-apiserver-server-ca"), bundle(kasTarget, "kube-apiserver-server-ca")),
		{
			Target: bundle(kasTarget, "client-ca"), Relation: Union, In: all, Evidence: combined,
			Parts: []Ref{
				bundle(userConfig, "admin-kubeconfig-client-ca"),
				bundle(managed, "csr-controller-ca"),
				bundle(kasOperator, "kube-apiserver-to-kubelet-client-ca"),
				bundle(kasOperator, "kube-control-plane-signer-ca"),
				bundle(kasTarget, "user-client-ca"),
				bundle(managed, "kubelet-bootstrap-kubeconfig"),
				bundle(kasOperator, "node-system-admin-ca"),
			},
		},
		duplicate(bundle(managed, "kube-apiserver-client-ca"), bundle(kasTarget, "client-ca")),
		duplicate(bundle(kasTarget, "kubelet-serving-ca"), bundle(managed, "csr-controller-ca")),
		duplicate(bundle(managed, "kubelet-serving-ca"), bundle(kasTarget, "kubelet-serving-ca")),
		duplicate(bundle(kasTarget, "aggregator-client-ca"), bundle(managed, "kube-apiserver-aggregator-client-ca")),
		duplicate(bundle(kasTarget, "etcd-serving-ca"), bundle(userConfig, "etcd-serving-ca")),
		duplicate(secret(kasTarget, "etcd-client"), secret(userConfig, "etcd-client")),
		{
			Target: Ref{Kind: Secret, Namespace: kasTarget, Name: "node-kubeconfigs"}, Relation: Union, In: all,
			Parts:    []Ref{bundle(kasTarget, "kube-apiserver-server-ca")},
			Evidence: Evidence{Verified, repo + "pkg/operator/nodekubeconfigcontroller/nodekubeconfigcontroller.go @ " + kasRead},
		},
	}
}
