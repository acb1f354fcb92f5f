package remediate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// early are facts after the signer was replaced and before it signed anything.
func early() *fixture {
	f := newFixture("master-0", "worker-0")
	f.young = pkitest.NewCA("loadbalancer-serving-signer", testNow.Add(-9*time.Hour), testNow.Add(24*time.Hour))
	f.configMap = pkitest.Bundle(f.old.CertPEM, f.young.CertPEM, f.localhost.CertPEM, f.service.CertPEM)
	f.object(catalog.LoadBalancerCA(), pkitest.Bundle(f.old.CertPEM, f.young.CertPEM))
	f.served(f.old.Issue(apiInt, testNow.Add(-14*24*time.Hour), testNow.Add(16*24*time.Hour), pkitest.DNS(apiInt)))
	return f
}

func TestAheadOfTheFirstCertificate(t *testing.T) {
	t.Parallel()
	f := early()
	a, err := AheadOf(f.Snapshot, testNow)
	if err != nil || len(a.CAs) != 1 || a.CAs[0].Fingerprint != f.sc.Scan(f.young.CertPEM)[0].Content.Certs[0].Fingerprint {
		t.Fatalf("%+v, %v", a, err)
	}
	if !a.From.After(testNow) || a.Until.Before(a.From) {
		t.Errorf("from %s until %s", a.From, a.Until)
	}
	p := f.plan(t)
	if err := a.Onto(p, f.configMap); err != nil || p.Empty() || !strings.Contains(p.Notes[0], "is signed anew from ") {
		t.Errorf("%v, notes %q", err, p.Notes)
	}
}

func TestNotAhead(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, err error, name string) {
		t.Helper()
		var r *Refusal
		if !errors.As(err, &r) || r.Name != name || r.Next == "" {
			t.Errorf("%v, want %s", err, name)
		}
	}
	for name, change := range map[string]func(*fixture){
		"not-delivered": func(f *fixture) { f.Cluster.Versions.Cluster = "4.16.3" },
		"openshift":     func(f *fixture) { f.Cluster.Versions = catalog.Versions{Plain: true} },
		"version-known": func(f *fixture) { f.Cluster.Versions.Cluster = "" },
		"signer-known": func(f *fixture) {
			for i := range f.Bundles {
				if f.Bundles[i].At.Name == catalog.LoadBalancerCA().Name {
					f.Bundles[i].At.Name = "other"
				}
			}
		},
		"served-known": func(f *fixture) {
			f.Served = nil
			for i := range f.Bundles {
				if f.Bundles[i].At.Name == catalog.InternalLoadBalancerServing().Name {
					f.Bundles[i].At.Name = "other"
				}
			}
		},
		"ca-verifies-served": func(f *fixture) {
			f.served(pkitest.NewCA("somebody", testNow.Add(-time.Hour), testNow.Add(time.Hour)).Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt)))
		},
	} {
		f := early()
		change(f)
		_, err := AheadOf(f.Snapshot, testNow)
		refused(t, err, name)
	}

	// The new CA signs already: what nodes lack is not for this to mend, and with nothing
	// to do there is nothing to say.
	f := early()
	f.served(f.young.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt)))
	a, err := AheadOf(f.Snapshot, testNow)
	if err != nil || len(a.CAs) != 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	refused(t, a.Onto(f.plan(t), f.configMap), "not-too-late")
	if err := a.Onto(&Plan{}, nil); err != nil {
		t.Error(err)
	}

	// The new CA is not yet in what kubelets are given: not even a plan with nothing to do is so already.
	f = early()
	if a, err = AheadOf(f.Snapshot, testNow); err != nil {
		t.Fatal(err)
	}
	refused(t, a.Onto(&Plan{}, f.before), ServerSide)

	// One master shows it, another one not yet.
	f = early()
	other := f.Served[1]
	f.served(f.young.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt)))
	f.Served = append(f.Served, other)
	if a, err := AheadOf(f.Snapshot, testNow); err != nil || len(a.CAs) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}
