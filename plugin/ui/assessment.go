package ui

import (
	"io"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// Assessment prints what a judgement says below the line that names what was judged: the
// reason, the impact and the next step, each after the lead. evidence prints what stands
// between the first two; nil: nothing does.
func Assessment(w io.Writer, lead string, a assess.Assessment, evidence func()) {
	if a.Reason != "" {
		Wrap(w, lead, Clean(OneLine(a.Reason)))
	}
	if evidence != nil {
		evidence()
	}
	if a.Impact != "" {
		Wrap(w, lead+"impact  ", a.Impact)
	}
	if a.Remediation.Text != "" {
		Wrap(w, lead+"next  ", Clean(a.Remediation.Text))
	}
}

// StatusMark lets the eye find statuses without colour.
func StatusMark(s assess.Status) string {
	switch s {
	case assess.Pass:
		return "✓"
	case assess.Warn:
		return "!"
	case assess.Fail:
		return "✗"
	}
	return "?"
}
