// Package foreign makes what others say fit to be printed: API servers, commands on nodes,
// an sshd, certificates. It is called where such a text comes in. It knows nothing else, so
// that every floor may use it.
package foreign

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foreignLength is how much of a foreign text is kept: the messages of API servers are
// shorter.
const foreignLength = 1000

// Text is a text of a cluster's, a node's or a certificate's as it may stand in a
// message: on one line, and between quotation marks “…” where it could be taken for words
// of this program. Plain names and sentences stay as they are; twice is once.
func Text(s string) string {
	if isQuoted(s) {
		return s
	}
	if len(s) <= foreignLength && Prints(s) && strings.TrimSpace(s) == s && !strings.ContainsAny(s, "“”|`") && !advises(s) {
		return s
	}
	return Quoted(s)
}

// Quoted is a foreign text between quotation marks, whatever it says: where anybody may
// choose it freely, as the names of a request. Twice is once.
func Quoted(s string) string {
	if isQuoted(s) {
		return s
	}
	// The end says why: of a URL with a whole script in it, that the connection was refused.
	if runes := []rune(s); len(runes) > foreignLength {
		s = string(runes[:foreignLength/2]) + "…" + string(runes[len(runes)-foreignLength/2:])
	}
	return "“" + Visible(strings.NewReplacer("“", `"`, "”", `"`).Replace(s), "") + "”"
}

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
	return &said{err}
}

type said struct{ err error }

func (e *said) Error() string { return Text(e.err.Error()) }
func (e *said) Unwrap() error { return e.err }

func isQuoted(s string) bool {
	inner, begins := strings.CutPrefix(s, "“")
	inner, ends := strings.CutSuffix(inner, "”")
	return begins && ends && Prints(inner) && !strings.ContainsAny(inner, "“”")
}

// Prints reports whether a text is one line that a terminal only prints.
func Prints(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
}

// advises reports whether a text reads as an instruction.
func advises(s string) bool {
	for i := range len(s) {
		if s[i] != ':' {
			continue
		}
		word := s[:i]
		if space := strings.LastIndexAny(word, " \t;,."); space >= 0 {
			word = word[space+1:]
		}
		switch strings.ToLower(word) {
		case "next", "undo", "run", "back":
			return true
		}
	}
	// A word of two alphabets is made to look like another one.
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if strings.ContainsFunc(word, isASCIILetter) && strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }) {
			return true
		}
	}
	return strings.Contains(s, "$(") || slices.ContainsFunc(strings.Fields(s), func(word string) bool {
		return slices.Contains([]string{"sudo", "kubectl", "oc", "certrot", "curl", "wget"}, word)
	})
}

func isASCIILetter(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) }

// Visible writes what does not print (control characters, marks that change direction,
// characters without width, bytes that are no UTF-8) as escapes, except what is allowed.
func Visible(s, allowed string) string {
	plain := func(r rune) bool { return strconv.IsPrint(r) || strings.ContainsRune(allowed, r) }
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
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		i += size
	}
	return b.String()
}
