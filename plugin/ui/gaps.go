package ui

import (
	"regexp"
	"slices"
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
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(g.What) + `\b`)
		text.What = ""
		text.Reason = group.ReplaceAllStringFunc(word.ReplaceAllString(g.Reason, anyKind), func(s string) string {
			if strings.HasPrefix(s, anyKind) {
				return anyKind + " is forbidden"
			}
			return ""
		})
		text.Remediation.Text = word.ReplaceAllString(g.Remediation.Text, anyKind)
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
		for _, g := range same {
			if !slices.Contains(kinds, g.What) {
				kinds = append(kinds, g.What)
			}
		}
		out[i] = texts[i]
		out[i].What = strings.Join(kinds, ", ")
	}
	return out
}
