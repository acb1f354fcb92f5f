package inspect

import (
	"path"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// useOf tells what a place is for: by the name of the value first (a serving
// secret has a ca.crt beside its tls.crt), then by the catalog, then by what
// it holds.
func useOf(h *Entry) Use {
	if use, ok := fieldUse(h.At); ok {
		return use
	}
	switch {
	case namesTrust(h.At):
		return UseTrust
	case namesIdentity(h.At) && (h.Row == nil || h.Row.Role != catalog.CABundle):
		return UseIdentity
	}
	if h.Row != nil {
		switch h.Row.Role {
		case catalog.CABundle:
			return UseTrust
		case catalog.Signer, catalog.Serving, catalog.Client, catalog.Peer:
			return UseIdentity
		}
	}
	if h.Object != nil && h.Object.Labels[catalog.LabelManagedType] == catalog.ManagedCABundle {
		return UseTrust
	}
	c := h.Content
	switch {
	case len(c.Certs) == 0:
		return UseOther
	case h.named && h.At.Kind == "ConfigMap": // all that the configuration names of these is which CAs to trust
		return UseTrust
	case len(c.Keys) > 0, !c.Certs[0].IsCA:
		return UseIdentity
	case !slices.ContainsFunc(c.Certs, func(c *pki.Cert) bool { return !c.IsCA }):
		return UseTrust
	}
	return UseOther
}

// namesTrust knows the names under which CA bundles are kept, in Kubernetes'
// API and by wide custom.
func namesTrust(at pki.Location) bool {
	if strings.HasSuffix(at.Field, "certificate-authority-data") || strings.HasSuffix(at.Field, "caBundle") ||
		strings.HasSuffix(at.Field, "certificate-authority") {
		return true
	}
	name := strings.ToLower(at.Key)
	if at.Kind == pki.KindFile {
		name = strings.ToLower(path.Base(at.Path))
	} else if file, ok := FileIn(at); ok && strings.HasSuffix(at.Field, "]") {
		name = strings.ToLower(path.Base(file))
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(name, ".crt"), ".pem")
	return stem != name && (stem == "ca" || strings.HasSuffix(stem, "-ca") || strings.Contains(stem, "ca-bundle")) || name == "ca-bundle" || name == "client-ca-file" || name == "requestheader-client-ca-file"
}

func namesIdentity(at pki.Location) bool {
	return at.Key == "tls.crt" || strings.HasSuffix(at.Field, "client-certificate-data") || strings.HasSuffix(at.Field, "client-certificate")
}

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
