package report

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

func TestChoosingAKindChoosesWhatItNames(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("a CA", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(3000))
	f := inspecttest.NewFixture("4.15.1").ConfigMap("openshift-config", "custom-ca", "ca-bundle.crt", ca.CertPEM).ConfigMap("a", "b", "ca.crt", ca.CertPEM).
		Refers(pki.Location{Kind: "Proxy", Name: "cluster", Field: "spec.trustedCA.name"}, pki.Location{Kind: "ConfigMap", Namespace: "openshift-config", Name: "custom-ca", Key: "ca-bundle.crt"}, inspect.TargetThere)
	f.Snapshot.Sort()
	inv := NewInventory(context.Background(), inspect.NewFacts(f.Snapshot, inspecttest.Noon, 0), Filter{Place: func(at pki.Location, _ *inspect.Object) bool { return at.Kind == "Proxy" }})
	if len(inv.Certificates) != 1 || inv.Certificates[0].Places() != 1 || inv.Certificates[0].Locations()[0].Name != "custom-ca" || len(inv.References) != 1 {
		t.Errorf("%+v, %+v", inv.Certificates, inv.References)
	}
}

// What is in a keystore that could not be opened is unknown, and said once for all
// of them.
func TestLockedKeystoresAreAGap(t *testing.T) {
	t.Parallel()
	const reason = "none opens it"
	f := inspecttest.NewFixture("")
	place := func(kind pki.Kind, namespace, name, key string, c *pki.Content) {
		f.Snapshot.Bundles = append(f.Snapshot.Bundles, inspect.Bundle{At: pki.Location{Kind: kind, Namespace: namespace, Name: name, Key: key}, Object: &inspect.Object{Kind: kind, Namespace: namespace, Name: name}, Content: c})
	}
	for _, namespace := range []string{"a", "b"} {
		place("Secret", namespace, "kafka", "user.p12", &pki.Content{Locked: []pki.Locked{{Format: "PKCS#12", Reason: reason}}})
	}
	place("ConfigMap", "c", "x", "all", &pki.Content{Locked: []pki.Locked{{Format: "PKCS#12", Reason: reason}, {Format: "BCFKS", Reason: "not read"}}})
	list := &pki.CRL{Issuer: "CN=ca", ThisUpdate: inspecttest.DaysFromNoon(-1), NextUpdate: inspecttest.DaysFromNoon(1), Revoked: 2}
	place("ConfigMap", "c", "y", "crl.pem", &pki.Content{CRLs: []*pki.CRL{list}})
	f.Snapshot.Sort()
	inv := NewInventory(context.Background(), inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day), Filter{})
	var got []string
	for _, g := range inv.Gaps {
		got = append(got, g.What+" at "+g.Where+": "+g.Reason)
	}
	want := []string{
		"3 keystores locked at ConfigMap/c/x[all], Secret/a/kafka[user.p12], Secret/b/kafka[user.p12]: PKCS#12: none opens it; what certificates they hold is unknown",
		"1 keystore locked at ConfigMap/c/x[all]: BCFKS: not read; what certificates it holds is unknown",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	lockedAt, lists := 0, 0
	for _, b := range inv.Bundles {
		lockedAt += b.Locked * len(b.Locations)
		lists += len(b.CRLs)
	}
	if lockedAt != 4 || lists != 1 || len(inv.Findings) != 0 {
		t.Errorf("%d locked and %d lists among bundles, %d findings", lockedAt, lists, len(inv.Findings))
	}
	place("Secret", "d", "late", "user.p12", &pki.Content{Locked: []pki.Locked{{Format: "PKCS#12", Reason: pki.LockedLimit}}})
	late := NewInventory(context.Background(), inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day), Filter{Place: func(at pki.Location, _ *inspect.Object) bool { return at.Namespace == "d" }})
	if len(late.Gaps) != 1 || !strings.Contains(late.Gaps[0].Remediation.Text, "read its namespace or its object alone") {
		t.Errorf("beyond the limit of all: %+v", late.Gaps)
	}
	only := NewInventory(context.Background(), inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day), Filter{Place: func(at pki.Location, _ *inspect.Object) bool { return at.Namespace == "b" }})
	if len(only.Gaps) != 1 || only.Gaps[0].What != "1 keystore locked" {
		t.Errorf("in one namespace: %+v", only.Gaps)
	}
}

// TestAFileWithoutControlPlaneNodes: the document says what the screen does, that they were not read.
func TestAFileWithoutControlPlaneNodes(t *testing.T) {
	for role, want := range map[string]bool{catalog.RoleWorker: true, catalog.RoleMaster: false} {
		s := inspect.Snapshot{Hints: inspect.FileHints("certrot"), Nodes: []inspect.Node{{Name: "n", Via: "ssh", Role: role}}}
		s.Cluster.Versions.Cluster = "4.16.0"
		inv := NewInventory(t.Context(), inspect.NewFacts(s, time.Now(), time.Hour), Filter{})
		got := slices.ContainsFunc(inv.Reads, func(r Read) bool {
			return r.What == "control plane nodes" && r.Skipped && strings.Contains(r.Remediation.Text, "snapshot --nodes all")
		})
		if got != want || inv.LacksControlPlaneNodes() != want {
			t.Errorf("a file with a %s alone: %t in reads, want %t: %+v", role, got, want, inv.Reads)
		}
		for _, c := range []struct {
			gaps []Gap
			of   []catalog.Part
			want bool
		}{
			{NewVerification(t.Context(), inspect.NewFacts(s, time.Now(), time.Hour)).Gaps, nil, want},
			{NewVerification(t.Context(), inspect.NewFacts(s, time.Now(), time.Hour), catalog.PartAPIInt).Gaps, []catalog.Part{catalog.PartAPIInt}, want},
			{NewVerification(t.Context(), inspect.NewFacts(s, time.Now(), time.Hour), catalog.PartServices).Gaps, []catalog.Part{catalog.PartServices}, false},
			{NewRestartReport(t.Context(), inspect.NewFacts(s, time.Now(), time.Hour)).Gaps, nil, want},
		} {
			got := slices.ContainsFunc(c.gaps, func(g Gap) bool { return g.What == "control plane nodes" && g.Reason == FileHasNone })
			if got != c.want {
				t.Errorf("a file with a %s alone, verify %v: %t among gaps, want %t", role, c.of, got, c.want)
			}
		}
	}
}

// TestNoWorkerSpeaksForTheControlPlane: all that was read may pass.
func TestNoWorkerSpeaksForTheControlPlane(t *testing.T) {
	worker := trust.RestartNode{Name: "w", ComesBack: trust.RestartAnswer{Assessment: assess.Assessment{Status: assess.Pass}}}
	pass := trust.RestartAnswer{Assessment: assess.Assessment{Status: assess.Pass}}
	for lacks, want := range map[bool]assess.Status{true: assess.Unknown, false: assess.Pass} {
		if r := (RestartReport{Nodes: []trust.RestartNode{worker}, NewNode: pass, lacks: lacks}); r.Worst() != want {
			t.Errorf("control plane nodes are lacking: %t: %s, want %s", lacks, r.Worst(), want)
		}
	}
}
