package ui

import (
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

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
		return 0, err
	}
	return len(p), nil
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
