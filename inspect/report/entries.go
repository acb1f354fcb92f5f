package report

import (
	"cmp"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func certEntry(f *inspect.Facts, c inspect.StoredCert, fi Filter) (Cert, bool) {
	if fi.Cert != nil && !fi.Cert(c.Cert) {
		return Cert{}, false
	}
	e := Cert{Cert: c.Cert}
	// Places that present the certificate come before those that trust it, and objects
	// before their copies on nodes.
	var places [4][]*inspect.Entry
	presents := func(h *inspect.Entry) bool { leaf := h.Leaf(); return leaf != nil && leaf.Fingerprint == c.Fingerprint }
	reserved := slices.ContainsFunc(c.Entries, func(h *inspect.Entry) bool { return presents(h) && h.Reserved() })
	renews := false
	for _, h := range c.Entries {
		if !fi.place(h.At, h.Object) {
			continue
		}
		// the place that presents a certificate says more of it than one that
		// trusts it
		presented := presents(h)
		rank := 0
		if !presented {
			rank = 2
		}
		if h.At.Node != "" {
			rank++
		}
		places[rank] = append(places[rank], h)
		if presented && !renews && h.Reserved() == reserved {
			e.Owner, e.Role = cmp.Or(h.Owner(), e.Owner), h.Role()
			renews = inspect.RenewalOf(h, f.Snapshot.Cluster.Versions).Automatic == catalog.Yes
		}
		e.Owner, e.Role = cmp.Or(e.Owner, h.Owner()), cmp.Or(e.Role, h.Role())
	}
	e.in = slices.Concat(places[:]...)
	e.Renewal = renewalEntry(f.Renewal(c))
	return e, len(e.in) > 0 && (fi.Owner == nil || fi.Owner(e.Owner))
}

func renewalEntry(r inspect.Renewal) Renewal {
	e := Renewal{From: r.From, Due: r.Due, Known: r.Automatic == catalog.Yes || r.None}
	if r.Automatic == catalog.Yes {
		e.By = r.By
	}
	return e
}

// bundleEntries reports places with more than a lone certificate, those with
// the same content as one.
func bundleEntries(f *inspect.Facts, fi Filter, chosen map[pki.Fingerprint]bool) []Bundle {
	type group struct {
		content *pki.Content
		use     inspect.Use
	}
	members := map[group][]*inspect.Entry{}
	var order []group
	for i := range f.Entries {
		h := &f.Entries[i]
		c := h.Content
		if !fi.place(h.At, h.Object) || (h.Use != inspect.UseTrust && len(c.Certs) < 2 && len(c.CRLs)+len(c.Locked)+len(c.Bad) == 0) || !anyChosen(c, fi, chosen) {
			continue
		}
		g := group{c, h.Use}
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], h)
	}
	out := make([]Bundle, 0, len(order))
	for _, g := range order {
		e := Bundle{Use: g.use, Certificates: []pki.Fingerprint{}, Bad: len(g.content.Bad), PrivateKeys: len(g.content.Keys), Locked: len(g.content.Locked), Locations: inspect.Locations(members[g])}
		for _, cert := range g.content.Certs {
			e.Certificates = append(e.Certificates, cert.Fingerprint)
		}
		for _, l := range g.content.CRLs {
			e.CRLs = append(e.CRLs, CRL{
				SHA256: l.Fingerprint, Issuer: l.Issuer, ThisUpdate: l.ThisUpdate, NextUpdate: l.NextUpdate, Revoked: l.Revoked, AuthorityKeyID: l.IssuerKey,
			})
		}
		for _, h := range members[g] {
			e.Owner, e.Role = cmp.Or(e.Owner, h.Owner()), cmp.Or(e.Role, h.Role())
		}
		out = append(out, e)
	}
	return out
}

func anyChosen(c *pki.Content, fi Filter, chosen map[pki.Fingerprint]bool) bool {
	return !fi.someCerts() || slices.ContainsFunc(c.Certs, func(c *pki.Cert) bool { return chosen[c.Fingerprint] })
}

func requestEntry(r inspect.SigningRequest) Request {
	e := Request{Name: r.Object.Name, Signer: r.Signer, Requester: r.Requester, Condition: r.Condition, Since: r.Since}
	if r.Request != nil {
		e.Subject, e.DNSNames, e.IPs = r.Request.Subject, r.Request.Names.DNS, r.Request.Names.IPs
	}
	return e
}

func findingEntry(found assess.Finding, fi Filter, objects map[pki.Location]*inspect.Object, chosen map[pki.Fingerprint]bool) (Finding, bool) {
	e := Finding{Title: titleOf(found.ID), Certificates: found.Certs}
	if fi.someCerts() && !slices.ContainsFunc(found.Certs, func(fp pki.Fingerprint) bool { return chosen[fp] }) {
		return e, false
	}
	if fi.Place == nil { // which the places of several findings may be: no copy of their own
		e.Locations = found.At
	} else {
		for _, at := range found.At {
			if fi.place(at, objects[pki.Location{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}]) {
				e.Locations = append(e.Locations, at)
			}
		}
	}
	e.Assessment = check.Only(found, e.Locations).Assessment
	return e, len(e.Locations) > 0 || len(found.At) == 0
}

// titleOf returns the claim of a check; empty for one that does not exist.
func titleOf(id string) string {
	for _, c := range check.Checks() {
		if c.ID == id {
			return c.Title
		}
	}
	return ""
}
