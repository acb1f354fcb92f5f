package trust

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// forecast looks at what will sign the certificate that is shown next: its signer
// may have been replaced already.
func (j *judge) forecast(c *Claim, now time.Time) {
	signer := j.signerOf(c.Edge.Shown)
	if signer == nil || pki.VerifyCA(signer, c.Roots, now) == nil {
		return
	}
	c.Status, c.Lacks = WillBreak, signer
	c.Why = fmt.Sprintf("what is shown will be signed by %q next", pki.CommonName(signer.Subject))
	life, answer := catalog.LifetimeOf(c.Edge.Shown, j.f.Snapshot.Cluster.Versions)
	if answer == catalog.Yes && len(c.Chain) > 0 {
		c.From = life.ResignedFrom(c.Chain[0].NotBefore, c.Chain[0].NotAfter, signer.NotBefore)
	}
}

// signerOf is the CA that signs what is at a place, from now on; nil: not known.
func (j *judge) signerOf(shown catalog.Ref) *pki.Cert {
	for _, r := range catalog.Rotations() {
		if r.In.Holds(j.f.Snapshot.Cluster.Versions) != catalog.Yes || !slices.Contains(r.Targets, shown) {
			continue
		}
		for _, s := range j.shown(r.Signer, catalog.Carries{}) {
			return s.chain[0]
		}
	}
	return nil
}
