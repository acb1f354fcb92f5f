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
func bestPlace(entries []*inspect.Entry) pki.Location {
	in, _ := inForce(entries)
	best := in[0].At
	for _, h := range in[1:] {
		if beforeIn(h.At, best) {
			best = h.At
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
				Impact:      "now: " + distrust(bestPlace(alone)),
				Evidence:    fmt.Sprintf("CA %s expired %s, and its bundle holds no CA that is valid", whole(c.Cert), when(f.Now, c.NotAfter)),
				Remediation: renewCA(bestPlace(alone)),
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
				Remediation: assess.Run("date -u").Saying("compare the clocks of this machine, the nodes and the machine that signed it"),
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
