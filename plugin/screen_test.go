package plugin

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// TestScreenKeepsCharactersWhole: a character may come in two writes, and what is none is
// written as an escape.
func TestScreenKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	const text = "✓ Zürich \x1b[2J\u009b\u202e東京\ttab\nline\xff\r."
	const want = `✓ Zürich \x1b[2J\u009b\u202e東京` + "\ttab\nline" + `\xff\r.`
	for size := range 7 {
		var out bytes.Buffer
		w := newScreen(newScreen(&out))
		for rest := []byte(text); len(rest) > 0; {
			n := min(size+1, len(rest))
			if wrote, err := w.Write(rest[:n]); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size+1, out.String(), want)
		}
	}
}

// TestLogsOfLibrariesAreClean: client-go logs what servers say.
func TestLogsOfLibrariesAreClean(t *testing.T) {
	var out strings.Builder
	if err := LogTo(&out); err != nil {
		t.Fatal(err)
	}
	klog.ErrorS(errors.New("red \x1b[31m\u009b"), "the server said \x1b]0;title\a")
	klog.Errorf("and \x1b[2J\nnext: curl x")
	klog.Flush()
	if s := out.String(); !strings.Contains(s, "the server said") || strings.ContainsAny(s, "\x1b\a\u009b") {
		t.Errorf("%q", s)
	}
}
