// Package plainyaml turns the YAML that oc and kubectl write into JSON, many times as fast as a
// parser of all of YAML, and with little memory beside the JSON.
//
// It knows mappings and sequences in block style, with scalars that are plain, quoted or literal. Of
// any other text it says so, and reads nothing of it: a parser of all of YAML does. Where it reads a
// text, the JSON is the same to the byte; FuzzSame holds it to that.
package plainyaml

import (
	"bytes"
	"slices"
)

// maxDepth bounds how deep values nest, and maxKey the length of a key: beyond a thousand bytes, YAML
// has no keys on a line of their value. maxAsked is how often other is asked, which takes microseconds.
const (
	maxDepth = 100
	maxKey   = 512
	maxAsked = 1000
)

// ToJSON is the JSON of a text; false: it is not of the plain kind. other is the parser of all of
// YAML: it is asked what a short scalar is, such as 1e3.
func ToJSON(text []byte, other func([]byte) ([]byte, error)) ([]byte, bool) {
	if !isPlainText(text) {
		return nil, false
	}
	p := parser{text: text, other: other, out: make([]byte, 0, len(text)+len(text)/16+64)}
	if bytes.HasPrefix(text, []byte("---\n")) {
		p.at = len("---\n")
	}
	p.nextLine()
	if p.at == len(text) || p.indent != 0 || !p.node(-1, 0) || p.at != len(text) {
		return nil, false
	}
	return p.out, true
}

// parser reads line by line. Each of its readers returns false where it does not know the text to
// be of the plain kind.
type parser struct {
	text    []byte
	at      int // what is next: behind the spaces that a line begins with, or anywhere in a line
	indent  int // column of at
	other   func([]byte) ([]byte, error)
	asked   int // other, so often
	out     []byte
	entries []entry // of mappings that are being read
	scratch []byte
}

// entry is a key of a mapping, and where it stands in out with its value.
type entry struct {
	key        []byte
	begin, end int
}

// nextLine goes from the beginning of a line to what is first in it or in one behind it.
func (p *parser) nextLine() {
	for begin := p.at; ; begin = p.at {
		for p.at < len(p.text) && p.text[p.at] == ' ' {
			p.at++
		}
		if p.at == len(p.text) || p.text[p.at] != '\n' {
			p.indent = p.at - begin
			return
		}
		p.at++
	}
}

// line is the rest of the line, without the spaces at its end.
func (p *parser) line() []byte {
	return bytes.TrimRight(p.text[p.at:p.at+bytes.IndexByte(p.text[p.at:], '\n')], " ")
}

// endLine goes on to the next line if so many bytes are all that is left of this one.
func (p *parser) endLine(used int) bool {
	if len(p.line()) != used {
		return false
	}
	p.at += bytes.IndexByte(p.text[p.at:], '\n') + 1
	p.nextLine()
	return true
}

// isDash reports whether an element of a sequence begins here.
func (p *parser) isDash() bool {
	return p.text[p.at] == '-' && (p.text[p.at+1] == ' ' || p.text[p.at+1] == '\n')
}

// node reads what begins here, in a block whose column is parent.
func (p *parser) node(parent, depth int) bool {
	switch {
	case depth > maxDepth:
		return false
	case p.isDash():
		return p.sequence(false, depth)
	case parent < 0 || p.isKey():
		return p.mapping(depth)
	}
	return p.scalar(parent)
}

func (p *parser) sequence(inMapping bool, depth int) bool {
	column := p.indent
	p.out = append(p.out, '[')
	for n := 0; ; n++ {
		if n > 0 {
			p.out = append(p.out, ',')
		}
		p.at++
		for p.indent++; p.text[p.at] == ' '; p.indent++ {
			p.at++
		}
		if p.text[p.at] == '\n' {
			if !p.below(column, false, depth+1) {
				return false
			}
		} else if !p.node(column, depth+1) {
			return false
		}
		switch last := p.at == len(p.text) || p.indent < column; {
		case last || p.indent == column && !p.isDash() && inMapping:
			p.out = append(p.out, ']')
			return true
		case p.indent > column || !p.isDash():
			return false
		}
	}
}

// below reads what stands on the lines below a key or a dash that is in this column.
func (p *parser) below(column int, afterKey bool, depth int) bool {
	p.nextLine()
	switch {
	case p.at == len(p.text) || p.indent < column || p.indent == column && !(afterKey && p.isDash()):
		p.out = append(p.out, "null"...)
		return true
	case depth > maxDepth:
		return false
	case p.indent == column:
		return p.sequence(true, depth)
	case p.isDash():
		return p.sequence(false, depth)
	case !p.isKey(): // such as a scalar on a line of its own
		return false
	}
	return p.mapping(depth)
}

func (p *parser) mapping(depth int) bool {
	column, first, begin := p.indent, len(p.entries), len(p.out)
	p.out = append(p.out, '{')
	sorted := true
	for {
		key, ok := p.key()
		if !ok {
			return false
		}
		if n := len(p.entries); n > first {
			p.out = append(p.out, ',')
			sorted = sorted && bytes.Compare(p.entries[n-1].key, key) < 0
		}
		at := len(p.out)
		p.appendString(key)
		p.out = append(p.out, ':')
		p.entries = append(p.entries, entry{key: key, begin: at})
		mine := len(p.entries) - 1
		if p.text[p.at] == '\n' {
			ok = p.below(column, true, depth+1)
		} else {
			ok = p.scalar(column)
		}
		if !ok {
			return false
		}
		p.entries[mine].end = len(p.out)
		if p.at == len(p.text) || p.indent < column {
			break
		}
		if p.indent > column {
			return false
		}
	}
	if !sorted && !p.sort(p.entries[first:], begin+1) {
		return false
	}
	p.entries = p.entries[:first]
	p.out = append(p.out, '}')
	return true
}

// sort puts entries in the order that JSON has here; false: one is there twice.
func (p *parser) sort(entries []entry, begin int) bool {
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	p.scratch = p.scratch[:0]
	for i, e := range entries {
		if i > 0 {
			if bytes.Equal(entries[i-1].key, e.key) {
				return false
			}
			p.scratch = append(p.scratch, ',')
		}
		p.scratch = append(p.scratch, p.out[e.begin:e.end]...)
	}
	p.out = append(p.out[:begin], p.scratch...)
	return true
}

// isKey reports whether a line begins with what may be a key.
func (p *parser) isKey() bool {
	line := p.line()
	if line[0] == '"' || line[0] == '\'' {
		end := quoteEnd(line)
		return end > 0 && end < len(line) && line[end] == ':'
	}
	_, ok := plainKey(line)
	return ok
}

// key reads a key and what is between it and its value.
func (p *parser) key() (key []byte, ok bool) {
	line := p.line()
	end := 0
	if line[0] == '"' || line[0] == '\'' {
		if end = quoteEnd(line); end < 0 {
			return nil, false
		}
		if key, ok = unquote(line[:end]); !ok {
			return nil, false
		}
	} else {
		if end, ok = plainKey(line); !ok || kindOf(line[:end]) != words || line[0] == '<' || bytes.IndexByte(line[:end], '\t') >= 0 {
			return nil, false
		}
		key = line[:end]
	}
	if end > maxKey || end == len(line) || line[end] != ':' || end+1 < len(line) && line[end+1] != ' ' {
		return nil, false
	}
	end++
	end += len(line[end:]) - len(bytes.TrimLeft(line[end:], " "))
	if end == len(line) { // spaces at its end, too
		p.at += bytes.IndexByte(p.text[p.at:], '\n')
		return key, true
	}
	p.at, p.indent = p.at+end, p.indent+end
	return key, true
}

// plainKey is where a key without quotes ends.
func plainKey(line []byte) (int, bool) {
	if !beginsPlain(line) {
		return 0, false
	}
	for at := 1; at < len(line); at++ {
		switch {
		case line[at] == '#' && line[at-1] == ' ':
			return 0, false
		case line[at] == ':' && (at+1 == len(line) || line[at+1] == ' '):
			return at, line[at-1] != ' '
		}
	}
	return 0, false
}
