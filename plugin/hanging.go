package plugin

import (
	"strconv"
	"strings"
)

// hang is how far quotations are indented that go on in another line: farther than the
// words by which a line says what to do.
const hang = 16

// hanging breaks foreign quotations, “…” and "…", where a terminal would, and indents what follows:
// no text of a cluster's begins a line as this program's do. What may be copied, as commands
// and comments of scripts, is left to the terminal.
type hanging struct {
	column        int
	begun, script bool // begun: something stands on the line
	end           rune // of the quotation that is open; 0: none is
}

// hung is a text for a terminal that is width columns wide; 0: it is for none.
func (h *hanging) hung(s string, width int) string {
	if width < 2*hang {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r == '\n' {
			*h = hanging{}
			b.WriteRune(r)
			continue
		}
		if !h.begun && r != ' ' {
			line, _, _ := strings.Cut(s[i:], "\n")
			h.begun, h.script = true, isScript(line)
		}
		closes := r == h.end
		switch {
		case h.end != 0:
		case r == '“':
			h.end = '”'
		case r == '"':
			h.end = '"'
		}
		columns := columnsOf(r)
		if h.end != 0 && !h.script && h.column+columns > width {
			b.WriteString("\n" + strings.Repeat(" ", hang))
			h.column = hang
		}
		if h.column += columns; h.column > width { // the terminal breaks it
			h.column = columns
		}
		if closes {
			h.end = 0
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isScript reports whether a line is a command, or of a script or JSON, and not prose.
func isScript(line string) bool {
	if word, rest, _ := strings.Cut(line, " "); isLabel(word) && (strings.HasPrefix(rest, " ") || strings.HasSuffix(word, ":")) {
		return true // a command
	}
	text, err := strconv.QuotedPrefix(line)
	if err != nil {
		return strings.ContainsRune("#{[", rune(line[0]))
	}
	rest := strings.TrimPrefix(line, text)
	return rest == "" || rest == "," || strings.HasPrefix(rest, ": ")
}

// columnsOf is how many columns a character takes at most.
func columnsOf(r rune) int {
	switch {
	case r == '\t':
		return 8
	case r >= 0x1100 && (r < 0x2000 || r > 0x2bff):
		return 2
	}
	return 1
}
