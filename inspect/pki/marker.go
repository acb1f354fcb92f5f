package pki

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

// minRun is the shortest stretch of base64 that is looked into: certificates
// are longer, and wrapped base64 has lines of 64 or 76 characters.
const minRun = 48

// minWhole is the same for values that are base64 throughout, where short lines
// are tolerated: the smallest private key has more characters.
const minWhole = 128

const dataScheme = "data:"

// mayHold rejects, fast, values that can't hold anything of interest. Most
// values of a cluster hold nothing.
func mayHold(data []byte) bool { return mayHoldBelow(data, maxDepth) }

// mayHoldBelow is mayHold with a limit for base64 in base64. Beyond the limit
// it does not know, and leaves it to the reading to say so.
func mayHoldBelow(data []byte, depth int) bool {
	if depth == 0 || len(data) < len(beginTag) {
		return depth == 0
	}
	if isBinary(data) || hasPEM(data) || hasDataURL(data) || hasEscapes(data) {
		return true
	}
	for at := 0; ; {
		r, ok := nextRun(data, at)
		if !ok {
			break
		}
		if isPromising(data[r.begin:r.end], depth) {
			return true
		}
		if r.end-r.begin >= len(data)-len("==\r\n") {
			return false // that was the whole value
		}
		at = r.end
	}
	return isWholeBase64(data)
}

// hasPEM reports whether "-----BEGIN" is in the data. Looking for the word
// first is fifteen times as fast: capital B is rare, dashes are not.
func hasPEM(data []byte) bool {
	const word = "BEGIN"
	for {
		i := bytes.Index(data, []byte(word))
		if i < 0 {
			return false
		}
		if bytes.HasSuffix(data[:i], []byte(dashes)) {
			return true
		}
		data = data[i+len(word):]
	}
}

// isBinary reports whether data starts like DER, gzip or a keystore.
func isBinary(data []byte) bool {
	return isDER(data) || isGzip(data) || isOddBinary(data)
}

// isOddBinary is the part of isBinary whose base64 does not start with the
// same letters every time.
func isOddBinary(data []byte) bool {
	return isBER(data) || isJavaStore(data) || isBouncyStore(data)
}

func isDER(data []byte) bool {
	return len(data) > 4 && data[0] == 0x30 && data[1] > 0x80 && data[1] <= 0x84
}

func isGzip(data []byte) bool {
	return len(data) > 18 && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8
}

// isJavaStore detects JKS and JCEKS, of version 1 and 2.
func isJavaStore(data []byte) bool {
	return len(data) > 8 && (string(data[:4]) == magicJKS || string(data[:4]) == magicJCEKS) &&
		(string(data[4:8]) == "\x00\x00\x00\x01" || string(data[4:8]) == "\x00\x00\x00\x02")
}

// isBouncyStore detects Bouncy Castle's BKS and UBER: version 1 or 2, and a
// salt of 20 bytes.
func isBouncyStore(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\x00\x00\x00\x02\x00\x00\x00\x14")) || bytes.HasPrefix(data, []byte("\x00\x00\x00\x01\x00\x00\x00\x14"))
}

// isWholeBase64 reports whether the value is base64, perhaps wrapped and
// indented, and nothing else. Words with spaces between them are not.
func isWholeBase64(data []byte) bool {
	n, inLine, gap := 0, false, false
	for _, c := range data {
		switch {
		case isBase64(c):
		case isSpace(c):
			gap = c != '\n' && (gap || inLine)
			inLine = inLine && c != '\n'
			continue
		case c != '=' && c != '-' && c != '_':
			return false
		}
		if gap {
			return false
		}
		inLine = true
		n++
	}
	return n >= minWhole && !bytes.Contains(data, []byte(dashes))
}

// run is a stretch of base64 in a text, perhaps over several lines.
type run struct{ begin, end int }

// nextRun finds the next stretch of base64 at or after from. It looks at every
// sixteenth byte, and from there at a few of the bytes that would have to belong
// to the stretch: in text, one of them soon does not.
func nextRun(text []byte, from int) (run, bool) {
	const step = minRun / 3
	for at := from + step - 1; at < len(text); at += step {
		if !isRunAt(text, at) {
			continue
		}
		begin, end := at, at+1
		for begin > from && isBase64(text[begin-1]) {
			begin--
		}
		for end < len(text) && isBase64(text[end]) {
			end++
		}
		begin = min(begin+escapeTail(text, begin), end)
		if end-begin >= minRun {
			return run{begin, wrappedEnd(text, begin, end)}, true
		}
		at = end - 1
	}
	return run{}, false
}

// isRunAt tests some of the bytes of the 33 from at on. Any stretch of minRun
// bytes has an at, of those tried, for which all of them belong to it.
func isRunAt(text []byte, at int) bool {
	if at+32 >= len(text) {
		return false
	}
	t := text[at : at+33]
	return isBase64(t[0]) && isBase64(t[16]) && isBase64(t[32]) && isBase64(t[8]) && isBase64(t[24]) &&
		isBase64(t[4]) && isBase64(t[12]) && isBase64(t[20]) && isBase64(t[28])
}

// escapeTail returns how many of the letters at begin end an escape: the n of
// \n, the 0A of %0A.
func escapeTail(text []byte, begin int) int {
	switch {
	case begin == 0:
	case text[begin-1] == '\\' && (text[begin] == 'n' || text[begin] == 'r' || text[begin] == 't'):
		return 1
	case text[begin-1] == '%':
		return 2
	}
	return 0
}

// wrappedEnd extends a first line of base64 over the lines that follow it, if
// they have the same length, or are shorter and the last. In folded YAML the
// lines are joined by spaces; in JSON the newlines are escaped.
func wrappedEnd(text []byte, begin, end int) int {
	width := end - begin
	for {
		next := skipNewline(text, end)
		if next == end {
			return end
		}
		for next < len(text) && (text[next] == ' ' || text[next] == '\t') {
			next++
		}
		stop := next
		for stop < len(text) && stop-next < width && isBase64(text[stop]) {
			stop++
		}
		if stop == next || stop < len(text) && isBase64(text[stop]) {
			return end
		}
		end = stop
		if stop-next < width {
			return end
		}
	}
}

// skipNewline skips one newline or space, however escaped. It returns at if
// there is none.
func skipNewline(text []byte, at int) int {
	i := at
	for _, letter := range []byte{'r', 'n'} {
		j := i
		for j < len(text) && text[j] == '\\' {
			j++
		}
		switch {
		case j > i && j < len(text) && text[j] == letter:
			i = j + 1
		case j == i && j < len(text) && (letter == 'r' && text[j] == '\r' || letter == 'n' && (text[j] == '\n' || text[j] == ' ')):
			i++
		case letter == 'n':
			return at
		}
	}
	return i
}

// hasDataURL reports whether a data: URL may stand in the text. Its contents may
// be percent-encoded, so that nothing else here detects them.
func hasDataURL(text []byte) bool {
	if bytes.IndexByte(text, '%') < 0 {
		return false
	}
	for {
		i := bytes.Index(text, []byte(dataScheme))
		if i < 0 || i+len(dataScheme) == len(text) {
			return false
		}
		text = text[i+len(dataScheme):]
		if c := text[0]; c == ',' || c == ';' || 'a' <= c && c <= 'z' {
			return true
		}
	}
}

// hasEscapes reports whether characters in a row are written as \u00XX, as JSON may, or
// \xXX, as YAML may: a string that is written so throughout tells nothing of what it is.
// In strings in strings, there are more backslashes.
func hasEscapes(text []byte) bool {
	const enough = 8
	return bytes.IndexByte(text, '\\') >= 0 && (escapesIn(text, `\u00`) >= enough || escapesIn(text, `\x`) >= enough)
}

// escapesIn is how many escapes stand in a row, at most: each begins so, and has two
// digits more.
func escapesIn(text []byte, begin string) int {
	most := 0
	for at := 0; at < len(text); {
		i := bytes.Index(text[at:], []byte(begin))
		if i < 0 {
			break
		}
		at += i
		n := 0
		for bytes.HasPrefix(text[min(at, len(text)):], []byte(begin)) {
			n++
			at += len(begin) + 2
			for at+1 < len(text) && text[at] == '\\' && text[at+1] == '\\' {
				at++
			}
		}
		most = max(most, n)
	}
	return most
}

// isPromising reports whether base64 text may hold something: DER, gzip, a PEM
// block in any of the three alignments, or text that itself may.
func isPromising(text []byte, depth int) bool {
	if bytes.HasPrefix(text, []byte("MII")) || bytes.HasPrefix(text, []byte("H4sI")) {
		return true
	}
	if _, ok := pemAlignment(text); ok {
		return true
	}
	var head [minRun / 4 * 3]byte
	n, err := base64.RawStdEncoding.Decode(head[:], text[:minRun])
	switch {
	case err != nil:
		return false
	case isOddBinary(head[:n]):
		return true
	case !isText(head[:n]):
		return false
	}
	decoded := decodeRun(text)
	defer clear(decoded)
	return mayHoldBelow(decoded, depth-1)
}

// isText reports whether the start of a value is UTF-8 text. The last few bytes
// may be a character cut in two.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 {
			return len(head) < utf8.UTFMax && !utf8.FullRune(head)
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
			return false
		}
		head = head[n:]
	}
	return true
}

// pemAlignment finds "-----BEGIN" encoded in base64 text and returns how many
// characters at the start of text are no part of its groups of four.
func pemAlignment(text []byte) (skip int, ok bool) {
	if !bytes.Contains(text, []byte("tLS")) {
		return 0, false // all of them contain it
	}
	for shift, marker := range [3]string{"LS0tLS1CRUdJTi", "0tLS0tQkVHSU4", "tLS0tLUJFR0lO"} {
		i := bytes.Index(text, []byte(marker))
		if i < 0 {
			continue
		}
		n := 0
		for _, c := range text[:i] {
			if isBase64(c) {
				n++
			}
		}
		if shift > 0 {
			n -= shift + 1
		}
		return max(n, 0) % 4, true
	}
	return 0, false
}

// decodeRun decodes a run, which may have escaped newlines, and may start with
// letters that do not belong to the base64.
func decodeRun(text []byte) []byte {
	if bytes.IndexByte(text, '\\') >= 0 {
		text = undoEscapes(text, false)
	}
	if skip, ok := pemAlignment(text); ok {
		text = text[skip:]
	}
	return decodeLoose(text)
}

// decodeLoose decodes base64 text of the standard or the URL alphabet, skipping
// white space and padding.
func decodeLoose(text []byte) []byte {
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	// Mostly there is nothing to skip.
	if n, err := base64.RawStdEncoding.Decode(out, bytes.TrimRight(text, "=\r\n ")); err == nil {
		return out[:n]
	}
	compact := make([]byte, 0, len(text))
	for _, c := range text {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		}
		if isBase64(c) {
			compact = append(compact, c)
		}
	}
	defer clear(compact)
	if len(compact)%4 == 1 {
		compact = compact[:len(compact)-1]
	}
	n, _ := base64.RawStdEncoding.Decode(out, compact) // can't fail: only its alphabet is left
	return out[:n]
}
