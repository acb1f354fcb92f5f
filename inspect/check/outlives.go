package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// outlivesIssuer finds certificates that claim to be valid for longer than the CA
// that issued them: they end with it.
func outlivesIssuer(f *inspect.Facts) []assess.Finding {
	ix := newIssuers(f)
	groups := map[pki.Fingerprint][]inspect.StoredCert{}
	var cas []*pki.Cert
	var untold untold
	for _, c := range f.Leaves {
		if c.SelfSigned || c.NotAfter.Before(f.Now) {
			continue
		}
		var ca *pki.Cert // of copies that several may write, each has its own
		told := true
		for _, copies := range inspect.ByWriter(c.Entries) {
			by, ok := lastIssuer(ix, inspect.StoredCert{Cert: c.Cert, Entries: copies})
			told = told && ok
			if ca == nil || by != nil && by.NotAfter.Before(ca.NotAfter) {
				ca = by
			}
		}
		known := ca != nil && ca.NotAfter.Before(c.NotAfter) && !ca.NotAfter.Before(f.Now)
		first, some := ix.firstExpiry[c.Issuer] // when it may be refused
		if known {
			first = ca.NotAfter
		} else if told || !some || !first.Before(c.NotAfter) {
			continue
		}
		// what is rotated before the CA expires takes no harm
		if r := f.Renewal(c); !r.Due.IsZero() && r.Due.Before(first) {
			continue
		}
		in, current := inForce(c.Entries)
		switch now := (inspect.StoredCert{Cert: c.Cert, Entries: in}); {
		case !current:
		case !known:
			untold.add(now, first)
		default:
			if groups[ca.Fingerprint] == nil {
				cas = append(cas, ca)
			}
			groups[ca.Fingerprint] = append(groups[ca.Fingerprint], now)
		}
	}
	out := untold.findings(f, "whether %s outlives its CA is unknown", "from then on: clients refuse it", "whether the CA that issued %s expires before them is unknown", "verify them by the CA that issued them, and compare their dates: openssl verify -CAfile CA CERTIFICATE")
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
// or none ends before it. told is false where one that may is not known to have signed it or not.
func lastIssuer(ix issuers, c inspect.StoredCert) (last *pki.Cert, told bool) {
	candidates, few := ix.of(c.Cert)
	payer := payerOf(c.Entries)
	if !few {
		if first, ok := ix.firstExpiry[c.Issuer]; !ok || !first.Before(c.NotAfter) {
			return nil, true
		}
		candidates = ix.nearest(c.Cert, candidates, payer)
	} else if !slices.ContainsFunc(candidates, func(ca issuer) bool { return ca.NotAfter.Before(c.NotAfter) }) {
		return nil, true // most of them: no signature is verified where nothing follows from it
	}
	candidates = slices.SortedStableFunc(slices.Values(candidates), func(a, b issuer) int { return b.NotAfter.Compare(a.NotAfter) })
	of := namespacesOf(c.Entries)
	for _, near := range []bool{true, false} {
		for _, ca := range candidates {
			if ca.near(of) != near {
				continue
			}
			switch ok, told := ix.proofs.signed(cmp.Or(payer, ca.payer), c.Cert, ca.Cert); {
			case ok:
				return ca.Cert, true
			case !told:
				return nil, false
			}
		}
	}
	return nil, few
}
