package main

import (
	"bytes"
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	demo = "../../../testdata/demo/okd-4.15-api-int.certrot"
	docs = "../../../docs"
)

// TestCommittedPicturesAreCurrent verifies that the README's pictures are what the program prints;
// UPDATE=1 draws them.
func TestCommittedPicturesAreCurrent(t *testing.T) {
	for name, value := range terminal() {
		t.Setenv(name, value)
	}
	folder := t.TempDir()
	if os.Getenv("UPDATE") != "" {
		folder = docs
	}
	if err := run(demo, folder); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, theme := range themes() {
		if !bytes.Contains(readme, []byte(`"docs/`+theme.file()+`"`)) {
			t.Errorf("README.md has no docs/%s", theme.file())
		}
		drawn, err := os.ReadFile(filepath.Join(folder, theme.file()))
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join(docs, theme.file()))
		if err != nil || !bytes.Equal(committed, drawn) {
			t.Errorf("docs/%s is not current (%v): UPDATE=1 go test ./test/demo/picture", theme.file(), err)
		}
		wellFormed(t, theme.file(), drawn)
	}
}

// wellFormed: a browser draws all of it, and GitHub needs to remove nothing.
func wellFormed(t *testing.T, file string, svg []byte) {
	t.Helper()
	var picture struct {
		Width  float64 `xml:"width,attr"`
		Title  string  `xml:"title"`
		Desc   string  `xml:"desc"`
		Script []any   `xml:"script"`
		Texts  []struct {
			X      float64 `xml:"x,attr"`
			Length float64 `xml:"textLength,attr"`
			Text   string  `xml:",chardata"`
		} `xml:"g>text"`
	}
	if err := xml.Unmarshal(svg, &picture); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if picture.Title == "" || !strings.Contains(picture.Desc, "✗ CRITICAL kubelets do not trust api-int") {
		t.Errorf("%s: title %q, description %q", file, picture.Title, picture.Desc)
	}
	if len(picture.Texts) < 20 {
		t.Errorf("%s: only %d texts", file, len(picture.Texts))
	}
	for _, text := range picture.Texts {
		if text.X+text.Length > picture.Width-padding+0.1 || math.Abs(text.Length-float64(utf8.RuneCountInString(text.Text))*columnWidth) > 0.1 {
			t.Errorf("%s: %q is at %g, %g wide, of %g", file, text.Text, text.X, text.Length, picture.Width)
		}
	}
	for _, loads := range []string{"<script", "<style", "<image", "href", "url(", "@import"} {
		if bytes.Contains(svg, []byte(loads)) {
			t.Errorf("%s: has %s", file, loads)
		}
	}
}

// TestColoursCanBeRead: WCAG 2's contrast of text, 4.5 to 1.
func TestColoursCanBeRead(t *testing.T) {
	t.Parallel()
	for _, theme := range themes() {
		for name, color := range theme.colors {
			a, b := luminance(t, color), luminance(t, theme.background)
			if contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05); contrast < 4.5 {
				t.Errorf("%s: %s has a contrast of %.2f", theme.name, name, contrast)
			}
		}
	}
}

func luminance(t *testing.T, color string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(shift int) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(16) + 0.7152*linear(8) + 0.0722*linear(0)
}

// TestTerminalOutputIsParsed: texts keep their columns, styles go on to the end of the line.
func TestTerminalOutputIsParsed(t *testing.T) {
	t.Parallel()
	text := style{color: "text"}
	lines, err := parse("\x1b[31;1m✗ CRITICAL\x1b[0m  a b\n\n  \x1b[1mnext      c\x1b[0m\n")
	if err != nil {
		t.Fatal(err)
	}
	want := [][]piece{
		{{0, "✗ CRITICAL", style{true, "red"}}, {12, "a b", text}},
		nil,
		{{2, "next", style{true, "text"}}, {12, "c", style{true, "text"}}},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines: %v", len(lines), lines)
	}
	for i := range want {
		if len(lines[i]) != len(want[i]) {
			t.Errorf("line %d: %v", i, lines[i])
			continue
		}
		for j, p := range want[i] {
			if lines[i][j] != p {
				t.Errorf("line %d: %v, want %v", i, lines[i][j], p)
			}
		}
	}
	for _, unknown := range []string{"\x1b[35mx", "\x1b[2Jx"} {
		if _, err := parse(unknown); err == nil {
			t.Errorf("%q is drawn", unknown)
		}
	}
}
