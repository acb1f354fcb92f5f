package preflight

import (
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Verdict is what a check of the preflight says.
type Verdict struct {
	assess.Assessment        // its ID is what --accept-risk takes, where Risk
	Claim             string // true where it passes
	Risk              bool   // it may be accepted by name
	// NoAPIServer says that only an API server could tell, and that there is none: that
	// stops nothing, since in an outage of the API nobody could be helped else.
	NoAPIServer bool
}

// AsOf says in the reason when that was read on which it depends, where it is from a file.
func (v Verdict) AsOf(snapshot inspect.Snapshot) Verdict {
	if when := snapshot.AsOf(); when != "" && v.Reason != "" && !v.NoAPIServer {
		v.Reason += " (" + when + ")"
	}
	return v
}

// Blocks reports whether nothing is to be done because of it.
func (v Verdict) Blocks() bool { return v.Status != assess.Pass && !v.NoAPIServer }

// Blocked is the error of checks that stop a change.
type Blocked struct{ Checks []Verdict }

func (b *Blocked) Error() string {
	var reasons []string
	for _, v := range b.Checks {
		reasons = append(reasons, v.ID+": "+v.Reason)
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
