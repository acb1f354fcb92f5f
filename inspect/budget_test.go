package inspect

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

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

// TestOneWorkerLeavesWhatOthersMaySpend: neither the platform nor another worker pays for it.
func TestOneWorkerLeavesWhatOthersMaySpend(t *testing.T) {
	t.Parallel()
	b := NewBudget(0)
	spend := func(payer string) (units int) {
		for b.Pay(payer, 100) {
			units += 100
		}
		return units
	}
	worker := Entry{Bundle: &Bundle{At: pki.Location{Kind: pki.KindFile, Node: "w1", Path: "/a"}}, worker: true}
	if first, other, platform := spend(worker.Payer()), spend("node/w2"), spend(""); first != costsAtLeast/2 || other != first || platform != costsAtLeast {
		t.Errorf("one worker spends %d, another %d, the platform %d", first, other, platform)
	}
	if b.Pay("node/w3", 100) {
		t.Error("workers spend more than all of them may")
	}
}

// TestManyCertificatesRaiseNoTenantsBudget: they are tenants' to make.
func TestManyCertificatesRaiseNoTenantsBudget(t *testing.T) {
	t.Parallel()
	b := NewBudget(1_000_000)
	if !b.Pay("", tenantsAtMost+1) || !b.Pay("a", tenantsAtMost/2) || !b.Pay("b", tenantsAtMost/2) || b.Pay("c", 1) {
		t.Error("the platform may spend more than tenants, and these no more than 9 s")
	}
}
