package report

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestWait: only for what may pass by waiting, and for all of it.
func TestWait(t *testing.T) {
	t.Parallel()
	claim := func(status assess.Status, refusals *trust.ClientRefusals) VerificationClaim {
		return entry(trust.Claim{Assessment: assess.Assessment{Status: status}, Refusals: refusals})
	}
	passes, short := claim(assess.Pass, nil), claim(assess.Unknown, &trust.ClientRefusals{Wait: 5 * time.Second})
	long, refuses := claim(assess.Unknown, &trust.ClientRefusals{Wait: 20 * time.Second}), claim(assess.Fail, &trust.ClientRefusals{})
	for _, c := range []struct {
		claims []VerificationClaim
		want   time.Duration
	}{
		{nil, 0},
		{[]VerificationClaim{passes}, 0},
		{[]VerificationClaim{passes, short, long}, 20 * time.Second},
		{[]VerificationClaim{long, refuses}, 0},
		{[]VerificationClaim{long, claim(assess.Unknown, nil)}, 0},
	} {
		if got := (&Verification{Claims: c.claims}).Wait(); got != c.want {
			t.Errorf("%d claims: %s, want %s", len(c.claims), got, c.want)
		}
	}
}
