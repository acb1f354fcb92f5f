package check

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestLockedKeystoresOfOnePlace: several in one value are counted, and their place is named once; what
// is in places that were not asked for is not counted.
func TestLockedKeystoresOfOnePlace(t *testing.T) {
	t.Parallel()
	locked := pki.Locked{Format: "PKCS#12", Reason: "no password opens it"}
	in := func(namespace string, n int) inspect.Bundle {
		c := &pki.Content{}
		for range n {
			c.Locked = append(c.Locked, locked)
		}
		at := pki.Location{Kind: "Secret", Namespace: namespace, Name: "kafka", Key: "user.p12"}
		return inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: namespace, Name: at.Name}, Content: c}
	}
	f := inspect.NewFacts(inspect.Snapshot{Bundles: []inspect.Bundle{in("a", 2), in("b", 1), in("other", 1)}}, inspecttest.Noon, 0)
	gaps := Locked(f, func(at pki.Location, _ *inspect.Object) bool { return at.Namespace != "other" })
	if len(gaps) != 1 || gaps[0].What != "3 keystores locked" || gaps[0].Where != "Secret/a/kafka[user.p12], Secret/b/kafka[user.p12]" {
		t.Errorf("%+v", gaps)
	}
}
