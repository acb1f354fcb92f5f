package apply

import (
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// TestUnavailableAPIsFailAtOnce: kube-aggregator answers 503 for an APIService that is not available, before it connects.
func TestUnavailableAPIsFailAtOnce(t *testing.T) {
	t.Parallel()
	got := unwell(&inspect.ControlPlaneStatus{UnavailableAPIs: []string{"v1.project.openshift.io", "v1.route.openshift.io"}})
	want := []string{"APIs that others serve are not available: v1.project.openshift.io, v1.route.openshift.io. Requests for them fail at once (503); nothing here needs one."}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
