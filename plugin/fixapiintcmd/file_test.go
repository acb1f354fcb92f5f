package fixapiintcmd

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// TestTheWayOntoNodesInAFile: the command for the live cluster takes ssh where all nodes were read by it.
func TestTheWayOntoNodesInAFile(t *testing.T) {
	for want, ways := range map[string][]string{" --via ssh": {"ssh", "", "ssh"}, "": {"ssh", "exec"}} {
		var s inspect.Snapshot
		for _, via := range ways {
			s.Nodes = append(s.Nodes, inspect.Node{Via: via})
		}
		if got := wayIn(s); got != want {
			t.Errorf("%q: %q, want %q", ways, got, want)
		}
	}
	if got := wayIn(inspect.Snapshot{Nodes: []inspect.Node{{Name: "n"}}}); got != "" {
		t.Errorf("no node was read: %q", got)
	}
}
