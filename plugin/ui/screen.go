// Package ui prints for people and machines: tables, documents, progress, and a screen on which
// nothing that others wrote passes for a line of the program.
package ui

import (
	"io"
	"os"
	"regexp"
	"runtime"
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
	// before is asked before each Write; nil: nothing is.
	before  func() error
	failed  error  // the first error of w's
	program string // see CallAs
	last    string // the end of what was written: a call may go on
	client  bool   // see CallsClient
}

// NewScreen cleans what is written to w.
func NewScreen(w io.Writer) io.Writer {
	if _, ok := w.(*screen); ok || w == nil {
		return w
	}
	return &screen{w: w}
}

// OnAnswer has something asked before a screen is written to, and before another answer: an error is in place of
// it.
func OnAnswer(w io.Writer, before func() error) {
	if s, ok := w.(*screen); ok {
		s.before = before
	}
}

// BeginAnswer says that an answer begins which does not go through the screen: a file, or what a program writes. An
// error says that there is to be none.
func BeginAnswer(w io.Writer) error {
	if s, ok := w.(*screen); ok && s.before != nil {
		return s.before()
	}
	return nil
}

// Write never splits a character, and says of all of p that it was written.
func (s *screen) Write(p []byte) (int, error) {
	if err := BeginAnswer(s); err != nil {
		return 0, err
	}
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
	written := s.hang.hung(pki.Visible(string(text[:whole]), "\n\t"), TerminalWidth(s.w))
	if written != "" {
		atStart := !s.inLine
		s.inLine = !strings.HasSuffix(written, "\n")
		written = asCalled(s.program, written, atStart)
		s.noteClient(written)
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

// CallsClient reports whether a screen has a call of kubectl or oc that names no cluster, other than of this program.
func CallsClient(w io.Writer) bool {
	s, ok := w.(*screen)
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteClient("\n")
	return s.client
}

// calledClient is a call of kubectl or oc: a word follows, on the next line where prose was wrapped. A flag instead,
// but for the namespace, names the cluster. In a document, \n stands between lines.
var calledClient = regexp.MustCompile(`(?:^|[^\w./-]|\\n)(?:kubectl|oc)\s+(?:-n\s+\S+\s+)?([a-z][a-z-]*)[^a-z-]`)

// noteClient looks for a call in what is written, and in what was written before of a call: line by line, as tables
// are written in pieces of a few bytes.
func (s *screen) noteClient(written string) {
	const most = 400 // of a call: a namespace has 63
	if s.client {
		return
	}
	s.last += written
	if !strings.Contains(written, "\n") && len(s.last) < 10*most {
		return
	}
	if strings.Contains(s.last, "kubectl") || strings.Contains(s.last, "oc ") || strings.Contains(s.last, "oc\n") {
		for _, m := range calledClient.FindAllStringSubmatch(s.last, -1) {
			s.client = s.client || m[1] != "certrot" && m[1] != "and" // kubectl and oc: prose
		}
	}
	s.last = s.last[max(0, len(s.last)-most):]
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
	// usualColumns are a terminal's.
	usualColumns = 80
	// leastColumns is the width below which nothing is fitted any more.
	leastColumns = 40
	// proseColumns is where prose is wrapped on wide terminals: longer lines are hard to read.
	proseColumns = 118
)

// Page is text for people that is fitted to the width of what it is for.
type Page struct {
	strings.Builder
	columns int
	lines   int // of a summary; 0: summaryLines
	most    int // lines of one text; 0: as its width needs
}

// NewPage returns an empty page for out. What is no terminal has the height of the environment's LINES, which watch
// sets; without it, nothing is left out for want of lines.
func NewPage(out io.Writer) *Page {
	p := &Page{columns: Columns(out), lines: unbounded}
	lines, _ := strconv.Atoi(os.Getenv("LINES"))
	if f, ok := StreamFile(out); ok {
		if _, rows, err := term.GetSize(int(f.Fd())); err == nil {
			lines = max(rows, 1)
		}
	}
	if lines > 0 {
		p.lines = max(lines-1, summaryLines) // the prompt stands below
	}
	return p
}

// ScreenLines are the lines of a screen, with the prompt below them: of what has no height those of a usual terminal.
func (p *Page) ScreenLines() int {
	if p.lines == unbounded {
		return summaryLines
	}
	return p.height()
}

// unbounded is how many lines a page has on which everything is printed.
const unbounded = 1 << 30

// height is how many lines a summary has, and tall whether that is more than the usual terminal's.
func (p *Page) height() int { return max(p.lines, summaryLines) }
func (p *Page) tall() bool  { return p.height() > summaryLines }

// mostLines is how many lines one text has: of a narrow page as many as hold what two of a usual one do.
func (p *Page) mostLines() int {
	if p.most > 0 {
		return p.most
	}
	return max(maxLines, (maxLines*usualColumns-1)/max(p.columns, 1)+1)
}

// draft is an empty page of the same size.
func (p *Page) draft() *Page { return &Page{columns: p.columns, lines: p.lines, most: p.most} }

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
	columns := TerminalWidth(out)
	if columns == 0 {
		columns, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	if columns <= 0 {
		return defaultColumns
	}
	return max(columns, leastColumns)
}

// TableWidth is that of a terminal, else of the environment's COLUMNS, else 0: other programs get tables whole.
func TableWidth(out io.Writer) int {
	if columns := TerminalWidth(out); columns > 0 {
		return columns
	}
	columns, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return max(columns, 0)
}

// TerminalWidth is the number of columns of a terminal, and 0 for anything else.
func TerminalWidth(out io.Writer) int {
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

// Colors are the words of --color.
func Colors() []string { return []string{"auto", "always", "never"} }

// SetColor says whether lines for people have colours on a screen: always, never, or auto: on a
// terminal, unless NO_COLOR, CLICOLOR=0, TERM=dumb or no TERM say otherwise. CLICOLOR_FORCE has them
// elsewhere, too.
func SetColor(w io.Writer, when string) error {
	s, ok := w.(*screen)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch when {
	case "always":
		s.color = true
	case "never":
		s.color = false
	case "auto":
		s.color = colorWanted(os.Getenv, isTerminal(s.w))
	default:
		return Invalid("--color", when, Colors()...)
	}
	return nil
}

// colorWanted follows no-color.org and bixense.com/clicolors.
func colorWanted(env func(string) string, terminal bool) bool {
	force := env("CLICOLOR_FORCE")
	switch {
	case env("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	dumb := env("TERM") == "dumb" || env("TERM") == "" && runtime.GOOS != "windows" // where no terminal sets it
	return terminal && env("CLICOLOR") != "0" && !dumb
}

func isTerminal(w io.Writer) bool {
	f, ok := StreamFile(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

const (
	red    = "\x1b[31;1m"
	yellow = "\x1b[33;1m"
	cyan   = "\x1b[36m"
	green  = "\x1b[32m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// marked is the beginning of a line of this program's: a mark with the word of the severity or
// the status, or the label of a next step. No text of a cluster's begins a line, so that none
// gets a colour by what it says.
var marked = regexp.MustCompile(`^( {0,4})(?:([✗!?✓])( (?:CRITICAL|WARNING|UNKNOWN|FAIL|WARN|PASS)\b)?|((?:next|undo) .*))`)

// colored puts colours into lines; the first of them is whole where atStart.
func colored(s string, atStart bool) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		m := marked.FindStringSubmatchIndex(line)
		if m == nil || !atStart {
			b.WriteString(line)
			atStart = true
			continue
		}
		color := bold
		if m[4] >= 0 {
			color = map[string]string{"✗": red, "!": yellow, "?": cyan, "✓": green}[line[m[4]:m[5]]]
		}
		b.WriteString(line[:m[3]] + color + line[m[3]:m[1]] + plain + line[m[1]:])
		atStart = true
	}
	return b.String()
}

// Padded is a cell of a table, which is as wide as its column.
func Padded(cell string, columns int) string {
	cell = Middle(cell, columns)
	return cell + strings.Repeat(" ", max(columns-columnsIn(cell), 0))
}

// Width is how many columns a text takes.
func Width(s string) int { return columnsIn(s) }

func columnsIn(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}
