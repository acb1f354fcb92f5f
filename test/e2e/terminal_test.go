package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// Into a pipe goes the answer, and nothing for the eye.
func TestPipesGetNoDecoration(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, args := range [][]string{
		{"inspect"}, {"inspect", "-o", "json"}, {"inspect", "--all", "-o", "wide"},
		{"snapshot", "-o", filepath.Join(t.TempDir(), "snapshot")},
		{"inspect", "--help"}, {"--help"}, {"version"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			r := w.run(t, args...)
			if strings.ContainsAny(r.said(), "\x1b\r\b") {
				t.Error("prints escape sequences, carriage returns or backspaces")
			}
			if lines := strings.Count(r.stderr, "\n"); lines > 0 && !(args[0] == "snapshot" && lines == 1 && strings.HasPrefix(r.stderr, "wrote ")) {
				t.Errorf("stderr:\n%s", r.stderr)
			}
		})
	}
}

// On a terminal of 80 columns a reading that takes some seconds is told, and is gone at the end;
// where there is no room for a line, and of a short reading, nothing is told.
func TestProgressLeavesACleanLine(t *testing.T) {
	t.Parallel()
	w := enter(t)
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script(1), which runs programs on a terminal, is not installed")
	}
	dir := t.TempDir()
	out, slow := filepath.Join(dir, "out"), filepath.Join(dir, "slow")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nsleep 4\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const size = "stty cols 80 rows 24; "
	onNode := " --nodes " + w.lab.Nodes()[0] + " --via command --node-command '" + slow + " {node}'"
	for _, c := range []struct {
		name, command string
		told          bool
		last          []string // how the lines on the screen begin
	}{
		{"with the answer in a file", size + "kubectl-certrot inspect -o json >" + out + onNode, true, []string{"after"}},
		{"with the answer on the terminal", size + "kubectl-certrot inspect secret/serving -o name -n " + w.planted.fine(), false, []string{"secret/serving", "after"}},
		{"on a narrow terminal", "stty cols 20 rows 24; kubectl-certrot inspect -o json >" + out + onNode, false, []string{"after"}},
		{"on a terminal of no size", "stty cols 0 rows 0; kubectl-certrot inspect -o json >" + out + onNode, false, []string{"after"}},
		{"of a snapshot", size + "kubectl-certrot snapshot -o " + out + ".snapshot" + onNode, true, []string{"wrote ", "unknown: node/", "error: the snapshot was written, but it is not complete", "after"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := w.exec(t, w.onHost(t.Context(), "env", "TERM=xterm", script, "-qec", c.command+"; echo after", "/dev/null"))
			if strings.Contains(r.stdout, "reading: ") != c.told {
				t.Errorf("tells of the reading: want %v: %q", c.told, r.stdout)
			}
			if got := screen(r.stdout); !slices.EqualFunc(got, c.last, strings.HasPrefix) {
				t.Errorf("the screen shows %q, want %q; it was sent %q", got, c.last, r.stdout)
			}
			for line := range strings.Lines(r.stdout) {
				if wide := utf8.RuneCountInString(strings.TrimRight(up.ReplaceAllString(line, ""), "\r\n")); strings.Contains(line, "reading: ") && wide >= 80 {
					t.Errorf("a line of %d columns on a terminal of 80: %q", wide, line)
				}
			}
		})
	}
}

// up is the one escape sequence of a line that is redrawn: so many lines up, and empty from there.
var up = regexp.MustCompile(`\x1b\[(\d+)A\r\x1b\[J`)

// screen is what a terminal has after a text with no other escape sequences than up, with lines
// of any length.
func screen(text string) []string {
	lines := []string{""}
	for text != "" {
		if m := up.FindStringSubmatch(text); m != nil && strings.HasPrefix(text, m[0]) {
			n, _ := strconv.Atoi(m[1])
			lines = append(lines[:max(len(lines)-1-n, 0)], "")
			text = text[len(m[0]):]
			continue
		}
		if text[0] == '\n' {
			lines = append(lines, "")
		} else {
			lines[len(lines)-1] += text[:1]
		}
		text = text[1:]
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], "\r")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
