package check

import (
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestMadeNamesWhereItIsFrom: of what a bundle lacks, each place that has it is named once.
func TestMadeNamesWhereItIsFrom(t *testing.T) {
	t.Parallel()
	lb, next, localhost := pkitest.NewCA("lb", inspecttest.DaysFromNoon(-3), inspecttest.DaysFromNoon(3000)), pkitest.NewCA("next lb", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(3000)), pkitest.NewCA("localhost", inspecttest.DaysFromNoon(-3000), inspecttest.DaysFromNoon(3000))
	f := inspecttest.NewFixture("4.15.1").
		ConfigMap(inspecttest.OperatorNS, "loadbalancer-serving-ca", "ca-bundle.crt", lb.CertPEM, next.CertPEM).
		ConfigMap(inspecttest.OperatorNS, "localhost-serving-ca", "ca-bundle.crt", localhost.CertPEM).
		ConfigMap(inspecttest.TargetNS, "kube-apiserver-server-ca", "ca-bundle.crt", pkitest.NewCA("old", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(9)).CertPEM)
	f.Snapshot.Sort()
	made := slices.DeleteFunc(inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day).Aggregates(), func(m inspect.DerivedBundle) bool { return m.At[0].Namespace != inspecttest.TargetNS })
	if len(made) != 1 {
		t.Fatalf("%+v", made)
	}
	got := slices.Sorted(slices.Values(made[0].Sources))
	want := []string{"ConfigMap/" + inspecttest.OperatorNS + "/loadbalancer-serving-ca[ca-bundle.crt]", "ConfigMap/" + inspecttest.OperatorNS + "/localhost-serving-ca[ca-bundle.crt]"}
	if len(made[0].Missing) != 3 || !slices.Equal(got, want) {
		t.Errorf("lacks %d, of %q, want %q", len(made[0].Missing), got, want)
	}
}

// TestCopies: files on nodes that hold what an object holds are copies; kubeconfigs are not.
func TestCopies(t *testing.T) {
	t.Parallel()
	old, young := pkitest.NewCA("old", inspecttest.DaysFromNoon(-1000), inspecttest.DaysFromNoon(2000)), pkitest.NewCA("young", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(3600))
	const file = "/etc/kubernetes/kubelet-ca.crt"
	f := inspecttest.NewFixture("4.14.20").
		ConfigMap(inspecttest.ManagedNS, "kube-apiserver-server-ca", "ca-bundle.crt", old.CertPEM, young.CertPEM).
		ConfigMap(inspecttest.ManagedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM, young.CertPEM).
		Embedded("/var/lib/kubelet/kubeconfig", nil, old.CertPEM).OnNode(file, 0o644, old.CertPEM)
	f.Snapshot.Sort()
	copies := inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day).NodeCopies()
	at := pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: file}
	if len(copies) != 1 || copies[0].At[0] != at || len(copies[0].Missing) != 1 || copies[0].Missing[0].Fingerprint != pki.FingerprintOf(young.Cert.Raw) {
		t.Errorf("%+v", copies)
	}
}

// TestNamesakesAreDueWithTheFirstOfThem: a finding about several CAs is due when the first
// of them expires, whatever their order.
func TestNamesakesAreDueWithTheFirstOfThem(t *testing.T) {
	t.Parallel()
	for _, ends := range [][2]int{{100, 300}, {300, 100}} {
		f := inspecttest.NewFixture("").ConfigMap("team-a", "ca", "ca.crt", pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-30), inspecttest.DaysFromNoon(ends[0])).CertPEM).
			ConfigMap("team-b", "ca", "ca.crt", pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(ends[1])).CertPEM)
		if got := findings(f, t, "ca-names"); len(got) != 1 || !got[0].Due.Equal(inspecttest.DaysFromNoon(100)) {
			t.Errorf("%v: %+v", ends, got)
		}
	}
}

// TestStubsOfEveryPool: machine-config-operator makes one for each pool, of the rotated CA, or of the
// installer's where there is none.
func TestStubsOfEveryPool(t *testing.T) {
	t.Parallel()
	const config, api = "openshift-machine-config-operator", "openshift-machine-api"
	root, server := pkitest.NewCA("root-ca", inspecttest.DaysFromNoon(-1000), inspecttest.DaysFromNoon(2000)), pkitest.NewCA("server-ca", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(3600))
	for title, c := range map[string]struct {
		version  string
		rotated  bool
		whole    bool
		stub     *pkitest.Authority
		lacks    *pkitest.Authority
		compared bool
	}{
		"with the rotated CA":              {"4.19.9", true, true, server, nil, true},
		"without the rotated CA":           {"4.19.9", true, true, root, server, true},
		"no rotated CA":                    {"4.19.9", false, true, root, nil, true},
		"no rotated CA, without root-ca's": {"4.19.9", false, true, server, root, true},
		"the rotated CA may not be read":   {"4.19.9", false, false, root, nil, false},
		"up to 4.18":                       {"4.18.9", true, true, root, nil, true},
	} {
		f := inspecttest.NewFixture(c.version).ConfigMap("kube-system", "root-ca", "ca.crt", root.CertPEM)
		if c.rotated {
			f.ConfigMap(config, "machine-config-server-ca", "ca-bundle.crt", server.CertPEM)
		}
		if c.whole {
			f.Whole()
		}
		f.Object(inspect.Object{Kind: "Secret", Namespace: api, Name: "infra-user-data-managed"}, map[string][]byte{"userData": c.stub.CertPEM})
		f.Object(inspect.Object{Kind: "Secret", Namespace: "team", Name: "infra-user-data-managed"}, map[string][]byte{"userData": pkitest.NewCA("theirs", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(9)).CertPEM})
		f.Snapshot.Sort()
		made := slices.DeleteFunc(inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day).Aggregates(), func(m inspect.DerivedBundle) bool { return m.At[0].Name != "infra-user-data-managed" })
		switch {
		case len(made) != 1 && (c.compared || len(made) > 0):
			t.Errorf("%s: %+v", title, made)
		case !c.compared:
		case made[0].At[0].Namespace != api || len(made[0].Unread) > 0 || (len(made[0].Missing) > 0) != (c.lacks != nil):
			t.Errorf("%s: %+v", title, made[0])
		case c.lacks != nil && (len(made[0].Missing) != 1 || made[0].Missing[0].Fingerprint != pki.FingerprintOf(c.lacks.Cert.Raw)):
			t.Errorf("%s: lacks %+v", title, made[0].Missing)
		}
	}
}
