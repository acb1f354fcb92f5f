package trust_test

import (
	"context"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestJudgingEndsWithItsContext: a user who interrupts does not wait for the claims that are left,
// and some of them are not told as if they were all.
func TestJudgingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := services(pkitest.NewCA("service-signer@1", from(-10), from(900)), 50)
	w.s.Sort()
	f := inspect.NewFacts(w.s, noon, 30*day)
	whole := &ending{Context: t.Context(), after: -1}
	if claims := trust.Judge(whole, f); len(claims) < 50 || whole.asked < 50 {
		t.Fatalf("%d claims, asked %d times", len(claims), whole.asked)
	}
	for after := range whole.asked {
		ctx := &ending{Context: t.Context(), after: after}
		if claims := trust.Judge(ctx, f); len(claims) > 0 || ctx.asked-after > 3 {
			t.Errorf("ended when it was asked %d times: %d claims, asked %d times more", after, len(claims), ctx.asked-after)
		}
	}
}

// ending is a context that is done when it was asked so often; never, below zero.
type ending struct {
	context.Context
	after, asked int
}

func (c *ending) Err() error {
	c.asked++
	if c.after >= 0 && c.asked > c.after {
		return context.Canceled
	}
	return nil
}
