package inspect

import (
	"fmt"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

const kindService = "Service"

// ServiceCall is a Service that the API server calls, and beside its name whom it trusts.
type ServiceCall struct {
	Reference
	Name      string   // for which the Service's certificate must be valid
	Bundle    *Entry   // whom the API server trusts; nil: nobody is named
	Presented []*Entry // what was read that the Service may show; nil: nothing, or too much to tell
	// Trusted is the first of these that the bundle verifies; nil: it verifies none,
	// and Problem says why, where there is something to verify.
	Trusted *Entry
	Problem error
	// ByServiceCA: service-ca keeps both the bundle and one of these, so that this is what
	// the Service shows.
	ByServiceCA bool
}

// ServiceCalls returns every call of the API server to a Service, in the order of what
// names it.
func (f *Facts) ServiceCalls() []ServiceCall {
	called := map[pki.Location][]*Entry{} // by Service: what it may show
	namespaces := map[string]bool{}
	for _, r := range f.Snapshot.References {
		if r.To.Kind == kindService {
			called[r.To] = nil
			namespaces[r.To.Namespace] = true
		}
	}
	bundles := map[pki.Location]*Entry{}
	for i := range f.Entries {
		h := &f.Entries[i]
		if strings.HasSuffix(h.At.Field, ".caBundle") {
			bundles[h.At] = h
		}
		if h.At.Kind != "Secret" || !namespaces[h.At.Namespace] || h.Superseded || h.Leaf() == nil {
			continue
		}
		for _, name := range h.Leaf().Names.DNS {
			service := pki.Location{Kind: kindService, Namespace: h.At.Namespace, Name: strings.TrimSuffix(name, "."+h.At.Namespace+".svc")}
			if _, ok := called[service]; ok && service.Name != name {
				called[service] = append(called[service], h)
			}
		}
	}
	var out []ServiceCall
	for _, r := range f.Snapshot.References {
		if r.To.Kind == kindService {
			out = append(out, f.call(r, bundles[r.From], called[r.To]))
		}
	}
	return out
}

// call judges one call.
func (f *Facts) call(r Reference, bundle *Entry, presented []*Entry) ServiceCall {
	c := ServiceCall{Reference: r, Name: r.To.Name + "." + r.To.Namespace + ".svc", Bundle: bundle}
	if bundle == nil || len(bundle.Content.Certs) == 0 || len(presented) > MaxSameName {
		return c // pem-readable speaks of what is no certificate; of too many nobody can tell which is shown
	}
	c.Presented = presented
	roots, skipped := bundle.Content.LoadedBy(pki.ReaderGo)
	for _, h := range presented {
		err := pki.Verify(h.Content.Certs, roots, c.Name, f.Now)
		if err == nil {
			c.Trusted, c.Problem = h, nil
			return c
		}
		c.Problem = err
		if n, _ := pki.Needed(skipped, h.Content.Certs, func(ca *pki.Cert) bool {
			return pki.Verify(h.Content.Certs, []*pki.Cert{ca}, c.Name, f.Now) == nil
		}); n != nil {
			c.Problem = fmt.Errorf("%w; %s", err, n)
		}
		c.ByServiceCA = c.ByServiceCA || injected(bundle) && (h.Annotation(catalog.AnnotationServiceName) == r.To.Name || h.Annotation(catalog.AnnotationServiceNameAlpha) == r.To.Name)
	}
	return c
}

// injected reports whether service-ca keeps the bundle: then the Service shows what
// service-ca made for it.
func injected(bundle *Entry) bool {
	return bundle.Annotation(catalog.AnnotationInjectCABundle) != "" || bundle.Annotation(catalog.AnnotationInjectCABundleAlpha) != ""
}
