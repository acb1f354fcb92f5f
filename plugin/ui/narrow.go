package ui

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// listing is a table for people. On a terminal that is too narrow for it, columns without any value
// are left out, and what is long is told in short.
type listing struct {
	headers []string
	rows    [][]string
	// short is a row of the narrow form, of shortHeaders; nil: the same.
	shortHeaders []string
	short        [][]string
	// flexible is the column of the narrow form whose cells are cut in their middle; the others keep theirs.
	flexible int
}

// leastFlexible is how many columns are left to the flexible one.
const leastFlexible = 12

// list writes a table as wide as it is, or what of it fits a terminal.
func (p HumanPrinter) list(w io.Writer, l listing) {
	text := tabbed(l.headers, l.rows, p.noHeaders)
	if p.wide || p.width < leastColumns || widest(text) <= p.width {
		p.fitted(w, text)
		return
	}
	headers, rows := l.headers, l.rows
	if l.short != nil {
		headers, rows = l.shortHeaders, l.short
	}
	flexible := -1
	var keep []int
	for i := range headers {
		for _, r := range rows {
			if r[i] != "-" && r[i] != "" {
				if keep = append(keep, i); i == l.flexible {
					flexible = len(keep) - 1
				}
				break
			}
		}
	}
	pick := func(r []string) []string {
		out := make([]string, len(keep))
		for i, column := range keep {
			out[i] = r[column]
		}
		return out
	}
	headers = pick(headers)
	picked := make([][]string, len(rows))
	for i, r := range rows {
		picked[i] = pick(r)
	}
	text = tabbed(headers, picked, p.noHeaders)
	if over := widest(text) - p.width; over > 0 && flexible >= 0 {
		width := 0
		for _, r := range picked {
			width = max(width, columnsIn(r[flexible]))
		}
		for _, r := range picked {
			r[flexible] = Middle(r[flexible], max(width-over, leastFlexible))
		}
		text = tabbed(headers, picked, p.noHeaders)
	}
	p.fitted(w, text)
}

func tabbed(headers []string, rows [][]string, noHeaders bool) string {
	var out strings.Builder
	t := printers.GetNewTabWriter(&out)
	if !noHeaders {
		Printf(t, "%s\n", strings.Join(headers, "\t"))
	}
	for _, r := range rows {
		Printf(t, "%s\n", strings.Join(r, "\t"))
	}
	_ = t.Flush() // the buffer does not fail
	return out.String()
}

// Widest is how many columns the widest of some lines takes.
func Widest(lines string) int { return widest(lines) }

func widest(lines string) int {
	width := 0
	for line := range strings.Lines(lines) {
		width = max(width, columnsIn(strings.TrimRight(line, "\n")))
	}
	return width
}

// eachNext is the layout of a narrow screen on which each critical problem has its next step, and the first one what it
// does unless its title says that. The line of what expires goes before one of them does.
func (s Summary) eachNext(w *Page) (Summary, layout, bool) {
	critical := s.critical()
	if critical == 0 || critical > mostTold {
		return s, layout{}, false
	}
	least := 1
	if s.Problems[0].Known || s.Problems[0].Impact == "" {
		least = 0
	}
	all := s.Tail
	for full := 1; full >= least; full-- {
		for _, s.Tail = range [][]string{all, all[max(len(all)-1, 0):]} {
			l := s.begun(1)
			l.full, l.brief = full, critical-full
			over := func() int {
				return s.rest(w, l) + s.linesOf(w, l.full, critical, l.listed) + min(len(s.Problems)-l.listed, 1) - w.height()
			}
			if n := over(); n > 0 { // a line counts the others
				l.listed = min(max(l.listed-n-1, critical), l.listed)
			}
			if n := over(); n <= 0 {
				l.spare = -n
				return s, l, true
			}
		}
	}
	s.Tail = all
	return s, layout{}, false
}

// narrowed is the layout where none was found in which a problem has its next step: the first one has it in any case,
// and on a narrow screen says what not to do.
func (s Summary) narrowed(w *Page, l layout) (Summary, layout) {
	if w.columns < usualColumns && l.told() < s.critical() {
		if each, next, fits := s.eachNext(w); fits {
			return each, next
		}
	}
	if narrow := w.columns < usualColumns; len(s.Problems) > 0 && l.full == 0 && (narrow || l.brief == 0) {
		if l = s.layout(w, 1); l.full == 0 && (narrow || l.brief == 0) {
			l.brief, l.listed, l.spare = 1, len(s.Problems), 0
			if narrow { // its impact may be what not to do
				l.full, l.brief = 1, 0
			}
			over := func(listed int) int { return s.rest(w, l) + s.linesOf(w, l.full, 1, listed) - w.height() }
			for w.most = w.mostLines(); w.most > maxLines && over(1) > 0; w.most-- {
			}
			if n := over(l.listed); n > 0 {
				l.listed = max(l.listed-n-1, 1)
			}
			if narrow && l.listed < s.critical() {
				roomy := &Page{columns: w.columns, lines: w.lines}
				roomy.most = roomy.mostLines() + 1 // what not to do may be the last that an impact says
				if each := s.eachCritical(roomy, l); each.listed > l.listed {
					l, w.most = each, roomy.most
				}
			}
		}
	}
	return s, l
}

// eachCritical is the layout in which each critical problem is named, as far as there is room beside what the first
// one says, and the first one has its next step.
func (s Summary) eachCritical(w *Page, l layout) layout {
	l.full, l.brief, l.listed, l.impactFirst = 0, 1, min(s.critical(), w.height()), true
	over := func(reserved int) int {
		counts := min(len(s.Problems)-l.listed, 1)
		return s.rest(w, l) + s.linesOf(w, 0, 1, l.listed) + counts + reserved - w.height()
	}
	if over(0) > 0 { // not all of them are named in any case
		says := rows(w, func(w *Page) { s.Problems[0].printImpact(w, w.mostLines()) })
		for l.listed > 1 && over(says) > 0 {
			l.listed--
		}
	}
	l.spare = max(-over(0), 0)
	return l
}

// NamesThatFit lists as many names as columns hold, one at least, and counts the others.
func NamesThatFit(names []string, columns int) string {
	out := ""
	for i, name := range names {
		next := out
		if i > 0 {
			next += ", "
		}
		next += name
		more := ""
		if rest := len(names) - i - 1; rest > 0 {
			more = fmt.Sprintf(" +%d", rest)
		}
		switch {
		case columnsIn(next+more) <= columns:
		case i > 0:
			return out + fmt.Sprintf(" +%d", len(names)-i)
		case more != "" || columns > leastColumns/2: // the count is never cut
			return Middle(name, max(columns-columnsIn(more), 1)) + more
		}
		out = next
	}
	return out
}

// shortened cuts a line at a width.
func shortened(line string, columns int) string {
	if columnsIn(line) <= columns {
		return line
	}
	return strings.TrimSuffix(fittedLine(line+"\n", columns, false), "\n")
}

// Middle cuts the middle out of a name that is wider than columns: names of nodes differ at
// their beginning or at their end.
func Middle(name string, columns int) string {
	if columnsIn(name) <= columns || columns < 3 {
		return shortened(name, columns)
	}
	runes, tail := []rune(name), ""
	for i := len(runes) - 1; i >= 0 && columnsIn(tail)+columnsOf(runes[i]) <= (columns-1)/3; i-- {
		tail = string(runes[i]) + tail
	}
	head := ""
	for _, r := range runes {
		if columnsIn(head)+columnsOf(r)+1+columnsIn(tail) > columns {
			break
		}
		head += string(r)
	}
	return head + "…" + tail
}

// leastFirst is how much of a place stays before its last part.
const leastFirst = 6

// lastPart cuts a place so that its last part, an object's or a file's name, stays whole where there is room: places differ there.
func lastPart(place string, columns int) string {
	i := strings.LastIndexByte(place, '/')
	room := columns - columnsIn(place[i+1:]) - 1
	node, _, file := strings.Cut(place, ":/")
	switch {
	case i < 0 || columnsIn(place) <= columns || !foreign.Word(place):
		return Middle(place, columns)
	case file && room > columnsIn(node+":"):
		return node + ":…" + place[i:]
	case file:
		return Middle(node+":"+place[i:], columns)
	case room < leastFirst:
		return "…" + Middle(place[i:], columns-1)
	}
	return Middle(place[:i], room) + place[i:]
}

// renewedBy is the day by which a certificate is renewed automatically, else what -o wide says.
func renewedBy(c *report.Cert) string {
	if r := c.Renewal; r.Known && r.Automatic() && !r.Due.IsZero() {
		return Days(r.Due, r.Due)
	}
	return renewed(c)
}
