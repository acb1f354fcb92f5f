package trust

import (
	"cmp"
	"slices"

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
	named := j.casNamed(top.Issuer)
	of := issued{top: top}
	if len(named.on[c.Node]) > 0 {
		of.node = c.Node
	}
	ca, known := j.issuers[of]
	if known {
		return ca
	}
	ca, told := j.issuerOf(c, top, named)
	if !told {
		return nil // not remembered: another claim may afford it
	}
	if j.issuers == nil {
		j.issuers = map[issued]*pki.Cert{}
	}
	j.issuers[of] = ca
	return ca
}

// issued is a certificate whose issuer is looked for; node: on it, before other nodes.
type issued struct {
	top  *pki.Cert
	node string
}

// mostIssuers bounds how many CAs of one name are tried: tenants choose names and keys.
const mostIssuers = 20

// issuerOf is the oldest CA that verifies a certificate, of those that only the platform writes; else,
// of those on the claim's node; else, the newest on other nodes; else, the oldest of tenants'; else,
// of those that servers present. A CA that was issued once more with its key verifies the same, for
// who has loaded the one before, too. So does a twin, with its name and key: any tenant makes one, and an
// older one on another node would hide that a CA is not in a process's memory. told is false where
// trying them costs too much.
func (j *judge) issuerOf(c *Claim, top *pki.Cert, named namedCAs) (ca *pki.Cert, told bool) {
	for _, from := range []struct {
		cas      []*pki.Cert
		by       inspect.Writer
		youngest bool
	}{
		{cas: named.by[inspect.WriterPlatform], by: inspect.WriterPlatform},
		{cas: named.on[c.Node], by: inspect.WriterNode},
		{cas: named.by[inspect.WriterNode], by: inspect.WriterNode, youngest: true},
		{cas: named.by[inspect.WriterTenant], by: inspect.WriterTenant},
		{cas: named.by[inspect.WriterServer], by: inspect.WriterServer},
	} {
		for _, one := range from.cas {
			if ca != nil && (one.NotBefore.Equal(ca.NotBefore) || one.NotBefore.After(ca.NotBefore) != from.youngest) {
				continue
			}
			if !j.affordIssuer(c, top, one, from.by) {
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
// and workers write pay for each. Of the platform's, only CAs of tenants and servers are paid for, and apart from that.
func (j *judge) affordIssuer(c *Claim, top, ca *pki.Cert, by inspect.Writer) bool {
	cost := pki.Cost([]*pki.Cert{top}, []*pki.Cert{ca})
	switch {
	case c.Tenant != "" || !reserved(c.Presented):
		return j.payTenant(cmp.Or(c.Tenant, c.Presented.Namespace), cost)
	case by < inspect.WriterTenant:
		return j.charge(j.worker(c.Presented), cost)
	case cost > j.decoys:
		return false
	}
	j.decoys -= cost
	return true
}

// namedCAs are the first CAs of one name: by who writes them, and of those that only nodes have, by node.
type namedCAs struct {
	by [inspect.WriterServer + 1][]*pki.Cert
	on map[string][]*pki.Cert
}

// add adds one, unless as many as are tried are there.
func (n *namedCAs) add(c inspect.StoredCert) {
	by := inspect.WriterServer
	for _, h := range c.Entries {
		by = min(by, h.Writer())
	}
	if len(n.by[by]) < mostIssuers {
		n.by[by] = append(n.by[by], c.Cert)
	}
	if by != inspect.WriterNode {
		return
	}
	if n.on == nil {
		n.on = map[string][]*pki.Cert{}
	}
	for _, h := range c.Entries {
		if cas := n.on[h.At.Node]; h.Writer() == inspect.WriterNode && len(cas) < mostIssuers && !slices.Contains(cas, c.Cert) {
			n.on[h.At.Node] = append(cas, c.Cert)
		}
	}
}

// casNamed are the CAs of a name, as many as are tried.
func (j *judge) casNamed(subject string) namedCAs {
	if j.index.cas == nil {
		j.index.cas = map[string]namedCAs{}
		for _, c := range j.f.Certs {
			if c.IsCA {
				named := j.index.cas[c.Subject]
				named.add(c)
				j.index.cas[c.Subject] = named
			}
		}
	}
	return j.index.cas[subject]
}
