package catalog

// keyChoice is a row: an operator takes algorithm and size of the keys that it makes from the
// object PKI cluster. It decides nothing: each certificate says which key it has.
type keyChoice struct {
	Owner string
	Certs []Ref // whose keys are made so
	Doc   string
	In    Range
	Evidence
}

// keyChoices returns every row about who makes keys as PKI says. The other operators make
// them as before.
func keyChoices() []keyChoice {
	var apiServers, networks []Ref
	for _, r := range kubeAPIServerRotations() {
		apiServers = append(append(apiServers, r.Signer), r.Targets...)
	}
	for _, r := range networkRotations() {
		networks = append(append(networks, r.Signer), r.Targets...)
	}
	return []keyChoice{
		{Owner: serviceCAOwner, Certs: []Ref{secret(serviceCATarget, "signing-key")}, Doc: "and the serving certificates of Services that it signs", In: since(serviceCA, Minor{4, 22}),
			Evidence: Evidence{Verified, "openshift/service-ca-operator pkg/operator/sync_common.go, rotate.go, pkg/controller/servingcert/controller/serving_cert_issuer.go @ release-4.22 9fff46a57 and 6391e070d, not in release-4.21"}},
		{Owner: kcmOwner, Certs: []Ref{secret(kcmOperator, "csr-signer-signer"), secret(kcmOperator, "csr-signer")}, Doc: "and its copy in " + kcmTarget + "; a kubelet makes its own key", In: since(kcm, Minor{4, 22}),
			Evidence: Evidence{Verified, kcmRepo + "pkg/operator/certrotationcontroller/certrotationcontroller.go @ release-4.22 95150ed5d, not in release-4.21 395de9670"}},
		{Owner: kasOwner, Certs: apiServers, In: since(kas, Minor{4, 23}),
			Evidence: Evidence{Verified, "openshift/cluster-kube-apiserver-operator pkg/operator/certrotationcontroller/certrotationcontroller.go @ release-4.23 and release-5.0 440392249, not in release-4.22 9c413cd4d"}},
		{Owner: mcoOwner, Certs: []Ref{secret(mcoTarget, "machine-config-server-ca"), secret(mcoTarget, "machine-config-server-tls")}, In: since(mco, Minor{4, 23}),
			Evidence: Evidence{Verified, mcoRepo + "pkg/controller/certrotation/certrotation_controller.go @ release-4.23 and release-5.0 d20efd9b9, not in release-4.22 9027c94cd"}},
		{Owner: networkOwner, Certs: networks, In: since(network, Minor{4, 23}),
			Evidence: Evidence{Verified, networkRepo + "pkg/controller/pki/pki_controller.go @ release-4.23 and release-5.0 7c93f33c7, not in release-4.22 6a5fcccf8"}},
		{Owner: monitoringOwner, Certs: []Ref{{Kind: Secret, Namespace: monitoringTarget, Name: "grpc-tls"}}, Doc: "its CA, once made, keeps its key", In: since(monitoring, Minor{4, 23}),
			Evidence: Evidence{Verified, monitoringRepo + "pkg/manifests/tls.go (RotateGRPCSecret) @ release-4.23 and release-5.0 a360f0b31, not in release-4.22 5e1f02a52"}},
	}
}
