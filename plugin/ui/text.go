package ui

import (
	"fmt"
	"io"
	"regexp"
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
	for _, word := range words(s) {
		if !empty && !isLabel(word) && len([]rune(line))+1+len([]rune(word)) > width {
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
