package inspect_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestCAsRemoved: operators remove a CA that a bundle loses from those that they make of it, and from those made of
// these.
func TestCAsRemoved(t *testing.T) {
	t.Parallel()
	const operator, target, managed, key = "openshift-kube-apiserver-operator", "openshift-kube-apiserver", "openshift-config-managed", "ca-bundle.crt"
	previous := pkitest.NewCA("previous", inspecttest.Noon.Add(-time.Hour), inspecttest.Noon.Add(time.Hour))
	signer := pkitest.NewCA("signer", inspecttest.Noon.Add(-time.Hour), inspecttest.Noon.Add(time.Hour))
	const from, union, copied = operator + "/loadbalancer-serving-ca", target + "/kube-apiserver-server-ca", managed + "/kube-apiserver-server-ca"
	for name, c := range map[string]struct {
		change func(*inspecttest.Fixture)
		stays  []string // where the previous CA is afterwards
	}{
		"no other part has it": {func(f *inspecttest.Fixture) { f.Whole() }, []string{"team/own"}},
		"another part has it": {func(f *inspecttest.Fixture) {
			f.Whole().ConfigMap(operator, "localhost-serving-ca", key, previous.CertPEM)
		}, []string{copied, union, operator + "/localhost-serving-ca", "team/own"}},
		"another part may have it": {func(*inspecttest.Fixture) {}, []string{copied, union, "team/own"}},
	} {
		f := inspecttest.NewFixture("4.15.3")
		f.ConfigMap(operator, "loadbalancer-serving-ca", key, previous.CertPEM, signer.CertPEM)
		f.ConfigMap(target, "kube-apiserver-server-ca", key, previous.CertPEM, signer.CertPEM)
		f.ConfigMap(managed, "kube-apiserver-server-ca", key, previous.CertPEM, signer.CertPEM)
		f.ConfigMap("team", "own", key, previous.CertPEM, signer.CertPEM)
		c.change(f)
		f.Snapshot.Sort()
		with := func(s inspect.Snapshot, ca *pki.Cert) (at []string) {
			for _, b := range s.Bundles {
				if pki.Contains(b.Content.Certs, ca) {
					at = append(at, b.At.Namespace+"/"+b.At.Name)
				}
			}
			return at
		}
		old, now := pki.LoadedPEM(pki.NewScanner(), previous.CertPEM)[0], pki.LoadedPEM(pki.NewScanner(), signer.CertPEM)[0]
		was := with(f.Snapshot, old)
		after := f.Snapshot.With(inspect.CAsRemoved{From: catalog.LoadBalancerCA(), CAs: []*pki.Cert{old}, At: inspecttest.Noon})
		if got := with(after, old); !slices.Equal(got, c.stays) {
			t.Errorf("%s: it stays in %q, want %q", name, got, c.stays)
		}
		if got := with(after, now); !slices.Equal(got, []string{copied, union, from, "team/own"}) {
			t.Errorf("%s: the signer is in %q", name, got)
		}
		if got := with(f.Snapshot, old); !slices.Equal(got, was) {
			t.Errorf("%s: the facts before were changed: %q", name, got)
		}
	}
}
