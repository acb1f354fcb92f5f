package nodeexec

import (
	"bytes"
	"cmp"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// unsaid are the words of a command line that errors leave out: passwords and tokens may be among
// them, and programs repeat their arguments where they complain.
type unsaid struct {
	words   *regexp.Regexp // nil: there are none
	longest int            // in bytes
}

// shortestUnsaid is how long a word is, at least: shorter ones are in every text.
const shortestUnsaid = 4

// plainWords may be words of any language, and count only by themselves.
var plainWords = regexp.MustCompile(`^[a-z]{4,7}$`)

// unsaidOf are the words behind the program, which errors name, other than the node's name.
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
		add(word)
		if len(word) > 2 && word[0] == '-' && word[1] != '-' {
			add(word[2:]) // the value of -pVALUE
		}
		for rest := word; ; { // NAME=VALUE, USER:PASSWORD@HOST
			at := strings.IndexAny(rest, "=:")
			if at < 0 {
				break
			}
			rest = rest[at+1:]
			add(rest)
			user, _, _ := strings.Cut(rest, "@")
			add(user)
		}
	}
	if len(words) == 0 {
		return unsaid{}
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest that fits is left out
	longest := len(words[0])
	for i, word := range words {
		words[i] = regexp.QuoteMeta(word)
		if plainWords.MatchString(word) {
			words[i] = `\b` + words[i] + `\b`
		}
	}
	return unsaid{regexp.MustCompile(strings.Join(words, "|")), longest}
}

// in is a text without them.
func (u unsaid) in(text []byte) []byte {
	if u.words == nil {
		return text
	}
	return u.words.ReplaceAllLiteral(text, []byte("…"))
}

// wholeLine is up to how many bytes a line is waited for.
const wholeLine = 64 << 10

// saying writes lines without what is unsaid.
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
	if s.unsaid.words != nil {
		for _, word := range s.unsaid.words.FindAllIndex(s.line, -1) {
			if word[0] < at && at < word[1] {
				return word[0]
			}
		}
	}
	return at
}

// pass writes so many bytes.
func (s *saying) pass(n int) {
	_, _ = s.to.Write(s.unsaid.in(s.line[:n]))
	s.line = append(s.line[:0], s.line[n:]...)
}
