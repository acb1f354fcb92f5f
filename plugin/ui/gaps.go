package ui

import (
	"regexp"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// anyKind stands in a text for each of the kinds that it is about.
const anyKind = "KIND"

// onceEach makes one gap of those that say the same of several kinds: who may read little
// is told so once for people, and kind by kind in json. The order is that of the first
// of each.
func onceEach(gaps []report.Gap) []report.Gap {
	// An API server names the kind with its group, and the group again.
	group := regexp.MustCompile(anyKind + `(\.[a-z0-9.-]+)? is forbidden|in API group "[^"]*" ?`)
	index := map[report.Gap]int{}
	var members [][]report.Gap
	var texts []report.Gap
	for _, g := range gaps {
		text := g
		text.What = ""
		text.Reason = group.ReplaceAllStringFunc(replaceWord(g.Reason, g.What), func(s string) string {
			if strings.HasPrefix(s, anyKind) {
				return anyKind + " is forbidden"
			}
			return ""
		})
		text.Remediation.Text = replaceWord(g.Remediation.Text, g.What)
		i, ok := index[text]
		if !ok {
			i = len(texts)
			index[text] = i
			texts, members = append(texts, text), append(members, nil)
		}
		members[i] = append(members[i], g)
	}
	out := make([]report.Gap, len(texts))
	for i, same := range members {
		out[i] = same[0]
		if len(same) == 1 {
			continue
		}
		var kinds []string
		had := map[string]bool{}
		for _, g := range same {
			if !had[g.What] {
				had[g.What] = true
				kinds = append(kinds, g.What)
			}
		}
		out[i] = texts[i]
		out[i].What = strings.Join(kinds, ", ")
	}
	return out
}

// replaceWord writes anyKind in place of a kind where that is a word of a text. A file names the kind:
// it is no regular expression, which would be as large.
func replaceWord(text, kind string) string {
	if kind == "" {
		return text
	}
	border := func(at int) bool { return isWordAt(text, at-1) != isWordAt(text, at) }
	var out strings.Builder
	done := 0
	for from := 0; ; {
		at := strings.Index(text[from:], kind)
		if at < 0 {
			return out.String() + text[done:]
		}
		at += from
		end := at + len(kind)
		if from = at + 1; border(at) && border(end) {
			out.WriteString(text[done:at] + anyKind)
			from, done = end, end
		}
	}
}

// isWordAt reports whether a character of a text is one of a word, as \b has it.
func isWordAt(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
