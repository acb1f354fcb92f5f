package plugin

import (
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// screen is what all text for people goes through, to standard output and to standard
// error: control characters that came with names, messages and certificates are written
// as escapes, so that no text of a cluster's moves the cursor, sets colours or reverses
// what is read. The program itself makes none. What it passes on are line feeds and tabs.
type screen struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte // the beginning of a character, or of a command, whose end is in the next Write
	// called is how the user calls the program; below this floor nothing knows it, and says
	// "certrot verify", which no shell finds.
	called string
	before string // the end of what was written
}

func newScreen(w io.Writer, called string) io.Writer {
	if _, ok := w.(*screen); ok || w == nil {
		return w
	}
	return &screen{w: w, called: called}
}

// bareCommand is a command of the program with nothing, or with what calls it, before its name.
var bareCommand = regexp.MustCompile(`((?:kubectl|oc)\s+|[-/.\w])?\bcertrot(\s+(?:explain|fix-api-int|fix-kubeconfig|inspect|pretrust|rotate|runs|snapshot|undo|verify))\b`)

// named is a text with its commands as the user types them. What was before it may call them.
func (s *screen) named(text string) string {
	if s.called == "" {
		return text
	}
	const caller = len("kubectl ") // shorter than any command
	all, before := s.before+text, len(s.before)
	s.before = all[max(0, len(all)-caller):]
	if !strings.Contains(text, "certrot") { // nearly all of a large document
		return text
	}
	return bareCommand.ReplaceAllStringFunc(all, func(command string) string {
		if !strings.HasPrefix(command, "certrot") {
			return command
		}
		return s.called + strings.TrimPrefix(command, "certrot")
	})[before:]
}

// longestCommand is how far back one may begin, with what is between its words.
const longestCommand = 128

// begunCommand is what may become a command with what is written next.
var begunCommand = regexp.MustCompile(`(?:\b(?:kubectl|oc)\s+)?\b(?:c|ce|cer|cert|certr|certro|certrot(?:\s+[-a-z]*)?)$|\b(?:k|ku|kub|kube|kubec|kubect|kubectl\s*|o|oc\s*)$`)

// flush writes what waits for more.
func flush(w io.Writer) {
	if s, ok := w.(*screen); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = io.WriteString(s.w, pki.Visible(s.named(string(s.rest)), "\n\t"))
		s.rest = nil
	}
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
	if at := begunCommand.FindIndex(text[max(0, whole-longestCommand):whole]); at != nil && s.called != "" {
		whole = max(0, whole-longestCommand) + at[0]
	}
	s.rest = append([]byte{}, text[whole:]...)
	if _, err := io.WriteString(s.w, pki.Visible(s.named(string(text[:whole])), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// raw is what is behind a screen: for archives, and for what draws progress.
func raw(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.w
	}
	return w
}

// streamFile is the file that a stream is.
func streamFile(w io.Writer) (*os.File, bool) {
	f, ok := raw(w).(*os.File)
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
