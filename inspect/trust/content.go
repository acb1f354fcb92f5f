package trust

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// aggregates judges bundles by what they are made of, and copies by their objects.
func (j *judge) aggregates(e catalog.Edge, all []inspect.DerivedBundle) []Claim {
	var out []Claim
	for _, m := range all {
		c := Claim{Edge: e, Node: m.At[0].Node, Trust: m.At, Roots: m.Certs}
		if m.Of != "" { // of one file: others may lack what this one has
			c.Statement = fmt.Sprintf("%s on nodes holds all CAs of %s", fileName(m.At[0].Path), m.Of)
		}
		switch c.Status = assess.Pass; {
		case len(m.Missing) > 0:
			c.Status, c.Missing, c.Reason = assess.Fail, m.Missing[0], "lacks "+subjects(m.Missing)+" of "+strings.Join(m.Sources, ", ")
			if j.justMade(m.Missing) {
				c.Status = assess.Unknown // an ordinary rotation is no harm
				c.Reason += ", made within the hour: copies follow in minutes, kube-root-ca.crt once kube-controller-manager runs in a new revision on every control plane node"
			}
		case len(m.Skipped) > 0:
			c.Skipped, c.Reason = m.Skipped, "lacks "+subjects([]*pki.Cert{m.Skipped[0].Cert})
			c.Status = assess.Fail
			j.skippedCA(&c, []*pki.Cert{m.Skipped[0].Cert}, func(*Claim) bool { return true })
		case len(m.Unread) > 0:
			c.Status, c.Reason = assess.Unknown, "holds all of those that were read, and these were not: "+refs(m.Unread)
		}
		out = append(out, c)
	}
	return out
}

// fileName is a file's name, behind its directory's where many files have it.
func fileName(file string) string {
	dir, name := path.Split(file)
	if name == "ca-bundle.crt" {
		name = path.Base(dir) + "/" + name
	}
	return foreign.Text(name)
}

// justMade reports whether all of them are so new that copies may be under way.
func (j *judge) justMade(certs []*pki.Cert) bool {
	for _, c := range certs {
		if j.f.Now.Sub(c.NotBefore) > time.Hour {
			return false
		}
	}
	return true
}

// subjects names certificates, the first one in full.
func subjects(certs []*pki.Cert) string {
	s := foreign.QuotedName(pki.CommonName(certs[0].Subject))
	if more := len(certs) - 1; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

func refs(all []catalog.Ref) string {
	var names []string
	for _, r := range all {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}

// calls judges what the API server trusts of Services that objects of one kind name.
func (j *judge) calls(e catalog.Edge) []Claim {
	var out []Claim
	for _, call := range j.serviceCalls() {
		if string(call.From.Kind) != e.Trust.Kind {
			continue
		}
		c := Claim{Edge: e, Trust: []pki.Location{call.From}, VerifiedName: call.Name}
		if call.Bundle != nil {
			c.Roots, c.Skipped = call.Bundle.Content.LoadedBy(e.Reader)
			c.Edge = withPolicy(e, call.Bundle)
		}
		show := func(h *inspect.Entry) { c.Presented, c.Chain = h.At, h.Content.Certs }
		expired := call.Bundle != nil && j.allExpired(c.Roots)
		switch {
		case expired:
			c.Status, c.Reason = assess.Fail, whyAllExpired(c.Roots)
		case call.Bundle == nil:
			c.Status, c.Reason = assess.Fail, "no CA is named: the API server then trusts its system's CAs, none of which signs for a Service"
		case call.Trusted != nil && call.Doubted != nil:
			show(call.Trusted)
			c.Status, c.Reason = assess.Unknown, fmt.Sprintf("which certificate the Service presents is unknown: the CA bundle verifies that of %s, and not that of %s", call.Trusted.At, call.Doubted.At)
			c.Assessment.Remediation = assess.Advise("look at which Secret the Service's pods mount; one with its name that is not its own can go")
		case call.Trusted != nil:
			show(call.Trusted)
			c.Status = assess.Pass
			j.forecast(&c, j.f.Now)
			c.asLoaded(call.Trusted.Content)
			j.besideItsKey(&c)
		case call.Unjudged != "":
			c.Status, c.Reason = assess.Unknown, call.Unjudged
		case call.ByServiceCA && call.Problem != nil:
			show(call.Presented[0])
			c.Status, c.Reason = assess.Fail, call.Problem.Error()
			c.Missing = j.missingCA(&c)
		case call.Problem != nil:
			c.Status, c.Reason = assess.Unknown, "the CA bundle verifies no certificate for the Service's name that was read; but the Service may have one of its own, in memory"
		default:
			c.Status, c.Reason = assess.Unknown, "the certificate that the Service presents was not seen: no certificate for its name was read"
		}
		out = append(out, c)
	}
	return append(out, j.expiredCalls(e)...)
}

// expiredCalls are CA bundles of calls to what is no Service, or was not read: with every CA expired, they
// verify no server at all.
func (j *judge) expiredCalls(e catalog.Edge) []Claim {
	services := map[pki.Location]bool{}
	for _, call := range j.serviceCalls() {
		services[call.From] = true
	}
	var out []Claim
	for i := range j.f.Entries {
		h := &j.f.Entries[i]
		if string(h.At.Kind) != e.Trust.Kind || !strings.HasSuffix(h.At.Field, "caBundle") || services[h.At] {
			continue
		}
		if roots, skipped := h.Content.LoadedBy(e.Reader); j.allExpired(roots) {
			c := Claim{Edge: withPolicy(e, h), Trust: []pki.Location{h.At}, Roots: roots, Skipped: skipped}
			c.Status, c.Reason = assess.Fail, whyAllExpired(roots)
			if foreign.Word(h.At.Name) { // whose CA belongs there is in the object
				c.Edge.Remediation = foreign.Command("", "kubectl get "+strings.ToLower(e.Trust.Kind)+" %s -o yaml", h.At.Name)
			}
			out = append(out, c)
		}
	}
	return out
}

// withPolicy is an edge with what fails where the webhook's failurePolicy was read.
func withPolicy(e catalog.Edge, bundle *inspect.Entry) catalog.Edge {
	switch bundle.FailurePolicy {
	case inspect.PolicyFail:
		e.Impact = "API writes that match it are rejected (failurePolicy: Fail)"
	case inspect.PolicyIgnore:
		e.Impact = "API writes that match it are accepted without it (failurePolicy: Ignore)"
	}
	return e
}

// allExpired reports whether there are CAs, and none is valid any more.
func (j *judge) allExpired(roots []*pki.Cert) bool {
	return len(roots) > 0 && !slices.ContainsFunc(roots, func(c *pki.Cert) bool { return !j.f.Now.After(c.NotAfter) })
}

// whyAllExpired names the CA that expired last.
func whyAllExpired(roots []*pki.Cert) string {
	last := slices.MaxFunc(roots, func(a, b *pki.Cert) int { return a.NotAfter.Compare(b.NotAfter) })
	return fmt.Sprintf("CA %s expired %s: it verifies no server", foreign.QuotedName(pki.CommonName(last.Subject)), moment(last.NotAfter))
}
