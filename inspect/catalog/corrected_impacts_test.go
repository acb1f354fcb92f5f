package catalog

import (
	"strings"
	"testing"
)

// TestWhatFailsWithoutTheAdministratorsCAs: nodes have them whether there is a proxy or not, and need them for a
// mirror of images as well.
func TestWhatFailsWithoutTheAdministratorsCAs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"node-user-ca", "node-proxy-ca", "node-system-trust", "pods-proxy-ca"} {
		if e := edgeOf(t, id); !strings.Contains(e.Impact, "from servers, or through a proxy") {
			t.Errorf("%s: %s", id, e.Impact)
		}
	}
}

// TestTheProxysCAsAreReadByEachProgram: the console's operator asks for its copy at each look at the route.
func TestTheProxysCAsAreReadByEachProgram(t *testing.T) {
	t.Parallel()
	if e := edgeOf(t, "pods-proxy-ca"); e.Reload != ReloadByProgram {
		t.Errorf("%s: %s", e.ID, e.Reload)
	}
}

// TestWhoReadsTheMetricsOfKubelets: up to 4.15 the metrics API has them from Prometheus, from 4.16 to 4.18 its server
// has Prometheus' client certificate.
func TestWhoReadsTheMetricsOfKubelets(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"prometheus-kubelet-serving": "up to 4.15 also oc adm top of pods", "kubelet-prometheus-client": "up to 4.18 also oc adm top"} {
		if e := edgeOf(t, id); !strings.Contains(e.Impact, want) {
			t.Errorf("%s: %s", id, e.Impact)
		}
	}
}

// TestWhatNoFieldSaysIsConditional: failurePolicy is not read, and a webhook whose policy is Ignore rejects nothing.
func TestWhatNoFieldSaysIsConditional(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"apiserver-validating-webhooks", "apiserver-mutating-webhooks"} {
		if e := edgeOf(t, id); !strings.HasSuffix(e.Impact, "rejected unless failurePolicy is Ignore") {
			t.Errorf("%s: %s", id, e.Impact)
		}
	}
}
