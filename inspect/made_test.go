package inspect

import (
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestMadeNamesWhereItIsFrom: of what a bundle lacks, each place that has it is named once.
func TestMadeNamesWhereItIsFrom(t *testing.T) {
	t.Parallel()
	lb, next, localhost := pkitest.NewCA("lb", from(-3), from(3000)), pkitest.NewCA("next lb", from(-1), from(3000)), pkitest.NewCA("localhost", from(-3000), from(3000))
	f := newFixture("4.15.1").
		configMap(operatorNS, "loadbalancer-serving-ca", "ca-bundle.crt", lb.CertPEM, next.CertPEM).
		configMap(operatorNS, "localhost-serving-ca", "ca-bundle.crt", localhost.CertPEM).
		configMap(targetNS, "kube-apiserver-server-ca", "ca-bundle.crt", pkitest.NewCA("old", from(-9), from(9)).CertPEM)
	f.snapshot.Sort()
	made := slices.DeleteFunc(NewFacts(f.snapshot, noon, 30*fixtureDay).Made(), func(m Made) bool { return m.At[0].Namespace != targetNS })
	if len(made) != 1 {
		t.Fatalf("%+v", made)
	}
	got := slices.Sorted(slices.Values(made[0].From))
	want := []string{"ConfigMap/" + operatorNS + "/loadbalancer-serving-ca[ca-bundle.crt]", "ConfigMap/" + operatorNS + "/localhost-serving-ca[ca-bundle.crt]"}
	if len(made[0].Lacks) != 3 || !slices.Equal(got, want) {
		t.Errorf("lacks %d, of %q, want %q", len(made[0].Lacks), got, want)
	}
}

// TestCopies: files on nodes that hold what an object holds are copies; kubeconfigs are not.
func TestCopies(t *testing.T) {
	t.Parallel()
	old, young := pkitest.NewCA("old", from(-1000), from(2000)), pkitest.NewCA("young", from(-9), from(3600))
	const file = "/etc/kubernetes/kubelet-ca.crt"
	f := newFixture("4.14.20").
		configMap(managedNS, "kube-apiserver-server-ca", "ca-bundle.crt", old.CertPEM, young.CertPEM).
		configMap(managedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM, young.CertPEM).
		embedded("/var/lib/kubelet/kubeconfig", nil, old.CertPEM).onNode(file, 0o644, old.CertPEM)
	f.snapshot.Sort()
	copies := NewFacts(f.snapshot, noon, 30*fixtureDay).Copies()
	at := pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: file}
	if len(copies) != 1 || copies[0].At[0] != at || len(copies[0].Lacks) != 1 || copies[0].Lacks[0].Fingerprint != pki.FingerprintOf(young.Cert.Raw) {
		t.Errorf("%+v", copies)
	}
}

// TestNamesakesAreDueWithTheFirstOfThem: a finding about several CAs is due when the first
// of them ends, whatever their order.
func TestNamesakesAreDueWithTheFirstOfThem(t *testing.T) {
	t.Parallel()
	for _, ends := range [][2]int{{100, 300}, {300, 100}} {
		f := newFixture("").configMap("team-a", "ca", "ca.crt", pkitest.NewCA("test CA", from(-30), from(ends[0])).CertPEM).
			configMap("team-b", "ca", "ca.crt", pkitest.NewCA("test CA", from(-10), from(ends[1])).CertPEM)
		if got := f.findings(t, "ca-names"); len(got) != 1 || !got[0].Due.Equal(from(100)) {
			t.Errorf("%v: %+v", ends, got)
		}
	}
}
