package remediate_test

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestUnreadNode: what a file lacks is read by whoever takes it again; where a cluster is asked,
// it is the name that may be wrong.
func TestUnreadNode(t *testing.T) {
	t.Parallel()
	facts := func(h inspect.Hints) inspect.Snapshot {
		return inspect.Snapshot{
			Nodes: []inspect.Node{{Name: "unread"}, {Name: "told"}, {Name: "read", Via: "ssh"}}, OtherNodes: []inspect.Node{{Name: "other"}}, Hints: h,
			Status: &inspect.ClusterStatus{ControlPlane: &inspect.ControlPlaneStatus{Nodes: []inspect.NodeState{{Name: "listed"}}}},
			Gaps:   []inspect.Gap{{What: "node/told", Reason: "port 22 is closed", Next: "open it"}},
		}
	}
	live, file := facts(inspect.LiveHints("x")), facts(inspect.FileHints("x"))
	const check, again = "check the name: inspect nodes lists all nodes", "take the snapshot again, with the nodes: x snapshot --nodes all -o FILE"
	for _, c := range []struct {
		snapshot     inspect.Snapshot
		node         string
		reason, next string
	}{
		{live, "unread", "it was not read", check},
		{live, "nobody", "it was not read", check},
		{live, "told", "port 22 is closed", "open it"},
		{file, "unread", "it was not read", again},
		{file, "nobody", "no node of this name is in the file, which has read", "check the name; or " + again},
		{file, "told", "port 22 is closed", "open it"},
		{file, "other", "the node was left out", again},
		{file, "listed", "the node was left out", again},
	} {
		if r := remediate.UnreadNode(c.snapshot, c.node); r.Name != "node-read" || r.Node != c.node || r.Reason != c.reason || r.Next != c.next {
			t.Errorf("%s: %q, next %q", c.node, r.Reason, r.Next)
		}
	}
}
