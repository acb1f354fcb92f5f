package trust

import (
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// issuer is the CA at the top of what is presented in a claim, as far as it was read, and as finding
// it is not too costly.
func (j *judge) issuer(c *Claim) *pki.Cert {
	if len(c.Chain) == 0 {
		return nil
	}
	top := c.Chain[len(c.Chain)-1]
	if top.SelfSigned {
		return top
	}
	ca, known := j.issuers[top]
	if known {
		return ca
	}
	ca, told := j.issuerOf(c, top)
	if !told {
		return nil // not remembered: another claim may afford it
	}
	if j.issuers == nil {
		j.issuers = map[*pki.Cert]*pki.Cert{}
	}
	j.issuers[top] = ca
	return ca
}

// mostIssuers bounds how many CAs of one name are tried: tenants choose names and keys.
const mostIssuers = 20

// issuerOf is the oldest CA that verifies a certificate, of those that only the platform writes; else,
// of those on nodes; else, of tenants'. A CA that was issued once more with its key verifies the same, for who has
// loaded the one before, too. So does a twin, with its name and key: anybody makes one. told is
// false where trying them costs too much.
func (j *judge) issuerOf(c *Claim, top *pki.Cert) (ca *pki.Cert, told bool) {
	named := j.casNamed(top.Issuer)
	for by, cas := range named {
		for _, one := range cas {
			if ca != nil && !one.NotBefore.Before(ca.NotBefore) {
				continue
			}
			if !j.affordIssuer(c, top, one, inspect.Writer(by)) {
				return nil, false
			}
			if pki.VerifyCA(top, []*pki.Cert{one}, top.NotBefore) == nil {
				ca = one
			}
		}
		if ca != nil {
			break
		}
	}
	return ca, true
}

// affordIssuer reports whether a CA of a writer's may be tried for a claim. Claims about what tenants
// write pay for each. Of the platform's, only tenants' CAs are paid for, and apart from that.
func (j *judge) affordIssuer(c *Claim, top, ca *pki.Cert, by inspect.Writer) bool {
	left := &j.decoys
	switch {
	case c.Tenant != "" || !reserved(c.Presented):
		left = &j.costs
	case by != inspect.WriterTenant:
		return true
	}
	*left -= pki.Cost([]*pki.Cert{top}, []*pki.Cert{ca})
	return *left >= 0
}

// namedCAs are the first CAs of one name, by inspect.Writer.
type namedCAs [inspect.WriterTenant + 1][]*pki.Cert

// casNamed are the CAs of a name, as many as are tried.
func (j *judge) casNamed(subject string) namedCAs {
	if j.index.cas == nil {
		j.index.cas = map[string]namedCAs{}
		for _, c := range j.f.Certs {
			if !c.IsCA {
				continue
			}
			named := j.index.cas[c.Subject]
			by := inspect.WriterTenant
			for _, h := range c.Entries {
				by = min(by, h.Writer())
			}
			if len(named[by]) < mostIssuers {
				named[by] = append(named[by], c.Cert)
				j.index.cas[c.Subject] = named
			}
		}
	}
	return j.index.cas[subject]
}
