package e2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
			if r.stderr != "" {
				t.Errorf("stderr:\n%s", r.stderr)
			}
		})
	}
}

// On a terminal progress is shown, and is gone at the end.
func TestProgressLeavesACleanLine(t *testing.T) {
	t.Parallel()
	w := enter(t)
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script(1), which runs programs on a terminal, is not installed")
	}
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct {
		name, command string
		last          []string // lines on the screen
	}{
		{"with the answer in a file", "kubectl-certrot inspect -o json >" + out, []string{"after"}},
		{"with the answer on the terminal", "kubectl-certrot inspect secret/serving -o name -n " + w.planted.fine(), []string{"secret/serving", "after"}},
		{"on a narrow terminal", "stty cols 20; kubectl-certrot inspect -o json >" + out, []string{"after"}},
		{"on a terminal of no size", "stty cols 0 rows 0; kubectl-certrot inspect -o json >" + out, []string{"after"}},
		{"of a snapshot", "kubectl-certrot snapshot -o " + out + ".snapshot", []string{"after"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := w.exec(t, w.onHost(t.Context(), script, "-qec", c.command+"; echo after", "/dev/null"))
			if !strings.Contains(r.stdout, "\rreading: ") {
				t.Errorf("shows no progress: %q", r.stdout)
			}
			if got := screen(r.stdout); !slices.Equal(got, c.last) {
				t.Errorf("the screen shows %q, want %q; it was sent %q", got, c.last, r.stdout)
			}
			if strings.Contains(r.stdout, "\x1b") {
				t.Errorf("sends escape sequences: %q", r.stdout)
			}
		})
	}
	t.Run("not more than a line of a narrow terminal is used", func(t *testing.T) {
		t.Parallel()
		r := w.exec(t, w.onHost(t.Context(), script, "-qec", "stty cols 20; kubectl-certrot inspect -o json >"+out+".narrow", "/dev/null"))
		for part := range strings.SplitSeq(r.stdout, "\r") {
			if len(strings.TrimSpace(part)) >= 20 {
				t.Errorf("a line of %d columns on a terminal of 20: %q", len(part), part)
			}
		}
	})
}

// screen is what a terminal shows after a text without escape sequences, with
// lines of any length.
func screen(text string) []string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		var shown []byte
		for _, part := range strings.Split(line, "\r") {
			shown = append([]byte(part), shown[min(len(part), len(shown)):]...)
		}
		lines = append(lines, strings.TrimRight(string(shown), " "))
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
