package pki

import (
	"bytes"
	"strings"
)

const (
	dashes   = "-----"
	beginTag = "-----BEGIN"
	endTag   = "-----END"
	// maxLabel is the longest label between the dashes: the longest real one is
	// about 30 characters, escapes triple the spaces.
	maxLabel = 100
)

// block is a PEM block found by tolerant reading. Offsets are into the text
// that was searched.
type block struct {
	label    string
	endLabel string // differs from label only when the END line does
	begin    int    // of the BEGIN line's dashes
	bodyAt   int    // after the BEGIN line's dashes
	bodyEnd  int    // before the END line, or where reading gave up
	end      int    // after the block
	open     bool   // there is no END line
	plus     bool   // '+' stands for a space (form encoding)
}

// nextBlock finds the first block at or after from. Reading is tolerant: the
// block may be indented, stand in the middle of a line, follow another one
// without a newline, and be escaped for JSON, a shell or a URL.
//
// The END line of a block is the next one, unless another BEGIN line comes
// before: then the block has lost its end. So every byte is looked at once.
func nextBlock(text []byte, from int) (block, bool) {
	for {
		i := bytes.Index(text[from:], []byte(beginTag))
		if i < 0 {
			return block{}, false
		}
		b := block{begin: from + i}
		from = b.begin + len(beginTag)
		// Of a longer run of dashes the last five belong to BEGIN anyway:
		// Index returns the first match of five dashes and the word.
		var ok bool
		b.label, b.bodyAt, b.plus, ok = readLabel(text, from)
		if !ok || isMention(text[b.bodyAt:]) {
			continue
		}
		b.close(text)
		return b, true
	}
}

// readLabel reads what stands between BEGIN or END and the closing dashes.
func readLabel(text []byte, at int) (label string, end int, plus, ok bool) {
	window := text[at:min(len(text), at+maxLabel)]
	n := bytes.Index(window, []byte(dashes))
	if n < 0 {
		return "", at, false, false
	}
	raw := string(window[:n])
	if strings.Contains(raw, "%") {
		decoded, err := unescape(strings.ReplaceAll(raw, "%25", "%"))
		if err != nil {
			return "", at, false, false
		}
		raw = decoded
	}
	if strings.HasPrefix(raw, "+") {
		raw, plus = strings.ReplaceAll(raw, "+", " "), true
	}
	words, found := strings.CutPrefix(raw, " ")
	if !found || words == "" || strings.ContainsFunc(words, notLabel) {
		return "", at, false, false
	}
	return strings.TrimSpace(words), at + n + len(dashes), plus, true
}

func notLabel(r rune) bool {
	return r != ' ' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '#' && r != '-' && r != '_' && r != '.'
}

// isMention reports whether text, which follows a BEGIN line, shows that the
// line is only spoken of, as in grep -c "-----BEGIN CERTIFICATE-----" or
// awk '/-----BEGIN CERTIFICATE-----/,/…/'.
func isMention(text []byte) bool {
	text = bytes.TrimLeft(text[:min(len(text), 16)], `\`)
	return len(text) > 0 && strings.IndexByte("\"'`/),;:|$}]*!?", text[0]) >= 0
}

// close finds the end of the block that starts at b.begin.
func (b *block) close(text []byte) {
	at := b.bodyAt
	for {
		i := bytes.Index(text[at:], []byte(dashes))
		if i < 0 {
			b.bodyEnd, b.end, b.open = len(text), len(text), true
			return
		}
		at += i
		tail := text[at+len(dashes):]
		if bytes.HasPrefix(tail, []byte("BEGIN")) {
			b.bodyEnd, b.end, b.open = at, at, true
			return
		}
		if bytes.HasPrefix(tail, []byte("END")) {
			break
		}
		at++
	}
	b.bodyEnd = at
	at += len(endTag)
	label, end, _, ok := readLabel(text, at)
	if !ok {
		// The closing dashes are broken or cut off; the data is complete.
		b.endLabel, b.end = "", at
		return
	}
	b.endLabel, b.end = label, end
}

// standalone reports whether the block's BEGIN and END lines are whole lines,
// which is what standard readers insist on, and if not, why.
func (b *block) standalone(text []byte) (why string) {
	before := text[:b.begin]
	switch {
	case bytes.HasSuffix(before, []byte(dashes)):
		return "it follows the block before it without a newline"
	case len(before) > 0 && before[len(before)-1] != '\n':
		return "its BEGIN line does not start a line"
	case !atLineEnd(text[b.bodyAt:]):
		return "its BEGIN line does not end a line"
	case b.open:
		return "it has no END line"
	case b.endLabel != b.label:
		return "its END line does not match its BEGIN line"
	case b.bodyEnd > 0 && text[b.bodyEnd-1] != '\n':
		return "its END line does not start a line"
	case bytes.HasPrefix(text[b.end:], []byte(beginTag)):
		return "the block after it follows without a newline"
	case !atLineEnd(text[b.end:]):
		return "its END line does not end a line"
	}
	return ""
}

// isPlain reports whether the block's first and last line are written the one
// way that leaves no reader any doubt.
func (b *block) isPlain(text []byte) bool {
	return !b.open &&
		(b.begin == 0 || text[b.begin-1] == '\n') &&
		string(text[b.begin:b.bodyAt]) == beginTag+" "+b.label+dashes &&
		startsLine(text[b.bodyAt:]) &&
		b.bodyEnd > b.bodyAt && text[b.bodyEnd-1] == '\n' &&
		string(text[b.bodyEnd:b.end]) == endTag+" "+b.label+dashes &&
		(b.end == len(text) || startsLine(text[b.end:]))
}

// startsLine reports whether text begins with a newline.
func startsLine(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\n")) || bytes.HasPrefix(text, []byte("\r\n"))
}

func atLineEnd(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r")
	return len(text) == 0 || text[0] == '\n'
}
