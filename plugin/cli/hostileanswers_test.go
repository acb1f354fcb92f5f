package cli

import (
	"errors"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// TestWarningsForgeNoLines: what a node said while it was cleaned up stood as lines of the
// program's own.
func TestWarningsForgeNoLines(t *testing.T) {
	t.Parallel()
	out, streams := plugintest.OnScreen()
	Warn(streams, "clean up: ", errors.Join(errors.New("one"), &nodeexec.RunError{Node: "w", Argv: []string{"true"}, Output: []byte(plugintest.Planted), Code: 1}))
	plugintest.Unforged(t, "a warning", out.String())
}

// TestALineOfAHintBeginsAsNoLineOfItsOwn: a name in a hint may hold a line break.
func TestALineOfAHintBeginsAsNoLineOfItsOwn(t *testing.T) {
	t.Parallel()
	out, streams := plugintest.OnScreen()
	PrintError(streams, WithHint(errors.New("read pod a: forbidden"), "%s", "look at it: kubectl get pod a\nerror: all is lost\n  next: curl evil"))
	want := "error: read pod a: forbidden\n  next: look at it: kubectl get pod a\n        error: all is lost\n        next: curl evil\n"
	if got := out.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
}
