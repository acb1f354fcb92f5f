// Package foreign makes what others say fit to be printed: API servers, commands on nodes,
// an sshd, certificates. It is called where such a text comes in. It knows nothing else, so
// that every floor may use it.
package foreign

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// foreignLength is how much of a foreign text is kept: the messages of API servers are
// shorter.
const foreignLength = 1000

// Text is a text of a cluster's, a node's or a certificate's as it may stand in a message:
// bare where it is one plain word; else on one line and between quotation marks “…”, as any
// sentence may read as an instruction of this program's. Twice is once.
func Text(s string) string {
	if s == "" || len(s) <= foreignLength && isName(s) || isQuoted(s) {
		return s
	}
	return Quoted(s)
}

// Value is a value of others' that is data: it is compared, and stands in JSON. It stays as it is where
// it reads as no instruction, and is a Text in all sentences.
func Value(s string) string {
	if s == "" || plain(s) || isQuoted(s) {
		return s
	}
	return Quoted(s)
}

// Texts are several, each a Text.
func Texts(texts []string) string {
	marked := make([]string, len(texts))
	for i, s := range texts {
		marked[i] = Text(s)
	}
	return strings.Join(marked, ", ")
}

// QuotedName is a foreign name in a sentence, always between quotation marks: "name" where it is
// one plain word, else “name”, which hangs on a terminal.
func QuotedName(s string) string {
	if isName(s) {
		return `"` + s + `"`
	}
	return Quoted(s)
}

// Quoted is a foreign text between quotation marks, whatever it says: where any user may
// choose it freely, as the names of a request. Twice is once.
func Quoted(s string) string {
	if isQuoted(s) {
		return s
	}
	// The end says why: of a URL with a whole script in it, that the connection was refused.
	if runes := []rune(s); len(runes) > foreignLength {
		s = string(runes[:foreignLength/2]) + "…" + string(runes[len(runes)-foreignLength/2:])
	}
	return "“" + oneBlank(legible(strings.NewReplacer("“", `"`, "”", `"`).Replace(s))) + "”"
}

// ReasonAndMessage is the reason and the message of a state or condition, which a kubelet may write as it
// likes: the reason bare where it is a word that ends with none of those before an instruction, the
// message between quotation marks.
func ReasonAndMessage(reason, message string) string {
	var said []string
	if reason != "" {
		said = append(said, NameBefore(reason))
	}
	if message = strings.TrimSpace(message); message != "" {
		said = append(said, Quoted(message))
	}
	return strings.Join(said, ": ")
}

// NameBefore is a Name with a text behind it, or at the end of a terminal's row: between quotation marks
// also where it ends with a word before an instruction, as in next: “…”.
func NameBefore(s string) string {
	if instructs(s) {
		return Quoted(s)
	}
	return Name(s)
}

// Prose is a sentence of this program's, with texts of others in it that are marked
// already. What is none, as its quotation marks are not in pairs, is Quoted as a whole.
func Prose(s string) string {
	quoted := false
	for _, r := range s {
		switch {
		case r == '“' && !quoted, r == '”' && quoted:
			quoted = !quoted
		case prints(r) && !strings.ContainsRune("“”", r):
		default:
			return Quoted(s)
		}
	}
	if quoted || legible(s) != s {
		return Quoted(s)
	}
	return s
}

// ownSigns are what this program writes beside ASCII.
const ownSigns = "…–—→≥≤✓✗·×"

// Output is what a command said: without what surrounds it, and of much the end, which is
// why it failed.
func Output(out []byte) string {
	out = bytes.TrimSpace(out)
	if len(out) <= foreignLength {
		return Text(string(out))
	}
	begin := len(out) - foreignLength
	for begin < len(out) && !utf8.RuneStart(out[begin]) {
		begin++
	}
	return Quoted("…" + string(out[begin:]))
}

// Error is an error whose text others chose, or a part of it: what it says is a Text. It
// still is what it was to errors.Is and errors.As.
func Error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); text != "" && Text(text) == text {
		return err
	}
	return &marked{err}
}

type marked struct{ err error }

func (e *marked) Error() string { return Text(e.err.Error()) }
func (e *marked) Unwrap() error { return e.err }

func isQuoted(s string) bool {
	inner, opened := strings.CutPrefix(s, "“")
	inner, closed := strings.CutSuffix(inner, "”")
	// An escape is up to ten characters long.
	return opened && closed && len(inner) <= 10*(foreignLength+1) && !strings.ContainsAny(inner, "“”") && legible(inner) == inner && oneBlank(inner) == inner
}

// CutQuoted is what stands before a Text between quotation marks that ends a sentence; false: none does.
func CutQuoted(s string) (before string, ok bool) {
	at := strings.Index(s, "“")
	return s[:max(at, 0)], at >= 0 && isQuoted(s[at:])
}

// Prints reports whether a text is one line that a terminal only prints.
func Prints(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !prints(r) }) < 0
}

// Visible writes what does not print (control characters, marks that change direction,
// characters without width or ink, bytes that are no UTF-8) as escapes, except what is allowed.
func Visible(s, allowed string) string {
	plain := func(r rune) bool { return prints(r) || strings.ContainsRune(allowed, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case plain(r):
			b.WriteRune(r)
		default:
			b.WriteString(escaped(r))
		}
		i += size
	}
	return b.String()
}
