package csr

import (
	"crypto/x509/pkix"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestThePlanSaysFromWhereTheNamesOfANodeAreKnown: before anything is approved.
func TestThePlanSaysFromWhereTheNamesOfANodeAreKnown(t *testing.T) {
	t.Parallel()
	openshift := catalog.Versions{Cluster: "4.15.0"}
	ca := pkitest.NewCA("csr-signer", remediatetest.TestNow.Add(-48*time.Hour), remediatetest.TestNow.Add(time.Hour))
	serving := func(node string, to time.Duration) []byte {
		return ca.Issue(node, remediatetest.TestNow.Add(-24*time.Hour), remediatetest.TestNow.Add(to), pkitest.DNS(node), pkitest.Subject(pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}})).CertPEM
	}
	const machine, ssh, cert = "its Machine", "the address that ssh reached", "its serving certificate, if no Machine refers to it"
	for name, c := range map[string]struct {
		versions catalog.Versions
		via      string
		serving  []byte
		want     string
	}{
		"by ssh, with a certificate":         {openshift, "ssh", serving("worker-0", time.Hour), "its serving names are known from: " + machine + "; " + ssh + "; " + cert},
		"by ssh":                             {openshift, "ssh", nil, "its serving names are known from: " + machine + "; " + ssh},
		"by exec, with a certificate":        {openshift, "exec", serving("worker-0", time.Hour), "its serving names are known from: " + machine + "; " + cert},
		"by debug, its certificate expired":  {openshift, "debug", serving("worker-0", -time.Hour), "its serving names are known from: " + machine},
		"by debug, another's certificate":    {openshift, "debug", serving("worker-1", time.Hour), "its serving names are known from: " + machine},
		"plain Kubernetes":                   {catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, "ssh", serving("worker-0", time.Hour), "no serving request: this is not confirmed to be OpenShift"},
		"a cluster whose version is unknown": {catalog.Versions{}, "ssh", nil, "no serving request: this is not confirmed to be OpenShift"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snapshot := inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Via: c.via}}, Cluster: inspect.Cluster{Versions: c.versions}}
			for _, f := range pki.NewScanner().Scan(c.serving) {
				snapshot.Bundles = append(snapshot.Bundles, inspect.Bundle{At: pki.Location{Node: "worker-0", Path: kubeletServing}, Content: f.Content})
			}
			change, err := NewApprove("worker-0", snapshot, remediatetest.TestNow).Diff(snapshot, remediatetest.TestNow)
			if err != nil || change == nil || !strings.HasSuffix(change.Summary, " ("+c.want+")") {
				t.Errorf("%v, %+v, want %q", err, change, c.want)
			}
		})
	}
}
