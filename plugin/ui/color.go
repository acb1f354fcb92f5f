package ui

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// Colors are the words of --color.
func Colors() []string { return []string{"auto", "always", "never"} }

// SetColor says whether lines for people have colours on a screen: always, never, or auto: on a
// terminal, unless NO_COLOR, CLICOLOR=0, TERM=dumb or no TERM say otherwise. CLICOLOR_FORCE has them
// elsewhere, too.
func SetColor(w io.Writer, when string) error {
	s, ok := w.(*screen)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch when {
	case "always":
		s.color = true
	case "never":
		s.color = false
	case "auto":
		s.color = colorWanted(os.Getenv, isTerminal(s.w))
	default:
		return fmt.Errorf("--color %q is none of %s", when, strings.Join(Colors(), ", "))
	}
	return nil
}

// colorWanted follows no-color.org and bixense.com/clicolors.
func colorWanted(env func(string) string, terminal bool) bool {
	force := env("CLICOLOR_FORCE")
	switch {
	case env("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	dumb := env("TERM") == "dumb" || env("TERM") == "" && runtime.GOOS != "windows" // where no terminal sets it
	return terminal && env("CLICOLOR") != "0" && !dumb
}

func isTerminal(w io.Writer) bool {
	f, ok := StreamFile(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

const (
	red    = "\x1b[31;1m"
	yellow = "\x1b[33;1m"
	cyan   = "\x1b[36m"
	green  = "\x1b[32m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// marked is the beginning of a line of this program's: a mark with the word of the severity or
// the status, or the label of a next step. No text of a cluster's begins a line, so that none
// gets a colour by what it says.
var marked = regexp.MustCompile(`^( {0,4})(?:([✗!?✓])( (?:CRITICAL|WARNING|UNKNOWN|FAIL|WARN|PASS)\b)?|((?:next|undo) .*))`)

// colored puts colours into lines; the first of them is whole where atStart.
func colored(s string, atStart bool) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		m := marked.FindStringSubmatchIndex(line)
		if m == nil || !atStart {
			b.WriteString(line)
			atStart = true
			continue
		}
		color := bold
		if m[4] >= 0 {
			color = map[string]string{"✗": red, "!": yellow, "?": cyan, "✓": green}[line[m[4]:m[5]]]
		}
		b.WriteString(line[:m[3]] + color + line[m[3]:m[1]] + plain + line[m[1]:])
		atStart = true
	}
	return b.String()
}
