package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain reports whether a text may stand bare: a name, or a short sentence that reads as no
// instruction.
func plain(s string) bool {
	return len(s) <= foreignLength && (isName(s) || Prints(s) && strings.TrimSpace(s) == s && !strings.ContainsAny(s, "“”|`") && strings.Count(s, `"`)%2 == 0 && !advises(s) && legible(s) == s)
}

// advises reports whether a text reads as an instruction.
func advises(s string) bool {
	for part := range strings.SplitSeq(s, ":") {
		word := part
		if begin := strings.LastIndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }); begin >= 0 {
			word = word[begin+1:]
		}
		if slices.Contains(instructions(), strings.ToLower(word)) {
			return true
		}
		switch strings.ToLower(word) {
		case "error", "warning", "note", "hint": // libraries say "remote error: …"
			if before := strings.TrimRight(part[:len(part)-len(word)], " "); before == "" || strings.ContainsRune(".;,!?|)", rune(before[len(before)-1])) {
				return true
			}
		}
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M) }) {
		if _, mixed := wordAt(word); mixed { // it is made to look like another one
			return true
		}
	}
	return strings.HasPrefix(s, "-") || strings.Contains(s, "$(") || strings.Contains(s, "  ") || slices.ContainsFunc(strings.Fields(s), func(word string) bool {
		word = strings.Trim(word, "\"'`()[]{}<>,.;!?") // not ":", as in what libraries say: "ssh: …"
		return isCommand(word[strings.LastIndexByte(word, '/')+1:]) || strings.ContainsAny(word, "✓✗")
	})
}

// instructions are the words by which lines of this program's say what to do.
func instructions() []string { return []string{"next", "undo", "run", "back", "hand"} }

// instructs reports whether a word ends as one of them.
func instructs(word string) bool {
	word = strings.ToLower(word)
	return slices.ContainsFunc(instructions(), func(end string) bool { return strings.HasSuffix(word, end) })
}

// isCommand reports whether a word is one that a text may want to be run.
func isCommand(word string) bool {
	switch word {
	case "sudo", "su", "kubectl", "oc", "certrot", "kubectl-certrot", "curl", "wget", "sh", "bash", "ssh", "scp", "rm", "systemctl", "chroot", "nsenter", "python", "python3", "perl", "openssl":
		return true
	}
	return false
}

// isName reports whether a text is one word of ASCII, as names, subjects, paths, versions,
// URLs and sizes are. It begins no option, and is not what stands before an instruction.
func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("/*._[", c) >= 0:
		case i > 0 && strings.IndexByte("-,:=+@%#~]", c) >= 0:
		default:
			return false
		}
	}
	return s != "" && s[len(s)-1] != ':'
}

// legible writes as escapes what has no place even in a quotation: what does not print or
// has no ink, what passes for ASCII's signs, letters that turn the direction of a line, and
// letters of other alphabets in one word with ASCII's. Twice is once: an escape has letters
// too.
func legible(s string) string {
	for {
		written := legibleOnce(s)
		if written == s {
			return s
		}
		s = written
	}
}

func legibleOnce(s string) string {
	var b strings.Builder
	wordEnd, mixed, marks, last := 0, false, 0, ' '
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if i >= wordEnd {
			var length int
			length, mixed = wordAt(s[i:])
			wordEnd = i + length
		}
		isMark := unicode.In(r, unicode.Mn, unicode.Mc)
		if marks++; !isMark {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r >= ' ' && r <= '~', strings.ContainsRune("“”‘’"+ownSigns, r):
			b.WriteRune(r)
		case !prints(r), isMark && (!unicode.IsLetter(last) && marks < 2 || marks > 3), !isMark && (!isLetter(r) || mixed && !unicode.Is(unicode.Latin, r)):
			b.WriteString(escaped(r))
		default:
			b.WriteRune(r)
		}
		i += size
		last = r
	}
	return b.String()
}

// oneBlank writes as escapes the blanks that stand before others: many of them would look
// like a new line of a terminal.
func oneBlank(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.HasPrefix(s[i:], "  ") {
			b.WriteString(`\x20`)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// wordAt is the length of the word at the beginning of a text, and whether it is mixed: of
// letters of ASCII and of another alphabet than the Latin one.
func wordAt(s string) (length int, mixed bool) {
	length, ascii, other := len(s), false, false
	for i, r := range s {
		if !unicode.In(r, unicode.L, unicode.M) {
			length = i
			break
		}
		ascii = ascii || r <= unicode.MaxASCII
		other = other || r > unicode.MaxASCII && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r)
	}
	return length, ascii && other
}

// isLetter reports whether a character is a letter or digit of a script that runs from left
// to right, and no other form of ASCII's.
func isLetter(r rune) bool {
	switch {
	case !unicode.In(r, unicode.L, unicode.Nd), unicode.Is(unicode.Lm, r) && r < 0x3000:
		return false
	case r >= 0x0590 && r <= 0x08ff, r >= 0xfb00 && r <= 0xfdff, r >= 0xfe70 && r <= 0xfeff, r >= 0x10800 && r <= 0x10fff, r >= 0x1e800 && r <= 0x1efff: // from right to left
		return false
	case r >= 0x2100 && r <= 0x214f, r >= 0xff00 && r <= 0xffef, r >= 0x1d400 && r <= 0x1d7ff: // ASCII's in other forms
		return false
	}
	return true
}

// prints reports whether a terminal prints a character, with ink.
func prints(r rune) bool { return strconv.IsPrint(r) && !invisible(r) }

// invisible reports whether a character that prints leaves no ink, or changes another one.
func invisible(r rune) bool {
	return r == 0x2800 || r == 0x1d159 || r == 0x16fe4 || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func escaped(r rune) string { return strings.Trim(strconv.QuoteRuneToASCII(r), "'") }
