package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// A certificate that is renewed by hand is worth a warning when this share of its
// life is left, and urgent when less is.
const (
	soonShare   = 5  // a fifth
	urgentShare = 10 // a tenth
	urgent      = 7 * 24 * time.Hour
)

// expiring finds what expires within f.ExpiryWindow. Where it was asked for, that is each
// certificate, one finding each; else those that nothing renews, in the last fifth of
// their life: in the middle of its life a short-lived certificate is no news.
func expiring(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	done := reported{}
	for _, c := range f.Leaves {
		done.add(c.Cert, presenting(c)) // here or, when it is overdue, by rotation-overdue
		if finding, ok := expiringLeaf(f, c); ok {
			out = append(out, finding)
		}
	}
	out = append(out, trustEnding(f, done)...)
	if f.ExpiryWindowGiven {
		out = append(out, expiringElsewhere(f, done)...)
	}
	return out
}

// reported are the certificates of findings, each with the namespaces of the places that its
// findings cover.
type reported map[pki.Fingerprint]coverage

// coverage is what findings cover: all places where some are where no tenant writes.
type coverage struct {
	all bool
	in  namespaces
}

// add notes places that a finding covers.
func (r reported) add(c *pki.Cert, places []*inspect.Entry) {
	by, ok := r[c.Fingerprint]
	if !ok {
		by.in = namespaces{}
	}
	for _, h := range places {
		by.all = by.all || h.Reserved()
		by.in[h.WrittenIn()] = true
	}
	r[c.Fingerprint] = by
}

// covers reports whether the findings of a certificate cover these places too: those that no
// tenant writes cover all, a tenant's cover those in its namespace.
func (r reported) covers(c *pki.Cert, places []*inspect.Entry) bool {
	by, ok := r[c.Fingerprint]
	if !ok || by.all {
		return ok
	}
	return !slices.ContainsFunc(places, func(h *inspect.Entry) bool { return !by.in[h.WrittenIn()] })
}

// presenting are the places that present a certificate.
func presenting(c inspect.StoredCert) (in []*inspect.Entry) {
	for _, h := range c.Entries {
		if leaf := h.Leaf(); leaf != nil && leaf.Fingerprint == c.Fingerprint {
			in = append(in, h)
		}
	}
	return in
}

// expiresSoon reports whether a certificate expires soon enough to be said: in this share of
// its life at the latest, unless it was asked for.
func expiresSoon(f *inspect.Facts, c *pki.Cert, share time.Duration) bool {
	left := c.NotAfter.Sub(f.Now)
	return left >= 0 && left <= f.ExpiryWindow && (f.ExpiryWindowGiven || left <= c.NotAfter.Sub(c.NotBefore)/share && !c.NotBefore.After(f.Now))
}

// urgency is the severity of what nothing renews.
func urgency(f *inspect.Facts, c *pki.Cert) assess.Severity {
	if left := c.NotAfter.Sub(f.Now); left < urgent && left < c.NotAfter.Sub(c.NotBefore)/urgentShare {
		return assess.Critical
	}
	return assess.Warning
}

// expiresText says when, for people.
func expiresText(f *inspect.Facts, c *pki.Cert) string {
	return whole(c) + " expires " + when(f.Now, c.NotAfter)
}

// expiringLeaf judges a certificate that is presented.
func expiringLeaf(f *inspect.Facts, c inspect.StoredCert) (assess.Finding, bool) {
	r := f.Renewal(c)
	share := time.Duration(soonShare)
	if r.Automatic == catalog.Unknown { // it may renew itself, so only what is nearly over is worth a warning
		share = urgentShare
	}
	expires := " expires " + ago(f.Now, c.NotAfter)
	switch {
	case !expiresSoon(f, c.Cert, share), f.Overdue(c, r), r.Automatic == catalog.Yes && !f.ExpiryWindowGiven:
		return assess.Finding{}, false
	case r.Automatic == catalog.Yes:
		due, was := " "+ago(f.Now, r.Due), ""
		if r.Due.Before(f.Now) {
			due, was = ", and was due "+ago(f.Now, r.Due), ", which was due "+ago(f.Now, r.Due)
		}
		return atLeaf(c, c.NotAfter, assess.Assessment{
			Severity: assess.Info,
			Reason:   expires + ", automatic renewal" + cmp.Or(was, due),
			Evidence: fmt.Sprintf("%s; %s renews it automatically%s (%s)", expiresText(f, c.Cert), r.By, due, r.Rule),
		}), true
	case r.Automatic == catalog.Unknown:
		return atLeaf(c, c.NotAfter, assess.Assessment{
			Severity:    assess.Warning,
			Reason:      expires + ", automatic renewal unknown",
			Impact:      when(f.Now, c.NotAfter) + ", unless it is renewed: " + refused(c.Cert),
			Evidence:    fmt.Sprintf("%s; whether it is renewed automatically is unknown: %s", expiresText(f, c.Cert), f.Snapshot.Cluster.Versions.WhyUndecided()),
			Remediation: askOwner("ask its owner, "+r.By+". If that does not renew it, renew it at its source and replace it here", r.By),
		}), true
	}
	known := " known"
	if r.None {
		known = ""
	}
	return atLeaf(c, c.NotAfter, assess.Assessment{
		Severity:    urgency(f, c.Cert),
		Reason:      expires + ", no automatic renewal" + known,
		Impact:      when(f.Now, c.NotAfter) + ": " + refused(c.Cert),
		Evidence:    expiresText(f, c.Cert) + ", and nothing is known to renew it automatically",
		Remediation: advise("find its owner and renew it at its source, then replace it here", bestPlace(c.Entries)),
	}), true
}

// trustEnding finds CA bundles of which every CA expires soon: kubeadm's cluster
// CA, or a webhook's own. A CA that is also presented by a signer is judged there. It adds
// what it finds to done.
func trustEnding(f *inspect.Facts, done reported) []assess.Finding {
	var out []assess.Finding
	for _, entries := range trustBundles(f) {
		var last *pki.Cert // the CA that expires last
		for _, c := range entries[0].Content.Certs {
			if last == nil || c.NotAfter.After(last.NotAfter) {
				last = c
			}
		}
		if !expiresSoon(f, last, soonShare) || done.covers(last, entries) {
			continue
		}
		done.add(last, entries)
		at := bestPlace(entries)
		out = append(out, atLeaf(inspect.StoredCert{Cert: last, Entries: entries}, last.NotAfter, assess.Assessment{
			Severity:    urgency(f, last),
			Reason:      fmt.Sprintf(": its last CA expires %s", ago(f.Now, last.NotAfter)),
			Impact:      when(f.Now, last.NotAfter) + ": " + distrust(at, entries...),
			Evidence:    fmt.Sprintf("CA %s, the last one of its bundle", expiresText(f, last)),
			Remediation: advise("renew the CA at its source, and add the new one to the bundle before the old one expires", at),
		}))
	}
	return out
}

// expiringElsewhere finds what expires and is not reported yet: CAs of bundles that hold
// others, of chains, and what is kept somewhere.
func expiringElsewhere(f *inspect.Facts, done reported) []assess.Finding {
	var out []assess.Finding
	for _, c := range f.Certs {
		if !expiresSoon(f, c.Cert, soonShare) || done.covers(c.Cert, c.Entries) {
			continue
		}
		a, what := assess.Assessment{Severity: assess.Info}, "kept for the record"
		for _, h := range c.Entries {
			switch {
			case h.Superseded:
			case h.Use == inspect.UseIdentity && inspect.RenewalOf(h, f.Snapshot.Cluster.Versions).Automatic == catalog.Yes:
				what = "sent as part of a chain, which is renewed automatically"
			case h.Use == inspect.UseIdentity:
				what = "sent as part of a chain"
				a = assess.Assessment{
					Severity: assess.Warning, Impact: when(f.Now, c.NotAfter) + ": clients that verify the server through it refuse it",
					Remediation: advise("replace the chain by the issuer's present certificate", h.At),
				}
			case h.Use == inspect.UseTrust && a.Severity == assess.Info:
				what = "its bundles hold another CA that is valid for longer"
			case h.Use == inspect.UseOther && a.Severity == assess.Info:
				what = "what it is used for is unknown"
				a = assess.Assessment{
					Severity: assess.Warning, Impact: when(f.Now, c.NotAfter) + ": what fails is unknown",
					Remediation: advise("find out what reads it, and renew it at its source", h.At),
				}
			}
		}
		kind := ": certificate "
		if c.IsCA {
			kind = ": CA "
		}
		a.Reason = kind + short(c.Cert) + " expires " + ago(f.Now, c.NotAfter)
		a.Evidence = expiresText(f, c.Cert) + "; " + what
		out = append(out, atLeaf(c, c.NotAfter, a))
	}
	return out
}
