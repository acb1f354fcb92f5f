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
