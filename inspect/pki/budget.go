package pki

import "sync/atomic"

// budgets are the rounds of key derivation that a Scanner may still spend. They
// are apart, so that what is costly leaves what is ordinary readable, and what
// has no password leaves readable what has one.
type budgets struct{ cheapBeside, cheapUsual, costlyBeside, costlyUsual budget }

func (b *budgets) fill() {
	b.cheapBeside.left.Store(maxRoundsOfCheap)
	b.cheapUsual.left.Store(maxRoundsOfCheap)
	b.costlyBeside.left.Store(maxRoundsOfCostly)
	b.costlyUsual.left.Store(maxRoundsOfCostly)
}

// of returns the budget for a try.
func (b *budgets) of(rounds int64, beside bool) *budget {
	switch cheap := rounds <= cheapTry; {
	case cheap && beside:
		return &b.cheapBeside
	case cheap:
		return &b.cheapUsual
	case beside:
		return &b.costlyBeside
	}
	return &b.costlyUsual
}

type budget struct{ left atomic.Int64 }

// take takes so much, or nothing where there is less.
func (b *budget) take(n int64) bool {
	for {
		left := b.left.Load()
		if n > left {
			return false
		}
		if b.left.CompareAndSwap(left, left-n) {
			return true
		}
	}
}
