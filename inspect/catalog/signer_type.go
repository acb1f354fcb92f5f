package catalog

// SignerType is a row: what a version's operator does with a signer in a Secret
// of a type that is not kubernetes.io/tls. A Secret's type can't be changed, but OpenShift's kube-apiserver
// from 4.15.10 on lets these Secrets become kubernetes.io/tls (openshift/kubernetes#1924 and #1939).
type SignerType struct {
	Type        string
	NeedsAction bool // an administrator must act before it does
	// ReplacedByRotation: as long as nothing rotates it, its operator leaves it alone; a rotation
	// deletes the Secret.
	ReplacedByRotation bool
	Doc                string
	Next               string
	In                 Range
	Evidence
}

// signerTypes returns every row about types of signers' Secrets.
func signerTypes() []SignerType {
	const literal = "SecretTypeTLS" // what old installers and operators wrote in the place of kubernetes.io/tls
	incident := Evidence{Verified, "openshift/library-go#1699 and d43b3a460 (ensureSecretTLSTypeSet), openshift/cluster-kube-apiserver-operator#1648 and #1662; " +
		"openshift/cincinnati-graph-data blocked-edges/4.15.*-EarlyAPICertRotation.yaml @ 13a38877a"}
	kept := Change{Lacks: 9, Has: 10, Merged: "2024-04-09"}
	in415 := between(kas, Minor{4, 15}, Minor{4, 15})
	return []SignerType{
		{
			Type: literal, ReplacedByRotation: true,
			Doc:  "a rotation deletes it and creates it again, as operators of 4.15.0 to 4.15.9 and of OKD 4.15 do without one: a second signer may be made (okd#1881)",
			Next: "upgrade past these versions: OpenShift from 4.15.10 on and OKD from 4.16 on no longer do this",
			In:   Range{Component: kas, To: Minor{4, 14}},
			Evidence: Evidence{Verified, incident.Source + "; openshift/cluster-kube-apiserver-operator vendor/github.com/openshift/library-go/pkg/operator/certrotation/signer.go (ensureSigningCertKeyPair) and resource/resourceapply/core.go (ApplySecret) @ " +
				"release-4.12 0217c88fb to release-4.14 67e982f05"},
		},
		{
			Type: literal, NeedsAction: true,
			Doc:      "when its annotations change, as by a rotation, its operator deletes it and creates it again: a second signer may be made (okd#1881)",
			Next:     "don't rotate this signer; first upgrade: OpenShift from 4.15.10 on and OKD from 4.16 on no longer do this",
			In:       in415.before(kept),
			Evidence: incident,
		},
		{
			Type:     literal,
			Doc:      "operators of OpenShift 4.15.10 and later keep the signer when they give its Secret the right type",
			In:       in415.since(kept),
			Evidence: Evidence{Verified, "openshift/cluster-kube-apiserver-operator#1662 (release-4.15 f5c5a609f, 2024-04-09); openshift/cincinnati-graph-data blocked-edges/4.15.*-EarlyAPICertRotation.yaml @ 13a38877a (fixed in 4.15.10)"},
		},
		{
			Type: literal,
			Doc:  "this version's operators keep the signer when they give its Secret the right type",
			In:   since(kas, Minor{4, 16}),
			Evidence: Evidence{Verified, "openshift/library-go#1705 and #1710, openshift/cluster-kube-apiserver-operator#1659; its vendor/github.com/openshift/library-go/pkg/operator/certrotation/signer.go (EnsureSigningCertKeyPair) @ " +
				"release-4.16 d0b79035d to release-4.22 9c413cd4d: it updates the Secret, and never deletes it"},
		},
	}
}

// SignerTypeOf returns the row about a Secret's type that holds for v; No for
// types about which there is nothing to say.
func SignerTypeOf(secretType string, v Versions) (SignerType, Tristate) {
	answer := No
	for _, row := range signerTypes() {
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
