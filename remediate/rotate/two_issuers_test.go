package rotate

import (
	"strings"
	"testing"
	"time"
)

// TestWhoStaysIsSaidByVersion: it is waited for in all.
func TestWhoStaysIsSaidByVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"":       "may each issue one, and the last one stays",
		"4.17.1": "may each issue one, and the last one stays",
		"4.18.1": "both look after it",
	} {
		r := newRotating(aggregator, version)
		cert := r.sc.Scan(r.new.CertPEM)[0].Content.Certs[0]
		r.at = cert.NotBefore.Add(time.Minute)
		c := r.preflight(t, aggregator).Chain
		text, settles := c.settling(r.rotation().Signer, cert)
		if wanted := "; kube-apiserver-operator and the cert-regeneration-controller " + want + ": it counts if it is still there "; !settles || !strings.HasPrefix(text, wanted) {
			t.Errorf("%q: %t, %q", version, settles, text)
		}
	}
}
