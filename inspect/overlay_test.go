package inspect

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestOverlayKnowsFileFromMemory goes through a repair: after the file is
// written, the kubelet still believes the old one, until it is restarted.
func TestOverlayKnowsFileFromMemory(t *testing.T) {
	t.Parallel()
	const own = "/var/lib/kubelet/kubeconfig"
	old := pkitest.NewCA("old-lb-signer", from(-1000), from(2000))
	young := pkitest.NewCA("new-lb-signer", from(-9), from(3600))
	leaf := young.Issue("api-int", from(-1), from(29), pkitest.DNS("api-int.example.com"))
	f := newFixture("4.15.3").embedded(own, nil, old.CertPEM).shown(leaf).changed(own, noon.Add(-48*time.Hour), noon.Add(-24*time.Hour))
	f.snapshot.Sort()
	both := &pki.Content{}
	for _, ca := range []*pkitest.Authority{old, young} {
		both.Certs = append(both.Certs, f.sc.Scan(ca.CertPEM)[0].Content.Certs...)
	}
	checks := func(s Snapshot) (ids []string) {
		for _, found := range Judge(NewFacts(s, noon, 0)) {
			if found.Severity >= Warning {
				ids = append(ids, found.Check)
			}
		}
		return ids
	}
	before := f.snapshot
	if got := checks(before); !slices.Equal(got, []string{"api-trusted"}) {
		t.Fatalf("before: %q", got)
	}
	written := KubeconfigWritten{Node: "worker-0", Path: own, Field: "clusters[0].cluster.certificate-authority-data", CA: both, At: noon}
	after := before.With(written)
	if got := checks(after); !slices.Equal(got, []string{"kubelet-loaded"}) {
		t.Errorf("written: %q", got)
	}
	if got := checks(after.With(KubeletRestarted{"worker-0", noon.Add(time.Second)}, HeartbeatSeen{"worker-0", noon.Add(2 * time.Second)})); len(got) > 0 {
		t.Errorf("restarted: %q", got)
	}
	if got := checks(before); !slices.Equal(got, []string{"api-trusted"}) || !reflect.DeepEqual(before, f.snapshot) {
		t.Errorf("the facts themselves changed: %q", got)
	}
}
