package catalog

import (
	"strconv"
	"strings"
	"time"
)

// What is known of okd#1881 beyond a version's other rows: who made the load
// balancer's signer, and which clusters lost it early.

// SignerName is a row: who gives the load balancer's signer this name.
type SignerName struct {
	Name      string // the common name; one that ends in @ is followed by the Unix time at which it was made
	CreatedBy string // for people
	// ByInstaller: it is the installer's, which no operator makes twice.
	ByInstaller bool
	Evidence
}

// signerNames returns every row about names of the load balancer's signer.
func signerNames() []SignerName {
	return []SignerName{
		{Name: "kube-apiserver-lb-signer", CreatedBy: "the installer", ByInstaller: true, Evidence: Evidence{Verified, "openshift/installer pkg/asset/tls/apiserver.go @ 04918c54a (KubeAPIServerLBSignerCertKey)"}},
		{Name: "openshift-kube-apiserver-operator_loadbalancer-serving-signer@", CreatedBy: kasOwner,
			Evidence: Evidence{Verified, "openshift/library-go pkg/operator/certrotation/signer.go (setSigningCertKeyPairSecret) @ 93ac9206a"}},
	}
}

// SignerNamed returns the row of the load balancer's signer by its common name, and
// when it was made, as far as the name says it; false for another name.
func SignerNamed(cn string) (SignerName, time.Time, bool) {
	for _, n := range signerNames() {
		if n.ByInstaller && cn == n.Name {
			return n, time.Time{}, true
		}
		unix, found := strings.CutPrefix(cn, n.Name)
		if at, err := strconv.ParseInt(unix, 10, 64); !n.ByInstaller && found && err == nil {
			return n, time.Unix(at, 0).UTC(), true
		}
	}
	return SignerName{}, time.Time{}, false
}

// InitialVersion is a row: what is known of clusters that were born with some versions.
type InitialVersion struct {
	To  Minor // and with earlier ones
	Doc string
	Evidence
}

// EarlySignerRotation is the row about clusters that lose their first signer early.
func EarlySignerRotation() InitialVersion {
	return InitialVersion{
		To:  Minor{4, 7},
		Doc: "the update to 4.15, before 4.15.10, may replace the load balancer's signer of clusters born with 4.7 or earlier",
		Evidence: Evidence{Verified, "openshift/cincinnati-graph-data blocked-edges/4.15.*-EarlyAPICertRotation.yaml @ 13a38877a; " +
			"openshift/library-go#1699"},
	}
}
