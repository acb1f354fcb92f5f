package inspect

import (
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// issuers finds the CAs that may have issued a certificate, by name.
type issuers map[string][]Holding

func newIssuers(f *Facts) issuers {
	ix := issuers{}
	for _, c := range f.Certs {
		if c.IsCA {
			ix[c.Subject] = append(ix[c.Subject], c)
		}
	}
	return ix
}

// of returns the CAs that issued c, as far as names and key identifiers tell.
// That costs nothing, and there may be tens of thousands of certificates: who
// draws a conclusion from it verifies the signature.
func (ix issuers) of(c *pki.Cert) []Holding {
	var out []Holding
	for _, ca := range ix[c.Issuer] {
		if c.IssuerKey == "" || ca.SubjectKey == "" || c.IssuerKey == ca.SubjectKey {
			out = append(out, ca)
		}
	}
	return out
}

// outlivesIssuer finds certificates that claim to be valid for longer than the CA
// that issued them: they end with it.
func outlivesIssuer(f *Facts) []Finding {
	ix := newIssuers(f)
	groups := map[pki.Fingerprint][]Holding{}
	var cas []*pki.Cert
	for _, c := range f.Shown {
		if c.SelfSigned || c.NotAfter.Before(f.Now) {
			continue
		}
		ca := lastIssuer(ix.of(c.Cert), c.Cert)
		if ca == nil || !ca.NotAfter.Before(c.NotAfter) || ca.NotAfter.Before(f.Now) {
			continue
		}
		// what is made anew before the CA's end takes no harm
		if r := renewalOf(c.In[0], f.Snapshot.Cluster.Versions); !r.due.IsZero() && r.due.Before(ca.NotAfter) {
			continue
		}
		if in, current := inForce(c.In); current {
			if groups[ca.Fingerprint] == nil {
				cas = append(cas, ca)
			}
			groups[ca.Fingerprint] = append(groups[ca.Fingerprint], Holding{c.Cert, in})
		}
	}
	var out []Finding
	for _, ca := range cas {
		group := groups[ca.Fingerprint]
		finding := Finding{
			Severity: Info, Due: ca.NotAfter,
			Message: fmt.Sprintf("CA %s ends %s (%s), before %s that it issued: after that they are refused, whatever their own dates say", name(ca), ago(f.Now, ca.NotAfter), day(ca.NotAfter), listed(group)),
			Next:    "have them issued anew by the CA's successor before that day, and see that their readers trust it",
		}
		if ca.NotAfter.Sub(f.Now) <= f.Within {
			finding.Severity = Warning
		}
		for _, c := range group {
			finding.At = append(finding.At, locations(c.In)...)
			finding.Certs = append(finding.Certs, c.Fingerprint)
		}
		out = append(out, finding)
	}
	return out
}

// listed names certificates in a sentence, the first three of them.
func listed(group []Holding) string {
	certs := make([]*pki.Cert, len(group))
	for i, c := range group {
		certs[i] = c.Cert
	}
	return names(certs)
}

// lastIssuer returns the certificate of c's issuer that ends last: a CA renewed
// with its key has several. nil if none is known to have signed c.
func lastIssuer(candidates []Holding, c *pki.Cert) *pki.Cert {
	slices.SortStableFunc(candidates, func(a, b Holding) int { return b.NotAfter.Compare(a.NotAfter) })
	for _, ca := range candidates {
		if ca.NotAfter.Before(c.NotAfter) && !signedBy(c, ca.Cert) { // verified only where something follows from it
			continue
		}
		return ca.Cert
	}
	return nil
}

// issuerSeen finds issuers of certificates in use that are in no CA bundle,
// where all bundles were read.
func issuerSeen(f *Facts) []Finding {
	if !f.Whole("secrets") || !f.Whole("configmaps") {
		return nil // it may be in what was not read
	}
	ix := newIssuers(f)
	groups := map[string][]Holding{}
	var order []string
	for _, c := range f.Shown {
		in, current := inForce(c.In)
		if !current || c.SelfSigned || c.NotAfter.Before(f.Now) {
			continue
		}
		if issuer, ok := trustedRoot(ix, c.Cert); !ok {
			if groups[issuer] == nil {
				order = append(order, issuer)
			}
			groups[issuer] = append(groups[issuer], Holding{c.Cert, in})
		}
	}
	var out []Finding
	for _, issuer := range order {
		group := groups[issuer]
		finding := Finding{
			Severity: Info, Due: group[0].NotAfter,
			Message: fmt.Sprintf("%q, which issued %s, is in no CA bundle of the cluster", commonName(issuer), listed(group)),
			Next:    "nothing, if its readers trust it by other means (their system's CAs, a file of their own); else add it to the bundle that they read",
		}
		for _, c := range group {
			finding.At = append(finding.At, locations(c.In)...)
			finding.Certs = append(finding.Certs, c.Fingerprint)
		}
		out = append(out, finding)
	}
	return out
}

// trustedRoot climbs from a certificate to an issuer that some bundle holds. If
// there is none it returns the name of the last issuer on the way.
func trustedRoot(ix issuers, c *pki.Cert) (issuer string, found bool) {
	const longest = 10 // more than any real chain
	for range longest {
		var next *pki.Cert
		for _, ca := range ix.of(c) {
			if c.IssuerKey == "" && !signedBy(c, ca.Cert) {
				continue // of that name only
			}
			if slices.ContainsFunc(ca.In, func(h *Held) bool { return h.Use == UseTrust }) {
				return "", true
			}
			next = ca.Cert
		}
		if next == nil || next.SelfSigned {
			return c.Issuer, false
		}
		c = next
	}
	return c.Issuer, false
}

// caNames finds CAs of one name and different keys.
func caNames(f *Facts) []Finding {
	var out []Finding
	for rest := f.Certs; len(rest) > 0; { // sorted by subject
		n := 1
		for n < len(rest) && rest[n].Subject == rest[0].Subject {
			n++
		}
		if n > 1 {
			if finding, ok := namesakes(f, rest[:n]); ok {
				out = append(out, finding)
			}
		}
		rest = rest[n:]
	}
	return out
}

// namesakes judges certificates of one subject.
func namesakes(f *Facts, certs []Holding) (Finding, bool) {
	keys := map[pki.Fingerprint]bool{}
	finding := Finding{Severity: Info}
	unmarked := false
	for _, c := range certs {
		in, current := inForce(c.In)
		if !c.IsCA || !current || c.NotAfter.Before(f.Now) || !slices.ContainsFunc(in, func(h *Held) bool { return h.Use == UseTrust || h.Use == UseIdentity }) {
			continue
		}
		keys[c.SPKI] = true
		unmarked = unmarked || c.SubjectKey == ""
		finding.At = append(finding.At, locations(in)...)
		finding.Certs = append(finding.Certs, c.Fingerprint)
		if finding.Due.IsZero() || c.NotAfter.Before(finding.Due) {
			finding.Due = c.NotAfter
		}
	}
	if len(keys) < 2 {
		return finding, false
	}
	slices.SortFunc(finding.At, pki.Compare)
	finding.At = slices.Compact(finding.At)
	finding.Message = fmt.Sprintf("%d CAs with different keys are named %q: what one of them signed is refused by readers who have the other", len(keys), commonName(certs[0].Subject))
	finding.Next = "compare their fingerprints where they are trusted; give a CA with a new key a new name"
	if unmarked {
		finding.Severity = Warning
		finding.Message += "; one has no subject key identifier, so that readers can't choose between them (OpenSSL takes the first)"
	}
	return finding, true
}
