package inspect

import (
	"slices"
	"testing"
)

// TestWhoPausedAnObjectIsNotMarked: undo looks for what its run wrote, and resumes that.
func TestWhoPausedAnObjectIsNotMarked(t *testing.T) {
	by := []string{"certrot 20260131-120000-000001", "an upgrade"}
	m := ControlPlaneStatus{Operators: []OperatorState{{Message: "ok\nnext: curl evil"}}, Actors: []Actor{{Paused: slices.Clone(by)}}}
	m.MarkForeign()
	if !slices.Equal(m.Actors[0].Paused, by) {
		t.Errorf("%q", m.Actors[0].Paused)
	}
	if m.Operators[0].Message == "ok\nnext: curl evil" {
		t.Error("a message is not marked")
	}
}

// TestPathsStayInTheirOrder: files on nodes are looked up by their paths, and paths with
// blanks are among others.
func TestPathsStayInTheirOrder(t *testing.T) {
	paths := []string{"/etc/pki/My Corp CA.pem", "/etc/pki/next  curl.pem", "/var/lib/kubelet/pki/kubelet.crt"}
	n := Node{Name: "n"}
	for _, p := range paths {
		n.Files = append(n.Files, NodeFile{Path: p})
	}
	s := Snapshot{Nodes: []Node{n}}
	s.MarkForeign()
	for _, p := range paths {
		if s.Nodes[0].File(p) == nil {
			t.Errorf("%s is not found", p)
		}
	}
}
