package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

const (
	// summaryLines fit on a terminal of 24, with the prompt below them.
	summaryLines = 23
	// fullProblems are told in several lines, others in one.
	fullProblems = 3
	// mostTold is how many problems are each told, whatever the first one says.
	mostTold = 10
	// maxUnknown is how many lines say what is unknown.
	maxUnknown = 3
	// maxLines is how many lines one text of a problem has; on a narrow terminal it takes more.
	maxLines = 2
	// manyLines is how many it has where all of it fits.
	manyLines = 8
	// labelColumns is where texts begin, behind the severity or the label.
	labelColumns = 12
)

// Summary is the answer on one screen: is it bad, where, how urgent, what to type.
type Summary struct {
	Head     []string // which cluster, as of when
	Tally    string   // how many problems
	Problems []Problem
	Unknown  []Problem
	// UnknownNext reads what the Unknown that name no next step are without.
	UnknownNext assess.Remediation
	Pass        []string // what is well
	Tail        []string
	Next        string // the command that looks further, where nothing is wrong; empty: none
	NextAbout   string // what it looks at
	Listed      bool   // each problem is listed, in a line at least, whatever the height

	measured map[printed]int // lines of its problems, of each way to print one; nil: each is measured each time
}

// Problem is one problem of a summary.
type Problem struct {
	Mark, Word string               // "✗", "CRITICAL"
	Title      string               // what is wrong
	Names      []string             // of what, where the title does not say it
	More       string               // stands behind the title, and is never cut
	Also       []string             // all that the title and what it counts are about
	Reason     string               // empty: the title is the reason
	Clients    []string             // who refuses a server
	Cause      string               // how it came about; it goes before another problem's next step does
	Known      bool                 // the title says what fails: the cause stands in place of the impact
	Now        string               // what of it is the case now
	Others     []assess.Remediation // of what else is in it
	Impact     string
	Next       assess.Remediation
	Platform   bool // it is about nodes, or objects that no tenant writes
}

// ToldClaims is a problem of verify's first screen, or what is unknown there, with what it is about.
type ToldClaims struct {
	Problem
	Claims []report.VerificationClaim // none: what was not read
}

// ProblemOf is a folded problem under its severity.
func ProblemOf(p cause.Problem) Problem {
	out := Problem{Mark: Mark(p.Severity), Word: strings.ToUpper(p.Severity.String()), Title: p.Reason, Impact: p.Impact, Next: p.Remediation, Platform: p.Platform}
	if p.Named {
		out.Names = p.Names()
	} else if more := len(p.Findings) - 1; more > 0 {
		out.More = fmt.Sprintf(" (and %d more)", more)
		out.Also = p.Names()
	}
	return out
}

// Print writes the summary. The first problems are told in full as long as everything fits on
// one screen; the first one is never without its next step.
func (s Summary) Print(w *Page) {
	if w.lines == unbounded {
		w.most = max(manyLines, (manyLines*usualColumns-1)/w.columns+1)
		s.printIn(w, s.all())
		return
	}
	s, l := s.withCauses(w)
	for most := manyLines; w.columns >= usualColumns && most > w.mostLines(); most-- { // no text is cut where lines are free
		longer := s.layout(&Page{columns: w.columns, lines: w.lines, most: most}, maxUnknown)
		if longer.full > 0 && longer.full == l.full && longer.brief == l.brief && longer.listed == l.listed && longer.whole == l.whole && longer.reasons == l.reasons {
			l, w.most = longer, most
		}
	}
	s, l = s.narrowed(w, l)
	if s.Listed {
		l.listed = len(s.Problems)
	}
	s.printIn(w, l)
}

// printIn writes what a layout says.
func (s Summary) printIn(w *Page, l layout) {
	for _, line := range s.Head {
		Printf(w, "%s\n", shortened(line, w.columns))
	}
	Printf(w, "%s\n\n", shortened(s.Tally, w.columns))
	short := &Page{columns: w.columns, lines: w.lines} // of titles
	print := func(p Problem, full bool) {
		if full {
			p.print(w, true, 1)
			return
		}
		lines := 1
		if more := p.titleLines(short) - 1; more > 0 && l.spare >= more {
			lines, l.spare = short.mostLines(), l.spare-more
		}
		b := short.draft()
		p.print(b, false, lines)
		w.WriteString(b.String())
	}
	forTitles := 0
	for _, p := range s.Problems[min(l.full, l.listed):l.listed] { // what fails goes before the rest of what is unknown
		forTitles += p.titleLines(short) - 1
	}
	brief := s.Problems[min(l.full, l.listed):min(l.full+l.brief, l.listed)]
	free := l.spare - forTitles
	if l.impactFirst {
		free = l.spare
	}
	texts := textsOf(w, brief, free)
	for _, t := range texts {
		l.spare -= t.lines()
	}
	for i, p := range s.Problems[:l.listed] {
		print(p, i < l.full)
		if n := i - l.full; n >= 0 && n < len(brief) {
			p.printTexts(w, texts[n])
		}
	}
	if more := s.Problems[l.listed:]; len(more) > 0 {
		if line, ok := titlesOf(more, w.columns); ok {
			Printf(w, "%s\n", line)
		} else {
			count := Count(len(more), "more problem")
			if by := count + byWord(more); labelColumns+len(by+": --details") <= w.columns {
				count = by
			}
			Printf(w, "%s%s: --details\n", strings.Repeat(" ", labelColumns), count)
		}
	}
	for i, p := range l.unknown {
		if l.reasons {
			p.printReason(w)
			continue
		}
		print(p, i < l.whole)
	}
	if l.hidden > 0 {
		Printf(w, "%s%d more unknown: --details\n", strings.Repeat(" ", labelColumns), l.hidden)
	}
	if len(l.unknown) > 0 {
		l.next.printNext(w)
	}
	for _, line := range s.Pass {
		Printf(w, "%s\n", shortened(line, w.columns))
	}
	if len(s.Problems)+len(l.unknown)+len(s.Pass) > 0 && rows(w, s.printFurther)+len(s.Tail) > 0 {
		Printf(w, "\n")
	}
	for _, line := range s.Tail {
		Printf(w, "%s\n", shortened(line, w.columns))
	}
	s.printFurther(w)
}

// titlesOf is a line that names problems of one severity in few words; false: the line has room for less than two.
func titlesOf(problems []Problem, columns int) (string, bool) {
	const more = ": --details"
	var titles []string
	for _, p := range problems {
		title := Clean(OneLine(p.Title))
		if first, _, ok := strings.Cut(title, ", "); ok && !strings.Contains(title, "“") { // else a comma may be of a quotation
			title = first
		}
		if p.Word != problems[0].Word || slices.Contains(titles, title) {
			return "", false
		}
		titles = append(titles, title)
	}
	lead := problems[0].lead()
	room := columns - columnsIn(lead+more)
	if len(titles) < 2 || columnsIn(titles[0])+columnsIn(titles[1])+columnsIn(", +999") > room {
		return "", false
	}
	return lead + NamesThatFit(titles, room) + more, true
}

// byWord counts problems: " (2 critical, 1 warning)", or ", all critical".
func byWord(problems []Problem) string {
	var parts []string
	for i := 0; i < len(problems); {
		from := i
		for i < len(problems) && problems[i].Word == problems[from].Word {
			i++
		}
		parts = append(parts, fmt.Sprintf("%d %s", i-from, strings.ToLower(problems[from].Word)))
	}
	if len(parts) == 1 {
		if word := strings.ToLower(problems[0].Word); word != "warning" {
			return ", all " + word
		}
		return ", all warnings"
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// printReason writes the title and the reason, a line each.
func (p Problem) printReason(w *Page) {
	reason := p.Reason
	p.Reason, p.More = "", ""
	p.print(w, false, 1)
	if reason != "" {
		w.Line(label("reason") + Clean(OneLine(reason)))
	}
}

// print writes the problem: in full, else its title alone on so many lines.
func (p Problem) print(w *Page, full bool, lines int) {
	lead := p.lead()
	title := p.titled(w, lines)
	if !full && lines == 1 {
		if reason := ": " + Clean(OneLine(p.Reason)); p.Reason != "" && columnsIn(lead+title+reason+p.More) <= w.columns {
			title += reason
		}
		room := w.columns - columnsIn(p.More)
		Printf(w, "%s%s\n", shortened(withoutMiddle(lead+title, room), room), p.More)
		return
	}
	if !p.fitsOnALine(w) {
		title = p.titled(w, w.mostLines())
	}
	if p.More != "" {
		title = shortened(title, p.room(w, w.mostLines())) + p.More
	}
	fewLines(w, lead, title)
	if !full {
		return
	}
	if p.Reason != "" {
		fewLines(w, label("reason"), Clean(OneLine(p.Reason)))
	}
	if len(p.Clients) > 0 {
		Printf(w, "%s%s\n", label("clients"), NamesThatFit(p.Clients, w.columns-labelColumns))
	}
	if len(p.Also) > 0 {
		Printf(w, "%s%s\n", label("in"), NamesThatFit(p.Also, w.columns-labelColumns))
	}
	p.printCause(w, w.mostLines())
	p.printNow(w, w.mostLines())
	p.printImpact(w, w.mostLines())
	p.printNext(w)
	for i, r := range p.Others {
		if i == MaxPlaces {
			w.Line(label("") + fmt.Sprintf("%d more: --details", len(p.Others)-i))
			break
		}
		Problem{Next: r}.printNext(w)
	}
}

// printCause writes how it came about, on one line unless it stands in place of the impact.
func (p Problem) printCause(w *Page, most int) {
	if !p.Known {
		most = min(most, 1)
	}
	printLabelled(w, "cause", p.Cause, most)
}

// printNow writes what is the case now, and printImpact what fails, on at most so many lines.
func (p Problem) printNow(w *Page, most int)    { printLabelled(w, "now", p.Now, most) }
func (p Problem) printImpact(w *Page, most int) { printLabelled(w, "impact", p.Impact, most) }

func printLabelled(w *Page, word, text string, most int) {
	if text = Clean(OneLine(text)); text != "" && most > 0 {
		cutLines(w, label(word), text, most)
	}
}

// printNext writes what to do.
func (p Problem) printNext(w *Page) {
	p.printCommand(w)
	p.printThen(w)
}

// printCommand writes what to do first.
func (p Problem) printCommand(w *Page) {
	switch {
	case p.Next.Command != "": // whole, to be copied
		Printf(w, "%s%s\n", label("next"), Clean(p.Next.Command))
	case p.Next.Text != "":
		text, command := CommandAtEnd(Clean(OneLine(p.Next.Text)))
		fewLines(w, label("next"), text)
		if command != "" {
			Printf(w, "%s%s\n", label(""), command)
		}
	}
}

// printThen writes what to do after the command.
func (p Problem) printThen(w *Page) {
	if p.Next.Command == "" {
		return
	}
	if p.Next.Then != "" {
		fewLines(w, label("then"), Clean(p.Next.Then))
	}
	if run := Clean(p.Next.ThenRun); run != "" && !strings.Contains(p.Next.ThenRun, "\n") {
		Printf(w, "%s%s\n", label(""), run)
	}
}

// room is how many columns so many lines have for the title: words leave the end of all but the
// last one free.
func (p Problem) room(w *Page, lines int) int {
	room := lines*(w.columns-labelColumns) - (lines-1)*leastColumns/2
	if lines > 1 {
		room -= columnsIn(p.More)
	}
	return room
}

// fitsOnALine reports whether the title, and one name, do.
func (p Problem) fitsOnALine(w *Page) bool {
	title := Clean(OneLine(p.Title)) + p.More
	if len(p.Names) > 0 {
		title += ": " + p.Names[0]
	}
	if rest := len(p.Names) - 1; rest > 0 {
		title += fmt.Sprintf(" +%d", rest)
	}
	return columnsIn(title) <= w.columns-labelColumns
}

func label(word string) string { return fmt.Sprintf("  %-*s", labelColumns-2, word) }

// fewLines wraps a text, and cuts it where it is long: --details has all of it.
func fewLines(w *Page, lead, s string) { cutLines(w, lead, s, w.mostLines()) }

// cutLines is the same for so many lines.
func cutLines(w *Page, lead, s string, most int) {
	b := w.draft()
	Wrap(b, lead, s)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] += " …"
	}
	for _, line := range lines { // a name may be longer than a line: it is cut where the line stays whole
		w.Line(withoutMiddle(line, w.columns))
	}
}

// withoutMiddle is a line in which the middle of the longest word is cut where that makes it fit: what is said of a
// name stays.
func withoutMiddle(line string, columns int) string {
	over := columnsIn(line) - columns
	if over <= 0 {
		return line
	}
	longest := ""
	for word := range strings.FieldsSeq(line) {
		if columnsIn(word) > columnsIn(longest) {
			longest = word
		}
	}
	left := columnsIn(longest) - over
	if columns < usualColumns { // what is said of it has a few columns, too
		left = max(left, 2*leastFlexible)
	}
	if left >= leastColumns/2 && left < columnsIn(longest) {
		line = strings.Replace(line, longest, Middle(longest, left), 1)
	}
	return line
}

// lead is the mark and the word before a title.
func (p Problem) lead() string { return fmt.Sprintf("%-*s", labelColumns, p.Mark+" "+p.Word) }
