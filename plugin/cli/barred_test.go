package cli

import "testing"

// TestLinesOfAnErrorBreakBetweenWords: no further line begins as the program's own do, however wide the terminal is.
func TestLinesOfAnErrorBreakBetweenWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"error: read a b: next: c", 0, "error: read a b: next: c"},
		{"error: read a b: next: c", 80, "error: read a b: next: c"},
		{"error: read a b: next: c", 17, "error: read a b:\n  | next: c"},
		{"error: read a b: next: c\nd e", 16, "error: read a b:\n  | next: c\n  | d e"},
		{"error: read aaaaaaaaaaaaaaaaaaaaaaaaaaaa b", 16, "error: read\n  | aaaaaaaaaaaaaaaaaaaaaaaaaaaa b"},
		{"error: “äöü äöü” b", 15, "error: “äöü\n  | äöü” b"},
	} {
		if got := barred(c.text, c.width); got != c.want {
			t.Errorf("%q at %d:\n%q, want\n%q", c.text, c.width, got, c.want)
		}
	}
}
