package verifycmd

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestChecksAreCounted: by their worst claim, so that the numbers of checks make up all of them.
func TestChecksAreCounted(t *testing.T) {
	claim := func(id string, s assess.Status) report.VerificationClaim {
		return report.VerificationClaim{Assessment: assess.Assessment{ID: id, Status: s}}
	}
	for want, claims := range map[string][]report.VerificationClaim{
		"1 of 4 checks fail (in 2 places), 1 will fail (in 1 place), 1 unknown, 1 pass": {
			claim("a", assess.Fail), claim("a", assess.Pass), claim("a", assess.Fail), claim("b", assess.Warn), claim("c", assess.Unknown), claim("c", assess.Pass), claim("d", assess.Pass), claim("d", assess.Pass),
		},
		"2 of 2 checks pass":             {claim("a", assess.Pass), claim("b", assess.Pass), claim("b", assess.Pass)},
		"1 of 1 check fail (in 1 place)": {claim("a", assess.Fail)},
		"nothing to verify: the input contains no known pair of client and server": nil,
	} {
		if got := ClaimTally(claims); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
