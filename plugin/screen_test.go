package plugin

import (
	"bytes"
	"errors"
	"slices"
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
		w := newScreen(newScreen(&out, ""), "")
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

// TestScreenNamesTheProgram: of "certrot verify" the shell says: command not found.
func TestScreenNamesTheProgram(t *testing.T) {
	t.Parallel()
	const text = "next: certrot verify --nodes all; kubectl certrot runs; oc certrot undo RUN; (certrot\n   fix-api-int) kubectl-certrot rotate, /bin/certrot inspect; certrot is one; oc\ncertrot verify; certrot explain X? "
	const want = "next: oc certrot verify --nodes all; kubectl certrot runs; oc certrot undo RUN; (oc certrot\n   fix-api-int) kubectl-certrot rotate, /bin/certrot inspect; certrot is one; oc\ncertrot verify; oc certrot explain X? "
	for _, size := range []int{1, 2, 7, len(text)} {
		var out strings.Builder
		w := newScreen(&out, "oc certrot")
		for part := range slices.Chunk([]byte(text), size) {
			if _, err := w.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.String(); got != want { // a question does not wait
			t.Errorf("in pieces of %d:\n%s\nwant\n%s", size, got, want)
		}
		if _, err := w.Write([]byte("kubectl")); err != nil {
			t.Fatal(err)
		}
		flush(w)
		if got := out.String(); got != want+"kubectl" {
			t.Errorf("what waits is not written: %q", got)
		}
	}
}
