// Package ui prints for people and machines: tables, documents, progress, and a screen on which
// nothing that others wrote passes for a line of the program.
package ui

import (
	"io"
	"os"
	"regexp"
	"slices"
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
	failed        error  // the first error of w's
	program       string // see CallAs
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
		written = asCalled(s.program, written, atStart)
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

// both are commands that kubectl and oc have by the same name.
func both() []string {
	return []string{"annotate", "api-resources", "apply", "auth", "config", "cp", "create", "delete", "describe", "edit", "exec", "explain", "get", "label", "logs", "patch", "rollout", "scale", "wait"}
}

// adm are commands of kubectl that oc has below adm.
func adm() []string {
	return []string{"certificate", "cordon", "drain", "taint", "top", "uncordon"}
}

// client is a call of kubectl or oc in a text, with its flags before the command.
var client = regexp.MustCompile(`(^|[\s(:;|])(kubectl|oc)((?: (?:-n|--namespace|--context|--kubeconfig)(?: |=)\S+)*) (adm )?([a-z][a-z-]*)`)

// AsCalled has a text's commands call the program by which this one was called, kubectl or oc, where
// that has the command. program is "kubectl certrot" or "oc certrot"; of another, the text stays.
func AsCalled(program, text string) string {
	caller, _, _ := strings.Cut(program, " ")
	if caller != "kubectl" && caller != "oc" || !strings.Contains(text, "oc ") && !strings.Contains(text, "kubectl ") {
		return text
	}
	return client.ReplaceAllStringFunc(text, func(found string) string {
		m := client.FindStringSubmatch(found)
		before, typed, flags, below, command := m[1], m[2], m[3], m[4], m[5]
		switch {
		case typed == caller:
			return found
		case below == "" && slices.Contains(both(), command):
			return before + caller + flags + " " + command
		case caller == "oc" && below == "" && slices.Contains(adm(), command):
			return before + caller + flags + " adm " + command
		case caller == "kubectl" && below != "" && slices.Contains(adm(), command):
			return before + caller + flags + " " + command
		}
		return found
	})
}

// CallAs says how this program was called: lines of a screen that are commands call the same (AsCalled).
func CallAs(w io.Writer, program string) {
	if s, ok := w.(*screen); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.program = program
	}
}

// AsCalledOn is AsCalled for the program of a screen (CallAs).
func AsCalledOn(w io.Writer, text string) string {
	s, ok := w.(*screen)
	if !ok {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return AsCalled(s.program, text)
}

// own is a line that says what to type, without a quotation: no text of a cluster's begins a line.
var own = regexp.MustCompile(`^ {0,12}(?:(?:kubectl|oc) |(?:next|then|or):? [^“"]*$)`)

// asCalled has the lines of a text that are commands call program; the first of them is whole where
// atStart.
func asCalled(program, s string, atStart bool) string {
	if program == "" {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		if atStart && own.MatchString(strings.TrimSuffix(line, "\n")) {
			line = AsCalled(program, line)
		}
		b.WriteString(line)
		atStart = true
	}
	return b.String()
}
