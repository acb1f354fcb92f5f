package verifycmd

import (
	"fmt"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// checkTally counts checks by their worst claim, and the places with such a claim.
type checkTally struct {
	checks, places map[assess.Status]int
	all            int // checks
}

// tallyOf counts claims. A check is an edge: a client and its server, wherever it is checked.
func tallyOf(claims []report.VerificationClaim) checkTally {
	worst := map[string]assess.Status{}
	t := checkTally{checks: map[assess.Status]int{}, places: map[assess.Status]int{}}
	for _, c := range claims {
		t.places[c.Status]++
		if before, ok := worst[c.ID]; ok {
			worst[c.ID] = assess.Worst(before, c.Status)
		} else {
			worst[c.ID] = c.Status
		}
	}
	for _, status := range worst {
		t.checks[status]++
	}
	t.all = len(worst)
	return t
}

// ClaimTally counts checks and their places by status: "5 of 33 checks fail (in 10 places), 1 unknown,
// 27 pass".
func ClaimTally(claims []report.VerificationClaim) string {
	t := tallyOf(claims)
	if t.all == 0 {
		return "nothing to verify: the input has no known client together with its server"
	}
	var parts []string
	for _, s := range assess.Statuses() {
		n := t.checks[s]
		if n == 0 {
			continue
		}
		part := fmt.Sprintf("%d %s", n, ClaimWord(s))
		if t.all == 1 {
			part = strings.NewReplacer("1 ", "1 check ", "will fail", "will fail", "fail", "fails", "pass", "passes").Replace(part)
		} else if len(parts) == 0 {
			part = strings.Replace(part, " ", fmt.Sprintf(" of %s ", ui.Count(t.all, "check")), 1)
		}
		if s.Wrong() {
			part += fmt.Sprintf(" (in %s)", ui.Count(t.places[s], "place"))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// passed counts the checks that pass wherever they are checked.
func (t checkTally) passed() string {
	return fmt.Sprintf("%s, in %s", ui.Count(t.checks[assess.Pass], "check"), ui.Count(t.places[assess.Pass], "place"))
}
