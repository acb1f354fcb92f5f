package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// issuers finds the CAs that may have issued a certificate.
type issuers struct {
	byName      map[string][]issuer
	byKey       map[[2]string][]issuer // by name and subject key identifier, which may be empty
	own         map[[2]string][]issuer // tenants' by name and namespace, no more than are tried and one
	firstExpiry map[string]time.Time   // by name: of those that have not expired
	proofs      *proofs
}

// issuer is a CA that was read.
type issuer struct {
	*pki.Cert
	trusted  bool // it is in a CA bundle
	reserved bool // some place of it is
	in       namespaces
	payer    string // who wrote it: see payerOf
}

// namespaces are those of some places, each once, and nodes among them (see Entry.WrittenIn): a
// tenant has one certificate in tens of thousands of places.
type namespaces map[string]bool

func namespacesOf(in []*inspect.Entry) namespaces {
	out := namespaces{}
	for _, h := range in {
		out[h.WrittenIn()] = true
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
	ix := issuers{map[string][]issuer{}, map[[2]string][]issuer{}, map[[2]string][]issuer{}, map[string]time.Time{}, newProofs(f)}
	for _, reserved := range []bool{true, false} { // these first: see reservedOf
		for _, c := range f.Certs {
			if !c.IsCA || slices.ContainsFunc(c.Entries, (*inspect.Entry).Reserved) != reserved {
				continue
			}
			ca := issuer{c.Cert, slices.ContainsFunc(c.Entries, func(h *inspect.Entry) bool { return h.Use == inspect.UseTrust }), reserved, namespacesOf(c.Entries), payerOf(c.Entries)}
			ix.byName[c.Subject] = append(ix.byName[c.Subject], ca)
			ix.byKey[[2]string{c.Subject, c.SubjectKey}] = append(ix.byKey[[2]string{c.Subject, c.SubjectKey}], ca)
			if first, ok := ix.firstExpiry[c.Subject]; !c.NotAfter.Before(f.Now) && (!ok || c.NotAfter.Before(first)) {
				ix.firstExpiry[c.Subject] = c.NotAfter
			}
			for namespace := range ca.in {
				if at := [2]string{c.Subject, namespace}; !reserved && len(ix.own[at]) <= inspect.MaxSameName {
					ix.own[at] = append(ix.own[at], ca)
				}
			}
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

// nearest are those of too many CAs that are tried: the reserved ones, and those of a tenant's own
// namespace. Other tenants may have made all others.
func (ix issuers) nearest(c *pki.Cert, cas []issuer, payer string) []issuer {
	out, own := slices.Clip(reservedOf(cas)), ix.own[[2]string{c.Issuer, payer}]
	if len(own) > inspect.MaxSameName {
		return out
	}
	for _, ca := range own {
		if c.IssuerKey == "" || ca.SubjectKey == "" || c.IssuerKey == ca.SubjectKey {
			out = append(out, ca)
		}
	}
	return out
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
