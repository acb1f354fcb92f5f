package rotate

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestARiskIsOfferedOnlyWhereItHelps: of a version that was not reviewed, what is offered
// leads on, and what would lead on is offered.
func TestARiskIsOfferedOnlyWhereItHelps(t *testing.T) {
	t.Parallel()
	offered, withheld := 0, 0
	for _, version := range []string{"4.8.0", "5.0.1", "5.3.0"} {
		s := newRotating(toKubelet, version).s
		s.Cluster.Versions.Operators = nil
		asked := rotatables(inspect.NewFacts(s, time.Now(), 0))
		s.Cluster.Versions.UnreviewedAccepted = true
		accepted := rotatables(inspect.NewFacts(s, time.Now(), 0))
		after := func(r Rotatable) bool {
			for _, a := range accepted {
				if a.At == r.At {
					reason, _ := a.Unmanaged()
					return reason == ""
				}
			}
			return false
		}
		for _, r := range asked {
			reason, next := r.Unmanaged()
			if reason == "" {
				continue
			}
			offers, helps := strings.Contains(next, "--accept-risk="+preflight.UnreviewedVersion), after(r)
			if offers != helps {
				t.Errorf("%s: %s/%s: %s: offered %t, helps %t: %s", version, r.At.Namespace, r.At.Name, reason, offers, helps, next)
			}
			if helps {
				offered++
			} else {
				withheld++
			}
		}
	}
	if offered == 0 || withheld == 0 {
		t.Errorf("offered %d times, withheld %d times: one of them is not tested", offered, withheld)
	}
}
