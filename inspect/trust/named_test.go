package trust_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestArrival: what the administrator's configuration names is on each node and in each
// bundle where it has to be, or it is said what is unknown.
func TestArrival(t *testing.T) {
	ca, other, over := pkitest.NewCA("the CA", from(-10), from(900)), pkitest.NewCA("another", from(-10), from(900)), pkitest.NewCA("over", from(-100), from(-10))
	file := func(w *world) *inspect.NodeFile { return &w.s.Nodes[0].Files[0] }
	gone := func(w *world) {
		w.s.Bundles = slices.DeleteFunc(w.s.Bundles, func(b inspect.Bundle) bool { return b.At.Node != "" })
	}
	const named = "node-registries"
	for name, c := range map[string]struct {
		id    string
		given func(w *world)
		want  []assess.Status
		why   string
	}{
		"more than that": {named, func(w *world) {
			w.s.Bundles[1].Content = w.sc.Scan(pkitest.Bundle(other.CertPEM, ca.CertPEM))[0].Content
		}, []assess.Status{assess.Pass}, ""},
		"what is over need not be there": {named, func(w *world) {
			w.s.Bundles[0].Content = w.sc.Scan(pkitest.Bundle(over.CertPEM, ca.CertPEM))[0].Content
		}, []assess.Status{assess.Pass}, ""},
		"there is no file":                     {named, func(w *world) { gone(w); w.s.Nodes[0].Files = nil }, []assess.Status{assess.Fail}, "there is no such file on the node"},
		"there is no file, as far as was read": {named, func(w *world) { gone(w); w.s.Nodes[0].Files = nil; w.s.Gaps = []inspect.Gap{{What: "node/n1"}} }, []assess.Status{assess.Unknown}, "was not read"},
		"an empty file":                        {named, func(w *world) { gone(w); file(w).Whole = true }, []assess.Status{assess.Fail}, "holds no certificate"},
		"a file that was not read":             {named, func(w *world) { gone(w) }, []assess.Status{assess.Unknown}, "the file was not read"},
		"a node that was not read":             {named, func(w *world) { w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "n2"}) }, []assess.Status{assess.Pass, assess.Unknown}, "the node was not read"},
		"a CA that was made a moment ago": {named, func(w *world) {
			w.s.Bundles[0].Content = w.sc.Scan(pkitest.NewCA("new", noon.Add(-day/48), from(9)).CertPEM)[0].Content
		}, []assess.Status{assess.Unknown}, "made within the hour"},
		"nothing is named":                              {named, func(w *world) { w.s.References = nil }, nil, ""},
		"what is named is not there":                    {named, func(w *world) { w.s.Bundles = nil; w.s.References[0].Target = inspect.TargetAbsent }, nil, ""},
		"what is named holds no certificate":            {named, func(w *world) { w.s.Bundles = nil; w.s.References[0].Target = inspect.TargetThere }, nil, ""},
		"what is named was not read":                    {named, func(w *world) { w.s.Bundles = nil }, []assess.Status{assess.Unknown}, "ConfigMap/openshift-config/named, which Image/cluster#spec.additionalTrustedCA.name names, was not read"},
		"the version before brings it, too":             {"node-ca-registries", func(*world) {}, []assess.Status{assess.Pass}, ""},
		"another version brings it another way":         {"node-ca-registries", func(w *world) { w.s.Cluster.Versions.Cluster = "4.15.3" }, nil, ""},
		"no version":                                    {named, func(w *world) { w.s.Cluster.Versions.Cluster = "" }, nil, ""},
		"the bundle for pods was not read":              {"pods-proxy-ca", func(w *world) { w.s.Bundles = w.s.Bundles[:1] }, []assess.Status{assess.Unknown}, "trusted-ca-bundle[ca-bundle.crt] was not read"},
		"there is no bundle for pods":                   {"pods-proxy-ca", func(w *world) { w.s.Bundles = w.s.Bundles[:1]; w.whole("configmaps") }, []assess.Status{assess.Fail}, "there is no ConfigMap"},
		"a trust store of which only the name was read": {"node-system-trust", func(w *world) { w.s.Bundles = w.s.Bundles[:1] }, nil, ""},
		"an empty trust store": {"node-system-trust", func(w *world) {
			w.s.Bundles = w.s.Bundles[:1]
			w.s.Nodes[0].Files[len(w.s.Nodes[0].Files)-1].Whole = true
		}, []assess.Status{assess.Fail}, "holds no certificate"},
		"a trust store that was not read": {"node-system-trust", func(w *world) { w.s.Nodes[0].Files = nil }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := edge(t, c.id)
			w := newWorld(versions(e))
			w.stage(e, ca, ca.CertPEM)
			c.given(w)
			var got []assess.Status
			why := ""
			for _, claim := range w.judge(c.id) {
				got = append(got, claim.Status)
				why += claim.Reason
			}
			if !slices.Equal(got, c.want) || !strings.Contains(why, c.why) {
				t.Errorf("%v, want %v: %s", got, c.want, why)
			}
		})
	}
}
