package ui

import (
	"io"
	"regexp"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// Assessment prints what a judgement says below the line that names what was judged: reason,
// impact, evidence and next step, each after the lead. where prints what stands below the
// reason; nil: nothing does. A command is on a line of its own, never wrapped.
func Assessment(w io.Writer, lead string, a assess.Assessment, where func()) {
	if a.Reason != "" {
		Wrap(w, lead, Clean(OneLine(a.Reason)))
	}
	if where != nil {
		where()
	}
	if a.Impact != "" {
		Wrap(w, lead+"impact  ", Clean(OneLine(a.Impact)))
	}
	if a.Evidence != "" {
		Wrap(w, lead+"detail  ", Clean(OneLine(a.Evidence)))
	}
	switch next := a.Remediation; {
	case next.Command != "" && (next.Then != "" || next.Text == next.Command):
		Printf(w, "%snext  %s\n", lead, Clean(next.Command))
		if next.Then != "" {
			Wrap(w, lead+"then  ", Clean(next.Then))
		}
		for command := range strings.Lines(next.ThenRun) {
			Printf(w, "%s      %s\n", lead, Clean(strings.TrimSpace(command)))
		}
	default:
		if begins.MatchString(next.Text) && foreign.Prints(next.Text) {
			Printf(w, "%snext  %s\n", lead, Clean(next.Text))
		} else if next.Text != "" {
			text, command := CommandAtEnd(Clean(next.Text))
			Wrap(w, lead+"next  ", text)
			if command != "" {
				Printf(w, "%s      %s\n", lead, command)
			}
		}
		if next.Command != "" && !strings.Contains(next.Text, next.Command) {
			Printf(w, "%s      %s\n", lead, Clean(next.Command))
		}
	}
}

// Judged prints a judgement whose reason stands on the line that names it, behind the lead. What does
// not pass has below it what Assessment prints, each after below.
func Judged(w io.Writer, lead, below string, a assess.Assessment) {
	Wrap(w, lead, Clean(OneLine(a.Reason)))
	if a.Reason = ""; a.Status != assess.Pass {
		Assessment(w, below, a, nil)
	}
}

// programs are those whose commands, of which several may stand in a row, a next step may end with.
var programs = regexp.MustCompile(`: ((?:kubectl|oc|certrot) [^;“”]*(?:; (?:kubectl|oc|certrot) [^;“”]*)*)$`)

// begins matches a next step that is a command, or begins with one.
var begins = regexp.MustCompile(`^(?:kubectl|oc|certrot) [^“”]*$`)

// CommandAtEnd takes the command from the end of a next step, "in which case: COMMAND": it is
// written on a line of its own, to be copied. What others say is not taken for one.
func CommandAtEnd(text string) (before, command string) {
	m := programs.FindStringSubmatchIndex(text)
	if m == nil || strings.ContainsAny(text, "“”") || !foreign.Prints(text) {
		return text, ""
	}
	return text[:m[2]-1], text[m[2]:m[3]]
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

// texts is how many lines each text of a problem has that is told with its next step.
type texts struct{ cause, now, impact, then int }

func (t texts) lines() int { return t.cause + t.now + t.impact + t.then }

// textsOf gives lines that are free to texts of problems: first to what each of them does, a line at least for each,
// and to how they came about.
func textsOf(w *Page, problems []Problem, free int) []texts {
	out := make([]texts, len(problems))
	take := func(n *int, print func(*Page)) {
		*n = min(rows(w, print), max(free, 0))
		free -= *n
	}
	kept := 0 // lines for what is said below
	for _, p := range problems {
		kept += min(len(p.Impact), 1) + min(len(p.Cause), 1)
	}
	for i, p := range problems {
		kept -= min(len(p.Impact), 1)
		take(&out[i].impact, func(w *Page) { p.printImpact(w, min(w.mostLines(), max(free-kept, 1))) })
	}
	for i, p := range problems {
		take(&out[i].cause, func(w *Page) { p.printCause(w, w.mostLines()) })
	}
	for i, p := range problems {
		take(&out[i].now, func(w *Page) { p.printNow(w, w.mostLines()) })
	}
	for i, p := range problems {
		if need := rows(w, p.printThen); need <= free { // a command is whole
			take(&out[i].then, p.printThen)
		}
	}
	return out
}

// printTexts writes a problem's texts, and what to do.
func (p Problem) printTexts(w *Page, t texts) {
	p.printCause(w, t.cause)
	p.printNow(w, t.now)
	p.printImpact(w, t.impact)
	p.printCommand(w)
	if t.then > 0 {
		p.printThen(w)
	}
}
