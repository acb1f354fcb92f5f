package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

const kindService = "Service"

// ServiceCall is a Service that the API server calls, and beside its name which CAs it trusts.
type ServiceCall struct {
	Reference
	Name      string   // for which the Service's certificate must be valid
	Bundle    *Entry   // the CAs that the API server trusts; nil: no one is named
	Presented []*Entry // what was read that the Service may show; nil: nothing, or too much to tell
	// Trusted is the first of these that the bundle verifies; nil: it verifies none,
	// and Problem says why, where there is something to verify.
	Trusted *Entry
	Problem error
	// Doubted is, beside Trusted, one that has not expired and that the bundle does not verify: which of
	// the two the Service presents is unknown; nil: there is none.
	Doubted *Entry
	// Unjudged is why it is unknown whether the bundle verifies what the Service presents, although
	// certificates for its name were read; else empty.
	Unjudged string
	// ByServiceCA: service-ca keeps both the bundle and what is presented, so that this is what
	// the Service presents.
	ByServiceCA bool
}

// ServiceCalls returns every call of the API server to a Service, in the order of what
// names it.
func (f *Facts) ServiceCalls() []ServiceCall { return f.serviceCalls(NewBudget(len(f.Certs))) }

func (f *Facts) serviceCalls(budget *Budget) []ServiceCall {
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
			of, ok := called[service]
			if ok && service.Name != name && (len(of) == 0 || of[len(of)-1] != h) { // a certificate may say a name often
				called[service] = append(of, h)
			}
		}
	}
	j := callJudge{now: f.Now, budget: budget, known: map[callPair]verified{}}
	var out []ServiceCall
	for _, r := range f.Snapshot.References {
		if r.To.Kind == kindService {
			out = append(out, j.call(r, bundles[r.From], called[r.To]))
		}
	}
	return out
}

// callJudge judges calls. Many of them are of one Service, by one bundle.
type callJudge struct {
	now    time.Time
	budget *Budget
	known  map[callPair]verified
}

// callPair is what a Service may show, who verifies it, and the name for which it must be valid.
type callPair struct {
	chain, bundle *pki.Content
	name          string
}

// verified is whether a bundle verifies a chain. told is false where that costs too much.
type verified struct {
	problem error
	told    bool
}

// call judges one call.
func (j *callJudge) call(r Reference, bundle *Entry, presented []*Entry) ServiceCall {
	c := ServiceCall{Reference: r, Name: r.To.Name + "." + r.To.Namespace + ".svc", Bundle: bundle}
	if bundle == nil || len(bundle.Content.Certs) == 0 {
		return c // pem-readable speaks of what is no certificate
	}
	if injected(bundle) { // what others have for its name is not what it presents
		if own := slices.DeleteFunc(slices.Clone(presented), func(h *Entry) bool { return !madeFor(h, r.To.Name) }); len(own) > 0 {
			presented, c.ByServiceCA = own, true
		}
	}
	if len(presented) > MaxSameName {
		c.Unjudged = fmt.Sprintf("more than %d Secrets name this Service: which one it serves is unknown", MaxSameName)
		return c
	}
	c.Presented = presented
	for _, h := range presented {
		v := j.verify(h, bundle, c.Name)
		switch {
		case !v.told:
			c.Unjudged = "verifying what it may present costs too much: " + pki.WhyCostly
		case v.problem != nil:
			c.Problem = v.problem
		case c.Trusted == nil:
			c.Trusted = h
		}
		if leaf := h.Leaf(); c.Doubted == nil && (!v.told || v.problem != nil) && !j.now.After(leaf.NotAfter) { // an expired one is left over
			c.Doubted = h
		}
	}
	switch {
	case c.Trusted != nil:
		c.Problem, c.Unjudged = nil, ""
	case c.Unjudged != "":
		c.Problem, c.Doubted = nil, nil
	default:
		c.Doubted = nil
	}
	return c
}

// verify reports whether a bundle verifies what a place presents.
func (j *callJudge) verify(h, bundle *Entry, name string) verified {
	pair := callPair{h.Content, bundle.Content, name}
	if v, ok := j.known[pair]; ok {
		return v
	}
	chain := h.Content.Certs
	roots, skipped := bundle.Content.LoadedBy(pki.ReaderGo)
	needed, _, err := pki.Refuses(roots, skipped, chain,
		func(roots []*pki.Cert) bool { return j.budget.Pay(h.Payer(), pki.Cost(chain, roots)) },
		func(roots []*pki.Cert) error { return pki.Verify(chain, roots, name, j.now) })
	v := verified{problem: err, told: true}
	switch {
	case errors.Is(err, pki.ErrCostly):
		v = verified{}
	case needed != nil:
		v.problem = fmt.Errorf("%w; %s", err, needed)
	}
	j.known[pair] = v
	return v
}

// madeFor reports whether service-ca made a Secret for a Service of its namespace.
func madeFor(h *Entry, service string) bool {
	return h.Annotation(catalog.AnnotationServiceName) == service || h.Annotation(catalog.AnnotationServiceNameAlpha) == service
}

// injected reports whether service-ca keeps the bundle: then the Service presents what
// service-ca made for it.
func injected(bundle *Entry) bool {
	return bundle.Object != nil && catalog.ServiceCAInjects(string(bundle.At.Kind), bundle.Object.Annotations)
}
