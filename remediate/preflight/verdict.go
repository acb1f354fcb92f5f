package preflight

import (
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Verdict is what a check of the preflight says; a plan carries it, see remediate.Checked.
type Verdict = remediate.Verdict

// Blocked is the error of checks that stop a change.
type Blocked struct{ Checks []Verdict }

func (b *Blocked) Error() string {
	var reasons []string
	for _, v := range b.Checks {
		reasons = append(reasons, v.Named())
	}
	return strings.Join(reasons, "\n")
}

// Next is what to do about each, and how to accept those that may be.
func (b *Blocked) Next() string {
	var next, risks []string
	for _, v := range b.Checks {
		next = append(next, v.Remediation.Text)
		if v.Risk {
			risks = append(risks, v.ID)
		}
	}
	if len(risks) > 0 {
		next = append(next, Accepting(risks...))
	}
	return strings.Join(next, "\n")
}

// Accepting is the line with the flags that accept risks. It stands last: what repairs goes before.
func Accepting(risks ...string) string {
	text := "to accept the risk:"
	for _, name := range risks {
		text += " --accept-risk=" + name
	}
	return text
}

// Result is what a check finds, before its name and claim are put to it.
type Result struct {
	Passed       catalog.Tristate
	Reason, Next string
}

// Assess is the finding of the check with this ID.
func (f Result) Assess(id string) assess.Assessment {
	a := assess.Assessment{ID: id, Reason: f.Reason, Remediation: assess.Advise(f.Next)}
	switch f.Passed {
	case catalog.Yes:
		a.Status = assess.Pass
	case catalog.No:
		a.Status, a.Severity = assess.Fail, assess.Critical
	}
	return a
}
