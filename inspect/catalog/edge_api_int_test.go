package catalog

import (
	"strings"
	"testing"
)

// TestMonitorsOfBalancersReadTheKubeletsKubeconfig: none verifies anything with the kubeconfig
// to join with; from 4.22 on, two of the three keep what they read at their start.
func TestMonitorsOfBalancersReadTheKubeletsKubeconfig(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]ReloadPolicy{"4.12.9": ReloadEachTime, "4.21.0": ReloadEachTime, "4.22.0": ReloadAtStart} {
		var got []Edge
		for _, e := range Edges() {
			if len(e.Platforms) > 0 && e.In.Holds(Versions{Cluster: version}) == Yes {
				got = append(got, e)
			}
		}
		if len(got) != 1 || got[0].Trust != KubeletKubeconfigCA() || got[0].Reload != want {
			t.Errorf("%s: want one edge that reads %s %s, got %+v", version, KubeletKubeconfigCA(), want, got)
			continue
		}
		// HAProxy's asks the API server of its own master instead, in every version.
		for _, name := range []string{"keepalived", "CoreDNS", "HAProxy"} {
			if fails := name != "HAProxy"; strings.Contains(got[0].Impact, name) != fails {
				t.Errorf("%s: the impact names %s: want %t: %s", version, name, fails, got[0].Impact)
			}
		}
	}
}
