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
	case h.named && h.At.Kind == "ConfigMap": // all that the configuration names of these is whom to trust
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
