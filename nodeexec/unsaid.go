package nodeexec

import (
	"bytes"
	"cmp"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// unsaid are the words of a command line that errors leave out: passwords and tokens may be among
// them, and programs repeat their arguments where they complain.
type unsaid struct {
	words   map[byte][]unsaidWord // by how they begin, the longest first: no regular expression, which is slow
	longest int                   // in bytes
}

type unsaidWord struct {
	text  string
	plain bool // may be a word of any language, and counts only by itself
}

// shortestUnsaid is how long a word is, at least: shorter ones are in every text.
const shortestUnsaid = 4

var plainWords = regexp.MustCompile(`^[a-z]{4,7}$`)

// unsaidOf are the words behind the program, which errors name, other than the node's name; and
// their parts, since a word may be a line of its own, with a password anywhere in it.
func unsaidOf(argv []string, node string) unsaid {
	known := map[string]bool{argv[0]: true, argv[0][strings.LastIndexByte(argv[0], '/')+1:]: true, node: true}
	var words []string
	add := func(word string) {
		if len([]rune(word)) >= shortestUnsaid && !known[word] {
			known[word] = true
			words = append(words, word)
		}
	}
	for _, word := range argv[1:] {
		for _, part := range append([]string{word}, strings.Fields(word)...) {
			add(part)
			if len(part) > 2 && part[0] == '-' && part[1] != '-' {
				add(part[2:]) // the value of -pVALUE
			}
			for rest := part; ; { // NAME=VALUE, USER:PASSWORD@HOST
				at := strings.IndexAny(rest, "=:")
				if at < 0 {
					break
				}
				rest = rest[at+1:]
				add(rest)
				add(rest[:max(strings.LastIndexByte(rest, '@'), 0)])
			}
		}
		for _, text := range []string{word, sshToken.ReplaceAllString(word, " ")} {
			for _, part := range strings.FieldsFunc(text, separates) {
				add(part)
				if len(part) > 2 && part[0] == '-' {
					add(part[2:])
				}
			}
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest that fits is left out
	u := unsaid{words: map[byte][]unsaidWord{}}
	for _, word := range words {
		u.words[word[0]] = append(u.words[word[0]], unsaidWord{word, plainWords.MatchString(word)})
		u.longest = max(u.longest, len(word))
	}
	return u
}

// sshToken is what ssh replaces in its options, such as %h.
var sshToken = regexp.MustCompile(`%[%A-Za-z]`)

// separates reports whether a character may stand between a password and what is around it.
func separates(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// at is where they are in a text: begin and end of each.
func (u unsaid) at(text []byte) (found [][2]int) {
	if len(u.words) == 0 {
		return nil
	}
	inWord := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= '0' && text[i] <= '9' || text[i] >= 'A' && text[i] <= 'Z' || text[i] >= 'a' && text[i] <= 'z')
	}
	for i := 0; i < len(text); {
		end := i + 1
		for _, w := range u.words[text[i]] {
			if rest := text[i:]; len(rest) >= len(w.text) && string(rest[:len(w.text)]) == w.text && (!w.plain || !inWord(i-1) && !inWord(i+len(w.text))) {
				end = i + len(w.text)
				found = append(found, [2]int{i, end})
				break
			}
		}
		i = end
	}
	return found
}

// in is a text without them.
func (u unsaid) in(text []byte) []byte {
	var out []byte
	from := 0
	for _, word := range u.at(text) {
		out = append(append(out, text[from:word[0]]...), "…"...)
		from = word[1]
	}
	return append(out, text[from:]...)
}

// wholeLine is up to how many bytes a line is waited for.
const wholeLine = 64 << 10

// saying writes lines without what is unsaid, of what comes once a shell is on the node.
type saying struct {
	unsaid unsaid
	to     io.Writer // which takes all: see tail
	mu     sync.Mutex
	line   []byte
}

func (s *saying) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = append(s.line, p...)
	at := bytes.LastIndexByte(s.line, '\n') + 1
	if at == 0 && len(s.line) > wholeLine {
		at = s.apart()
	}
	s.pass(at)
	return len(p), nil
}

// end passes on a line that has no end.
func (s *saying) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(len(s.line))
}

// apart is where a long line can be cut and no word is.
func (s *saying) apart() int {
	at := max(len(s.line)-s.unsaid.longest, 0)
	for _, word := range s.unsaid.at(s.line) {
		if word[0] < at && at < word[1] {
			return word[0]
		}
	}
	return at
}

// pass writes so many bytes.
func (s *saying) pass(n int) {
	_, _ = s.to.Write(s.unsaid.in(s.line[:n]))
	s.line = append(s.line[:0], s.line[n:]...)
}
