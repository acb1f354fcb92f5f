package ui

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

const (
	// defaultColumns is the width of what is no terminal and has no COLUMNS.
	defaultColumns = 100
	// leastColumns is the width below which nothing is fitted any more.
	leastColumns = 40
	// proseColumns is where prose is wrapped on wide terminals: longer lines are hard to read.
	proseColumns = 118
)

// Page is text for people that is fitted to the width of what it is for.
type Page struct {
	strings.Builder
	columns int
}

// NewPage returns an empty page for out.
func NewPage(out io.Writer) *Page { return &Page{columns: Columns(out)} }

// Columns is the width of the page.
func (p *Page) Columns() int { return p.columns }

// Line writes one line, cut at the width of the page.
func (p *Page) Line(s string) { Printf(p, "%s\n", shortened(s, p.columns)) }

// Few writes a text in two lines at most: --details has all of it.
func (p *Page) Few(lead, s string) { fewLines(p, lead, Clean(OneLine(s))) }

// Command writes a line with a command, whole, to be copied.
func (p *Page) Command(word, command string) { Printf(p, "%s%s\n", label(word), Clean(command)) }

// Remark writes what is to be known of the Command above; empty: nothing.
func (p *Page) Remark(s string) {
	if s != "" {
		p.Line(label("") + s)
	}
}

// Columns is the width of a terminal; of anything else that of the environment's COLUMNS, else
// 100.
func Columns(out io.Writer) int {
	if p, ok := out.(interface{ Columns() int }); ok {
		return p.Columns()
	}
	columns := terminalWidth(out)
	if columns == 0 {
		columns, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	if columns <= 0 {
		return defaultColumns
	}
	return max(columns, leastColumns)
}

// terminalWidth is the number of columns of a terminal, and 0 for anything else.
func terminalWidth(out io.Writer) int {
	f, ok := StreamFile(out)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
