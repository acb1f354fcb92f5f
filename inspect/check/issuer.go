package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
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

// candidates returns the CAs that issued c, as far as names and key identifiers tell, the reserved ones
// first, and whether they are all and few enough to verify the signature, which costs more than all
// the rest: there may be tens of thousands of certificates.
func (ix issuers) candidates(c *pki.Cert) (cas []issuer, few bool) {
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
			out = append(out, namesakes(f, rest[:n])...)
		}
		rest = rest[n:]
	}
	return out
}

// namesakes judges certificates of one subject. The bundles in which two can't be told apart are a finding of
// their own: others that hold one of them are as well as before.
func namesakes(f *inspect.Facts, certs []inspect.StoredCert) []assess.Finding {
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
		return nil
	}
	slices.SortFunc(finding.At, pki.Compare)
	finding.At = slices.Compact(finding.At)
	finding.Reason = fmt.Sprintf("%d CAs with different keys are named %s", len(keys), shortName(pki.CommonName(certs[0].Subject)))
	finding.Impact = "what one of them signed is refused by readers that have the other"
	finding.Evidence = fmt.Sprintf("%d CAs with different keys are named %s: %s", len(keys), foreign.QuotedName(pki.CommonName(certs[0].Subject)), names(cas))
	finding.Remediation = assess.Advise("nothing, if no reader has both; else compare their fingerprints where they are trusted, and give a CA with a new key a new name")
	confused := finding
	confused.Severity, confused.At = assess.Warning, nil
	confused.Evidence += "; in one bundle there are two, and one of them has no subject key identifier, so that readers can't choose between them (OpenSSL takes the first)"
	for h, those := range together {
		if len(those) > 1 && unmarked[h] {
			confused.At = append(confused.At, h.At)
		}
	}
	if len(confused.At) == 0 {
		return []assess.Finding{finding}
	}
	slices.SortFunc(confused.At, pki.Compare)
	finding.At = slices.DeleteFunc(finding.At, func(at pki.Location) bool { return slices.Contains(confused.At, at) })
	if len(finding.At) == 0 {
		return []assess.Finding{confused}
	}
	return []assess.Finding{confused, finding}
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
	var untold untold
	for _, c := range f.Leaves {
		if c.SelfSigned || c.NotAfter.Before(f.Now) {
			continue
		}
		by, answer := trustedRoot(ix, c)
		in, current := inForce(c.Entries)
		switch now := (inspect.StoredCert{Cert: c.Cert, Entries: in}); {
		case answer == catalog.Yes || !current:
		case answer == catalog.Unknown:
			untold.add(now, c.NotAfter)
		default:
			if groups[by] == nil {
				order = append(order, by)
			}
			groups[by] = append(groups[by], now)
		}
	}
	out := untold.findings(f, "whether the CA of %s is in a CA bundle is unknown", "if it is not: clients that do not trust that CA by other means refuse it", "whether the issuer of %s is in a CA bundle of the cluster is unknown", "compare it with the bundles that their readers have: openssl verify -CAfile BUNDLE CERTIFICATE")
	for i := range out {
		out[i].Severity = assess.Info // as where it is known
	}
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
// issuer on the way. Unknown: not all of them were tried.
func trustedRoot(ix issuers, leaf inspect.StoredCert) (name string, found catalog.Tristate) {
	payer, in := payerOf(leaf.Entries), namespacesOf(leaf.Entries)
	// Each writer chooses key identifiers: a tenant's CA of another namespace has to have signed
	// what is the platform's or a node's.
	byKey := func(c, ca issuer) bool {
		return c.IssuerKey != "" && (payer != "" && !inspect.PaidByNode(payer) || ca.near(in))
	}
	start := issuer{Cert: leaf.Cert, payer: payer}
	if cas, _ := ix.candidates(leaf.Cert); len(cas) == 1 && cas[0].trusted && byKey(start, cas[0]) {
		return "", catalog.Yes // most of them, and there may be tens of thousands
	}
	level, seen, all := []issuer{start}, map[*pki.Cert]bool{}, true
	for len(level) > 0 && len(seen) < inspect.MaxSameName {
		var above []issuer
		for _, c := range level {
			if name = c.Issuer; seen[c.Cert] || c.SelfSigned {
				continue
			}
			seen[c.Cert] = true
			candidates, few := ix.candidates(c.Cert)
			if !few {
				candidates, all = ix.nearest(c.Cert, candidates, c.payer), false
			}
			for _, ca := range candidates {
				ca.payer = cmp.Or(c.payer, ca.payer)
				if !byKey(c, ca) {
					ok, told := ix.proofs.signed(ca.payer, c.Cert, ca.Cert)
					if all = all && told; !ok {
						continue // of that name only, or too costly to tell
					}
				}
				if ca.trusted {
					return "", catalog.Yes
				}
				above = append(above, ca)
			}
		}
		level = above
	}
	if !all || len(level) > 0 { // more than any real chain
		return name, catalog.Unknown
	}
	return name, catalog.No
}

// untold are certificates of which something is unknown, since trying the CAs that may have issued
// them costs too much: the platform's, and tenants'.
type untold [2]struct {
	certs []inspect.StoredCert
	due   time.Time
}

// add adds a certificate of which it matters from then on.
func (u *untold) add(c inspect.StoredCert, due time.Time) {
	of := &u[0]
	if payerOf(c.Entries) != "" {
		of = &u[1]
	}
	if of.certs = append(of.certs, c); of.due.IsZero() || due.Before(of.due) {
		of.due = due
	}
}

// findings say it, the platform's first. reason has a verb for the subject, evidence one for the
// certificates.
func (u *untold) findings(f *inspect.Facts, reason, impact, evidence, next string) (out []assess.Finding) {
	for _, of := range u {
		if len(of.certs) == 0 {
			continue
		}
		finding := assess.Finding{
			Assessment: assess.Assessment{
				Severity:    assess.Info,
				Impact:      impact,
				Evidence:    fmt.Sprintf(evidence+": there are more than %d CAs of one name, or verifying by them costs too much", listed(of.certs), inspect.MaxSameName),
				Remediation: assess.Advise(next),
			},
			Due: of.due,
		}
		if of.due.Sub(f.Now) <= f.ExpiryWindow {
			finding.Severity = assess.Warning
		}
		for _, c := range of.certs {
			finding.At = append(finding.At, inspect.Locations(c.Entries)...)
			finding.Certs = append(finding.Certs, c.Fingerprint)
		}
		finding.Reason = fmt.Sprintf(reason, subject(finding.At))
		out = append(out, finding)
	}
	return out
}
