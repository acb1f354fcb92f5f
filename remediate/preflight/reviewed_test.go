package preflight

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

func TestReviewed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version, server string
		status          assess.Status
		next            string
	}{
		"a version that was reviewed":          {"4.15.1", "https://api", assess.Pass, ""},
		"one that was not":                     {"4.99.0", "https://api", assess.Fail, "use a release"},
		"one that was not, of a file":          {"4.99.0", "", assess.Fail, "use a release"},
		"a version that can't be read":         {"", "https://api", assess.Unknown, "oc get clusterversion"},
		"no version, and no API server either": {"", "", assess.Pass, ""},
	} {
		v := Reviewed(inspect.Cluster{Server: c.server, Versions: catalog.Versions{Cluster: c.version}})
		if v.ID != UnreviewedVersion || !v.Risk || v.Status != c.status || (v.Reason == "") != (c.status == assess.Pass) || !strings.HasPrefix(v.Remediation.Text, c.next) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
