package apiint

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// early are facts after the signer was replaced and before it signed anything.
func early() *remediatetest.Fixture {
	f := remediatetest.NewFixture("master-0", "worker-0")
	f.Young = pkitest.NewCA("loadbalancer-serving-signer", remediatetest.TestNow.Add(-9*time.Hour), remediatetest.TestNow.Add(24*time.Hour))
	f.ConfigMap = pkitest.Bundle(f.Old.CertPEM, f.Young.CertPEM, f.Localhost.CertPEM, f.Service.CertPEM)
	f.Object(catalog.LoadBalancerCA(), pkitest.Bundle(f.Old.CertPEM, f.Young.CertPEM))
	f.Serve(f.Old.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-14*24*time.Hour), remediatetest.TestNow.Add(16*24*time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
	return f
}

func TestAheadOfTheFirstCertificate(t *testing.T) {
	t.Parallel()
	f := early()
	a, err := PretrustOf(f.Snapshot, remediatetest.TestNow)
	if err != nil || len(a.CAs) != 1 || a.CAs[0].Fingerprint != f.Sc.Scan(f.Young.CertPEM)[0].Content.Certs[0].Fingerprint {
		t.Fatalf("%+v, %v", a, err)
	}
	if !a.from.After(remediatetest.TestNow) || a.until.Before(a.from) {
		t.Errorf("from %s until %s", a.from, a.until)
	}
	p := planOf(f, t)
	if err := a.AddTo(p, f.ConfigMap); err != nil || p.Empty() || !strings.Contains(p.Notes[0].Text, "certificate is rotated from ") {
		t.Errorf("%v, notes %q", err, p.Notes.Texts())
	}
}

// TestWhatOneNodeIsPresentedSetsNoDate: worker-0 is led to another server, whose certificate no CA of the
// cluster signed.
func TestWhatOneNodeIsPresentedSetsNoDate(t *testing.T) {
	t.Parallel()
	f := early()
	want, err := PretrustOf(f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	end := remediatetest.TestNow.AddDate(80, 0, 0)
	other := pkitest.NewCA("a stranger", remediatetest.TestNow.Add(-time.Hour), end).Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), end, pkitest.DNS(remediatetest.APIIntHost))
	one := f.Served[0]
	one.Node, one.Chain = "worker-0", f.Sc.Scan(other.CertPEM)[0].Content.Certs
	f.Served = append([]inspect.Served{one}, f.Served...)
	if got, err := PretrustOf(f.Snapshot, remediatetest.TestNow); err != nil || !got.from.Equal(want.from) || !got.until.Equal(want.until) {
		t.Errorf("from %s until %s, want %s and %s: %v", got.from, got.until, want.from, want.until, err)
	}
}

func TestNotAhead(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, err error, name string) {
		t.Helper()
		var r *remediate.Refusal
		if !errors.As(err, &r) || r.Name != name || r.Next == "" {
			t.Errorf("%v, want %s", err, name)
		}
	}
	for name, change := range map[string]func(*remediatetest.Fixture){
		"not-delivered": func(f *remediatetest.Fixture) { f.Cluster.Versions.Cluster = "4.16.3" },
		"openshift":     func(f *remediatetest.Fixture) { f.Cluster.Versions = catalog.Versions{NotOpenShift: true} },
		"version-known": func(f *remediatetest.Fixture) { f.Cluster.Versions.Cluster = "" },
		"signer-known": func(f *remediatetest.Fixture) {
			for i := range f.Bundles {
				if f.Bundles[i].At.Name == catalog.LoadBalancerCA().Name {
					f.Bundles[i].At.Name = "other"
				}
			}
		},
		"served-known": func(f *remediatetest.Fixture) {
			f.Served = nil
			for i := range f.Bundles {
				if f.Bundles[i].At.Name == catalog.InternalLoadBalancerServing().Name {
					f.Bundles[i].At.Name = "other"
				}
			}
		},
		"ca-verifies-served": func(f *remediatetest.Fixture) {
			f.Serve(pkitest.NewCA("a stranger", remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour)).Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
		},
	} {
		f := early()
		change(f)
		_, err := PretrustOf(f.Snapshot, remediatetest.TestNow)
		refused(t, err, name)
	}

	// The new CA signs already: what nodes lack is not for this to fix, and with nothing
	// to do there is nothing to say.
	f := early()
	f.Serve(f.Young.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
	a, err := PretrustOf(f.Snapshot, remediatetest.TestNow)
	if err != nil || len(a.CAs) != 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	refused(t, a.AddTo(planOf(f, t), f.ConfigMap), "not-too-late")
	if err := a.AddTo(&remediate.Plan{}, nil); err != nil {
		t.Error(err)
	}

	// The new CA is not yet in what kubelets are given: even a plan with nothing to do is not up to date.
	f = early()
	if a, err = PretrustOf(f.Snapshot, remediatetest.TestNow); err != nil {
		t.Fatal(err)
	}
	refused(t, a.AddTo(&remediate.Plan{}, f.Before), preflight.ServerSide)

	// One master presents it, another one not yet.
	f = early()
	other := f.Served[1]
	f.Serve(f.Young.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
	f.Served = append(f.Served, other)
	if a, err := PretrustOf(f.Snapshot, remediatetest.TestNow); err != nil || len(a.CAs) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}
