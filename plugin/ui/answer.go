package ui

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Rank says how long a line of a OneScreen stays where there is no room for all: the highest go first.
type Rank int

// The ranks.
const (
	Always Rank = iota // never left out
	Useful
	Extra
	Space // empty lines
)

// OneScreen is an answer that fits on one screen. What does not fit is left out, the least important
// first, and it is said how much that is.
type OneScreen struct {
	page  *Page
	lines []answerLine
}

type answerLine struct {
	rank Rank
	text string
	cut  bool // at the width
	// goesOn: the next one is of the same text.
	goesOn bool
}

// NewOneScreen returns an empty answer for out.
func NewOneScreen(out io.Writer) *OneScreen { return &OneScreen{page: NewPage(out)} }

// Columns is the width of the answer.
func (a *OneScreen) Columns() int { return a.page.columns }

// Height is how many lines there is room for.
func (a *OneScreen) Height() int { return a.page.height() }

// Line adds a line that is cut at the width.
func (a *OneScreen) Line(rank Rank, format string, args ...any) {
	a.lines = append(a.lines, answerLine{rank: rank, text: Clean(fmt.Sprintf(format, args...)), cut: true})
}

// Whole adds a line that is never left out and never cut: what changes, and what is copied.
func (a *OneScreen) Whole(format string, args ...any) {
	a.lines = append(a.lines, answerLine{rank: Always, text: Clean(fmt.Sprintf(format, args...))})
}

// Prose adds a text of at most so many lines, which begins behind the lead. Its later lines are of
// the next rank.
func (a *OneScreen) Prose(rank Rank, most int, lead, text string) {
	b := &Page{columns: a.page.columns}
	Wrap(b, lead, Clean(OneLine(text)))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = shortened(lines[most-1]+" …", a.page.columns)
	}
	for i, line := range lines {
		a.Line(min(rank+Rank(min(i, 1)), Extra), "%s", line)
		a.lines[len(a.lines)-1].goesOn = i < len(lines)-1
	}
}

// Names adds a line that lists as many names as fit, and counts the others. A name that is too long
// for the line is cut, its count is not.
func (a *OneScreen) Names(rank Rank, lead string, names []string) {
	room := a.page.columns - columnsIn(lead)
	if len(names) > 1 {
		count := fmt.Sprintf(" +%d", len(names)-1)
		names = slices.Clone(names)
		names[0] = shortened(names[0], max(room-len(count), 1))
	}
	a.Line(rank, "%s%s", lead, NamesThatFit(names, room))
}

// Shortened cuts a line at a width.
func Shortened(line string, columns int) string { return shortened(line, max(columns, 1)) }

// Gap adds an empty line.
func (a *OneScreen) Gap() { a.lines = append(a.lines, answerLine{rank: Space}) }

// rows is how many lines of a terminal one takes.
func (a *OneScreen) rows(l answerLine) int {
	if n := columnsIn(l.text); !l.cut && n > 0 {
		return (n + a.page.columns - 1) / a.page.columns
	}
	return 1
}

// Print writes the answer in so many lines, unless what is never left out takes more. more is the
// last line, which says where all of it is.
func (a *OneScreen) Print(out io.Writer, most int, more string) error {
	over := 1 - most // the last line
	order := make([]int, len(a.lines))
	for i, l := range a.lines {
		over += a.rows(l)
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(a.lines[j].rank, a.lines[i].rank), cmp.Compare(j, i)) })
	without := map[int]bool{}
	hidden := 0
	for _, i := range order {
		if over <= 0 || a.lines[i].rank == Always {
			break
		}
		without[i] = true
		over -= a.rows(a.lines[i])
		if a.lines[i].text != "" {
			hidden++
		}
	}
	for i, l := range a.lines {
		switch {
		case without[i]:
		case l.goesOn && without[i+1]:
			Printf(a.page, "%s\n", shortened(l.text+" …", a.page.columns))
		case l.cut:
			Printf(a.page, "%s\n", shortened(l.text, a.page.columns))
		default:
			Printf(a.page, "%s\n", l.text)
		}
	}
	if hidden > 0 {
		more = Count(hidden, "more line") + ", " + more
	}
	Printf(a.page, "%s\n", shortened(more, a.page.columns))
	_, err := io.WriteString(out, CleanLines(a.page.String()))
	return err
}
