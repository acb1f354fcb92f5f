package check

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestOverlayKnowsFileFromMemory goes through a repair: after the file is
// written, the kubelet still believes the old one, until it is restarted.
func TestOverlayKnowsFileFromMemory(t *testing.T) {
	t.Parallel()
	const own = "/var/lib/kubelet/kubeconfig"
	old := pkitest.NewCA("old-lb-signer", inspecttest.DaysFromNoon(-1000), inspecttest.DaysFromNoon(2000))
	young := pkitest.NewCA("new-lb-signer", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(3600))
	leaf := young.Issue("api-int", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(29), pkitest.DNS("api-int.example.com"))
	f := inspecttest.NewFixture("4.15.3").Embedded(own, nil, old.CertPEM).Shown(leaf).Changed(own, inspecttest.Noon.Add(-48*time.Hour), inspecttest.Noon.Add(-24*time.Hour))
	f.Snapshot.Sort()
	both := &pki.Content{}
	for _, ca := range []*pkitest.Authority{old, young} {
		both.Certs = append(both.Certs, f.Scanner.Scan(ca.CertPEM)[0].Content.Certs...)
	}
	checks := func(s inspect.Snapshot) (ids []string) {
		for _, found := range Judge(context.Background(), inspect.NewFacts(s, inspecttest.Noon, 0)) {
			if found.Severity >= assess.Warning {
				ids = append(ids, found.ID)
			}
		}
		return ids
	}
	before := f.Snapshot
	if got := checks(before); !slices.Equal(got, []string{"api-trusted"}) {
		t.Fatalf("before: %q", got)
	}
	written := inspect.KubeconfigWritten{Node: "worker-0", Path: own, Field: "clusters[0].cluster.certificate-authority-data", CA: both, At: inspecttest.Noon}
	after := before.With(written)
	if got := checks(after); !slices.Equal(got, []string{"kubelet-loaded"}) {
		t.Errorf("written: %q", got)
	}
	if got := checks(after.With(inspect.KubeletRestarted{Node: "worker-0", At: inspecttest.Noon.Add(time.Second)}, inspect.HeartbeatRead{Node: "worker-0", At: inspecttest.Noon.Add(2 * time.Second)})); len(got) > 0 {
		t.Errorf("restarted: %q", got)
	}
	if got := checks(before); !slices.Equal(got, []string{"api-trusted"}) || !reflect.DeepEqual(before, f.Snapshot) {
		t.Errorf("the facts themselves changed: %q", got)
	}
}
