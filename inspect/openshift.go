package inspect

import (
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// The kinds of OpenShift whose places are fields.
const (
	KindRoute            = "Route"
	KindControllerConfig = "ControllerConfig"
	KindMachineConfig    = "MachineConfig"
	KindPool             = "MachineConfigPool"
	// Kubernetes' own where it has a namespace, else the configuration of OpenShift's.
	KindIngress = "Ingress"
)

// The fields of a Route's certificate and its key, which belong there.
const (
	RouteCertificate = "spec.tls.certificate"
	RouteKey         = "spec.tls.key"
)

// IgnitionFile begins the field of a file in a MachineConfig; its path follows, in
// brackets.
const IgnitionFile = "spec.config.storage.files["

// FileIn returns the path of the file in a MachineConfig that a place is in.
func FileIn(at pki.Location) (string, bool) {
	rest, ok := strings.CutPrefix(at.Field, IgnitionFile)
	path, _, closed := strings.Cut(rest, "]")
	return path, ok && closed && at.Kind == KindMachineConfig
}

// fieldUse tells what fields are for whose kind says it.
func fieldUse(at pki.Location) (Use, bool) {
	switch at.Kind {
	case KindServer:
		return UseIdentity, true
	case "CertificateSigningRequest":
		return UseRecord, true
	case KindRoute:
		if at.Field == RouteCertificate || at.Field == RouteKey {
			return UseIdentity, true
		}
		return UseTrust, true
	case KindControllerConfig:
		return UseTrust, true
	case KindMachineConfig:
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
		r.to[ObjectAt(ref.To)] = true
		if ref.From.Kind == KindPool {
			r.pools[ref.From.Name] = true
		}
	}
	return r
}

// names reports whether a place is in an object that the cluster's configuration
// names.
func (r refs) names(at pki.Location) bool { return len(r.to) > 0 && r.to[ObjectAt(at)] }

// ObjectAt is the object that a place is in.
func ObjectAt(at pki.Location) pki.Location {
	at.Key, at.Field = "", ""
	return at
}

// unused reports whether a place is in a MachineConfig that was rendered for a
// pool which uses others, now and before its update.
func (r refs) unused(at pki.Location) bool {
	if at.Kind != KindMachineConfig {
		return false
	}
	pool, ok := catalog.RenderedPool(at.Name)
	return ok && r.pools[pool] && !r.names(at)
}
