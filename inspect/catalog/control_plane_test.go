package catalog

import (
	"strings"
	"testing"
)

// TestAggregatedAPIServersReadWhatIsPublished: their operators give them no CA of a front proxy.
func TestAggregatedAPIServersReadWhatIsPublished(t *testing.T) {
	t.Parallel()
	for _, e := range controlPlaneEdges() {
		if strings.Contains(e.Verifier, "API servers") && e.Trust != extensionAuthentication("requestheader-client-ca-file") {
			t.Errorf("%s reads %s", e.ID, e.Trust)
		}
	}
}
