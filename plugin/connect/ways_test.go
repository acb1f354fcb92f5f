package connect

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// chosen is what these flags come to.
func chosen(t *testing.T, f NodeFlags) NodeChoice {
	t.Helper()
	f.Parallel, f.Timeout = 1, time.Minute
	c, err := f.ToChoice(t.Context(), cli.App{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}}, collect.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatAutoTries(t *testing.T) {
	for _, c := range []struct {
		name, read, repair, hint, another string
		flags                             NodeFlags
	}{
		{"nothing is given", "local exec ssh", "local ssh exec", "--via ssh, --allow-pods (starts a privileged pod on each), or certrot", "--via ssh or --via debug;", NodeFlags{Via: ViaAuto}},
		{"pods are allowed", "local exec ssh debug", "local ssh exec debug", "--via ssh, or certrot", "--via ssh;", NodeFlags{Via: ViaAuto, AllowPods: true}},
		{"a way is named", "ssh", "ssh", "--via exec, --allow-pods (starts a privileged pod on each), or certrot", "--via exec or --via debug;", NodeFlags{Via: nodeexec.ViaSSH}},
	} {
		t.Run(c.name, func(t *testing.T) {
			choice := chosen(t, c.flags)
			if got := strings.Join(choice.Ways, " "); got != c.read {
				t.Errorf("reading tries %s, want %s", got, c.read)
			}
			if got := choice.readHint("certrot"); !strings.HasPrefix(got, "try "+c.hint) {
				t.Errorf("hint %q, want %q", got, c.hint)
			}
			if got := choice.Another(); !strings.HasPrefix(got, "try another way: "+c.another) {
				t.Errorf("hint %q, want %q", got, c.another)
			}
			choice.WithoutKubeletFirst()
			if got := strings.Join(choice.Ways, " "); got != c.repair {
				t.Errorf("a repair tries %s, want %s", got, c.repair)
			}
		})
	}
}

// Only what leads to other machines without the API is of use while it does not answer.
func TestWaysWithoutTheAPI(t *testing.T) {
	for _, w := range nodeexec.Ways() {
		c := NodeChoice{Ways: []string{w.Name}, asked: true, Names: []string{"worker-1"}}
		if got, want := len(c.withoutAPI()) > 0, w.Name == nodeexec.ViaSSH; got != want {
			t.Errorf("%s reads nodes without the API: %t, want %t", w.Name, got, want)
		}
	}
}

// A way is named like the one that Transports makes of it.
func TestEachWayIsMade(t *testing.T) {
	for _, w := range nodeexec.Ways() {
		c := chosen(t, NodeFlags{Via: w.Name})
		ways, _ := c.Transports([]collect.NodeObject{{Name: "worker-1"}}, &Connection{})
		var names []string
		for _, way := range ways {
			names = append(names, way.Name())
		}
		if !slices.Equal(names, []string{w.Name}) {
			t.Errorf("--via %s makes %v", w.Name, names)
		}
	}
}
