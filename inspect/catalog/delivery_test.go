package catalog

import (
	"slices"
	"strings"
	"testing"
)

// TestWhatPrintsReloadingIsNamed: in 4.12 the journal has systemd's "Reloading." when
// kubelet-ca.crt comes to a node.
func TestWhatPrintsReloadingIsNamed(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"4.12.1": true, "4.14.1": false, "4.22.1": false} {
		d, known := DeliveryOf(kubeletClientCA(), Versions{Cluster: version})
		got := slices.ContainsFunc(d.Hops, func(h Hop) bool { return strings.Contains(h.Action, `systemd prints "Reloading."`) })
		if known != Yes || got != want {
			t.Errorf("%s: %s, %t, want %t", version, known, got, want)
		}
	}
}
