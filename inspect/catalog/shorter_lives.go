package catalog

// shorterLives is a row: what makes the certificates of an operator live shorter than their
// places say. It decides nothing: each certificate says when it expires.
type shorterLives struct {
	Owner  string
	By     string // the setting
	Effect string // for people
	In     Range
	Evidence
}

// The settings. The ConfigMap is read once, when the operator or its recovery controller starts;
// from 4.19 on a feature gate takes its place.
const (
	rotationBase      = "key base of ConfigMap openshift-config/unsupported-cert-rotation-config"
	shortCertRotation = "feature gate ShortCertRotation"
)

// shorterLivesRows returns every row about that.
func shorterLivesRows() []shorterLives {
	const (
		kasRotates  = "openshift/cluster-kube-apiserver-operator pkg/operator/certrotationcontroller/certrotationcontroller.go"
		kcmRotates  = kcmRepo + "pkg/operator/certrotationcontroller/certrotationcontroller.go"
		base        = " and vendored library-go pkg/operator/certrotation/config.go (GetCertRotationScale)"
		upgradeable = "; pkg/operator/certrotationtimeupgradeablecontroller @ release-4.12 0217c88fb to release-4.22 9c413cd4d, release-5.0 440392249 (2026-11-26)"
		to418       = "what lives 30 days lives 30 times base, which is 24h at most, and is renewed at half of it; other signers stay. "
		refuses     = "Not Upgradeable while base is set (CertRotationTimeUpgradeable)"
	)
	return []shorterLives{
		{Owner: kasOwner, By: rotationBase, Effect: to418 + refuses, In: between(kas, Minor{4, 12}, Minor{4, 18}),
			Evidence: Evidence{Verified, kasRotates + base + ", pkg/operator/starter.go and pkg/cmd/certregenerationcontroller/cmd.go @ release-4.12 0217c88fb, 4.15, 4.17, 4.18 e9bc90906" + upgradeable}},
		{Owner: kasOwner, By: rotationBase, Effect: "nothing lives shorter. " + refuses, In: since(kas, Minor{4, 19}),
			Evidence: Evidence{Verified, "openshift/cluster-kube-apiserver-operator pkg/operator/starter.go without GetCertRotationScale @ release-4.19 1b4840343" + upgradeable}},
		{Owner: kasOwner, By: shortCertRotation, Effect: "periods of 30 days become 2h, of 292 days 150min, of 365 days 3h, and their multiples with them; ten years stay", In: since(kas, Minor{4, 19}),
			Evidence: Evidence{Verified, kasRotates + " @ release-4.19 1b4840343 to release-4.22 9c413cd4d, release-4.23 and release-5.0 440392249; not in release-4.18 e9bc90906 (2026-11-26)"}},
		{Owner: kcmOwner, By: rotationBase, Effect: "csr-signer-signer lives 60 times base, csr-signer 30 times base, which is 24h at most, and both are renewed at half of it", In: between(kcm, Minor{4, 12}, Minor{4, 19}),
			Evidence: Evidence{Verified, kcmRotates + base + ", pkg/operator/starter.go and pkg/cmd/recoverycontroller/cmd.go @ release-4.12 c3c07bebb, 4.15, 4.17, 4.18, 4.19 7c4e44698; not in release-4.20 438c9dba8 (2026-11-26)"}},
		{Owner: kcmOwner, By: shortCertRotation, Effect: "csr-signer-signer lives 4h, csr-signer 2h", In: since(kcm, Minor{4, 20}),
			Evidence: Evidence{Verified, kcmRotates + " @ release-4.20 438c9dba8, 4.21 395de9670, 4.22 95150ed5d, 4.23 209d5915d; not in release-4.19 7c4e44698 (2026-11-26)"}},
		{Owner: etcdOwner, By: shortCertRotation, Effect: "signers live 4h, and are renewed at 3h; what they sign lives 2h, and is renewed at 90min", In: since(etcd, Minor{4, 20}),
			Evidence: Evidence{Verified, "openshift/cluster-etcd-operator pkg/operator/etcdcertsigner/etcdcertsignercontroller.go @ release-4.20 9acf049b2, 4.22 bba8f344c, 5.0 b4786ae33; not in release-4.19 024f8af51 (2026-11-26)"}},
		{Owner: serviceCAOwner, By: shortCertRotation, Effect: "the CA lives 150min, and is renewed at less than 75min; serving certificates live 2h, and are renewed in the last one", In: since(serviceCA, Minor{4, 19}),
			Evidence: Evidence{Verified, "openshift/service-ca-operator pkg/operator/starter.go and pkg/controller/servingcert/starter/starter.go @ release-4.19 4dfa6916f, 4.20 37e0c3179, 4.22 9fff46a57, 5.0 6391e070d (2026-11-26)"}},
		{Owner: networkOwner, By: shortCertRotation, Effect: "what the CA of an OperatorPKI signs lives 2h, what signer network.openshift.io/signer signs 3h; the CAs are left as they are", In: since(network, Minor{4, 20}),
			Evidence: Evidence{Verified, networkRepo + "pkg/controller/pki/pki_controller.go and pkg/controller/signer/signer-controller.go @ release-4.20 e39d57bde, 4.22 6a5fcccf8, 5.0 7c93f33c7; not in release-4.19 d0c6f75e0 (2026-11-26)"}},
	}
}
