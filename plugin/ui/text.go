package ui

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func fittedLine(line string, width int, all bool) string {
	var b strings.Builder
	column, end := 0, 0 // end: where a line that is cut ends
	for _, r := range line {
		switch n := columnsOf(r); {
		case r == '\n', column+n <= width:
			column += n
		case all:
			b.WriteString("\n" + strings.Repeat(" ", hang))
			column = hang + n
		default:
			return b.String()[:end] + "…\n"
		}
		b.WriteRune(r)
		if column < width {
			end = b.Len()
		}
	}
	return b.String()
}

// RelativeTime says how far t is, in the past or the future.
func RelativeTime(now, t time.Time) string {
	if t.Before(now) {
		return duration.HumanDuration(now.Sub(t)) + " ago"
	}
	return "in " + duration.HumanDuration(t.Sub(now))
}

// Count is a number with its noun.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// OrDash is a dash for nothing.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Clean keeps text out of a certificate, or of anything else of a cluster's, on one line
// and in one cell: a subject may hold anything.
func Clean(s string) string { return pki.Visible(s, "") }

// Wrap prints prose in lines that fit, the first after the lead, the others indented as far.
func Wrap(w io.Writer, lead, s string) { wrapTo(w, lead, s, min(Columns(w), proseColumns)) }

// WrapLine prints a line as it is where it fits, else as Wrap does.
func WrapLine(w io.Writer, lead, s string) {
	if foreign.Prints(s) && columnsIn(lead+s) <= Columns(w) {
		Printf(w, "%s%s\n", lead, s)
		return
	}
	Wrap(w, lead, s)
}

// Hang prints prose of the program's own in lines that fit, all but the first indented.
func Hang(w io.Writer, s string, indent int) {
	width, line, begun := min(Columns(w), proseColumns), s[:len(s)-len(strings.TrimLeft(s, " "))], false
	rest := strings.TrimLeft(s, " ")
	all := words(s) // what a quotation says begins no line
	for len(all) > 0 {
		word := ""
		for first := true; len(all) > 0 && (first || isLabel(all[0])); all, first = all[1:], false { // nor does a label
			blanks := len(rest[len(all[0]):]) - len(strings.TrimLeft(rest[len(all[0]):], " "))
			end := len(all[0]) + blanks
			word, rest = word+rest[:end], rest[end:]
		}
		if begun && columnsIn(line)+columnsIn(strings.TrimRight(word, " ")) > width {
			Printf(w, "%s\n", strings.TrimRight(line, " "))
			line = strings.Repeat(" ", indent)
		}
		line, begun = line+word, true
	}
	Printf(w, "%s\n", strings.TrimRight(line, " "))
}

// generatedName is a quoted name that an operator of the cluster made, which begins with the operator's.
var generatedName = regexp.MustCompile(`^(["“])(?:CN=)?openshift-[a-z0-9-]+_([A-Za-z0-9.@-]+)(["”].*)$`)

func wrapTo(w io.Writer, lead, s string, width int) {
	if !foreign.Prints(s) { // the program's own prose is one line: something of the cluster's is in it
		s = foreign.Quoted(s)
	}
	line, indent := lead, strings.Repeat(" ", len([]rune(lead)))
	if len(indent) > width/2 {
		indent = "    "
	}
	empty := true
	all := inPieces(words(s), width-len(indent))
	for i, word := range all {
		needs := len([]rune(word))
		for j := i + 1; j < len(all) && isLabel(all[j]); j++ { // which begin no line
			needs += 1 + len([]rune(all[j]))
		}
		if !empty && !isLabel(word) && len([]rune(line))+1+needs > width {
			Printf(w, "%s\n", line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		} else if strings.TrimSpace(line) == "" && len([]rune(line))+len([]rune(word)) > width { // its fingerprint stands beside it
			word = generatedName.ReplaceAllString(word, "$1$2$3")
		}
		line, empty = line+word, false
	}
	Printf(w, "%s\n", line)
}

// inPieces breaks quotations “…” that are wider than a line between words, each piece a quotation of its own: so that
// no line begins with what others say.
func inPieces(all []string, width int) (out []string) {
	for _, word := range all {
		for columnsIn(word) > width {
			at, opened := -1, false
			for i, r := range word {
				if opened = (opened || r == '“') && r != '”'; opened && r == ' ' && (columnsIn(word[:i]) < width || at < 0) {
					at = i
				}
			}
			if at < 0 {
				break
			}
			out, word = append(out, word[:at]+"”"), "“"+word[at+1:]
		}
		out = append(out, word)
	}
	return out
}

// words are what may stand on a line of its own: a quotation, “…” or "…", is a part of
// one.
func words(s string) []string {
	var out []string
	var word strings.Builder
	end, escaped := rune(0), false // of the quotation that is open
	for i, r := range s {
		opens := word.Len() == 0 || strings.ContainsRune("([=:,;", rune(s[i-1]))
		switch {
		case end == 0 && r == ' ':
			if word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			continue
		case r == '“': // whatever is open: a lone " must not end it
			end = '”'
		case end == 0 && r == '"' && opens && strings.ContainsRune(s[i+1:], '"'):
			end = '"'
		case r == end && !escaped:
			end = 0
		}
		escaped = r == '\\' && !escaped
		word.WriteRune(r)
	}
	if end == '"' { // it was no quotation
		return append(out, strings.Fields(word.String())...)
	}
	if word.Len() > 0 {
		out = append(out, word.String())
	}
	return out
}

// CleanLines is clean for a text of several lines.
func CleanLines(s string) string { return pki.Visible(s, "\n\t") }

// OneLine is a text on one line.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Printf writes to a buffer that keeps the first error for its Flush.
func Printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// Must is for errors that only a mistake in this program can cause, seen by
// its first test.
func Must(err error) {
	if err != nil {
		panic(err) //nolint:forbidigo // no input leads here: a flag that is completed does not exist
	}
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

// ValueError is the error for a word that is none of those that may be typed there. Who prints it adds which of them
// it may be a mistyped form of.
type ValueError struct {
	of    string
	Typed string
	Words []string
}

func (e *ValueError) Error() string {
	must := strings.Join(e.Words, ", ")
	switch n := len(e.Words); {
	case n == 2:
		must = e.Words[0] + " or " + e.Words[1]
	case n > 2:
		must = "one of " + must
	}
	return fmt.Sprintf("%s %q: must be %s", e.of, e.Typed, must)
}

// Invalid is the error for a value of a flag, as "--output".
func Invalid(flag, typed string, words ...string) error {
	return &ValueError{of: "invalid " + flag + " value", Typed: typed, Words: words}
}

// Unknown is the error for an argument, as a "part".
func Unknown(what, typed string, words ...string) error {
	return &ValueError{of: "unknown " + what, Typed: typed, Words: words}
}
