package plainyaml

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// isPlainText reports whether a text is whole lines of characters that YAML and JSON take as they
// are. Others, such as CR and U+2028, are ends of lines, or not allowed.
func isPlainText(text []byte) bool {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return false
	}
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case c >= ' ' && c < 0x7f || c == '\n' || c == '\t':
			at++
		case c < utf8.RuneSelf:
			return false
		default:
			r, n := utf8.DecodeRune(text[at:])
			if r == utf8.RuneError || r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r >= 0xfffe && r <= 0xffff {
				return false
			}
			at += n
		}
	}
	return true
}

// scalar reads the value that begins here, in a block whose column is parent, to the end of its last
// line.
func (p *parser) scalar(parent int) bool {
	switch line := p.line(); line[0] {
	case '|':
		return p.literal(string(line), parent)
	case '{', '[':
		if s := string(line); s != "{}" && s != "[]" {
			return false
		}
		p.out = append(p.out, line...)
		return p.endLine(2)
	case '"', '\'':
		return p.quoted(parent)
	default:
		return p.plain(line, parent)
	}
}

// literal reads lines as they stand there.
func (p *parser) literal(head string, parent int) bool {
	if head != "|" && head != "|-" && head != "|+" {
		return false
	}
	at := p.at + bytes.IndexByte(p.text[p.at:], '\n') + 1
	p.scratch = p.scratch[:0]
	for at < len(p.text) && p.text[at] == '\n' {
		p.scratch = append(p.scratch, '\n')
		at++
	}
	column := len(p.text[at:]) - len(bytes.TrimLeft(p.text[at:], " "))
	if at+column == len(p.text) || p.text[at+column] == '\n' || p.text[at+column] == '\t' || column <= max(parent, 0) {
		return false
	}
	kept := 0 // without what is empty at its end
	for at < len(p.text) {
		n := 0
		for n < column && at+n < len(p.text) && p.text[at+n] == ' ' {
			n++
		}
		if c := p.text[at+n]; c == '\n' {
			p.scratch = append(p.scratch, '\n')
			at += n + 1
			continue
		} else if n < column && c == '\t' {
			return false
		} else if n < column {
			break
		}
		end := at + bytes.IndexByte(p.text[at:], '\n') + 1
		p.scratch = append(p.scratch, p.text[at+n:end]...)
		kept, at = len(p.scratch), end
	}
	switch head {
	case "|":
		p.scratch = p.scratch[:kept]
	case "|-":
		p.scratch = p.scratch[:kept-1]
	}
	p.appendString(p.scratch)
	p.at = at
	p.nextLine()
	return true
}

// quoteEnd is where a text in quotes ends; -1: not on this line.
func quoteEnd(line []byte) int { return closing(line, 1, line[0]) }

// closing is where the quotes close that were opened before; -1: not on this line.
func closing(line []byte, at int, quote byte) int {
	for ; at < len(line); at++ {
		switch {
		case quote == '"' && line[at] == '\\':
			at++
		case line[at] != quote:
		case quote == '\'' && at+1 < len(line) && line[at+1] == quote:
			at++
		default:
			return at + 1
		}
	}
	return -1
}

// quoted reads a text in quotes, over several lines maybe: the end of one is a space, and spaces
// around it are none.
func (p *parser) quoted(parent int) bool {
	line := p.line()
	quote, end := line[0], quoteEnd(line)
	value := line
	for lines := 1; end < 0; lines++ {
		if lines == 1 {
			value = bytes.Clone(line)
		}
		joins := quote == '"' && (len(line)-len(bytes.TrimRight(line, `\`)))%2 == 1
		if joins && p.text[p.at+len(line)] == ' ' { // what the backslash is for
			return false
		}
		p.at += bytes.IndexByte(p.text[p.at:], '\n') + 1
		begin := p.at
		p.nextLine()
		if p.at == len(p.text) || p.at-p.indent != begin || p.indent <= max(parent, 0) {
			return false
		}
		if joins {
			value = value[:len(value)-1]
		} else {
			value = append(value, ' ')
		}
		line = p.line()
		if end = closing(line, 0, quote); end < 0 {
			value = append(value, line...)
		} else {
			value = append(value, line[:end]...)
		}
	}
	if len(value) > 0 && &value[0] == &line[0] {
		value = line[:end]
	}
	value, ok := unquote(value)
	if !ok {
		return false
	}
	p.appendString(value)
	return p.endLine(end)
}

// unquote is what stands in quotes.
func unquote(quoted []byte) ([]byte, bool) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\t') >= 0 {
		return nil, false
	}
	if quoted[0] == '\'' {
		return bytes.ReplaceAll(inner, []byte("''"), []byte("'")), true
	}
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	out := make([]byte, 0, len(inner))
	for at := 0; at < len(inner); at++ {
		if inner[at] != '\\' {
			out = append(out, inner[at])
			continue
		}
		at++
		digits := 0
		switch inner[at] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case '"', '\\', ' ':
			out = append(out, inner[at])
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		default:
			return nil, false
		}
		if digits == 0 {
			continue
		}
		if at+digits >= len(inner) {
			return nil, false
		}
		r, err := strconv.ParseUint(string(inner[at+1:at+1+digits]), 16, 32)
		if err != nil || !utf8.ValidRune(rune(r)) { //nolint:gosec // four digits at most
			return nil, false
		}
		out = utf8.AppendRune(out, rune(r)) //nolint:gosec // the same
		at += digits
	}
	return out, true
}

// beginsPlain reports whether a text without quotes may begin so.
func beginsPlain(line []byte) bool {
	switch c := line[0]; {
	case isLetter(c) || isDigit(c) || c >= utf8.RuneSelf:
		return true
	case c == '-' || c == '.':
		return len(line) == 1 && c == '.' || len(line) > 1 && (isLetter(line[1]) || isDigit(line[1]) || line[1] == ':' && c == '.')
	default:
		return bytes.IndexByte([]byte("_/($^+=;<\\~"), c) >= 0
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isOneScalar reports whether a line is part of a plain scalar throughout, and neither key nor comment.
func isOneScalar(line []byte) bool {
	return line[len(line)-1] != ':' && !bytes.Contains(line, []byte(": ")) && !bytes.Contains(line, []byte(" #")) && bytes.IndexByte(line, '\t') < 0
}

// plain reads a value without quotes, over several lines maybe.
func (p *parser) plain(line []byte, parent int) bool {
	if !beginsPlain(line) || !isOneScalar(line) {
		return false
	}
	value := line
	for lines := 1; ; lines++ {
		p.at += bytes.IndexByte(p.text[p.at:], '\n') + 1
		begin := p.at
		p.nextLine()
		if p.at == len(p.text) || p.indent <= parent {
			break
		}
		line = p.line()
		if p.at-p.indent != begin || bytes.IndexByte([]byte("#-?:"), line[0]) >= 0 || !isOneScalar(line) {
			return false
		}
		if lines == 1 {
			value = bytes.Clone(value)
		}
		value = append(append(value, ' '), line...)
	}
	switch kindOf(value) {
	case words:
		p.appendString(value)
	case asIs:
		p.out = append(p.out, value...)
	default:
		if p.asked++; p.asked > maxAsked || len(value) > 64 || bytes.IndexByte(value, ' ') >= 0 {
			return false
		}
		raw, err := p.other(value)
		if err != nil {
			return false
		}
		p.out = append(p.out, raw...)
	}
	return true
}

// kind is what a scalar without quotes is.
type kind int

const (
	unclear kind = iota
	words
	asIs // the same in JSON
)

// kindOf tells it by what YAML 1.1 has for numbers and the like.
func kindOf(s []byte) kind {
	switch c := s[0]; {
	case c == '.' && (len(s) == 1 || s[1] == ':' || isLetter(s[1])):
		if lower := string(bytes.ToLower(s)); lower == ".nan" || lower == ".inf" {
			return unclear
		}
		return words
	case c == '~' || c == '+' || c == '.':
		return unclear
	case c == '-' || isDigit(c):
		return numberOrText(s)
	}
	switch string(s) {
	case "true", "false", "null":
		return asIs
	case "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF",
		"True", "TRUE", "False", "FALSE", "Null", "NULL":
		return unclear
	}
	return words
}

// numberOrText tells a number in decimal from what has letters that no number has.
func numberOrText(s []byte) kind {
	digits := bytes.TrimPrefix(s, []byte("-"))
	if len(digits) == 0 {
		return unclear
	}
	plain, letters := true, false
	for _, c := range digits {
		plain = plain && isDigit(c)
		letters = letters || isLetter(c) && c != 'e' && c != 'E'
	}
	switch {
	case plain && len(digits) <= 15 && (digits[0] != '0' || len(s) == 1):
		return asIs
	case bytes.Count(digits, []byte(".")) > 1: // such as a version or an address
		return words
	case letters && (digits[0] >= '1' && digits[0] <= '9' || digits[0] == '0' && bytes.IndexByte([]byte("acdfACDF"), digits[1]) >= 0):
		return words
	}
	return unclear
}

// appendString writes a string as encoding/json does.
func (p *parser) appendString(s []byte) {
	begin := len(p.out)
	p.out = append(p.out, '"')
	from := 0
	for at, c := range s {
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			continue
		}
		escape := ""
		switch c {
		case '\n':
			escape = `\n`
		case '\t':
			escape = `\t`
		case '\r':
			escape = `\r`
		case '"':
			escape = `\"`
		case '\\':
			escape = `\\`
		case '<':
			escape = `\u003c`
		case '>':
			escape = `\u003e`
		case '&':
			escape = `\u0026`
		default:
			raw, _ := json.Marshal(string(s)) // which can't fail
			p.out = append(p.out[:begin], raw...)
			return
		}
		p.out = append(append(p.out, s[from:at]...), escape...)
		from = at + 1
	}
	p.out = append(append(p.out, s[from:]...), '"')
}
