package check

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// issuers finds the CAs that may have issued a certificate.
type issuers struct {
	byName map[string][]issuer
	byKey  map[[2]string][]issuer // by name and subject key identifier, which may be empty
	proofs *proofs
}

// proofs are the signatures that were verified, each once. Tenants choose keys and names: what
// all of them may cost is bounded.
type proofs struct {
	known map[[2]*pki.Cert]bool // by what is signed and the CA
	left  int                   // what may still be computed, in the units of costOf
}

// What signatures may cost: 3 s in all, and one RSA key of 2048 bits a certificate.
const (
	proofsAtLeast = 200_000
	proofsPerCert = 25
)

// costOf is what it costs to verify a signature with a key, in units of some 15 µs. RSA counts
// with the largest exponent that crypto/rsa takes: 25 for 2048 bits, where the usual one costs
// 5. Curves above P-256 are not written in assembly.
func costOf(ca *pki.Cert) int {
	parsed, err := ca.X509()
	if err != nil {
		return 1
	}
	switch key := parsed.PublicKey.(type) {
	case *rsa.PublicKey:
		return 1 + 6*(key.N.BitLen()*key.N.BitLen()>>20)
	case *ecdsa.PublicKey:
		switch bits := key.Curve.Params().BitSize; {
		case bits <= 256:
			return 10
		case bits <= 384:
			return 90
		}
		return 450
	}
	return 10
}

// signed reports whether a CA has signed a certificate; told is false where that is too costly.
func (p *proofs) signed(c, ca *pki.Cert) (ok, told bool) {
	pair := [2]*pki.Cert{c, ca}
	if ok, told = p.known[pair]; told {
		return ok, true
	}
	if p.left -= costOf(ca); p.left < 0 {
		return false, false
	}
	ok = signedBy(c, ca)
	p.known[pair] = ok
	return ok, true
}

// issuer is a CA that was read.
type issuer struct {
	*pki.Cert
	trusted  bool // it is in a CA bundle
	reserved bool // some place of it is
	in       namespaces
}

// namespaces are those of some places, each once: a tenant has one certificate in tens of
// thousands of places.
type namespaces map[string]bool

func namespacesOf(in []*inspect.Entry) namespaces {
	out := namespaces{}
	for _, h := range in {
		out[h.At.Namespace] = true
	}
	return out
}

// meet reports whether a namespace is in both.
func (n namespaces) meet(others namespaces) bool {
	if len(others) < len(n) {
		n, others = others, n
	}
	for name := range n {
		if others[name] {
			return true
		}
	}
	return false
}

// near reports whether the CA is where no tenant writes, or in one of a certificate's namespaces.
// A tenant of another namespace can make a CA with the same name, key identifier and even public
// key.
func (ca issuer) near(of namespaces) bool { return ca.reserved || ca.in.meet(of) }

func newIssuers(f *inspect.Facts) issuers {
	ix := issuers{map[string][]issuer{}, map[[2]string][]issuer{}, &proofs{map[[2]*pki.Cert]bool{}, proofsAtLeast + proofsPerCert*len(f.Certs)}}
	for _, reserved := range []bool{true, false} { // these first: see reservedOf
		for _, c := range f.Certs {
			if !c.IsCA || slices.ContainsFunc(c.Entries, (*inspect.Entry).Reserved) != reserved {
				continue
			}
			ca := issuer{c.Cert, slices.ContainsFunc(c.Entries, func(h *inspect.Entry) bool { return h.Use == inspect.UseTrust }), reserved, namespacesOf(c.Entries)}
			ix.byName[c.Subject] = append(ix.byName[c.Subject], ca)
			ix.byKey[[2]string{c.Subject, c.SubjectKey}] = append(ix.byKey[[2]string{c.Subject, c.SubjectKey}], ca)
		}
	}
	return ix
}

// of returns the CAs that issued c, as far as names and key identifiers tell, the reserved ones
// first, and whether they are all and few enough to verify the signature, which costs more than all
// the rest: there may be tens of thousands of certificates.
func (ix issuers) of(c *pki.Cert) (cas []issuer, few bool) {
	cas = ix.byName[c.Issuer]
	if c.IssuerKey != "" {
		cas = ix.byKey[[2]string{c.Issuer, c.IssuerKey}]
		if bare := ix.byKey[[2]string{c.Issuer, ""}]; len(bare) > 0 && len(cas)+len(bare) <= inspect.MaxSameName {
			cas = slices.Concat(cas, bare)
		} else if len(bare) > 0 {
			return cas, false // nothing is copied: a tenant writes tens of thousands
		}
	}
	return cas, len(cas) <= inspect.MaxSameName
}

// reservedOf are the reserved ones of CAs; none where they are too many to tell.
func reservedOf(cas []issuer) []issuer {
	n := 0
	for n < len(cas) && n <= inspect.MaxSameName && cas[n].reserved {
		n++
	}
	if n > inspect.MaxSameName {
		return nil
	}
	return cas[:n]
}

// outlivesIssuer finds certificates that claim to be valid for longer than the CA
// that issued them: they end with it.
func outlivesIssuer(f *inspect.Facts) []assess.Finding {
	ix := newIssuers(f)
	groups := map[pki.Fingerprint][]inspect.StoredCert{}
	var cas []*pki.Cert
	for _, c := range f.Leaves {
		if c.SelfSigned || c.NotAfter.Before(f.Now) {
			continue
		}
		candidates, few := ix.of(c.Cert)
		if !few {
			candidates = reservedOf(candidates)
		}
		var ca *pki.Cert // of copies that several may write, each has its own
		for _, copies := range inspect.ByWriter(c.Entries) {
			if by := lastIssuer(ix, candidates, inspect.StoredCert{Cert: c.Cert, Entries: copies}); ca == nil || by != nil && by.NotAfter.Before(ca.NotAfter) {
				ca = by
			}
		}
		if ca == nil || !ca.NotAfter.Before(c.NotAfter) || ca.NotAfter.Before(f.Now) {
			continue
		}
		// what is made anew before the CA's end takes no harm
		if r := f.Renewal(c); !r.Due.IsZero() && r.Due.Before(ca.NotAfter) {
			continue
		}
		if in, current := inForce(c.Entries); current {
			if groups[ca.Fingerprint] == nil {
				cas = append(cas, ca)
			}
			groups[ca.Fingerprint] = append(groups[ca.Fingerprint], inspect.StoredCert{Cert: c.Cert, Entries: in})
		}
	}
	var out []assess.Finding
	for _, ca := range cas {
		group := groups[ca.Fingerprint]
		finding := assess.Finding{
			Assessment: assess.Assessment{
				Severity:    assess.Info,
				Impact:      when(f.Now, ca.NotAfter) + ": what it issued is refused, whatever its own dates say",
				Evidence:    fmt.Sprintf("CA %s expires %s, before %s that it issued", inspect.CertName(ca), when(f.Now, ca.NotAfter), listed(group)),
				Remediation: assess.Advise("have them issued again by the CA's successor before that day, and check that their readers trust it"),
			},
			Due: ca.NotAfter,
		}
		if ca.NotAfter.Sub(f.Now) <= f.ExpiryWindow {
			finding.Severity = assess.Warning
		}
		for _, c := range group {
			finding.At = append(finding.At, inspect.Locations(c.Entries)...)
			finding.Certs = append(finding.Certs, c.Fingerprint)
		}
		finding.Reason = fmt.Sprintf("%s outlives CA %s, which expires %s", subject(finding.At), short(ca), ago(f.Now, ca.NotAfter))
		out = append(out, finding)
	}
	return out
}

// listed names certificates in a sentence, the first three of them.
func listed(group []inspect.StoredCert) string {
	certs := make([]*pki.Cert, len(group))
	for i, c := range group {
		certs[i] = c.Cert
	}
	return names(certs)
}

// lastIssuer returns the certificate of c's issuer that ends last: a CA renewed with its key
// has several. Those that are near c go before others. nil if none is known to have signed c,
// or none ends before it.
func lastIssuer(ix issuers, candidates []issuer, c inspect.StoredCert) *pki.Cert {
	if !slices.ContainsFunc(candidates, func(ca issuer) bool { return ca.NotAfter.Before(c.NotAfter) }) {
		return nil // most of them: no signature is verified where nothing follows from it
	}
	candidates = slices.SortedStableFunc(slices.Values(candidates), func(a, b issuer) int { return b.NotAfter.Compare(a.NotAfter) })
	of := namespacesOf(c.Entries)
	for _, near := range []bool{true, false} {
		for _, ca := range candidates {
			if ca.near(of) != near {
				continue
			}
			if ok, _ := ix.proofs.signed(c.Cert, ca.Cert); ok {
				return ca.Cert
			}
		}
	}
	return nil
}

// issuerSeen finds issuers of certificates in use that are in no CA bundle,
// where all bundles were read.
func issuerSeen(f *inspect.Facts) []assess.Finding {
	if !f.ReadAll("secrets") || !f.ReadAll("configmaps") {
		return nil // it may be in what was not read
	}
	ix := newIssuers(f)
	groups := map[string][]inspect.StoredCert{}
	var order []string
	for _, c := range f.Leaves {
		if c.SelfSigned || c.NotAfter.Before(f.Now) {
			continue
		}
		by, ok := trustedRoot(ix, c.Cert)
		if ok {
			continue
		}
		if in, current := inForce(c.Entries); current {
			if groups[by] == nil {
				order = append(order, by)
			}
			groups[by] = append(groups[by], inspect.StoredCert{Cert: c.Cert, Entries: in})
		}
	}
	var out []assess.Finding
	for _, by := range order {
		group := groups[by]
		finding := assess.Finding{
			Assessment: assess.Assessment{
				Severity:    assess.Info,
				Impact:      "clients that do not trust that CA by other means refuse what it issued",
				Evidence:    fmt.Sprintf("%s, which issued %s, is in no CA bundle of the cluster", foreign.QuotedName(pki.CommonName(by)), listed(group)),
				Remediation: assess.Advise("nothing, if its readers trust it by other means (their system's CAs, a file of their own); else add it to the bundle that they read"),
			},
			Due: group[0].NotAfter,
		}
		for _, c := range group {
			finding.At = append(finding.At, inspect.Locations(c.Entries)...)
			finding.Certs = append(finding.Certs, c.Fingerprint)
		}
		finding.Reason = fmt.Sprintf("%s: its CA %s is in no CA bundle", subject(finding.At), shortName(pki.CommonName(by)))
		out = append(out, finding)
	}
	return out
}

// trustedRoot climbs from a certificate, over every CA that may have issued it, to
// one that some bundle holds. If there is none it returns the name of the last
// issuer on the way.
func trustedRoot(ix issuers, c *pki.Cert) (name string, found bool) {
	if cas, _ := ix.of(c); len(cas) == 1 && cas[0].trusted && c.IssuerKey != "" {
		return "", true // most of them, and there may be tens of thousands
	}
	level, seen := []*pki.Cert{c}, map[*pki.Cert]bool{}
	for len(level) > 0 && len(seen) < inspect.MaxSameName {
		var above []*pki.Cert
		for _, c := range level {
			if name = c.Issuer; seen[c] || c.SelfSigned {
				continue
			}
			seen[c] = true
			candidates, few := ix.of(c)
			if !few {
				return "", true // too many to tell
			}
			for _, ca := range candidates {
				if c.IssuerKey == "" {
					ok, told := ix.proofs.signed(c, ca.Cert)
					if !told {
						return "", true // too costly to tell
					}
					if !ok {
						continue // of that name only
					}
				}
				if ca.trusted {
					return "", true
				}
				above = append(above, ca.Cert)
			}
		}
		level = above
	}
	return name, len(level) > 0 // more than any real chain: not to be told
}

// caNames finds CAs of one name and different keys.
func caNames(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
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
func namesakes(f *inspect.Facts, certs []inspect.StoredCert) (assess.Finding, bool) {
	keys := map[pki.Fingerprint]bool{}
	together := map[*inspect.Entry]map[pki.Fingerprint]bool{} // CA bundles: the keys in each
	unmarked := map[*inspect.Entry]bool{}                     // with one that has no subject key identifier
	finding := assess.Finding{Assessment: assess.Assessment{Severity: assess.Info}}
	var cas []*pki.Cert // one of each key
	for _, c := range certs {
		in, current := inForce(c.Entries)
		if !c.IsCA || !current || c.NotAfter.Before(f.Now) || !slices.ContainsFunc(in, func(h *inspect.Entry) bool { return h.Use == inspect.UseTrust || h.Use == inspect.UseIdentity }) {
			continue
		}
		if !keys[c.SPKI] {
			cas = append(cas, c.Cert)
		}
		keys[c.SPKI] = true
		for _, h := range in {
			if h.Use != inspect.UseTrust {
				continue
			}
			if together[h] == nil {
				together[h] = map[pki.Fingerprint]bool{}
			}
			together[h][c.SPKI] = true
			unmarked[h] = unmarked[h] || c.SubjectKey == ""
		}
		finding.At = append(finding.At, inspect.Locations(in)...)
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
	finding.Reason = fmt.Sprintf("%d CAs with different keys are named %s", len(keys), shortName(pki.CommonName(certs[0].Subject)))
	finding.Impact = "what one of them signed is refused by readers that have the other"
	finding.Evidence = fmt.Sprintf("%d CAs with different keys are named %s: %s", len(keys), foreign.QuotedName(pki.CommonName(certs[0].Subject)), names(cas))
	finding.Remediation = assess.Advise("nothing, if no reader has both; else compare their fingerprints where they are trusted, and give a CA with a new key a new name")
	for h, those := range together {
		if len(those) > 1 && unmarked[h] {
			finding.Severity = assess.Warning
		}
	}
	if finding.Severity == assess.Warning {
		finding.Evidence += "; in one bundle there are two, and one of them has no subject key identifier, so that readers can't choose between them (OpenSSL takes the first)"
	}
	return finding, true
}
