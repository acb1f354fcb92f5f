package catalog

import (
	"strings"
	"testing"
)

// TestExtensionAuthenticationKeepsOldCAs: kube-apiserver adds what it has loaded to what is there.
func TestExtensionAuthenticationKeepsOldCAs(t *testing.T) {
	t.Parallel()
	for _, p := range kubernetesPlaces() {
		if p.Name == "extension-apiserver-authentication" && !strings.Contains(p.Doc, "stays until it expires") {
			t.Errorf("%s: %s", p.Ref, p.Doc)
		}
	}
}
