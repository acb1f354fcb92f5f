package ui

import (
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// layout is what of a summary is printed.
type layout struct {
	listed      int // problems; the others are counted
	full, brief int // of them, so many in full; then so many with their next step
	unknown     []Problem
	hidden      int  // unknown ones that are counted
	whole       int  // unknown ones that are told in full
	reasons     bool // a line for each that is unknown, rather than all of some
	next        Problem
	spare       int // lines for titles that do not fit on one
}

// rest is how many lines it takes to print what is no problem.
func (s Summary) rest(w *Page, l layout) int {
	n := len(s.Head) + 1 + len(l.unknown) + min(l.hidden, 1) + len(s.Pass) + len(s.Tail) + 2 // empty lines
	if len(l.unknown) > 0 {
		n += rows(w, l.next.printNext)
	}
	return n
}

// layout fits the summary to one screen, with so many lines for what is unknown.
func (s Summary) layout(w *Page, mostUnknown int) layout {
	l := layout{unknown: s.Unknown, next: Problem{Next: s.UnknownNext}, full: fullProblems, listed: len(s.Problems)}
	if w.tall() {
		l.full = l.listed
	}
	l.hidden = max(len(l.unknown)-mostUnknown, 0)
	if l.hidden == 1 && mostUnknown > 1 { // the line that counts it says no less
		l.hidden = 0
	}
	l.unknown = l.unknown[:len(l.unknown)-l.hidden]
	if _, command := CommandAtEnd(Clean(OneLine(s.UnknownNext.Text))); command != "" {
		l.next.Next = assess.FixedCommand(command)
	}
	rest := s.rest(w, l)
	reasons := 0
	for _, p := range l.unknown {
		reasons += min(len(p.Reason), 1)
	}
	before := rest
	for l.whole = len(l.unknown); l.whole > 0; l.whole-- {
		if more := (Summary{Problems: l.unknown}).lines(w, l.whole, len(l.unknown)) - len(l.unknown); rest+more+s.lines(w, l.full, l.listed) <= w.height() {
			rest += more
			break
		}
	}
	if reasons > 0 && l.whole < len(l.unknown) && before+reasons+s.lines(w, l.full, l.listed) <= w.height() {
		rest, l.whole, l.reasons = before+reasons, 0, true
	}
	for l.full > 0 && rest+s.lines(w, l.full, l.listed) > w.height() {
		l.full--
	}
	for ; l.full+l.brief < l.listed; l.brief++ {
		if told := l.full + l.brief + 1; rest+s.linesOf(w, l.full, told, l.listed) > w.height() {
			break
		}
	}
	if l.full == 0 && len(s.Problems) > mostTold && w.columns >= usualColumns {
		if first, fits := s.firstInFull(w, l, rest); fits {
			return first
		}
	}
	if over := rest + s.lines(w, l.full, l.listed) - w.height(); over > 0 && l.listed > 1 {
		l.listed = max(l.listed-over-1, 1)
	}
	if l.listed == len(s.Problems) {
		l.spare = max(w.height()-rest-s.linesOf(w, l.full, l.full+l.brief, l.listed), 0)
	}
	return l
}

// firstInFull is the layout of many problems: what the first one says, as what not to do, stays, and the last are counted.
func (s Summary) firstInFull(w *Page, l layout, rest int) (layout, bool) {
	l.full, l.brief, l.spare = 1, 0, 0
	if over := rest + s.lines(w, 1, l.listed) - w.height(); over > 0 {
		l.listed = max(l.listed-over-1, 1)
	}
	return l, rest+s.lines(w, 1, l.listed)+1 <= w.height()
}

// lines is how many lines the problems take, the first of them in full.
func (s Summary) lines(w *Page, full, listed int) int { return s.linesOf(w, full, full, listed) }

// linesOf is the same where further problems, up to told, name their next step.
func (s Summary) linesOf(w *Page, full, told, listed int) int {
	b := w.draft()
	for i, p := range s.Problems[:listed] {
		p.print(b, i < full, 1)
		if i >= full && i < told {
			p.printNext(b)
		}
	}
	return rows(w, func(p *Page) { Printf(p, "%s", b.String()) })
}

// rows is how many lines of a terminal it takes to print: a command is whole, and wraps.
func rows(w *Page, print func(*Page)) (n int) {
	b := w.draft()
	print(b)
	for line := range strings.Lines(b.String()) {
		n += max(1, (columnsIn(strings.TrimSuffix(line, "\n"))+w.columns-1)/w.columns)
	}
	return n
}
