package inspect

import "testing"

// TestOneTenantLeavesWhatOthersMaySpend: it writes what costs the most.
func TestOneTenantLeavesWhatOthersMaySpend(t *testing.T) {
	t.Parallel()
	b := NewBudget(1000)
	spend := func(payer string) (units int) {
		for b.Pay(payer, 450) {
			units += 450
		}
		return units
	}
	first, second, third := spend("a"), spend("b"), spend("c")
	if all := costsAtLeast + 1000*costsPerCert; first == 0 || first > all/2 || second < first-450 || first+second+third > all {
		t.Errorf("of %d, one tenant spends %d, another one %d, a third %d", all, first, second, third)
	}
	if platform := spend(""); platform < 2*first {
		t.Errorf("after them, the platform spends %d", platform)
	}
	if b.Pay("a", 450) || b.Pay("d", 450) || b.Pay("", 450) {
		t.Error("what is spent is spent again")
	}
	if !NewBudget(0).Pay("a", 1) {
		t.Error("nothing is left where nothing was spent")
	}
}
