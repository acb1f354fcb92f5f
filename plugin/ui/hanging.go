package ui

import (
	"strconv"
	"strings"
	"unicode"
)

// hang is how far quotations are indented that go on in another line: farther than the
// words by which a line says what to do.
const hang = 16

// hanging breaks foreign quotations, “…” and "…", where a terminal would, and indents what follows:
// no text of a cluster's begins a line as this program's do. What may be copied, as commands
// and comments of scripts, is left to the terminal.
type hanging struct {
	column                 int
	begun, script, command bool // begun: something stands on the line
	end                    rune // of the quotation that is open; 0: none is
	escaped                bool // by \ before it, as in what %q prints
	unsure                 bool // the terminal may be in another column: how wide its letters are is not told
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
			h.begun, h.script, h.command = true, isScript(line), isCommandLine(line)
		}
		closes := r == h.end && r != 0 && !h.escaped
		h.escaped = r == '\\' && h.end == '"' && !h.escaped
		switch {
		case r == '“': // whatever is open: a lone " must not end it
			h.end = '”'
			if h.unsure && !h.script {
				b.WriteString("\n" + strings.Repeat(" ", hang))
				h.column, h.unsure = hang, false
			}
		case h.end != 0:
		case r == '"':
			h.end = '"'
		}
		columns := columnsOf(r)
		if h.end != 0 && !h.script && !(h.command && h.end == '"') && h.column+columns > width {
			b.WriteString("\n" + strings.Repeat(" ", hang))
			h.column = hang
		}
		h.unsure = h.unsure || r == '\t' || r > unicode.MaxLatin1 && !strings.ContainsRune("“”‘’…–—→≥≤✓✗○·×", r)
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

// isScript reports whether a line is of a script or of JSON, not prose.
func isScript(line string) bool {
	text, err := strconv.QuotedPrefix(line)
	if err != nil {
		return line[0] == '#' || strings.ContainsRune("{[", rune(line[0])) && !strings.ContainsRune(line, '“')
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

// isCommandLine reports whether a line is a command: what stands in it between plain quotation
// marks is not broken, as it is copied. foreign.Command has no “…” in one.
func isCommandLine(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	switch strings.ToLower(strings.TrimSuffix(word, ":")) {
	case "next", "undo", "or", "run":
		return strings.HasPrefix(rest, " ") || strings.HasSuffix(word, ":")
	}
	return false
}
