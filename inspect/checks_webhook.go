package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

const kindService = "Service"

// calledTrusted holds the CA bundles by which the API server calls Services
// against what these may show.
func calledTrusted(f *Facts) []Finding {
	called := map[pki.Location][]*Held{} // by Service: what it may show
	namespaces := map[string]bool{}
	for _, r := range f.Snapshot.References {
		if r.To.Kind == kindService {
			called[r.To] = nil
			namespaces[r.To.Namespace] = true
		}
	}
	bundles := map[pki.Location]*Held{}
	for i := range f.Held {
		h := &f.Held[i]
		if strings.HasSuffix(h.At.Field, ".caBundle") {
			bundles[h.At] = h
		}
		if h.At.Kind != "Secret" || !namespaces[h.At.Namespace] || h.Superseded || h.leaf() == nil {
			continue
		}
		for _, name := range h.leaf().Names.DNS {
			service := pki.Location{Kind: kindService, Namespace: h.At.Namespace, Name: strings.TrimSuffix(name, "."+h.At.Namespace+".svc")}
			if _, ok := called[service]; ok && service.Name != name {
				called[service] = append(called[service], h)
			}
		}
	}
	var out []Finding
	for _, r := range f.Snapshot.References {
		if r.To.Kind != kindService {
			continue
		}
		if finding, ok := f.callFails(r, bundles[r.From], called[r.To]); ok {
			out = append(out, finding)
		}
	}
	return out
}

// callFails judges one call: bundle is whom the API server trusts (nil: it names
// nobody), shown what the Service may show.
func (f *Facts) callFails(r Reference, bundle *Held, shown []*Held) (Finding, bool) {
	name := r.To.Name + "." + r.To.Namespace + ".svc"
	finding := Finding{Severity: Warning, At: []pki.Location{r.From}, Next: "have whoever keeps the CA bundle put the CA there that signs the Service's certificate (cert-manager's cainjector, service-ca's annotation, the operator), or restart it"}
	if bundle == nil {
		finding.Message = "names no CA for the Service " + name + ": the API server then trusts its system's CAs, none of which signs for a Service"
		return finding, true
	}
	if len(bundle.Content.Certs) == 0 || len(shown) > most {
		return finding, false // pem-readable says it; or nobody can tell which is shown
	}
	var why error
	certain := false
	for _, h := range shown {
		if why = pki.Verify(h.Content.Certs, bundle.Content.Certs, name, f.Now); why == nil {
			return finding, false
		}
		finding.At = append(finding.At, h.At)
		finding.Certs = append(finding.Certs, h.leaf().Fingerprint)
		certain = certain || injected(bundle) && (h.annotation(catalog.AnnotationServiceName) == r.To.Name || h.annotation(catalog.AnnotationServiceNameAlpha) == r.To.Name)
	}
	if why == nil {
		return finding, false // nothing is known of what it shows
	}
	certs := make([]*pki.Cert, 0, len(shown))
	for _, h := range shown {
		if !slices.Contains(certs, h.leaf()) {
			certs = append(certs, h.leaf())
		}
	}
	finding.Message = fmt.Sprintf("the CA bundle does not verify what the Service %s has to show, %s: %v", name, names(certs), why)
	if certain {
		finding.Severity = Critical
	} else {
		finding.Next = "see first what the Service's port shows (it may have a certificate of its own, in memory): if it is one of these, " + finding.Next
	}
	return finding, true
}

// injected reports whether service-ca keeps the bundle: then the Service shows what
// service-ca made for it.
func injected(bundle *Held) bool {
	return bundle.annotation(catalog.AnnotationInjectCABundle) != "" || bundle.annotation(catalog.AnnotationInjectCABundleAlpha) != ""
}
