package check

import (
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// servingChain finds serving certificates whose chain does not lead from them to a root.
// OpenShift wants the certificate first, then its intermediates (openshift/openshift-docs
// modules/customize-certificates-replace-default-router.adoc @ 058a87237,
// modules/customize-certificates-api-add-named.adoc @ 19773cfbb), and TLS up to 1.2 that each
// certificate issued the one before it (RFC 5246, 7.4.2).
func servingChain(f *inspect.Facts) []assess.Finding {
	type presented struct {
		content *pki.Content
		in      string // who wrote it decides which CAs are near
	}
	ix := newIssuers(f)
	known := map[presented]int{} // copies are one finding
	var out []assess.Finding
	for _, h := range chainsPresented(f) {
		key := presented{h.Content, h.WrittenIn()}
		n, ok := known[key]
		if !ok {
			n = -1
			c := servedChain{certs: h.Content.Certs, ix: ix, in: namespacesOf([]*inspect.Entry{h}), payer: h.Payer()}
			if finding, found := c.judge(f); found {
				n, out = len(out), append(out, finding)
			}
			known[key] = n
		}
		if n >= 0 {
			out[n].At = append(out[n].At, h.At)
		}
	}
	return named(out)
}

// chainsPresented are the places of more than one certificate that servers present, the
// reserved ones first: what tenants' keys cost leaves those readable.
func chainsPresented(f *inspect.Facts) []*inspect.Entry {
	servers := serversOf(f)
	var reserved, tenants []*inspect.Entry
	for i := range f.Entries {
		h := &f.Entries[i]
		switch {
		case h.Superseded || h.Use != inspect.UseIdentity || len(h.Content.Certs) < 2 || !servers.present(h) && !inTLSSecret(h):
		case h.At.Kind == inspect.KindRoute: // its chain may be in another field, caCertificate
		case h.Reserved():
			reserved = append(reserved, h)
		default:
			tenants = append(tenants, h)
		}
	}
	return append(reserved, tenants...)
}

// servedChain is what a server presents: its certificate, and what follows.
type servedChain struct {
	certs   []*pki.Cert
	ix      issuers
	in      namespaces
	payer   string
	untold  bool             // some signature was too costly
	many    bool             // not all CAs of a top's issuer were tried
	weak    *pki.Cert        // a top with a signature that is not verified, and whose issuer's name a CA has that was read
	reached map[int]bool     // by climb: the positions that lead from a certificate to a root
	tops    []*pki.Cert      // by climb: those whose CA is not among certs
	named   map[string][]int // the positions by subject
}

// judge finds what is wrong with a chain, in a reason that follows the name of the place. What
// has expired is for other checks.
func (c *servedChain) judge(f *inspect.Facts) (assess.Finding, bool) {
	first := slices.IndexFunc(c.certs, func(c *pki.Cert) bool { return !c.IsCA })
	if first < 0 { // a CA's own
		return assess.Finding{}, false
	}
	leaf := c.certs[first]
	if !mayServe(leaf) || leaf.NotAfter.Before(f.Now) {
		return assess.Finding{}, false
	}
	finding := assess.Finding{
		Assessment: assess.Assessment{
			Severity:    assess.Warning,
			Remediation: assess.Advise("write the value again: the server's certificate first, then the intermediates up to the root, as its CA gives them out now"),
		},
		Certs: []pki.Fingerprint{leaf.Fingerprint}, Due: leaf.NotAfter,
	}
	rooted := c.climb(first)
	after := c.issued(leaf, c.certs[1])
	switch {
	case c.untold, c.many && !rooted && len(c.reached) < len(c.certs):
		finding.Reason = "whether its chain is complete is unknown"
		finding.Impact = "if it is not: clients that trust only a root refuse the server"
		finding.Evidence = fmt.Sprintf("the chain of %s has many CAs of one name or large keys, and verifying them costs too much", inspect.CertName(leaf))
		finding.Remediation = assess.Advise("verify it: openssl verify -CAfile ROOT -untrusted tls.crt tls.crt")
	case c.weak != nil && !rooted && len(c.reached) < len(c.certs):
		finding.Reason = "whether its chain is complete is unknown"
		finding.Impact = "if it is not: clients that trust only a root refuse the server"
		finding.Evidence = fmt.Sprintf("which CA issued %s is unknown: %s names it, and its %s is verified no more", inspect.CertName(c.weak),
			foreign.QuotedName(pki.CommonName(c.weak.Issuer)), weakSignature(c.weak.Signature).what)
		finding.Remediation = assess.Advise("have it issued again, with a signature by SHA-256, and write it before its intermediates up to the root")
	case first > 0 && c.reached[0]:
		finding.Reason = "the certificate stands after its CA"
		finding.Impact = "now: servers load the first certificate, and its key does not match"
		finding.Evidence = fmt.Sprintf("%s comes after %s, its CA", inspect.CertName(leaf), inspect.CertName(c.certs[0]))
	case first > 0:
		return assess.Finding{}, false // which of them is presented is unknown: key-matches compares the first
	case !rooted && len(c.reached) < len(c.certs):
		top, it := c.tops[0], "it"
		if top != leaf {
			it = inspect.CertName(top)
		}
		finding.Reason = "the chain lacks CA " + shortName(pki.CommonName(top.Issuer))
		finding.Impact = "now: clients that trust only a root refuse the server"
		finding.Evidence = fmt.Sprintf("the chain of %s lacks %s, which issued %s, and holds %s, which did not",
			inspect.CertName(leaf), foreign.QuotedName(pki.CommonName(top.Issuer)), it, names(c.strays()))
	case !leaf.SelfSigned && !after && len(c.reached) > 1:
		finding.Severity = assess.Info
		finding.Reason = "the chain is out of order"
		finding.Impact = "now: clients that do not sort the chain refuse the server"
		finding.Evidence = fmt.Sprintf("%s is followed by %s, which did not issue it; its CA comes later", inspect.CertName(leaf), inspect.CertName(c.certs[1]))
	default:
		return assess.Finding{}, false
	}
	return finding, true
}

// climb follows the issuers of the certificate at a position as far as the chain holds them, and
// reports whether it needs no other: one is a root, or a CA that clients have was read.
func (c *servedChain) climb(from int) (rooted bool) {
	c.named, c.reached = map[string][]int{}, map[int]bool{from: true}
	for i, cert := range c.certs {
		c.named[cert.Subject] = append(c.named[cert.Subject], i)
	}
	for level := []int{from}; len(level) > 0; level = level[1:] {
		cert := c.certs[level[0]]
		if cert.SelfSigned {
			rooted = true
			continue
		}
		issuers, found := c.named[cert.Issuer], false
		if len(issuers) > inspect.MaxSameName {
			c.untold = true
			return false
		}
		for _, i := range issuers {
			if !c.issued(cert, c.certs[i]) {
				continue
			}
			found = true
			if !c.reached[i] {
				c.reached[i] = true
				level = append(level, i)
			}
		}
		if !found {
			c.tops = append(c.tops, cert)
		}
	}
	return rooted || slices.ContainsFunc(c.tops, c.known)
}

// issued reports whether a CA issued a certificate. A weak signature is for strong-keys to say:
// crypto/x509 verifies none.
func (c *servedChain) issued(cert, ca *pki.Cert) bool {
	if cert.Issuer != ca.Subject || weakSignature(cert.Signature).what != "" {
		return cert.Issuer == ca.Subject
	}
	ok, told := c.ix.proofs.signed(c.payer, cert, ca)
	c.untold = c.untold || !told
	return ok
}

// known reports whether a certificate's CA was read and is a root, which no server has to
// present, or in a CA bundle. A weak signature proves none: a tenant would name a CA of the platform's that way, and
// change what is said of its chain as soon as that CA goes.
func (c *servedChain) known(cert *pki.Cert) bool {
	cas, few := c.ix.candidates(cert)
	if !few {
		cas, c.many = c.ix.nearest(cert, cas, c.payer), true
	}
	return slices.ContainsFunc(cas, func(ca issuer) bool {
		if !ca.SelfSigned && !ca.trusted || !ca.near(c.in) {
			return false
		}
		if weakSignature(cert.Signature).what != "" {
			c.weak = cert
			return false
		}
		return c.issued(cert, ca.Cert)
	})
}

// strays are those of a chain that lead nowhere.
func (c *servedChain) strays() (out []*pki.Cert) {
	for i, cert := range c.certs {
		if !c.reached[i] {
			out = append(out, cert)
		}
	}
	return out
}
