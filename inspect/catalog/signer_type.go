package catalog

// SignerType is a row: what a version's operator does with a signer in a Secret
// of a type that is not kubernetes.io/tls. A Secret's type can't be changed.
type SignerType struct {
	Type  string
	Harms bool // somebody must act before it does
	Doc   string
	Next  string
	In    Range
	Evidence
}

// SignerTypes returns every row about types of signers' Secrets.
func SignerTypes() []SignerType {
	const literal = "SecretTypeTLS" // what old installers and operators wrote in the place of kubernetes.io/tls
	incident := Evidence{Verified, "openshift/library-go#1699 and d43b3a460 (ensureSecretTLSTypeSet), openshift/cluster-kube-apiserver-operator#1648 and #1662; " +
		"openshift/cincinnati-graph-data blocked-edges/4.15.*-EarlyAPICertRotation.yaml @ 13a38877a"}
	return []SignerType{
		{
			Type:     literal,
			Doc:      "harmless in this version, but operators of 4.15.0 to 4.15.9, and of OKD 4.15, delete such a Secret and make it anew, and with it a new CA: the incident of okd#1881",
			Next:     "upgrade past these versions: OpenShift 4.15.10 and 4.16 no longer do this",
			In:       Range{Component: kas, To: Minor{4, 14}},
			Evidence: incident,
		},
		{
			Type: literal, Harms: true,
			Doc:      "when its annotations change, as by a rotation, operators before OpenShift 4.15.10, and of OKD 4.15, delete it and make it anew, and another process may meanwhile make a second signer: the incident of okd#1881",
			Next:     "don't rotate this signer, unless OpenShift 4.15.10 or later runs: that, and 4.16, no longer do this",
			In:       between(kas, Minor{4, 15}, Minor{4, 15}),
			Evidence: incident,
		},
		{
			Type:     literal,
			Doc:      "this version's operators keep the signer when they give its Secret the right type",
			In:       since(kas, Minor{4, 16}),
			Evidence: Evidence{Verified, "openshift/library-go#1705 and #1710, openshift/cluster-kube-apiserver-operator#1659"},
		},
	}
}

// SignerTypeOf returns the row about a Secret's type that holds for v; No for
// types about which there is nothing to say.
func SignerTypeOf(secretType string, v Versions) (SignerType, Answer) {
	answer := No
	for _, row := range SignerTypes() {
		if row.Type != secretType {
			continue
		}
		switch row.In.Holds(v) {
		case Yes:
			return row, Yes
		case Unknown:
			answer = Unknown
		}
	}
	return SignerType{}, answer
}
