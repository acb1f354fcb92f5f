package foreign

import "strings"

// ownDepth is how many sentences of this program's are in each other at most.
const ownDepth = 4

// Own is a text that should be a sentence of this program's, and comes from where others may have written another one: a
// node's answer, a snapshot's file. It stands bare where it has one of the forms, to the letter. In a form, {} is a text of
// others', which is a Text there; {,} are several with commas between them, {n} is a number, and {own} another of the
// sentences. What has none of the forms is a Text. Twice is once.
func Own(s string, forms []string) string { return own(s, forms, ownDepth) }

func own(s string, forms []string, depth int) string {
	if Text(s) == s {
		return s
	}
	for _, form := range forms {
		if parts, ok := matched(form, s); ok {
			var out strings.Builder
			for _, p := range parts {
				out.WriteString(p.marked(forms, depth))
			}
			return out.String()
		}
	}
	return Text(s)
}

// part is a part of a sentence: this program's own, or what is said in a slot of its form.
type part struct{ slot, text string }

func (p part) marked(forms []string, depth int) string {
	switch {
	case p.slot == ownWords, p.slot == "n":
		return p.text
	case p.slot == "own" && depth > 0:
		return own(p.text, forms, depth-1)
	case p.slot == ",":
		return Texts(strings.Split(p.text, ", "))
	}
	return Text(p.text)
}

// ownWords stands in the place of a slot.
const ownWords = "-"

// matched are the parts of a text that has a form.
func matched(form, s string) (parts []part, ok bool) {
	for {
		begin, rest, more := strings.Cut(form, "{")
		if s, ok = strings.CutPrefix(s, begin); !ok || !more && s != "" {
			return nil, false
		}
		if parts = append(parts, part{ownWords, begin}); !more {
			return parts, true
		}
		var p part
		p.slot, form, _ = strings.Cut(rest, "}")
		if p.text, s, ok = inSlot(s, form); !ok || p.slot == "n" && strings.Trim(p.text, "0123456789") != "" {
			return nil, false
		}
		parts = append(parts, p)
	}
}

// inSlot is the text before what follows in a form: all that is quoted, or as little as there may be; at the end of a form all.
func inSlot(s, rest string) (said, left string, ok bool) {
	next, _, more := strings.Cut(rest, "{")
	if !more {
		said, ok = strings.CutSuffix(s, next)
		return said, next, ok && said != ""
	}
	if quoted := strings.Index(s, "”") + len("”"); strings.HasPrefix(s, "“") && strings.HasPrefix(s[quoted:], next) {
		return s[:quoted], s[quoted:], true
	}
	at := strings.Index(s, next)
	if at <= 0 {
		return "", "", false
	}
	return s[:at], s[at:], true
}
