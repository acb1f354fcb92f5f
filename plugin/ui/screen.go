// Package ui prints for people and machines: tables, documents, progress, and a screen on which
// nothing that others wrote passes for a line of the program.
package ui

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// screen is what all text for people goes through, to standard output and to standard
// error: control characters that came with names, messages and certificates are written
// as escapes, so that no text of a cluster's moves the cursor, sets colours or reverses
// what is read. What it passes on are line feeds and tabs. It adds colours itself (SetColor).
type screen struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte // the beginning of a character whose end is in the next Write
	hang hanging
	// color: lines have colours; inLine: what is written next goes on with a line.
	color, inLine bool
	failed        error // the first error of w's
}

// NewScreen cleans what is written to w.
func NewScreen(w io.Writer) io.Writer {
	if _, ok := w.(*screen); ok || w == nil {
		return w
	}
	return &screen{w: w}
}

// Write never splits a character, and says of all of p that it was written.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, p...)
	whole := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole = len(text) - i
			}
			break
		}
	}
	s.rest = append([]byte{}, text[whole:]...)
	written := s.hang.hung(pki.Visible(string(text[:whole]), "\n\t"), terminalWidth(s.w))
	if written != "" {
		atStart := !s.inLine
		s.inLine = !strings.HasSuffix(written, "\n")
		if s.color {
			written = colored(written, atStart)
		}
	}
	if _, err := io.WriteString(s.w, written); err != nil {
		if s.failed == nil {
			s.failed = err
		}
		return 0, err
	}
	return len(p), nil
}

// Failed is the first error of what a screen wrote to; nil: all text arrived.
func Failed(w io.Writer) error {
	s, ok := w.(*screen)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Raw is what is behind a screen: for archives, and for what draws progress.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.w
	}
	return w
}

// StreamFile is the file that a stream is.
func StreamFile(w io.Writer) (*os.File, bool) {
	f, ok := Raw(w).(*os.File)
	return f, ok
}

// isLabel knows the words by which a line says what to do. Prose is never broken before one
// of them: text of a cluster's then can't put it at the beginning of a line.
func isLabel(word string) bool {
	switch strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return r < 'A' || r > 'z' })) {
	case "next", "undo", "or", "run", "error", "warning", "note":
		return true
	}
	return false
}

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
