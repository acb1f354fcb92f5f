package check

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// TestUpgradeBeforeATokenIsReplaced: a version that prints the token prints the new one, too.
func TestUpgradeBeforeATokenIsReplaced(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"4.18.30": "Upgrade to 4.18.32 or a later 4.18", "4.16.69": "Upgrade to 4.18.32, 4.19.22, 4.20.10, 4.21 or ",
		"4.18.31": "Upgrade to a version that does not print it", "": "Upgrade to a version that does not print it",
		"4.19.22": "Delete Secret ",
	} {
		if got := upgradeFirst(catalog.Versions{Cluster: version}); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q", version, got)
		}
	}
}
