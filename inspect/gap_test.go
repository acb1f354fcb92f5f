package inspect

import "testing"

// TestAGapIsFoundByAPathThatIsMarked: a path of several words stands between quotation marks in a gap, and so
// may the folder above it.
func TestAGapIsFoundByAPathThatIsMarked(t *testing.T) {
	t.Parallel()
	for where, hidden := range map[string]bool{
		"": true, "/": true, "/etc": true, "/etc/a b": true, "“/etc/a b”": true, "“/etc/a b/”": true, "/etc/a b/": true, "/etc/a b/ca.pem": true, "“/etc/a b/ca.pem”": true,
		"/et": false, "“/etc/a”": false, "/etc/a b/ca": false, "“/etc/a b/ca.pem x”": false,
	} {
		if got := (Gap{Where: where}).hides("/etc/a b/ca.pem"); got != hidden {
			t.Errorf("%s: %v", where, got)
		}
	}
	if g := (Gap{Where: "“/etc/a b”"}); !g.IsAt("/etc/a b") || g.IsAt("/etc/a") {
		t.Error("it is at another path")
	}
}

// TestThatNotEachProcessWasLookedAtIsKnownFromAFile: what a node says of it in its own words is between quotation marks
// there, the sentence too.
func TestThatNotEachProcessWasLookedAtIsKnownFromAFile(t *testing.T) {
	t.Parallel()
	for reason, cut := range map[string]bool{
		"processes of services: it took too long": true, "“processes of services: it took too long”": true,
		"units of services: systemctl gave no answer": false, "": false,
	} {
		s := Snapshot{Gaps: []Gap{{What: nodeWriter + "worker-0", Reason: reason}}}
		if got := s.ProcessesCut()["worker-0"]; got != cut {
			t.Errorf("%s: %v", reason, got)
		}
	}
}
