package pki

import (
	"bytes"
	"encoding/base64"
	"fmt"
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

// isMention reports whether text, which follows a BEGIN line, tells that the
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

// whyNotStandalone are the reasons of standalone, and what stands for none of them.
func whyNotStandalone() []string {
	return []string{
		"it follows the block before it without a newline", "its BEGIN line does not start a line", "its BEGIN line does not end a line",
		"it has no END line", "its END line does not match its BEGIN line", "its END line does not start a line",
		"the block after it follows without a newline", "its END line does not end a line", notPEMLines,
	}
}

const notPEMLines = "it is escaped or its lines are not those of PEM"

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

// armored is the decoded body of a PEM block.
type armored struct {
	der       []byte // a buffer of its own, to be cleared when it holds a key
	encrypted bool   // a header says so
	plain     bool   // lines of base64 and nothing else: encoding/pem reads it too
	problem   string // why there is no der; never quotes the body of a key
}

// decodeBody undoes escapes, drops headers and decodes the base64.
func decodeBody(body []byte, plus bool, kind kind) armored {
	if !plus {
		if a, ok := decodePlain(body); ok {
			return a
		}
	}
	secret := kind == kindKey
	if plus || bytes.ContainsAny(body, `\%`) {
		body = undoEscapes(body, plus)
		if secret {
			defer clear(body)
		}
	}
	var a armored
	body, a.encrypted = dropHeaders(body)
	compact, bad := compactBase64(body)
	defer clear(compact)
	switch {
	case bad >= 0 && isPlaceholder(body):
		a.problem = "a placeholder: it holds no " + kind.noun() + " data"
	case bad >= 0 && secret:
		a.problem = "not base64"
	case bad >= 0:
		a.problem = fmt.Sprintf("not base64: unexpected %q", rune(body[bad]))
	case len(compact) == 0:
		a.problem = "empty: it holds no " + kind.noun() + " data"
	case len(compact)%4 == 1:
		a.problem = "not base64: a character is missing or too many"
	}
	if a.problem != "" {
		return a
	}
	a.der = make([]byte, base64.RawStdEncoding.DecodedLen(len(compact)))
	if _, err := base64.RawStdEncoding.Decode(a.der, compact); err != nil {
		a.problem = "not base64"
	}
	return a
}

// decodePlain decodes what nearly all blocks hold, at once and without a copy on
// the way.
func decodePlain(body []byte) (armored, bool) {
	der := make([]byte, base64.StdEncoding.DecodedLen(len(body)))
	n, err := base64.StdEncoding.Decode(der, body) // passes over newlines
	if err != nil || n == 0 {
		clear(der) // it may be the start of a key
		return armored{}, false
	}
	return armored{der: der[:n], plain: true}, true
}

// hasPlainLines reports whether no line of a body of plain base64 is empty, nor too long
// for OpenSSL to read at once: encoding/base64 passes over both, OpenSSL does not.
func hasPlainLines(body []byte) bool {
	_, body, _ = bytes.Cut(body, []byte("\n")) // the BEGIN line's
	for len(body) > 0 {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte("\n"))
		if len(line) >= openSSLLine || len(bytes.TrimRight(line, "\r")) == 0 {
			return false
		}
	}
	return true
}

// dropHeaders skips the "Key: value" lines that encrypted keys start with.
func dropHeaders(body []byte) (rest []byte, encrypted bool) {
	rest = bytes.TrimLeft(body, " \t\r\n")
	for {
		line, next, ok := bytes.Cut(rest, []byte("\n"))
		key, value, header := bytes.Cut(line, []byte(":"))
		if !header {
			return rest, encrypted
		}
		if bytes.Equal(bytes.TrimSpace(key), []byte("Proc-Type")) && bytes.Contains(value, []byte("ENCRYPTED")) {
			encrypted = true
		}
		if !ok {
			return nil, encrypted
		}
		rest = next
	}
}

// isPlaceholder detects what documentation and templates put in the place
// of a certificate.
func isPlaceholder(body []byte) bool {
	for _, sign := range []string{"<", "...", "…", "***", "{{", "${", "$(", "[", "REDACTED", "your", "YOUR"} {
		if bytes.Contains(body, []byte(sign)) {
			return true
		}
	}
	return false
}

// isBase64 reports whether c belongs to the standard alphabet. It is asked of
// very many bytes, hence the table, a constant, in place of comparisons.
func isBase64(c byte) bool {
	const (
		no4   = "\x00\x00\x00\x00"
		no16  = no4 + no4 + no4 + no4
		no32  = no16 + no16
		yes   = "\x01"
		yes10 = yes + yes + yes + yes + yes + yes + yes + yes + yes + yes
		yes26 = yes10 + yes10 + yes + yes + yes + yes + yes + yes
		table = no32 + no4 + no4 + "\x00\x00\x00" + yes + "\x00\x00\x00" + yes + // '+', '/'
			yes10 + no4 + "\x00\x00" + // digits
			"\x00" + yes26 + no4 + "\x00" + // upper case
			"\x00" + yes26 + no4 + "\x00" + // lower case
			no32 + no32 + no32 + no32
	)
	return table[c] != 0
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// compactBase64 copies the base64 characters of body, without white space,
// padding, and the signs that start a line of a commented or quoted block ('#',
// '>'). bad is the offset of the first byte that does not belong, or -1.
func compactBase64(body []byte) (compact []byte, bad int) {
	compact = make([]byte, 0, len(body))
	padded, lineStart := false, true
	for i, c := range body {
		switch {
		case isBase64(c):
			if padded {
				return compact, i
			}
			compact = append(compact, c)
			lineStart = false
		case isSpace(c):
			lineStart = lineStart || c == '\n'
		case c == '=':
			padded = true
		case !lineStart || c != '#' && c != '>':
			return compact, i
		}
	}
	return compact, -1
}

// undoEscapes undoes any number of layers of backslash escapes (\n, \\n, \/,
// \u002b) and of percent-encoding (%0A, %250A). None of the characters with
// which escapes begin can occur in what is wanted of a PEM body.
func undoEscapes(body []byte, plus bool) []byte {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case c == '+' && plus:
			out = append(out, ' ')
		case c == '%':
			for bytes.HasPrefix(body[i+1:], []byte("25")) {
				i += 2
			}
			if decoded, ok := hexByte(body[i+1:]); ok {
				out = append(out, decoded)
				i += 2
			} else {
				out = append(out, c)
			}
		case c == '\\':
			for i+1 < len(body) && body[i+1] == '\\' {
				i++
			}
			decoded, n := afterBackslash(body[i+1:])
			out = append(out, decoded...)
			i += n
		default:
			out = append(out, c)
		}
	}
	return out
}

// afterBackslash decodes what follows a run of backslashes, and says how many
// bytes it took.
func afterBackslash(rest []byte) (decoded []byte, n int) {
	if len(rest) == 0 {
		return nil, 0
	}
	switch rest[0] {
	case 'n':
		return []byte{'\n'}, 1
	case 'r', 't':
		return []byte{' '}, 1
	case 'u':
		if len(rest) >= 5 && rest[1] == '0' && rest[2] == '0' {
			if c, ok := hexByte(rest[3:]); ok {
				return []byte{c}, 5
			}
		}
	}
	// A quoted slash, or a line joined to the next one.
	return nil, 0
}
