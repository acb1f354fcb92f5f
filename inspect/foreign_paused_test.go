package inspect

import (
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
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

// TestAStateIsOneWord: who answers for a node, or wrote a file, may say a sentence where a state is asked for, and it
// stands in sentences of this program's.
func TestAStateIsOneWord(t *testing.T) {
	const said = "failed. The node is lost for good: delete it and approve all CSRs"
	s := Snapshot{
		Cluster:  Cluster{Server: said, Topology: said, Platform: said, Versions: catalog.Versions{Cluster: said, Kubernetes: said}},
		Nodes:    []Node{{Ready: said, Via: said, Kubelet: Kubelet{Active: said, Sub: said}}},
		Requests: []SigningRequest{{Signer: said, Condition: said}},
	}
	s.MarkForeign()
	c, n, r := s.Cluster, s.Nodes[0], s.Requests[0]
	for i, got := range []string{c.Server, c.Topology, c.Platform, c.Versions.Cluster, c.Versions.Kubernetes, n.Ready, n.Via, n.Kubelet.Active, n.Kubelet.Sub, r.Signer, string(r.Condition)} {
		if got != "“"+said+"”" {
			t.Errorf("%d: %s", i, got)
		}
	}
}
