package ui

import (
	"fmt"
	"slices"
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
	spare       int  // lines for titles that do not fit on one
	impactFirst bool // they are for what the first one says before
}

// withCauses is the summary with how its problems came about, where no critical problem loses its impact or its next
// step by that, and its layout.
func (s Summary) withCauses(w *Page) (Summary, layout) {
	bare, whole := s.withoutCauses(), s
	s = s.withoutKnown()
	s.measured, bare.measured, whole.measured = map[printed]int{}, map[printed]int{}, map[printed]int{}
	without := bare.layout(w, maxUnknown)
	if w.columns < usualColumns || !slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.Cause != "" }) {
		return bare, bare.keepTexts(w, without)
	}
	with, critical := s.layout(w, maxUnknown), s.critical()
	if with.full < min(without.full, 1) || with.listed < min(without.listed, critical) || with.told() < min(without.told(), critical) {
		return bare, bare.keepTexts(w, without)
	}
	if all := whole.layout(w, maxUnknown); all.full == len(s.Problems) { // nothing is left out for what a title says
		return whole, whole.keepTexts(w, all)
	}
	return s, s.keepTexts(w, s.keepImpacts(w, with, critical, without.spare-with.spare))
}

// keepImpacts is a layout in which lines of lower severity go, and not the impact of a critical problem, where so many
// lines were lost.
func (s Summary) keepImpacts(w *Page, l layout, critical, dropped int) layout {
	if dropped <= 0 || critical <= l.full {
		return l
	}
	if l.told() > critical {
		before := s.linesOf(w, l.full, l.told(), l.listed)
		l.brief = critical - l.full
		l.spare += before - s.linesOf(w, l.full, l.told(), l.listed)
		return l
	}
	listed := l.listed - dropped
	if l.listed == len(s.Problems) { // a line counts the others then
		listed--
	}
	if listed >= critical {
		l.listed, l.spare = listed, l.spare+dropped
	}
	return l
}

// keepTexts is a layout in which titles of lower severity go before what a critical problem does, in a line at least, and
// before how it came about.
func (s Summary) keepTexts(w *Page, l layout) layout {
	critical := s.critical()
	if w.columns < usualColumns || l.listed <= critical || l.told() < critical || l.full >= critical {
		return l
	}
	few := l
	few.brief = critical - l.full
	few.spare += s.linesOf(w, l.full, l.told(), l.listed) - s.linesOf(w, l.full, critical, l.listed)
	need := 0
	for _, p := range s.Problems[l.full:critical] {
		impact := rows(w, func(w *Page) { p.printImpact(w, w.mostLines()) })
		if p.Cause == "" {
			impact = min(impact, 1)
		}
		need += impact + min(len(p.Cause), 1)
	}
	if need <= l.spare {
		return l
	}
	if need -= few.spare; need <= 0 {
		return few
	}
	listed := few.listed - need
	if few.listed == len(s.Problems) { // a line counts the others then
		listed--
	}
	if listed < critical {
		return l
	}
	few.listed, few.spare = listed, few.spare+need
	return few
}

// withoutKnown is the summary without impacts that a title says, where a cause stands in their place.
func (s Summary) withoutKnown() Summary {
	s.Problems = slices.Clone(s.Problems)
	for i := range s.Problems {
		if p := &s.Problems[i]; p.Known && p.Cause != "" {
			p.Impact = ""
		}
	}
	return s
}

func (s Summary) withoutCauses() Summary {
	s.Problems = slices.Clone(s.Problems)
	for i := range s.Problems {
		s.Problems[i].Cause = ""
	}
	return s
}

// rest is how many lines it takes to print what is no problem.
func (s Summary) rest(w *Page, l layout) int {
	n := len(s.Head) + 1 + len(l.unknown) + min(l.hidden, 1) + len(s.Pass) + len(s.Tail) + 2 // empty lines
	if len(l.unknown) > 0 {
		n += rows(w, l.next.printNext)
	}
	return n + rows(w, s.printFurther)
}

// printFurther writes what looks further; the command is whole.
func (s Summary) printFurther(w *Page) {
	if s.Next == "" {
		return
	}
	line := label("next") + Clean(s.Next)
	if about := "  (" + s.NextAbout + ")"; columnsIn(line+about) <= w.columns {
		line += about
	}
	Printf(w, "%s\n", line)
}

// all is the layout in which each problem is told in full.
func (s Summary) all() layout {
	l := s.begun(maxUnknown)
	l.full, l.whole = l.listed, len(l.unknown)
	return l
}

// begun is a layout with so many lines for what is unknown, which is fitted then.
func (s Summary) begun(mostUnknown int) layout {
	l := layout{unknown: s.Unknown, next: Problem{Next: s.UnknownNext}, full: fullProblems, listed: len(s.Problems)}
	l.hidden = max(len(l.unknown)-mostUnknown, 0)
	if l.hidden == 1 && mostUnknown > 1 { // the line that counts it says no less
		l.hidden = 0
	}
	l.unknown = l.unknown[:len(l.unknown)-l.hidden]
	if _, command := CommandAtEnd(Clean(OneLine(s.UnknownNext.Text))); command != "" {
		l.next.Next = assess.FixedCommand(command)
	}
	return l
}

// layout fits the summary to one screen, with so many lines for what is unknown.
func (s Summary) layout(w *Page, mostUnknown int) layout {
	l := s.begun(mostUnknown)
	if w.tall() {
		l.full = min(l.listed, w.height()) // each takes a line at least
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
	l = s.tellCritical(w, l, rest)
	if l.listed < len(s.Problems) {
		l.spare = w.height() - rest - s.linesOf(w, l.full, l.full+l.brief, l.listed) - 1
		return l
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

// tellCritical is the layout in which each critical problem has its next step. Before one goes, others are not
// told in full, then lines of lower severity go; last the impact of the first one, which may be what not to do.
func (s Summary) tellCritical(w *Page, l layout, rest int) layout {
	critical := s.critical()
	best := s.tell(w, l, rest, 0, critical)
	if critical > mostTold {
		return best
	}
	for _, least := range []int{min(1, critical), 0} {
		if all := s.tell(w, l, rest, least, critical); all.full >= least && all.told() >= critical {
			return all
		}
		few := l
		for few.listed > critical { // the last are of the lowest severity, a line each
			over := rest + 1 + s.linesOf(w, least, critical, few.listed) - w.height()
			if over <= 0 {
				break
			}
			few.listed = max(few.listed-over, critical)
		}
		if few.listed == l.listed {
			continue
		}
		few.full = min(few.full, fullProblems, few.listed)
		if few = s.tell(w, few, rest+1, least, critical); few.full >= least && few.told() > min(best.told(), critical-1) {
			return few
		}
	}
	return best
}

// tell is the layout of so many listed problems, with as many of the first of them in full, at least some, as
// leave all critical ones their next step, and if it can be their impact.
func (s Summary) tell(w *Page, l layout, rest, least, critical int) layout {
	var best layout
	for l.full = s.mostInFull(w, l, rest); l.full >= least; l.full-- {
		for l.brief = 0; l.full+l.brief < l.listed; l.brief++ {
			told, impacts := l.told()+1, 0
			if told > critical {
				impacts = max(critical-l.full, 0)
			}
			if rest+impacts+s.linesOf(w, l.full, told, l.listed) > w.height() {
				break
			}
		}
		if best.listed == 0 || l.told() >= critical && best.told() < critical {
			best = l
		}
		if free := w.height() - rest - s.linesOf(w, l.full, l.told(), l.listed); l.told() >= critical && free >= critical-l.full {
			return l
		}
	}
	return best
}

// mostInFull is how many of the first problems, which the layout has in full, fit so.
func (s Summary) mostInFull(w *Page, l layout, rest int) int {
	lines := rest + l.listed
	for i := range min(l.full, l.listed) {
		if lines += s.rowsOf(w, printed{problem: i, full: true}) - 1; lines > w.height() {
			return i
		}
	}
	return l.full
}

// told is how many problems have their next step.
func (l layout) told() int { return l.full + l.brief }

// critical is how many of the first problems are: they are the worst.
func (s Summary) critical() int {
	n := slices.IndexFunc(s.Problems, func(p Problem) bool { return p.Mark != StatusMark(assess.Fail) })
	if n < 0 {
		return len(s.Problems)
	}
	return n
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
	longer := min(max(full, told, 0), listed) // the others take a line each, and may be thousands
	lines := listed - longer
	for i := range longer {
		lines += s.rowsOf(w, printed{problem: i, full: i < full, command: i >= full && i < told})
	}
	return lines
}

// printed is a way to print one of a summary's problems.
type printed struct {
	problem       int
	full, command bool
	columns, most int
}

// rowsOf is how many lines that takes. Layouts are tried by the dozen: each way is measured once.
func (s Summary) rowsOf(w *Page, how printed) int {
	how.columns, how.most = w.columns, w.mostLines()
	n, known := s.measured[how]
	if !known {
		n = rows(w, func(w *Page) {
			s.Problems[how.problem].print(w, how.full, 1)
			if how.command {
				s.Problems[how.problem].printCommand(w)
			}
		})
		if s.measured != nil {
			s.measured[how] = n
		}
	}
	return n
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

// titled is the title with as many names as so many lines hold, one at least.
func (p Problem) titled(w *Page, lines int) string {
	title := Clean(OneLine(p.Title))
	if len(p.Names) == 0 {
		return title
	}
	room, line, first := p.room(w, lines), w.columns-labelColumns, columnsIn(p.Names[0])
	if more := len(p.Names) - 1; more > 0 {
		first += len(fmt.Sprintf(" +%d", more))
	}
	if left := room - columnsIn(title) - len(": "); lines == 1 && room > 0 && left < min(first, leastFlexible) { // a name stays
		title = shortened(title, max(room-len(": ")-min(first, room/2), 1))
	}
	names := min(room-columnsIn(title)-len(": "), line)
	if lines > 1 {
		names = max(names, min(first, line))
	}
	return title + ": " + NamesThatFit(p.Names, names)
}

// titleLines is how many lines the whole title takes.
func (p Problem) titleLines(w *Page) int {
	if p.fitsOnALine(w) {
		return 1
	}
	return rows(w, func(w *Page) { p.print(w, false, w.mostLines()) })
}
