package trust_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// The names of the load balancer's signer; the second was made a day before noon.
const (
	firstSigner = "kube-apiserver-lb-signer"
	newSigner   = "openshift-kube-apiserver-operator_loadbalancer-serving-signer@1717156800"
)

// TestStory: what has happened to the CA of api-int, and what will, by version, the
// signer's name, what api-int presents and what the kubelet trusts.
func TestStory(t *testing.T) {
	v415 := catalog.Versions{Cluster: "4.15.0-0.okd-2024-01-27-070424"}
	type event struct {
		what        string // a part of it
		when, until time.Time
		next        string
	}
	replaced := event{"the load balancer's signer was replaced", from(-1), time.Time{}, ""}
	undelivered := event{"does not bring it to the kubelets' kubeconfigs", time.Time{}, time.Time{}, ""}
	lacks := event{"of 1 kubelets' kubeconfigs 0 have it, 1 lack it, 0 were not read: a node that lacks it has no heartbeat once", time.Time{}, time.Time{}, "kubectl certrot fix-api-int --dry-run=client"}
	ahead := event{lacks.what, time.Time{}, time.Time{}, "kubectl certrot pretrust --dry-run=client"}
	for name, c := range map[string]struct {
		versions       catalog.Versions
		born           string
		signer, shower string  // who signs now, and who signed what is presented
		begin          float64 // of what is presented
		trusts         string
		want           []event
	}{
		"4.15, replaced, and api-int still shows the old one's": {v415, "4.14.3", newSigner, firstSigner, -2, firstSigner,
			[]event{replaced, {"the certificate that api-int presents is still signed by the previous signer, and is rotated", from(13), from(22), ""}, undelivered, ahead}},
		"4.15, replaced, and the leaf is long due: the signer is too young": {v415, "", newSigner, firstSigner, -20, firstSigner,
			[]event{replaced, {"and is rotated", from(0.5), from(4), ""}, undelivered, ahead}},
		"4.15, replaced, and api-int shows the new one's; born early": {v415, "4.6.18", newSigner, newSigner, -0.5, firstSigner,
			[]event{replaced, {"born with 4.6.18", from(-1500), time.Time{}, ""}, {"the certificate that api-int presents is signed by it, since", from(-0.5), time.Time{}, ""}, undelivered, lacks}},
		"4.15, replaced, and the kubelet has it": {v415, "", newSigner, newSigner, -0.5, newSigner,
			[]event{replaced, {"is signed by it, since", from(-0.5), time.Time{}, ""}, undelivered, {"1 have it, 0 lack it", time.Time{}, time.Time{}, ""}}},
		"4.16 brings it": {catalog.Versions{Cluster: "4.16.3"}, "", newSigner, newSigner, -0.5, newSigner,
			[]event{replaced, {"is signed by it, since", from(-0.5), time.Time{}, ""}, {"(4.16.3) brings it to", time.Time{}, time.Time{}, ""}, {"1 have it", time.Time{}, time.Time{}, ""}}},
		"4.16 brings it, and has not yet": {catalog.Versions{Cluster: "4.16.3"}, "", newSigner, firstSigner, -2, firstSigner,
			[]event{replaced, {"and is rotated", from(13), from(22), ""}, {"(4.16.3) brings it to", time.Time{}, time.Time{}, ""}, lacks}},
		"the installer's first": {v415, "4.14.3", firstSigner, firstSigner, -2, firstSigner,
			[]event{{"still the installer's", from(-2000), time.Time{}, ""}, {"its operator replaces it", from(400), time.Time{}, ""}}},
		"the installer's first, of a cluster born early": {v415, "4.7.0", firstSigner, firstSigner, -2, firstSigner,
			[]event{{"still the installer's", from(-2000), time.Time{}, ""}, {"here that has not happened", from(-1500), time.Time{}, ""}, {"replaces it", from(400), time.Time{}, ""}}},
		"a signer of somebody else's name": {v415, "4.8.0", "mine", "mine", -0.5, "mine",
			[]event{{`is called "mine"`, from(-1), time.Time{}, ""}, {"is signed by it, since", from(-0.5), time.Time{}, ""}, undelivered, {"1 have it", time.Time{}, time.Time{}, ""}}},
		"the version is unknown": {catalog.Versions{}, "", newSigner, newSigner, -0.5, newSigner,
			[]event{replaced, {"is signed by it, since", from(-0.5), time.Time{}, ""}, {"kubeconfigs is unknown", time.Time{}, time.Time{}, ""}, {"no kubelet's kubeconfig was read", time.Time{}, time.Time{}, "kubectl certrot verify --nodes all"}}},
		"the signer was not read": {v415, "4.6.18", "", firstSigner, -2, firstSigner, nil},
		"the certificate that api-int presents was not read": {v415, "", newSigner, "", 0, firstSigner,
			[]event{replaced, {"the certificate that api-int presents was not read", time.Time{}, time.Time{}, ""}, undelivered, lacks}},
	} {
		t.Run(name, func(t *testing.T) {
			signers := map[string]*pkitest.Authority{
				firstSigner: pkitest.NewCA(firstSigner, from(-2000), from(1000)), newSigner: pkitest.NewCA(newSigner, from(-1), from(3000)), "mine": pkitest.NewCA("mine", from(-1), from(3000)),
			}
			w := newWorld(c.versions)
			w.s.Cluster.InitialVersion, w.s.Cluster.Created = c.born, from(-1500)
			e := edge(t, "kubelet-api-int")
			if c.signer != "" {
				w.put(catalog.LoadBalancerSigner(), signers[c.signer].CertPEM)
			}
			if c.shower != "" {
				w.put(e.Presented, leafFor(e, signers[c.shower], c.begin, c.begin+30).CertPEM)
			}
			w.trust(e, signers[c.trusts].CertPEM)
			w.s.Sort()
			got := report.NewVerification(context.Background(), inspect.NewFacts(w.s, noon, 30*day)).Timeline
			if len(got) != len(c.want) {
				t.Fatalf("want %d events, got %+v", len(c.want), got)
			}
			for i, want := range c.want {
				if g := got[i]; !strings.Contains(g.What, want.what) || !g.When.Equal(want.when) || !g.Until.Equal(want.until) || g.Remediation.Text != want.next || len(g.Sources) == 0 {
					t.Errorf("event %d: %+v, want %+v", i, g, want)
				}
			}
		})
	}
}

// TestStoryCountsNodesThatWereLeftOut: whether they have the CA is unknown, as of those that
// could not be read (n0).
func TestStoryCountsNodesThatWereLeftOut(t *testing.T) {
	w := story(t, -2, false)
	w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "n0"})
	w.s.OtherNodes = []inspect.Node{{Name: "n2"}, {Name: "n3"}}
	w.s.Status = &inspect.ClusterStatus{ControlPlane: &inspect.ControlPlaneStatus{Nodes: []inspect.NodeState{{Name: "n1"}, {Name: "n3"}, {Name: "n4"}}}}
	w.s.Sort()
	r := report.NewVerification(context.Background(), inspect.NewFacts(w.s, noon, 30*day), catalog.PartAPIInt)
	if last := r.Timeline[len(r.Timeline)-1]; !strings.HasPrefix(last.What, "of 5 kubelets' kubeconfigs ") || !strings.Contains(last.What, " 4 were not read") {
		t.Errorf("got %+v", last)
	}
}

// TestStoryIsOfAPIInt: other parts don't tell it.
func TestStoryIsOfAPIInt(t *testing.T) {
	w := story(t, -2, false)
	w.s.Sort()
	f := inspect.NewFacts(w.s, noon, 30*day)
	if r := report.NewVerification(context.Background(), f, catalog.PartServices); len(r.Timeline) != 0 {
		t.Errorf("got %+v", r.Timeline)
	}
	if r := report.NewVerification(context.Background(), f, catalog.PartServices, catalog.PartAPIInt); len(r.Timeline) == 0 {
		t.Error("api-int has no story")
	}
}
