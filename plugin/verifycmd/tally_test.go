package verifycmd

import (
	"bytes"
	"fmt"
	"strings"
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
		"1 check fails (in 1 place)":     {claim("a", assess.Fail)},
		"1 check will fail (in 1 place)": {claim("a", assess.Warn)},
		"1 check passes":                 {claim("a", assess.Pass), claim("a", assess.Pass)},
		"1 check unknown":                {claim("a", assess.Unknown)},
		"nothing to verify: the input has no known client together with its server": nil,
	} {
		if got := ClaimTally(claims); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestUnknownChecksOfOneReasonAreOne: 38 checks that an unreviewed version leaves unknown are one problem.
func TestUnknownChecksOfOneReasonAreOne(t *testing.T) {
	claim := func(n int, reason string) report.VerificationClaim {
		c := report.VerificationClaim{Assessment: assess.Assessment{ID: fmt.Sprint("check-", n), Status: assess.Unknown, Reason: reason}}
		c.Claim = fmt.Sprintf("client-%d trusts its server", n)
		return c
	}
	r := &report.Verification{Claims: []report.VerificationClaim{claim(1, "not read"), claim(2, "version 4.8 was not reviewed"), claim(3, "version 4.8 was not reviewed"),
		claim(4, "the trust anchors were not read: ConfigMap/a/b"), claim(5, "the trust anchors were not read: ConfigMap/c/d")}}
	var out bytes.Buffer
	if err := (humanPrinter{}).print(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"whether client-1 trusts its server", "2 checks: version 4.8 was not reviewed", "client-2 trusts its server", "2 checks: the trust anchors were not read"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "UNKNOWN"); n != 3 {
		t.Errorf("%d problems are told, want 3:\n%s", n, &out)
	}
}
