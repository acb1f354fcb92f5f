package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// style is how a terminal prints a text: in bold or not, in which of its colours.
type style struct {
	bold  bool
	color string // a key of theme.colors
}

// piece is a text that stands in a column, in one style.
type piece struct {
	column int
	text   string
	style  style
}

// set takes one of SGR's attributes that the program uses. Another one is an error: the picture
// would lack it.
func (s *style) set(attribute string) error {
	switch attribute {
	case "0":
		*s = style{color: "text"}
	case "1":
		s.bold = true
	case "31":
		s.color = "red"
	case "32":
		s.color = "green"
	case "33":
		s.color = "yellow"
	case "36":
		s.color = "cyan"
	default:
		return fmt.Errorf("SGR %q has no colour in the picture", attribute)
	}
	return nil
}

var (
	sgr  = regexp.MustCompile("\x1b\\[([0-9;]*)m")
	gaps = regexp.MustCompile(` {2,}`)
)

// parse is the pieces of each line of a terminal's output.
func parse(screen string) ([][]piece, error) {
	var lines [][]piece
	now := style{color: "text"}
	for line := range strings.Lines(screen) {
		line = strings.TrimSuffix(line, "\n")
		var pieces []piece
		column := 0
		for line != "" {
			m := sgr.FindStringSubmatchIndex(line)
			if m == nil {
				m = []int{len(line), len(line)}
			}
			text := line[:m[0]]
			if strings.Contains(text, "\x1b") {
				return nil, fmt.Errorf("an escape that sets no colour: %q", text)
			}
			pieces = append(pieces, split(column, text, now)...)
			column += utf8.RuneCountInString(text)
			if len(m) > 2 {
				for _, a := range strings.Split(line[m[2]:m[3]], ";") {
					if err := now.set(a); err != nil {
						return nil, err
					}
				}
			}
			line = line[m[1]:]
		}
		lines = append(lines, pieces)
	}
	return lines, nil
}

// split is a text without the gaps that align columns: each of its pieces has its own.
func split(column int, text string, s style) (out []piece) {
	add := func(from, to int) {
		if word := strings.Trim(text[from:to], " "); word != "" {
			at := from + strings.Index(text[from:to], word)
			out = append(out, piece{column + utf8.RuneCountInString(text[:at]), word, s})
		}
	}
	from := 0
	for _, gap := range gaps.FindAllStringIndex(text, -1) {
		add(from, gap[0])
		from = gap[1]
	}
	add(from, len(text))
	return out
}

// theme is the colours of a terminal.
type theme struct {
	name       string
	background string
	border     string
	colors     map[string]string
}

// themes have the colours of GitHub's own pages.
func themes() []theme {
	return []theme{
		{"light", "#ffffff", "#d1d9e0", map[string]string{
			"text": "#1f2328", "dim": "#59636e", "red": "#cf222e", "green": "#1a7f37", "yellow": "#8a5d00", "cyan": "#1b7c83",
		}},
		{"dark", "#0d1117", "#3d444d", map[string]string{
			"text": "#e6edf3", "dim": "#9198a1", "red": "#ff7b72", "green": "#3fb950", "yellow": "#e3b341", "cyan": "#39c5cf",
		}},
	}
}

func (t theme) file() string { return "inspect-" + t.name + ".svg" }

// Of the picture, in pixels: a column is 0.6 of the font's size, as in most monospaced fonts.
const (
	fontSize    = 14.0
	columnWidth = 8.4
	lineHeight  = 20
	padding     = 18
)

// draw is the command and what it printed, as SVG.
func (t theme) draw(lines [][]piece) []byte {
	prompt := []piece{{0, "$", style{color: "dim"}}, {2, command, style{bold: true, color: "text"}}}
	lines = append([][]piece{prompt}, lines...)
	widest := columns // but for a command, which is never broken
	for _, line := range lines {
		for _, p := range line {
			widest = max(widest, p.column+utf8.RuneCountInString(p.text))
		}
	}
	width, height := float64(widest)*columnWidth+2*padding, len(lines)*lineHeight+2*padding
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%d\" viewBox=\"0 0 %g %d\" role=\"img\" aria-labelledby=\"title desc\">\n", width, height, width, height)
	fmt.Fprintf(&b, "<title id=\"title\">%s, on a terminal</title>\n", escaped(command))
	fmt.Fprintf(&b, "<desc id=\"desc\">%s</desc>\n", escaped(described(lines)))
	fmt.Fprintf(&b, "<rect x=\"0.5\" y=\"0.5\" width=\"%g\" height=\"%d\" rx=\"8\" fill=\"%s\" stroke=\"%s\"/>\n", width-1, height-1, t.background, t.border)
	fmt.Fprintf(&b, "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace\" font-size=\"%g\">\n", fontSize)
	for row, pieces := range lines {
		for _, p := range pieces {
			weight := ""
			if p.style.bold {
				weight = ` font-weight="bold"`
			}
			fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%g\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" fill=\"%s\"%s>%s</text>\n",
				padding+float64(p.column)*columnWidth, padding+float64(row)*lineHeight+fontSize, float64(utf8.RuneCountInString(p.text))*columnWidth,
				t.colors[p.style.color], weight, escaped(p.text))
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// described is the picture for who does not see it: all that is written in it.
func described(lines [][]piece) string {
	var out []string
	for _, pieces := range lines {
		var words []string
		for _, p := range pieces {
			words = append(words, p.text)
		}
		if len(words) > 0 {
			out = append(out, strings.Join(words, " "))
		}
	}
	return strings.Join(out, "\n")
}

func escaped(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return strings.ReplaceAll(b.String(), "&#xA;", "\n")
}
