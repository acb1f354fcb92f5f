package inspect

import "strings"

// Budget is what verifying signatures may cost one judge, in the units of pki.Cost. Tenants and
// root on workers choose names and keys: what they write pays from budgets of their own, of which
// one namespace or node has a part, so that it leaves what the platform and others have judged.
type Budget struct {
	platform, nodes, tenants int
	ofNode, ofTenant         int            // at most, of one
	spent                    map[string]int // by payer
}

// What signatures may cost: 3 s in all, and one RSA key of 2048 bits a certificate, for the
// platform and for all workers together.
const (
	costsAtLeast = 200_000
	costsPerCert = 25
	// tenantsAtMost is 9 s: their small certificates would raise it to minutes.
	tenantsAtMost = 600_000
)

// NewBudget is the budget where so many certificates were read.
func NewBudget(certs int) *Budget {
	all := costsAtLeast + costsPerCert*certs
	tenants := min(all, tenantsAtMost)
	return &Budget{platform: all, nodes: all, tenants: tenants, ofNode: costsAtLeast / 2, ofTenant: tenants / 2, spent: map[string]int{}}
}

// Payer is who pays for what is verified: a tenant's namespace, a worker, or a server that
// presented it; empty: the platform.
func (e *Entry) Payer() string { return e.WrittenIn() }

// PaidByNode reports whether a payer is a worker.
func PaidByNode(payer string) bool { return strings.HasPrefix(payer, nodeWriter) }

// Pay reports whether a payer may have so much verified, and takes it. Where it says no, what would
// have been verified is unknown.
func (b *Budget) Pay(payer string, cost int) bool {
	from, most := &b.platform, b.platform
	switch {
	case PaidByNode(payer):
		from, most = &b.nodes, b.ofNode-b.spent[payer]
	case payer != "":
		from, most = &b.tenants, b.ofTenant-b.spent[payer]
	}
	if cost > *from || cost > most {
		return false
	}
	*from -= cost
	b.spent[payer] += cost
	return true
}
