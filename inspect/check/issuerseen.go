package check

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

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
func trustedRoot(ix issuers, leaf inspect.StoredCert) (name string, found catalog.Answer) {
	payer, in := payerOf(leaf.Entries), namespacesOf(leaf.Entries)
	// Key identifiers are anybody's to choose: a tenant's CA of another namespace has to have signed
	// what is the platform's.
	byKey := func(c, ca issuer) bool { return c.IssuerKey != "" && (payer != "" || ca.near(in)) }
	start := issuer{Cert: leaf.Cert, payer: payer}
	if cas, _ := ix.of(leaf.Cert); len(cas) == 1 && cas[0].trusted && byKey(start, cas[0]) {
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
			candidates, few := ix.of(c.Cert)
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
