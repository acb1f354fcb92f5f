package verifycmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// humanPrinter prints a report for people.
type humanPrinter struct {
	hints         inspect.Hints
	details, wide bool                 // details: each line; wide: all of their places
	of            *report.Verification // the claims are of it
}

func (p humanPrinter) print(out io.Writer, r *report.Verification) error {
	w := ui.NewPage(out)
	if p.details || p.wide {
		p.lines(w, r)
	} else {
		p.summary(w, r)
	}
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

// summary writes the first screen: what fails, what is unknown, and how many claims pass.
func (p humanPrinter) summary(w *ui.Page, r *report.Verification) {
	p.of = r
	claims := map[assess.Status][]report.VerificationClaim{}
	for _, c := range r.Claims {
		claims[c.Status] = append(claims[c.Status], c)
	}
	header := ui.HumanPrinter{}
	s := ui.Summary{Head: header.Head(w, r.Cluster, r.Now, "", ""), Tally: ClaimTally(r.Claims)}
	for _, status := range []assess.Status{assess.Fail, assess.Warn} {
		s.Problems = append(s.Problems, p.problems(claims[status])...)
	}
	s.Unknown = ui.UnknownOf(r.Gaps)
	for i := range s.Unknown { // the tally counts checks, and these are none
		s.Unknown[i].Word = "NOT READ"
	}
	for _, u := range oneForEachReason(p.problems(claims[assess.Unknown])) { // one next step for all
		if s.UnknownNext.Text == "" {
			s.UnknownNext = u.Next
		}
		u.Next = assess.Remediation{}
		s.Unknown = append(s.Unknown, u)
	}
	if t := tallyOf(r.Claims); t.checks[assess.Pass] > 0 {
		s.Pass = []string{fmt.Sprintf("%s %-10s%s", ui.StatusMark(assess.Pass), "PASS", t.passed())}
	}
	if len(r.Claims) > 0 {
		s.Tail = []string{"more: --details; each client and server: -o json"}
	}
	s.Print(w)
}

// problems are those of claims of one status.
func (p humanPrinter) problems(claims []report.VerificationClaim) []ui.Problem {
	var out []ui.Problem
	for _, found := range p.of.Fold(p.hints, claims) {
		c := claims[found.Findings[0]]
		problem := ui.ProblemOf(found)
		problem.Mark, problem.Word = ui.StatusMark(c.Status), strings.ToUpper(c.Status.String())
		if found.Named {
			problem.Clients, problem.Cause = verifiers(claims, found.Findings), p.of.Because(found)
			if n := checksOf(claims, found.Findings); n > 1 {
				problem.More = fmt.Sprintf(" (%d checks)", n)
			}
		}
		if found.ID == "" { // the claim, and why it does not hold
			group := make(ClaimGroup, len(found.Findings))
			for i, n := range found.Findings {
				group[i] = claims[n]
			}
			problem.Title, problem.Reason, problem.Names, problem.Next = c.Said(), c.Reason, found.Names(), group.remediation()
			problem.More, problem.Also = "", nil // it is one check, in places that the names tell
			if c.Status == assess.Unknown {
				problem.Names, problem.Also = nil, problem.Names
			}
		}
		out = append(out, problem)
	}
	return out
}

// oneForEachReason makes one problem of those that have the same reason, in the place of the first.
// Where something was not read, what it is may differ.
func oneForEachReason(unknown []ui.Problem) []ui.Problem {
	var out []ui.Problem
	kind := func(reason string) string {
		if head, _, ok := strings.Cut(reason, ": "); ok && strings.HasSuffix(head, "not read") {
			return head
		}
		return reason
	}
	of := map[string][]int{}
	for i, u := range unknown {
		of[kind(u.Reason)] = append(of[kind(u.Reason)], i)
	}
	for i, u := range unknown {
		same := of[kind(u.Reason)]
		if same[0] != i {
			continue
		}
		if len(same) > 1 {
			u.Title, u.Reason = fmt.Sprintf("%d checks: %s", len(same), kind(u.Reason)), ""
			u.Names, u.Also = nil, nil
			for _, n := range same {
				u.Also = append(u.Also, strings.TrimPrefix(unknown[n].Title, "whether "))
			}
		}
		out = append(out, u)
	}
	return out
}

// checksOf counts the checks that claims are of, as the tally does.
func checksOf(claims []report.VerificationClaim, of []int) int {
	ids := map[string]bool{}
	for _, i := range of {
		ids[claims[i].ID] = true
	}
	return len(ids)
}

// verifiers are those of claims, each once, without what of them verifies ("kubelet, of its clients").
func verifiers(claims []report.VerificationClaim, of []int) (out []string) {
	for _, i := range of {
		if who, _, _ := strings.Cut(claims[i].Verifier, ","); !slices.Contains(out, who) {
			out = append(out, who)
		}
	}
	return out
}
