package ui

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestExpiryOfANodesCertificate: what is over is not said to be ahead.
func TestExpiryOfANodesCertificate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1.7e9, 0).UTC()
	for want, at := range map[string]time.Time{"expires in 3h": now.Add(3 * time.Hour), "expired 3h ago": now.Add(-3 * time.Hour)} {
		sum := pki.Fingerprint{1}
		certs := map[pki.Fingerprint]*report.Cert{sum: {Cert: &pki.Cert{NotAfter: at}}}
		if got := expiry(now, certs, &sum); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
