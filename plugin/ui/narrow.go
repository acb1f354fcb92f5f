package ui

import (
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
)

// listing is a table for people. On a terminal that is too narrow for it, columns without any value
// are left out, and what is long is told in short.
type listing struct {
	headers []string
	rows    [][]string
	// short is a row of the narrow form, of shortHeaders; nil: the same.
	shortHeaders []string
	short        [][]string
	// flexible is the column of the narrow form whose cells are cut in their middle; the others keep theirs.
	flexible int
}

// leastFlexible is how many columns are left to the flexible one.
const leastFlexible = 12

// list writes a table as wide as it is, or what of it fits a terminal.
func (p HumanPrinter) list(w io.Writer, l listing) {
	text := tabbed(l.headers, l.rows, p.noHeaders)
	if p.wide || p.width < leastColumns || widest(text) <= p.width {
		p.fitted(w, text)
		return
	}
	headers, rows := l.headers, l.rows
	if l.short != nil {
		headers, rows = l.shortHeaders, l.short
	}
	flexible := -1
	var keep []int
	for i := range headers {
		for _, r := range rows {
			if r[i] != "-" && r[i] != "" {
				if keep = append(keep, i); i == l.flexible {
					flexible = len(keep) - 1
				}
				break
			}
		}
	}
	pick := func(r []string) []string {
		out := make([]string, len(keep))
		for i, column := range keep {
			out[i] = r[column]
		}
		return out
	}
	headers = pick(headers)
	picked := make([][]string, len(rows))
	for i, r := range rows {
		picked[i] = pick(r)
	}
	text = tabbed(headers, picked, p.noHeaders)
	if over := widest(text) - p.width; over > 0 && flexible >= 0 && flexible < len(keep)-1 { // the last one is cut at its end
		width := 0
		for _, r := range picked {
			width = max(width, columnsIn(r[flexible]))
		}
		for _, r := range picked {
			r[flexible] = Middle(r[flexible], max(width-over, leastFlexible))
		}
		text = tabbed(headers, picked, p.noHeaders)
	}
	p.fitted(w, text)
}

func tabbed(headers []string, rows [][]string, noHeaders bool) string {
	var out strings.Builder
	t := printers.GetNewTabWriter(&out)
	if !noHeaders {
		Printf(t, "%s\n", strings.Join(headers, "\t"))
	}
	for _, r := range rows {
		Printf(t, "%s\n", strings.Join(r, "\t"))
	}
	_ = t.Flush() // the buffer does not fail
	return out.String()
}

// Widest is how many columns the widest of some lines takes.
func Widest(lines string) int { return widest(lines) }

func widest(lines string) int {
	width := 0
	for line := range strings.Lines(lines) {
		width = max(width, columnsIn(strings.TrimRight(line, "\n")))
	}
	return width
}
