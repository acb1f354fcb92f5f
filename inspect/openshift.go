package inspect

import (
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// The kinds of OpenShift whose places are fields.
const (
	kindRoute            = "Route"
	kindControllerConfig = "ControllerConfig"
	kindMachineConfig    = "MachineConfig"
	kindPool             = "MachineConfigPool"
	// Kubernetes' own where it has a namespace, else the configuration of OpenShift's.
	kindIngress = "Ingress"
)

// The fields of a Route's certificate and its key, which belong there.
const (
	routeCertificate = "spec.tls.certificate"
	routeKey         = "spec.tls.key"
)

// ignitionFile begins the field of a file in a MachineConfig; its path follows, in
// brackets.
const ignitionFile = "spec.config.storage.files["

// fileIn returns the path of the file in a MachineConfig that a place is in.
func fileIn(at pki.Location) (string, bool) {
	rest, ok := strings.CutPrefix(at.Field, ignitionFile)
	path, _, closed := strings.Cut(rest, "]")
	return path, ok && closed && at.Kind == kindMachineConfig
}

// fieldUse tells what fields are for whose kind says it.
func fieldUse(at pki.Location) (Use, bool) {
	switch at.Kind {
	case "CertificateSigningRequest":
		return UseRecord, true
	case kindRoute:
		if at.Field == routeCertificate || at.Field == routeKey {
			return UseIdentity, true
		}
		return UseTrust, true
	case kindControllerConfig:
		return UseTrust, true
	case kindMachineConfig:
		return UseTrust, strings.HasPrefix(at.Field, "spec.config.ignition.security.tls.certificateAuthorities[")
	}
	return UseOther, false
}

// refs is what the snapshot's references lead to.
type refs struct {
	to    map[pki.Location]bool // objects
	pools map[string]bool       // those that were read
}

func refsOf(references []Reference) refs {
	r := refs{to: map[pki.Location]bool{}, pools: map[string]bool{}}
	for _, ref := range references {
		r.to[object(ref.To)] = true
		if ref.From.Kind == kindPool {
			r.pools[ref.From.Name] = true
		}
	}
	return r
}

// names reports whether a place is in an object that the cluster's configuration
// names.
func (r refs) names(at pki.Location) bool { return len(r.to) > 0 && r.to[object(at)] }

// object is the object that a place is in.
func object(at pki.Location) pki.Location {
	at.Key, at.Field = "", ""
	return at
}

// unused reports whether a place is in a MachineConfig that was rendered for a
// pool which uses others, now and before its update.
func (r refs) unused(at pki.Location) bool {
	if at.Kind != kindMachineConfig {
		return false
	}
	pool, ok := catalog.RenderedPool(at.Name)
	return ok && r.pools[pool] && !r.names(at)
}
