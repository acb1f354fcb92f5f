package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

const kindService = "Service"

// Call is a Service that the API server calls, and beside its name whom it trusts.
type Call struct {
	Reference
	Name   string  // for which the Service's certificate must be valid
	Bundle *Held   // whom the API server trusts; nil: nobody is named
	Shown  []*Held // what was read that the Service may show; nil: nothing, or too much to tell
	// Trusted is the first of these that the bundle verifies; nil: it verifies none,
	// and Why says why, where there is something to verify.
	Trusted *Held
	Why     error
	// Certain: service-ca keeps both the bundle and one of these, so that this is what
	// the Service shows.
	Certain bool
}

// Calls returns every call of the API server to a Service, in the order of what
// names it.
func (f *Facts) Calls() []Call {
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
	var out []Call
	for _, r := range f.Snapshot.References {
		if r.To.Kind == kindService {
			out = append(out, f.call(r, bundles[r.From], called[r.To]))
		}
	}
	return out
}

// call judges one call.
func (f *Facts) call(r Reference, bundle *Held, shown []*Held) Call {
	c := Call{Reference: r, Name: r.To.Name + "." + r.To.Namespace + ".svc", Bundle: bundle}
	if bundle == nil || len(bundle.Content.Certs) == 0 || len(shown) > most {
		return c // pem-readable speaks of what is no certificate; of too many nobody can tell which is shown
	}
	c.Shown = shown
	roots, skipped := bundle.Content.LoadedBy(pki.ReaderGo)
	for _, h := range shown {
		err := pki.Verify(h.Content.Certs, roots, c.Name, f.Now)
		if err == nil {
			c.Trusted, c.Why = h, nil
			return c
		}
		c.Why = err
		if n := pki.Needed(skipped, func(ca *pki.Cert) bool {
			return pki.Verify(h.Content.Certs, []*pki.Cert{ca}, c.Name, f.Now) == nil
		}); n != nil {
			c.Why = fmt.Errorf("%w; %s", err, n)
		}
		c.Certain = c.Certain || injected(bundle) && (h.annotation(catalog.AnnotationServiceName) == r.To.Name || h.annotation(catalog.AnnotationServiceNameAlpha) == r.To.Name)
	}
	return c
}

// calledTrusted holds the CA bundles by which the API server calls Services
// against what these may show.
func calledTrusted(f *Facts) []Finding {
	var out []Finding
	for _, c := range f.Calls() {
		switch {
		case c.Bundle == nil:
			finding := callFinding(c)
			finding.Message = "names no CA for the Service " + c.Name + ": the API server then trusts its system's CAs, none of which signs for a Service"
			out = append(out, finding)
		case c.Why != nil:
			out = append(out, callFails(c))
		}
	}
	return out
}

func callFinding(c Call) Finding {
	return Finding{Severity: Warning, At: []pki.Location{c.From}, Next: "have whoever keeps the CA bundle put the CA there that signs the Service's certificate (cert-manager's cainjector, service-ca's annotation, the operator), or restart it"}
}

// callFails is the finding about a call that its bundle verifies nothing for.
func callFails(c Call) Finding {
	finding := callFinding(c)
	var certs []*pki.Cert
	for _, h := range c.Shown {
		finding.At = append(finding.At, h.At)
		finding.Certs = append(finding.Certs, h.leaf().Fingerprint)
		if !slices.Contains(certs, h.leaf()) {
			certs = append(certs, h.leaf())
		}
	}
	finding.Message = fmt.Sprintf("the CA bundle does not verify what the Service %s has to show, %s: %v", c.Name, names(certs), c.Why)
	if c.Certain {
		finding.Severity = Critical
	} else {
		finding.Next = "see first what the Service's port shows (it may have a certificate of its own, in memory): if it is one of these, " + finding.Next
	}
	return finding
}

// injected reports whether service-ca keeps the bundle: then the Service shows what
// service-ca made for it.
func injected(bundle *Held) bool {
	return bundle.annotation(catalog.AnnotationInjectCABundle) != "" || bundle.annotation(catalog.AnnotationInjectCABundleAlpha) != ""
}
