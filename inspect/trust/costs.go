package trust

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// costsAtLeast is what claims about tenants may cost, beyond what ordinary chains do: 6 s.
const costsAtLeast = 400_000

// whyCostly is why a claim was not judged.
const whyCostly = "verifying it costs too much: there are many CAs of one name, with large keys"

// afford reports whether a chain may be verified for a claim. What tenants write leaves nothing
// of the platform's unjudged: only claims about tenants are counted.
func (j *judge) afford(c *Claim, chain []*pki.Cert) bool {
	if c.Tenant == "" {
		return true
	}
	if more := pki.Cost(chain, c.Roots) - pki.CostOrdinary; more > 0 {
		j.costs -= more
		return j.costs >= 0
	}
	return true
}
