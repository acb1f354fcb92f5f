package inspect

// Budget is what verifying signatures may cost one judge, in the units of pki.Cost. Tenants choose
// names and keys: what they write pays from a budget of its own, of which one namespace has a half at
// most, so that it leaves what the platform and other tenants have judged.
type Budget struct {
	platform, tenants, share int
	spent                    map[string]int // by tenant's namespace
}

// What signatures may cost: 3 s in all, and one RSA key of 2048 bits a certificate. Each for the
// platform and for tenants.
const (
	costsAtLeast = 200_000
	costsPerCert = 25
)

// NewBudget is the budget where so many certificates were read.
func NewBudget(certs int) *Budget {
	all := costsAtLeast + costsPerCert*certs
	return &Budget{platform: all, tenants: all, share: all / 2, spent: map[string]int{}}
}

// Payer is who pays for what is verified: a tenant's namespace, or a server that presented it; empty:
// the platform, for files of all nodes, too.
func (h *Entry) Payer() string {
	switch {
	case h.At.Kind == KindServer:
		return h.At.String()
	case h.Writer() != WriterTenant:
		return ""
	}
	return h.At.Namespace
}

// Pay reports whether a payer may have so much verified, and takes it. Where it says no, what would
// have been verified is unknown.
func (b *Budget) Pay(payer string, cost int) bool {
	if payer == "" {
		if cost > b.platform {
			return false
		}
		b.platform -= cost
		return true
	}
	if cost > b.tenants || cost > b.share-b.spent[payer] {
		return false
	}
	b.tenants -= cost
	b.spent[payer] += cost
	return true
}
