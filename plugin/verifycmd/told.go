package verifycmd

import (
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// ToldOf are all that the first screen tells, each claim that does not pass among them.
func ToldOf(hints inspect.Hints, r *report.Verification) []ui.ToldClaims {
	p := humanPrinter{hints: hints, of: r}
	var out []ui.ToldClaims
	for _, status := range []assess.Status{assess.Fail, assess.Warn, assess.Unknown} {
		var claims []report.VerificationClaim
		for _, c := range r.Claims {
			if c.Status == status {
				claims = append(claims, c)
			}
		}
		problems := p.problems(claims)
		from := len(out)
		for i, found := range report.FoldClaims(hints, claims) {
			told := ui.ToldClaims{Problem: problems[i]}
			for _, n := range found.Findings {
				told.Claims = append(told.Claims, claims[n])
			}
			out = append(out, told)
		}
		if status == assess.Unknown {
			out = append(out, ofEachReason(out[from:])...)
		}
	}
	for _, u := range ui.UnknownOf(r.Gaps) {
		out = append(out, ui.ToldClaims{Problem: u})
	}
	return out
}

// ofEachReason are the lines that stand for several unknown checks.
func ofEachReason(unknown []ui.ToldClaims) []ui.ToldClaims {
	problems := make([]ui.Problem, len(unknown))
	for i, u := range unknown {
		problems[i] = u.Problem
	}
	var out []ui.ToldClaims
	for _, line := range oneForEachReason(problems) {
		told := ui.ToldClaims{Problem: line}
		for _, u := range unknown {
			if line.Reason == "" && slices.Contains(line.Also, strings.TrimPrefix(u.Title, "whether ")) {
				told.Claims = append(told.Claims, u.Claims...)
			}
		}
		if len(told.Claims) > 0 { // else the line is one check's own
			out = append(out, told)
		}
	}
	return out
}
