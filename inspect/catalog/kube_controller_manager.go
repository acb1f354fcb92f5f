package catalog

// kube-controller-manager-operator: the signers of certificate requests, and
// the bundle that every pod trusts as kube-apiserver.

const (
	kcm         = "kube-controller-manager" // ClusterOperator
	kcmOwner    = "kube-controller-manager-operator"
	kcmOperator = "openshift-kube-controller-manager-operator"
	kcmTarget   = "openshift-kube-controller-manager"
)

const (
	kcmRepo = "openshift/cluster-kube-controller-manager-operator "
	kcmRead = "release-4.12 c3c07bebb to release-4.22 95150ed5d, each branch, release-4.23 209d5915d, release-5.0 4e72164b8 (2026-11-26)"
)

// The cert-recovery-controller is the second writer, beside kube-controller-manager as beside kube-scheduler
// (pkg/cmd/recoverycontroller of each operator).
const (
	recoveryController = "cert-recovery-controller"
	kcmSecondWriter    = "the " + recoveryController + " beside kube-controller-manager"
)

func kubeControllerManagerPlaces() []Place {
	signed := Evidence{Verified, kcmRepo + "pkg/operator/certrotationcontroller/certrotationcontroller.go and pkg/cmd/recoverycontroller @ " + kcmRead + "; release-4.23 209d5915d"}
	combined := Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ " + kcmRead}
	synced := Evidence{Verified, kcmRepo + "pkg/operator/resourcesynccontroller/resourcesynccontroller.go @ " + kcmRead}
	// What the cert-recovery-controller writes, too.
	combinedToo := Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go and pkg/cmd/recoverycontroller @ " + kcmRead}
	syncedToo := Evidence{Verified, kcmRepo + "pkg/operator/resourcesynccontroller/resourcesynccontroller.go and pkg/cmd/recoverycontroller @ " + kcmRead}
	mounted := Evidence{Verified, kcmRepo + "pkg/operator/starter.go @ " + kcmRead}
	all := Range{Component: kcm}
	known := since(kcm, Minor{4, 12})
	ca := func(at Ref, doc string, e Evidence) Place {
		return Place{Ref: at, Role: CABundle, Owner: kcmOwner, Doc: doc, In: all, Evidence: e}
	}
	// Of csr-signer and its copy.
	signers := []Lifetime{rotated(kcmOwner, 30*day, 15*day, known, signed).with("never beyond the end of csr-signer-signer")}
	return []Place{
		{Ref: secret(kcmOperator, "csr-signer-signer"), Role: Signer, Owner: kcmOwner, SecondWriter: kcmSecondWriter + onceExpired, Doc: "signs csr-signer: the root of what kube-controller-manager issues by request", In: all, Evidence: signed,
			Lifetimes: []Lifetime{rotated(kcmOwner, 60*day, 30*day, known, signed).with("the installer's first one lives a day")}},
		ca(bundle(kcmOperator, "csr-controller-signer-ca"), "the certificates of csr-signer-signer", signed).also(kcmSecondWriter),
		{Ref: secret(kcmOperator, "csr-signer"), Role: Signer, Owner: kcmOwner, SecondWriter: kcmSecondWriter + onceExpired, Doc: "intermediate CA for certificate requests, waiting until it is trusted everywhere", In: all, Evidence: signed,
			Lifetimes: signers},
		ca(bundle(kcmOperator, "csr-signer-ca"), "unexpired certificates of csr-signer and of what signed it, present and past", combinedToo).also(kcmSecondWriter),
		{Ref: secret(kcmTarget, "csr-signer"), Role: Signer, Owner: kcmOwner, SecondWriter: kcmSecondWriter, Doc: "intermediate CA with which kube-controller-manager signs certificate requests, such as kubelets'; a copy", In: all, Evidence: combinedToo,
			Lifetimes: signers},
		ca(bundle(kcmOperator, "csr-controller-ca"), "trust anchors for certificates made by request", combinedToo).also(kcmSecondWriter),
		ca(bundle(managed, "csr-controller-ca"), "published copy of openshift-kube-controller-manager-operator/csr-controller-ca", syncedToo).also(kcmSecondWriter),
		ca(bundle(kcmTarget, "serviceaccount-ca"), "what kube-controller-manager publishes as kube-root-ca.crt and trusts itself; a change rolls out a new revision", combined),
		ca(bundle(kcmTarget, "client-ca"), "kube-controller-manager verifies its clients' certificates with it", synced),
		ca(bundle(kcmTarget, "aggregator-client-ca"), "kube-controller-manager verifies the front proxy's certificate with it", synced),
		ca(bundle(kcmTarget, "service-ca"), "the service CA that is put into service account token secrets", synced),
		{Ref: secret(kcmTarget, "kube-controller-manager-client-cert-key"), Role: Client, Owner: kcmOwner, SecondWriter: kcmSecondWriter, Doc: "kube-controller-manager's client certificate, a copy", Lifetimes: kasMonth(), In: all, Evidence: syncedToo},
		{Ref: Ref{Kind: Secret, Namespace: kcmTarget, Name: "localhost-recovery-client-token"}, Role: Token, Owner: kcmOwner, Writer: "kube-controller-manager", Doc: "service account token for recovery, with the CA beside it", In: all, Evidence: mounted},
	}
}

// CSRSigner is with what kube-controller-manager signs certificate requests. Once it
// fails to sign one that is approved, it tries again later and later, after up to 16 minutes
// (kubernetes/kubernetes pkg/controller/certificates/certificate_controller.go, the
// queue's exponential rate limiter up to 1000 s).
func CSRSigner() Ref { return secret(kcmTarget, "csr-signer") }

// CSRSignerSource is the original of CSRSigner.
func CSRSignerSource() Ref { return secret(kcmOperator, "csr-signer") }

func kubeControllerManagerRotations() []Rotation {
	src := Evidence{Verified, kcmRepo + "pkg/operator/certrotationcontroller/certrotationcontroller.go @ " + kcmRead + "; release-4.23 209d5915d"}
	return []Rotation{
		{Signer: secret(kcmOperator, "csr-signer-signer"), Bundle: bundle(kcmOperator, "csr-controller-signer-ca"),
			Targets: []Ref{secret(kcmOperator, "csr-signer")}, In: Range{Component: kcm}, Evidence: src},
		// csr-signer, in the copy that kube-controller-manager signs with: what it signs is renewed by
		// the kubelets themselves, within csr-signer's remaining validity.
		{Signer: secret(kcmTarget, "csr-signer"), Bundle: bundle(kcmOperator, "csr-signer-ca"),
			Targets: []Ref{file("/var/lib/kubelet/pki/kubelet-client-*.pem"), file("/var/lib/kubelet/pki/kubelet-server-*.pem")},
			Others: []Ref{
				secret("openshift-oauth-apiserver", "openshift-authenticator-certs"), {Kind: Secret, Namespace: userConfig, Name: "webhook-authentication-integrated-oauth", Key: "kubeConfig"},
				secret(monitoringTarget, "metrics-client-certs"), secret(monitoringTarget, "federate-client-certs"), secret(monitoringTarget, "metrics-server-client-certs"),
				file("/etc/cni/multus/certs/multus-client-*.pem"), file("/var/lib/ovn-ic/etc/ovnkube-node-certs/ovnkube-client-*.pem"),
			},
			Doc:      "each approved CertificateSigningRequest of the signers kubernetes.io/kube-apiserver-client, " + KubeletClientSigner + " and " + KubeletServingSigner,
			In:       Range{Component: kcm},
			Evidence: Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ " + kcmRead + "; bindata/assets/config/defaultconfig.yaml (cluster-signing-cert-file)"}},
	}
}

func kubeControllerManagerAggregates() []Aggregate {
	combined := Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ " + kcmRead}
	synced := Evidence{Verified, kcmRepo + "pkg/operator/resourcesynccontroller/resourcesynccontroller.go @ " + kcmRead}
	all := Range{Component: kcm}
	duplicate := func(target, source Ref) Aggregate {
		return Aggregate{Target: target, Parts: []Ref{source}, Relation: Copy, In: all, Evidence: synced}
	}
	return []Aggregate{
		{Target: bundle(kcmOperator, "csr-signer-ca"), Parts: []Ref{secret(kcmOperator, "csr-signer")}, Relation: Union, In: all, Evidence: combined},
		{Target: bundle(kcmOperator, "csr-controller-ca"), Relation: Union, In: all, Evidence: combined,
			Parts: []Ref{bundle(kcmOperator, "csr-signer-ca"), bundle(kcmOperator, "csr-controller-signer-ca")}},
		duplicate(bundle(managed, "csr-controller-ca"), bundle(kcmOperator, "csr-controller-ca")),
		{Target: bundle(kcmTarget, "serviceaccount-ca"), Relation: Union, In: all, Evidence: combined,
			Parts: []Ref{bundle(managed, "kube-apiserver-server-ca"), bundle(managed, "default-ingress-cert")}},
		duplicate(bundle(kcmTarget, "client-ca"), bundle(managed, "kube-apiserver-client-ca")),
		duplicate(bundle(kcmTarget, "aggregator-client-ca"), bundle(managed, "kube-apiserver-aggregator-client-ca")),
		duplicate(bundle(kcmTarget, "service-ca"), bundle(managed, "service-ca")),
		duplicate(secret(kcmTarget, "kube-controller-manager-client-cert-key"), secret(managed, "kube-controller-manager-client-cert-key")),
	}
}

// rootCA is the ConfigMap that every namespace has and every pod mounts.
func rootCA() Ref {
	return Ref{Kind: ConfigMap, Namespace: "*", Name: "kube-root-ca.crt", Key: "ca.crt"}
}

func rootCAPlaces() []Place {
	src := Evidence{Verified, "kubernetes/kubernetes pkg/controller/certificates/rootcacertpublisher/publisher.go"}
	return []Place{
		{Ref: rootCA(), Role: CABundle, Owner: "kube-controller-manager", In: Range{Component: kcm}, Evidence: src,
			Doc: "what pods trust as kube-apiserver: serviceaccount-ca as of kube-controller-manager's start; put back when edited"},
		{Ref: rootCA(), Role: CABundle, Owner: "kube-controller-manager", In: Range{Component: Kubernetes}, Evidence: src,
			Doc: "what pods trust as kube-apiserver: kube-controller-manager's --root-ca-file, else its kubeconfig's CA, as of its start; put back when edited"},
		{Ref: Ref{Kind: Secret, Key: "ca.crt"}, Selector: ObjectSelector{Type: "kubernetes.io/service-account-token"}, Role: Token, Owner: "kube-controller-manager", Doc: "a service account's token, with what to trust as kube-apiserver beside it",
			Evidence: Evidence{Field, "kubernetes/kubernetes pkg/controller/serviceaccount/tokens_controller.go"}},
		{Ref: Ref{Kind: Secret, Key: "service-ca.crt"}, Selector: ObjectSelector{Type: "kubernetes.io/service-account-token"}, Role: CABundle, Owner: "kube-controller-manager", Doc: "all of ca.crt, then the service CA, put beside a service account's token", In: Range{Component: kcm},
			Evidence: Evidence{Derived, kcmRepo + "pkg/operator/configobservation/serviceca/observeserviceca.go @ " + kcmRead + "; openshift/kubernetes pkg/controller/serviceaccount/tokens_controller.go @ 4144a50c5 (serviceServingCA)"}},
	}
}

func rootCAAggregates() []Aggregate {
	return []Aggregate{
		{Target: rootCA(), Parts: []Ref{bundle(kcmTarget, "serviceaccount-ca")}, Relation: Copy, In: Range{Component: kcm},
			Evidence: Evidence{Verified, kcmRepo + "bindata/assets/config/defaultconfig.yaml (root-ca-file) @ " + kcmRead + "; kubernetes/kubernetes pkg/controller/certificates/rootcacertpublisher/publisher.go"}},
	}
}
