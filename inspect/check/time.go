package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// atLeaf makes a finding about a certificate that is presented, whose reason follows the name
// of the place. Where only older revisions hold it, nothing presents it: Info.
func atLeaf(c inspect.StoredCert, due time.Time, a assess.Assessment) assess.Finding {
	in, current := inForce(c.Entries)
	at := inspect.Locations(in)
	a.Reason = subject(at) + a.Reason
	if !current {
		a.Severity, a.Impact, a.Remediation = assess.Info, "", assess.Remediation{}
		a.Evidence += "; only older static pod revisions, MachineConfigs that no pool uses, or files that were replaced, hold it"
	}
	return assess.Finding{Assessment: a, At: at, Certs: []pki.Fingerprint{c.Fingerprint}, Due: due}
}

// bestPlace is the place by which a finding about a certificate is named.
func bestPlace(entries []*inspect.Entry) pki.Location { return bestEntry(entries).At }

func bestEntry(entries []*inspect.Entry) *inspect.Entry {
	in, _ := inForce(entries)
	best := in[0]
	for _, h := range in[1:] {
		if beforeIn(h.At, best.At) {
			best = h
		}
	}
	return best
}

func expired(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, c := range f.Leaves {
		if !c.NotAfter.Before(f.Now) {
			continue
		}
		next := advise("find its owner and renew it at its source, then replace it here", bestPlace(c.Entries))
		if r := f.Renewal(c); r.By != "" {
			next = askOwner("find out why "+r.By+", which renews it automatically, did not", r.By)
		}
		out = append(out, atLeaf(c, c.NotAfter, assess.Assessment{
			Severity:    assess.Critical,
			Reason:      " expired " + ago(f.Now, c.NotAfter),
			Impact:      "now: " + refused(c.Cert),
			Evidence:    whole(c.Cert) + " expired " + when(f.Now, c.NotAfter),
			Remediation: next,
		}))
	}
	return append(out, chainsExpired(f)...)
}

// chainsExpired finds identities whose leaf is valid but not its chain, and
// bundles in which every CA has expired.
func chainsExpired(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	over := overIn{f.Now, map[*pki.Content]bool{}}
	for _, c := range f.Certs {
		if !c.NotAfter.Before(f.Now) {
			continue
		}
		var chain, alone []*inspect.Entry
		single := true // each of these bundles has no other certificate
		for _, h := range c.Entries {
			switch {
			case h.Use == inspect.UseIdentity && h.Leaf().Fingerprint != c.Fingerprint:
				chain = append(chain, h)
			case h.Use == inspect.UseTrust && over.all(h.Content):
				alone = append(alone, h)
				single = single && len(h.Content.Certs) == 1
			}
		}
		if len(chain) > 0 {
			out = append(out, atLeaf(inspect.StoredCert{Cert: c.Cert, Entries: chain}, c.NotAfter, assess.Assessment{
				Severity:    assess.Warning,
				Reason:      fmt.Sprintf(": CA %s in its chain expired %s", short(c.Cert), ago(f.Now, c.NotAfter)),
				Impact:      "now: clients that verify the server through this CA refuse it",
				Evidence:    fmt.Sprintf("%s sent along as part of a chain, expired %s", whole(c.Cert), when(f.Now, c.NotAfter)),
				Remediation: advise("replace the chain by the issuer's present certificate", bestPlace(chain)),
			}))
		}
		if len(alone) > 0 {
			which := ": CA " + short(c.Cert)
			if single {
				which = ": CA"
			}
			out = append(out, atLeaf(inspect.StoredCert{Cert: c.Cert, Entries: alone}, c.NotAfter, assess.Assessment{
				Severity:    assess.Critical,
				Reason:      which + " expired " + ago(f.Now, c.NotAfter),
				Impact:      "now: " + distrust(bestPlace(alone), alone...),
				Evidence:    fmt.Sprintf("CA %s expired %s, and its bundle holds no CA that is valid", whole(c.Cert), when(f.Now, c.NotAfter)),
				Remediation: renewCA(f, bestEntry(alone)),
			}))
		}
	}
	return out
}

// overIn knows the bundles in which every CA has expired, each of which is asked about once for
// each of its CAs.
type overIn struct {
	now   time.Time
	known map[*pki.Content]bool
}

func (o overIn) all(bundle *pki.Content) bool {
	over, known := o.known[bundle]
	if !known {
		over = !slices.ContainsFunc(bundle.Certs, func(c *pki.Cert) bool { return !c.NotAfter.Before(o.now) })
		o.known[bundle] = over
	}
	return over
}

func notYetValid(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, c := range f.Leaves {
		if c.NotBefore.After(f.Now) {
			out = append(out, atLeaf(c, c.NotBefore, assess.Assessment{
				Severity:    assess.Critical,
				Reason:      " is not valid until " + day(c.NotBefore),
				Impact:      "until then: " + refused(c.Cert),
				Evidence:    fmt.Sprintf("%s is valid only from %s (%s)", whole(c.Cert), day(c.NotBefore), ago(f.Now, c.NotBefore)),
				Remediation: assess.FixedCommand("date -u").Saying("compare the clocks of this machine, the nodes and the machine that signed it"),
			}))
		}
	}
	return out
}

func overdue(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, c := range f.Leaves {
		r := f.Renewal(c)
		if !f.Overdue(c, r) {
			continue
		}
		severity := assess.Warning
		if c.NotAfter.Sub(f.Now) < c.NotAfter.Sub(c.NotBefore)/urgentShare {
			severity = assess.Critical
		}
		out = append(out, atLeaf(c, c.NotAfter, assess.Assessment{
			Severity:    severity,
			Reason:      fmt.Sprintf(" should have been renewed %s, expires %s", ago(f.Now, r.Due), ago(f.Now, c.NotAfter)),
			Impact:      when(f.Now, c.NotAfter) + ": " + refused(c.Cert),
			Evidence:    fmt.Sprintf("%s should have been renewed %s by %s (%s)", whole(c.Cert), when(f.Now, r.Due), r.By, r.Rule),
			Remediation: askOwner("find out why "+r.By+" does not renew it", r.By),
		}))
	}
	return out
}

// crlEnded finds revocation lists that have been replaced, or should have been.
// A list that is held in several places is one finding.
func crlEnded(f *inspect.Facts) []assess.Finding {
	found := map[pki.Fingerprint]*assess.Finding{}
	var order []*assess.Finding
	for i := range f.Entries {
		h := &f.Entries[i]
		for _, l := range h.Content.CRLs {
			if l.NextUpdate.IsZero() || !l.NextUpdate.Before(f.Now) || h.Use == inspect.UseRecord {
				continue
			}
			finding := found[l.Fingerprint]
			if finding == nil {
				finding = &assess.Finding{
					Assessment: assess.Assessment{
						Severity:    assess.Info,
						Reason:      fmt.Sprintf(": revocation list of %s expired %s", shortName(pki.CommonName(l.Issuer)), ago(f.Now, l.NextUpdate)),
						Evidence:    fmt.Sprintf("the revocation list of %s expired %s: its nextUpdate", foreign.QuotedName(pki.CommonName(l.Issuer)), when(f.Now, l.NextUpdate)),
						Remediation: assess.Advise("put the list there that the CA publishes now, or find out why what fetches it does not"),
					},
					Due: l.NextUpdate,
				}
				found[l.Fingerprint] = finding
				order = append(order, finding)
			}
			if !h.Superseded {
				finding.Severity = assess.Warning
				finding.Impact = "now: servers that check certificates against it refuse all of that CA"
			}
			if n := len(finding.At); n == 0 || finding.At[n-1] != h.At { // a place may hold one list twice
				finding.At = append(finding.At, h.At)
			}
		}
	}
	out := make([]assess.Finding, len(order))
	for i, finding := range order {
		finding.Reason = subject(finding.At) + finding.Reason
		out[i] = *finding
	}
	return out
}

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

// lastIssuer returns the certificate of c's issuer that expires last: a CA renewed with its key
// has several. Those that are near c go before others. nil if none is known to have signed c,
// or none expires before it. told is false where it is unknown whether one that may has signed it.
func lastIssuer(ix issuers, c inspect.StoredCert) (last *pki.Cert, told bool) {
	candidates, few := ix.candidates(c.Cert)
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
