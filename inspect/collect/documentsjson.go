package collect

import (
	"bytes"
	"iter"
)

// splitJSON finds the items of a list in JSON; false where there is none. What was
// cut off is no item.
func splitJSON(data []byte) (*objectList, bool) {
	at := jsonSpace(data, 0)
	if at == len(data) || data[at] != '{' {
		return nil, false
	}
	begun := false
	for at++; ; at++ {
		at = jsonSpace(data, at)
		end := jsonEnd(data, at)
		if end < 0 {
			return nil, false
		}
		key := data[at:end]
		if at = jsonSpace(data, end); at == len(data) || data[at] != ':' {
			return nil, false
		}
		at = jsonSpace(data, at+1)
		begun = begun || string(key) == `"apiVersion"`
		if string(key) == `"items"` && at < len(data) && data[at] == '[' {
			break
		}
		if at = jsonEnd(data, at); at < 0 {
			return nil, false
		}
		if at = jsonSpace(data, at); at == len(data) || data[at] != ',' {
			return nil, false
		}
	}
	l := &objectList{begun: begun, items: jsonItems(data, at+1)}
	l.imply(data)
	return l, true
}

// jsonItems are the elements of a list, up to its end or to where it breaks.
func jsonItems(data []byte, at int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for at := at; ; at++ {
			at = jsonSpace(data, at)
			end := jsonEnd(data, at)
			if end <= at {
				return
			}
			item := data[at:end]
			if !yield(item, parsable(item)) {
				return
			}
			if at = jsonSpace(data, end); at == len(data) || data[at] != ',' {
				return
			}
		}
	}
}

func jsonSpace(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\r' || data[at] == '\t') {
		at++
	}
	return at
}

// jsonEnd is where the value that begins at a place ends; -1: nowhere.
func jsonEnd(data []byte, at int) int {
	for depth := 0; at < len(data); at++ {
		switch data[at] {
		case '"':
			if at = jsonQuote(data, at+1); at < 0 {
				return -1
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of what is around a number
				return at
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return at
			}
		}
	}
	return -1
}

// jsonQuote is where the quote is that ends a string; -1: nowhere.
func jsonQuote(data []byte, at int) int {
	for {
		i := bytes.IndexByte(data[at:], '"')
		if i < 0 {
			return -1
		}
		before := data[at : at+i]
		if at += i; (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 0 {
			return at
		}
		at++
	}
}
