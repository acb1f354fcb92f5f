package gather

import (
	"fmt"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestManyDirectoriesThatAreNotListed: a node says of each by itself that it can't be listed, or not completely.
//
// Not in parallel: it measures.
func TestManyDirectoriesThatAreNotListed(t *testing.T) {
	inspecttest.Grows(t, 1000, func(size int) func() {
		var lines []string
		for n := range size {
			lines = append(lines, fmt.Sprintf("file X 41c0 0 0 root root 0 1 1 %d 1 - - - - /closed/%d", n+1, n), fmt.Sprintf("walk partial /other/%d", n))
		}
		out := answer(lines...)
		return func() {
			if r, err := parseOutput(out, pki.NewScanner()); err != nil || len(r.Gaps) != 2*size {
				t.Errorf("%d gaps, %v", len(r.Gaps), err)
			}
		}
	})
}

// TestADirectoryThatCantBeListedIsOneGap: the listing of what is above it is not complete then, and needs no other reason.
func TestADirectoryThatCantBeListedIsOneGap(t *testing.T) {
	t.Parallel()
	const closed = "file X 41c0 0 0 root root 0 1 1 1 1 - - - - /a/b/c"
	for dir, want := range map[string]int{"/a": 1, "/a/b": 1, "/a/b/c": 1, "/a/b/c/d": 2, "/a/b/cc": 2, "/a/b/": 2, "/a/bb": 2, "/z": 2} {
		r, err := parseOutput(answer(closed, "file X 41c0 0 0 root root 0 1 1 2 1 - - - - /a/b-c", "walk partial "+dir), pki.NewScanner())
		if err != nil || len(r.Gaps) != want+1 {
			t.Errorf("%s: %d gaps, want %d: %v", dir, len(r.Gaps), want+1, err)
		}
	}
}
