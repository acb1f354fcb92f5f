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

// atLeaf makes a finding about a certificate that is shown. Where only older
// revisions hold it, nobody shows it any more: Info.
func atLeaf(c inspect.StoredCert, severity assess.Severity, due time.Time, message, next string) assess.Finding {
	in, current := inForce(c.Entries)
	if !current {
		severity = assess.Info
		message += "; only older static pod revisions, MachineConfigs that no pool uses, or files that were replaced, hold it"
		next = ""
	}
	return assess.Finding{Assessment: assess.Assessment{Severity: severity, Reason: message, Remediation: assess.Advise(next)}, At: inspect.Locations(in), Certs: []pki.Fingerprint{c.Fingerprint}, Due: due}
}

func expired(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, c := range f.Leaves {
		if !c.NotAfter.Before(f.Now) {
			continue
		}
		next := "renew it where it comes from, then replace it here"
		if r := f.Renewal(c); r.By != "" {
			next = r.By + " renews it by itself and did not: look at that first" + clusterOperatorHint(r.By)
		}
		out = append(out, atLeaf(c, assess.Critical, c.NotAfter,
			fmt.Sprintf("%s expired %s (%s)", inspect.CertName(c.Cert), ago(f.Now, c.NotAfter), day(c.NotAfter)), next))
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
		for _, h := range c.Entries {
			switch {
			case h.Use == inspect.UseIdentity && h.Leaf().Fingerprint != c.Fingerprint:
				chain = append(chain, h)
			case h.Use == inspect.UseTrust && over.all(h.Content):
				alone = append(alone, h)
			}
		}
		when := fmt.Sprintf("%s (%s)", ago(f.Now, c.NotAfter), day(c.NotAfter))
		if len(chain) > 0 {
			out = append(out, atLeaf(inspect.StoredCert{Cert: c.Cert, Entries: chain}, assess.Warning, c.NotAfter,
				fmt.Sprintf("%s, sent along as part of a chain, expired %s", inspect.CertName(c.Cert), when), "replace the chain by the issuer's present certificate"))
		}
		if len(alone) > 0 {
			out = append(out, atLeaf(inspect.StoredCert{Cert: c.Cert, Entries: alone}, assess.Critical, c.NotAfter,
				fmt.Sprintf("CA %s expired %s, and its bundle holds no CA that is valid: its readers trust no CA", inspect.CertName(c.Cert), when), "find the bundle's source, and the CA that replaced this one"))
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
			out = append(out, atLeaf(c, assess.Critical, c.NotBefore,
				fmt.Sprintf("%s is valid only from %s (%s)", inspect.CertName(c.Cert), day(c.NotBefore), ago(f.Now, c.NotBefore)),
				"compare the clocks of this machine, the nodes and whoever signed it: date -u"))
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
		out = append(out, atLeaf(c, severity, c.NotAfter,
			fmt.Sprintf("%s should have been renewed %s by %s (%s); it expires %s", inspect.CertName(c.Cert), ago(f.Now, r.Due), r.By, r.Rule, ago(f.Now, c.NotAfter)),
			"find out why "+r.By+" does not renew it"+clusterOperatorHint(r.By)))
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
						Reason:      fmt.Sprintf("the revocation list of %s ended %s (%s): who checks against it refuses all certificates of that CA", foreign.QuotedName(pki.CommonName(l.Issuer)), ago(f.Now, l.NextUpdate), day(l.NextUpdate)),
						Remediation: assess.Advise("put the list there that the CA publishes now, or find out why what fetches it does not"),
					},
					Due: l.NextUpdate,
				}
				found[l.Fingerprint] = finding
				order = append(order, finding)
			}
			if !h.Superseded {
				finding.Severity = assess.Warning
			}
			if n := len(finding.At); n == 0 || finding.At[n-1] != h.At { // a place may hold one list twice
				finding.At = append(finding.At, h.At)
			}
		}
	}
	out := make([]assess.Finding, len(order))
	for i, finding := range order {
		out[i] = *finding
	}
	return out
}
