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
	"unicode/utf8"
)

// unsaid are the words of a command line that errors leave out: passwords and tokens may be among
// them, and programs repeat their arguments where they complain.
type unsaid struct {
	words   map[byte][]unsaidWord // by how they begin, the longest first: no regular expression, which is slow
	longest int                   // in bytes
	names   []string              // of the node, the longest first: the rest of the error has them, so that they stay
}

type unsaidWord struct {
	text  string
	plain bool // may be a word of any language, and counts only by itself
}

// shortestUnsaid is how long a word is, at least: shorter ones are in every text.
const shortestUnsaid = 4

var plainWords = regexp.MustCompile(`^[a-z]{4,7}$`)

// unsaidOf are the words behind the program, which errors name, other than the node's names; and
// their parts, since a word may be a line of its own, with a password anywhere in it.
func unsaidOf(line []string, node string) unsaid {
	short, _, _ := strings.Cut(node, ".")
	known := map[string]bool{line[0]: true, line[0][strings.LastIndexByte(line[0], '/')+1:]: true, node: true, short: true}
	var words []string
	add := func(word string) {
		if len([]rune(word)) >= shortestUnsaid && !known[word] {
			known[word] = true
			words = append(words, word)
		}
	}
	for _, word := range line[1:] {
		for _, part := range strings.Fields(word) {
			for _, made := range valuesIn(part) {
				if strings.Contains(made, nodeMark) && !nodeItself.MatchString(made) {
					add(strings.ReplaceAll(made, nodeMark, node))
				}
			}
		}
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || r == '=' || r == ':' }) {
			if madeWithNode(part) {
				add(strings.ReplaceAll(part, nodeMark, node))
			}
		}
		word = withoutNode(word, node)
		for _, part := range append([]string{word}, strings.Fields(word)...) {
			for _, value := range valuesIn(part) {
				add(value)
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
	u := unsaid{words: map[byte][]unsaidWord{}, names: []string{node, short}}
	for _, word := range words {
		u.words[word[0]] = append(u.words[word[0]], unsaidWord{word, plainWords.MatchString(word)})
		u.longest = max(u.longest, len(word))
	}
	return u
}

// nodeItself is where a node is dialled, with nothing else beside its name.
var nodeItself = regexp.MustCompile(`^([\w.-]+@)?` + regexp.QuoteMeta(nodeMark) + `(:\d+)?$`)

// valuesIn are a word itself and what may be a value in it: of -pVALUE, NAME=VALUE and USER:PASSWORD@HOST.
func valuesIn(word string) []string {
	values := []string{word}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		values = append(values, word[2:])
	}
	for rest := word; ; {
		at := strings.IndexAny(rest, "=:")
		if at < 0 {
			return values
		}
		rest = rest[at+1:]
		values = append(values, rest, rest[:max(strings.LastIndexByte(rest, '@'), 0)])
	}
}

// madeWithNode reports whether a part of a word is the node's name and something so short beside it that nothing
// else of it is left out. USER@{node} is not.
func madeWithNode(part string) bool {
	if part == nodeMark || !strings.Contains(part, nodeMark) || strings.HasSuffix(part, "@"+nodeMark) {
		return false
	}
	return !slices.ContainsFunc(strings.FieldsFunc(strings.ReplaceAll(part, nodeMark, " "), separates), func(rest string) bool { return len([]rune(rest)) >= shortestUnsaid })
}

// withoutNode takes the node's name out of a word where it stands by itself, as in root@{node}. Next to
// other letters it may be a part of a password.
func withoutNode(word, node string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(word, nodeMark)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(rest)
		if (before == "" || separates(last)) && (rest == "" || separates(next)) {
			b.WriteByte(' ')
		} else {
			b.WriteString(node)
		}
		word = rest
	}
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
	for i := 0; i < len(text); {
		end := i + max(1, u.nameAt(text, i))
		for _, w := range u.words[text[i]] {
			if to := i + len(w.text); to >= end && to <= len(text) && string(text[i:to]) == w.text && (!w.plain || !inWord(text, i-1) && !inWord(text, to)) {
				end = to
				found = append(found, [2]int{i, end})
				break
			}
		}
		i = end
	}
	return found
}

// nameAt is how long the node's name is that stands there by itself; 0: none does.
func (u unsaid) nameAt(text []byte, i int) int {
	within := func(i int) bool { return inWord(text, i) || i >= 0 && i < len(text) && text[i] == '-' }
	for _, name := range u.names {
		if to := i + len(name); to <= len(text) && string(text[i:to]) == name && !within(i-1) && !within(to) {
			return len(name)
		}
	}
	return 0
}

func inWord(text []byte, i int) bool {
	return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= '0' && text[i] <= '9' || text[i] >= 'A' && text[i] <= 'Z' || text[i] >= 'a' && text[i] <= 'z')
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
