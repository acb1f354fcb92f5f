package rotatecmd

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// refused is the exit of a plan. Where checks block it, people get each reason once, on one screen;
// with --details, all of them.
func (o *rotateOptions) refused(err error, plans []rotate.Planned) error {
	var e *rotate.Error
	if !errors.As(err, &e) {
		return exitError(err)
	}
	blocked, ok := e.Err.(*preflight.Blocked) //nolint:errorlint // one that another error wraps stands behind what that one says
	if !ok {
		return exitError(err)
	}
	of, columns := *e, ui.Columns(o.app.Streams.ErrOut)
	if o.details || o.output != "" {
		of.Next, of.Err = inFull(blocked, columns), briefError{allFound(blocked), blocked}
	} else {
		waiting := unlessRotated(plans)
		if slices.ContainsFunc(blocked.Checks, func(v preflight.Verdict) bool { return rank(v) > 0 && !numbered.MatchString(v.Remediation.Text) }) {
			waiting = "" // nodes lack the CA that signs now: that does not wait
		}
		of.Next, of.Err = brief(blocked, waiting, columns, screenLines)
	}
	return exitError(&of)
}

// unlessRotated says when the one thing that was to be rotated is rotated automatically; empty: that
// is unknown, or there are several.
func unlessRotated(plans []rotate.Planned) string {
	if len(plans) != 1 || !plans[0].Rotates() || plans[0].Of.Triggered() || plans[0].Of.Cert() == nil {
		return ""
	}
	if when, dated := automatic(plans[0], plans[0].Of); dated {
		return "otherwise: it rotates automatically on " + when
	}
	return ""
}

// briefError is what blocks a plan, in few lines.
type briefError struct {
	text string
	*preflight.Blocked
}

func (e briefError) Error() string { return e.text }
func (e briefError) Unwrap() error { return e.Blocked }

// fullCut is how many lines of each text are tried first.
const fullCut = 4

// aCommand is a next step that is one command and nothing else.
var aCommand = regexp.MustCompile(`^(kubectl|oc|certrot) [^;]*$`)

// numbered is where the next step of several begins.
var numbered = regexp.MustCompile(`([:;]) (\([1-9]\) )`)

// numberedCommand is one of them: its number, its command, and what it is for.
var numberedCommand = regexp.MustCompile(`^(\([1-9]\)) (.+?): (.+?);?$`)

// inOrder writes several commands one below the other, each whole, below what it is for.
func inOrder(step string, columns int) string {
	var out []string
	for line := range strings.SplitSeq(numbered.ReplaceAllString(step, "$1\n$2"), "\n") {
		m := numberedCommand.FindStringSubmatch(line)
		if m == nil {
			out = append(out, line)
			continue
		}
		text := m[1]
		for word := range strings.FieldsSeq(m[3]) {
			if len([]rune(text))+1+len([]rune(word)) > columns {
				out, text = append(out, text), "   "
			}
			text += " " + word
		}
		out = append(out, text, "      "+m[2])
	}
	return strings.Join(out, "\n")
}

// accepting is the line that names what may be accepted; empty: nothing may, or something else stops
// it. That nodes do not get
// the new CA is not among it: its steps name the flag where it does no harm.
func accepting(b *preflight.Blocked) string {
	var risks []string
	for _, v := range b.Checks {
		if v.ID == rotate.ReachesVerifiers && !numbered.MatchString(v.Remediation.Text) || v.ID != rotate.ReachesVerifiers && !v.Risk {
			return "" // what stops it all the same
		}
		if v.Risk && v.ID != rotate.ReachesVerifiers {
			risks = append(risks, v.ID)
		}
	}
	if len(risks) == 0 {
		return ""
	}
	return preflight.Accepting(risks...)
}

// inFull is what to do about all that blocks a plan, with each command of an order on a line of its own.
func inFull(b *preflight.Blocked, columns int) string {
	var out []string
	for _, v := range b.Checks {
		out = append(out, inOrder(v.Remediation.Text, columns-nextLead))
	}
	return strings.Join(slices.DeleteFunc(unique(append(out, accepting(b))), func(s string) bool { return s == "" }), "\n")
}

// aside is what a reason says in parentheses.
var aside = regexp.MustCompile(` \([^()]*\)`)

// Labels that the error and the next step are printed with, and where their later lines stand.
const (
	errorLead = len("error: refused, nothing was changed: ")
	nextLead  = len("        ")
)

// leastRows is how many lines the only reason keeps.
const leastRows = 3

// rank is higher of what is said first.
func rank(v preflight.Verdict) int {
	if v.ID == rotate.ReachesVerifiers {
		return 1
	}
	return 0
}

// brief says what blocks a plan and what to do about it. A first next step of several commands in
// an order, and what may be accepted, are whole; others are cut, and left out in the end, with how
// many there are. waiting, what happens without it, is there where there is room.
func brief(b *preflight.Blocked, waiting string, columns, most int) (next string, err error) {
	var reasons, steps []string
	ids, status := map[string][]string{}, map[string]assess.Status{}
	checks := slices.Clone(b.Checks)
	slices.SortStableFunc(checks, func(x, y preflight.Verdict) int { // what nodes lack comes before all else
		return cmp.Compare(rank(y), rank(x))
	})
	for _, v := range checks {
		if ids[v.Reason] == nil {
			reasons = append(reasons, v.Reason)
		}
		ids[v.Reason], status[v.Reason] = append(ids[v.Reason], v.ID), v.Status
		if text := v.Remediation.Text; text != "" && !slices.Contains(steps, text) {
			steps = append(steps, text)
		}
	}
	accept := accepting(b)
	for cut := fullCut; ; cut-- { // lines of each text but the first next step
		listed := max(1, min(len(reasons), fullCut+cut))
		var text, what []string
		for _, reason := range reasons[:listed] {
			line := found(ids[reason], status[reason]) + ui.OneLine(reason)
			if cut < fullCut { // fewer words before a cut
				line = aside.ReplaceAllString(line, "")
			}
			most := max(1, cut)
			if len(reasons) == 1 {
				most = max(leastRows, cut)
			}
			text = append(text, ui.Shortened(line, most*columns-errorLead))
		}
		for i, step := range steps[:min(len(steps), listed)] {
			if i > 0 && cut < 3 && aCommand.MatchString(step) && len([]rune(step)) > columns-nextLead {
				continue // a command that is cut runs no more
			}
			if i > 0 {
				step = ui.Shortened(ui.OneLine(step), max(1, cut)*columns-nextLead)
			}
			switch order := numbered.MatchString(step); {
			case i > 0:
			case order && cut > 1: // each command on a line of its own
				step = inOrder(step, columns-nextLead)
			case order && cut > 0: // one below the other
				step = numbered.ReplaceAllString(step, "$1\n$2")
			case !order && cut < -1: // names as long as Kubernetes allows are in it
				step = ui.Shortened(ui.OneLine(step), 6*columns-nextLead)
			}
			what = append(what, strings.Split(step, "\n")...)
		}
		more := len(reasons) - listed
		if more > 0 {
			what = append(what, "all of it, "+ui.Count(more, "more reason")+": --details")
		} else if cut < fullCut {
			what = append(what, "all of it: --details")
		}
		without := what
		if accept != "" {
			what = append(slices.Clone(what), accept)
		}
		if waiting != "" { // before the flags: those are the last resort
			last := append(append(slices.Clone(without), waiting), what[len(without):]...)
			switch fits := rows(text, errorLead, columns)+rows(last, nextLead, columns) <= most; {
			case fits:
				what = last
			case cut > 2: // it is worth more than a longer reason, and less than commands in an order
				continue
			}
		}
		if cut == 1-fullCut || rows(text, errorLead, columns)+rows(what, nextLead, columns) <= most {
			return strings.Join(what, "\n"), briefError{strings.Join(text, "\n"), b}
		}
	}
}

// found says what checks found, before the reason: their names say what they want.
func found(ids []string, status assess.Status) string {
	switch of := strings.Join(ids, ", "); {
	case len(ids) == 1 && status == assess.Unknown:
		return "check " + of + " is unknown: "
	case len(ids) == 1:
		return "check " + of + " fails: "
	case status == assess.Unknown:
		return "checks " + of + " are unknown: "
	default:
		return "checks " + of + " fail: "
	}
}

// allFound is each check that blocks a plan with its whole reason, a line each.
func allFound(b *preflight.Blocked) string {
	var out []string
	for _, v := range b.Checks {
		out = append(out, found([]string{v.ID}, v.Status)+v.Reason)
	}
	return strings.Join(out, "\n")
}

// rows is how many lines of a terminal some lines take, behind a lead.
func rows(lines []string, lead, columns int) int {
	n := 0
	for _, line := range lines {
		n += (len([]rune(line)) + lead + columns - 1) / columns
	}
	return n
}
