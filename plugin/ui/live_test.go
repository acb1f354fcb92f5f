package ui

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// drawn is what stands on a terminal that was sent this text.
func drawn(t *testing.T, sent string, columns int) []string {
	t.Helper()
	lines, row, column := []string{""}, 0, 0
	csi := regexp.MustCompile(`^\x1b\[(\d*)([A-Za-z])`)
	for sent != "" {
		if m := csi.FindStringSubmatch(sent); m != nil {
			sent = sent[len(m[0]):]
			switch m[2] {
			case "A":
				n, _ := strconv.Atoi(m[1])
				if row -= n; row < 0 {
					t.Fatalf("the cursor leaves the terminal")
				}
			case "K":
				lines[row] = string([]rune(lines[row])[:min(column, len([]rune(lines[row])))])
			case "J":
				lines[row] = string([]rune(lines[row])[:min(column, len([]rune(lines[row])))])
				lines = lines[:row+1]
			default:
				t.Fatalf("escape %q", m[0])
			}
			continue
		}
		r := []rune(sent)[0]
		sent = sent[len(string(r)):]
		switch r {
		case '\r':
			column = 0
		case '\n':
			if row, column = row+1, 0; row == len(lines) {
				lines = append(lines, "")
			}
		default:
			line := []rune(lines[row])
			for len(line) <= column {
				line = append(line, ' ')
			}
			line[column] = r
			lines[row] = string(line)
			if column++; column >= columns {
				t.Fatalf("a line wraps: %q", lines[row])
			}
		}
	}
	return lines
}

func TestLiveLinesAreRedrawnInPlace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	l := newLive(&out, func() (int, int) { return 40, 24 }, func() time.Time { return now })
	l.Show("bundle", LiveLine{Text: "… bundle", Event: "unused", Since: now})
	now = now.Add(65 * time.Second)
	l.Show("trust", LiveLine{Text: "… trust  \x1b[2Jkubelet on a-node-with-a-long-name.example.com", Since: now})
	l.Show("bundle", LiveLine{Text: "✓ bundle"})
	if got := drawn(t, out.String(), 40); len(got) != 3 || got[0] != "✓ bundle" || !strings.HasPrefix(got[1], `… trust  \x1b[2Jkubelet on a-nod`) || !strings.HasSuffix(got[1], "…  0s") || got[2] != "" {
		t.Errorf("%q", got)
	}
	now = now.Add(time.Minute)
	l.Freeze()
	l.Show("next", LiveLine{Text: "… next"})
	l.Clear()
	l.Show("asked", LiveLine{Text: "… asked"})
	l.Hold()
	out.WriteString("password: \n")
	l.Show("asked", LiveLine{Text: "✓ asked"})
	l.Release()
	if got := drawn(t, out.String(), 40); len(got) != 6 || got[2] != "… asked" || got[3] != "password: " || got[4] != "✓ asked" {
		t.Errorf("what was written meanwhile stays: %q", got)
	}
	l.Clear()
	if got := drawn(t, out.String(), 40); len(got) != 5 || !strings.HasSuffix(got[1], "…  60s") || got[4] != "" {
		t.Errorf("what was frozen stays, and what was cleared does not: %q", got)
	}
	l.Close()
}

func TestLiveLinesFitOnTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	rows := 10
	l := newLive(&out, func() (int, int) { return 40, rows }, time.Now)
	for i := range 300 {
		l.Show(fmt.Sprint(i), LiveLine{Text: fmt.Sprintf("… node-%d", i)})
	}
	got := drawn(t, out.String(), 40)
	if len(got) != rows || got[0] != "  292 more above" || got[rows-2] != "… node-299" {
		t.Errorf("%q", got)
	}
}

func TestLiveIsALogElsewhere(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := NewLive(&out, time.Now)
	l.Show("a", LiveLine{Text: "… a", Event: "after 5s: … a: not \x1b[31mread", Since: time.Now()})
	l.Show("a", LiveLine{Text: "… a 1 of 2", Since: time.Now()})
	l.Clear()
	l.Show("a", LiveLine{Text: "✓ a", Event: "after 15s: ✓ a"})
	l.Close()
	if got, want := out.String(), "after 5s: … a: not \\x1b[31mread\nafter 15s: ✓ a\n"; got != want {
		t.Errorf("%q", got)
	}
}
