package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// shown returns, for each certificate that is the leaf of an identity, the
// places where it is. Certificates kept for the record are passed over.
func shown(certs []Holding) []Holding {
	var out []Holding
	for _, c := range certs {
		var in []*Held
		for _, h := range c.In {
			if leaf := h.leaf(); leaf != nil && leaf.Fingerprint == c.Fingerprint {
				in = append(in, h)
			}
		}
		if len(in) > 0 {
			out = append(out, Holding{Cert: c.Cert, In: in})
		}
	}
	return out
}

// atLeaf makes a finding about a certificate that is shown. Where only older
// revisions hold it, nobody shows it any more: Info.
func atLeaf(c Holding, severity Severity, due time.Time, message, next string) Finding {
	in, current := inForce(c.In)
	if !current {
		severity = Info
		message += "; only older static pod revisions, MachineConfigs that no pool uses, or files that were replaced, hold it"
		next = ""
	}
	return Finding{Severity: severity, Message: message, Next: next, At: locations(in), Certs: []pki.Fingerprint{c.Fingerprint}, Due: due}
}

func expired(f *Facts) []Finding {
	var out []Finding
	for _, c := range f.Shown {
		if !c.NotAfter.Before(f.Now) {
			continue
		}
		next := "renew it where it comes from, then replace it here"
		if r := f.Renewal(c); r.By != "" {
			next = r.By + " renews it by itself and did not: look at that first" + clusterOperatorHint(r.By)
		}
		out = append(out, atLeaf(c, Critical, c.NotAfter,
			fmt.Sprintf("%s expired %s (%s)", name(c.Cert), ago(f.Now, c.NotAfter), day(c.NotAfter)), next))
	}
	return append(out, chainsExpired(f)...)
}

// chainsExpired finds identities whose leaf is valid but not its chain, and
// bundles in which every CA has expired.
func chainsExpired(f *Facts) []Finding {
	var out []Finding
	for _, c := range f.Certs {
		if !c.NotAfter.Before(f.Now) {
			continue
		}
		var chain, alone []*Held
		for _, h := range c.In {
			switch {
			case h.Use == UseIdentity && h.leaf().Fingerprint != c.Fingerprint:
				chain = append(chain, h)
			case h.Use == UseTrust && allExpired(h, f.Now):
				alone = append(alone, h)
			}
		}
		when := fmt.Sprintf("%s (%s)", ago(f.Now, c.NotAfter), day(c.NotAfter))
		if len(chain) > 0 {
			out = append(out, atLeaf(Holding{c.Cert, chain}, Warning, c.NotAfter,
				fmt.Sprintf("%s, sent along as part of a chain, expired %s", name(c.Cert), when), "replace the chain by the issuer's present certificate"))
		}
		if len(alone) > 0 {
			out = append(out, atLeaf(Holding{c.Cert, alone}, Critical, c.NotAfter,
				fmt.Sprintf("CA %s expired %s, and its bundle holds no CA that is valid: its readers trust nobody", name(c.Cert), when), "find the bundle's source, and the CA that replaced this one"))
		}
	}
	return out
}

func allExpired(h *Held, now time.Time) bool {
	for _, c := range h.Content.Certs {
		if !c.NotAfter.Before(now) {
			return false
		}
	}
	return true
}

func notYetValid(f *Facts) []Finding {
	var out []Finding
	for _, c := range f.Shown {
		if c.NotBefore.After(f.Now) {
			out = append(out, atLeaf(c, Critical, c.NotBefore,
				fmt.Sprintf("%s is valid only from %s (%s)", name(c.Cert), day(c.NotBefore), ago(f.Now, c.NotBefore)),
				"compare the clocks of this machine, the nodes and whoever signed it: date -u"))
		}
	}
	return out
}

func overdue(f *Facts) []Finding {
	var out []Finding
	for _, c := range f.Shown {
		r := f.Renewal(c)
		if !f.overdue(c, r) {
			continue
		}
		severity := Warning
		if c.NotAfter.Sub(f.Now) < c.NotAfter.Sub(c.NotBefore)/urgentShare {
			severity = Critical
		}
		out = append(out, atLeaf(c, severity, c.NotAfter,
			fmt.Sprintf("%s should have been renewed %s by %s (%s); it expires %s", name(c.Cert), ago(f.Now, r.Due), r.By, r.Rule, ago(f.Now, c.NotAfter)),
			"find out why "+r.By+" does not renew it"+clusterOperatorHint(r.By)))
	}
	return out
}

// overdue reports whether a certificate that is renewed so should have been by now.
func (f *Facts) overdue(c Holding, r Renewal) bool {
	if r.Due.IsZero() || c.NotAfter.Before(f.Now) { // certificate-expired says it
		return false
	}
	// library-go lets a leaf wait until its signer is older than a tenth of
	// the refresh period; the hour is for everybody's resync
	grace := max(r.Due.Sub(c.NotBefore)/10, time.Hour)
	// but never so long that nobody would be warned
	grace = min(grace, c.NotAfter.Sub(r.Due)/2)
	return !f.Now.Before(r.Due.Add(grace))
}

// crlEnded finds revocation lists that have been replaced, or should have been.
// A list that is held in several places is one finding.
func crlEnded(f *Facts) []Finding {
	found := map[pki.Fingerprint]*Finding{}
	var order []*Finding
	for i := range f.Held {
		h := &f.Held[i]
		for _, l := range h.Content.CRLs {
			if l.NextUpdate.IsZero() || !l.NextUpdate.Before(f.Now) || h.Use == UseRecord {
				continue
			}
			finding := found[l.Fingerprint]
			if finding == nil {
				finding = &Finding{
					Severity: Info, Due: l.NextUpdate,
					Message: fmt.Sprintf("the revocation list of %s ended %s (%s): who checks against it refuses all certificates of that CA", foreign.Called(pki.CommonName(l.Issuer)), ago(f.Now, l.NextUpdate), day(l.NextUpdate)),
					Next:    "put the list there that the CA publishes now, or find out why what fetches it does not",
				}
				found[l.Fingerprint] = finding
				order = append(order, finding)
			}
			if !h.Superseded {
				finding.Severity = Warning
			}
			if !slices.Contains(finding.At, h.At) {
				finding.At = append(finding.At, h.At)
			}
		}
	}
	out := make([]Finding, len(order))
	for i, finding := range order {
		out[i] = *finding
	}
	return out
}
