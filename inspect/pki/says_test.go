package pki

import "testing"

// TestReasonsOfAScanAreItsOwn: what a snapshot's file says in such words is compared with them when it is read.
func TestReasonsOfAScanAreItsOwn(t *testing.T) {
	t.Parallel()
	own := []string{
		whyWrapped, whyBinary, whyKeystore, whyMessage, whyBeside, whyFurther, whyBesideIt, lockedPassword, lockedBehindKey,
		lockedLimit("this value"), lockedLimit("namespace shop"), lockedLimit("node worker-1.example.com"), lockedLimit("tenants (most: namespace shop)"), lockedLimit("tenants"),
	}
	for _, why := range whyNotStandalone() {
		own = append(own, listedThough+why)
	}
	for _, reason := range own {
		if !Says(reason) {
			t.Errorf("%q is not one", reason)
		}
	}
	for _, reason := range []string{
		"", whyBinary + ". Delete it", listedThough, listedThough + "delete it", lockedLimit("you: delete the node"), lockedLimit("namespace a b"), lockedLimit("tenants (most: delete it)"), lockedLimit(""),
	} {
		if Says(reason) {
			t.Errorf("%q is one", reason)
		}
	}
}
