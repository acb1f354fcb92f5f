package rotatecmd

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// planned is a rotation in a version of which nothing else is known.
func planned(t *testing.T, version, name string, m *inspect.ControlPlaneStatus, held ...inspect.Bundle) rotate.Planned {
	t.Helper()
	s := inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: version}}, Bundles: held}
	p := rotate.Planned{Reading: rotate.NewReading(context.Background(), inspect.NewFacts(s, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), connect.DefaultWithin))}
	p.ControlPlane = m
	var err error
	if p.Of, err = p.Find(name); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWhatFollows compares what follows the rotation of each signer in each version with
// what is in testdata/rotate; UPDATE=1 writes it.
func TestWhatFollows(t *testing.T) {
	t.Parallel()
	signers := []string{
		"kube-apiserver-to-kubelet-signer", "loadbalancer-serving-signer", "localhost-serving-signer", "service-network-serving-signer", "localhost-recovery-serving-signer",
		"aggregator-client-signer", "kube-control-plane-signer", "node-system-admin-signer", "csr-signer-signer",
	}
	for _, r := range catalog.Rotations() {
		trigger, known := catalog.TriggerOf(r.Signer, catalog.Versions{Cluster: "4.22.1"})
		if known == catalog.Yes && trigger.Annotation != "" && !slices.Contains(signers, r.Signer.Name) {
			t.Errorf("%s is rotated, and not asked here", r.Signer)
		}
	}
	plugintest.CompareVersions(t, "follows.txt", signers, func(version, name string) string {
		var text strings.Builder
		// A late patch version: what patch versions changed is tested beside the rows.
		for _, c := range planned(t, version+".99", name, &inspect.ControlPlaneStatus{}).Consequences() {
			if c.Source == "" || c.Mark == "" || c.By == "" {
				t.Errorf("without who, or a source: %+v", c)
			}
			ui.Printf(&text, "  %-11s%s: %s\n", c.Stage, c.At, c.Text)
		}
		return text.String()
	})
}

// TestTwoWritersAreNamed: who rotates learns, in the list and in the plan, that two may
// issue a signer, and which one counts.
func TestTwoWritersAreNamed(t *testing.T) {
	t.Parallel()
	for name, writers := range map[string][]string{
		"aggregator-client-signer":                              {"kube-apiserver-operator", "cert-regeneration-controller"},
		"csr-signer-signer":                                     {"kube-controller-manager-operator", "cert-recovery-controller"},
		"openshift-kube-controller-manager-operator/csr-signer": {"kube-controller-manager-operator", "cert-recovery-controller"},
	} {
		for version, stays := range map[string]string{"4.12.1": "which one stays is known after 2 minutes", "4.17.1": "which one stays is known after 2 minutes", "4.18.1": "the first one stays", "4.22.1": "the first one stays"} {
			p := planned(t, version, name, nil)
			how := entryOf(p.Reading, p.Of, nil).Doc
			var now []string
			for _, c := range p.Consequences() {
				if c.Stage == catalog.FlowNow {
					now = append(now, c.Text)
				}
			}
			told := strings.Join(now, "; ")
			for _, w := range writers {
				if !strings.Contains(how, w) {
					t.Errorf("%s in %s: the list does not name %s: %s", name, version, w, how)
				}
				if !strings.Contains(told, w) || !strings.Contains(told, stays) {
					t.Errorf("%s in %s: the plan does not name %s, or which one counts: %s", name, version, w, told)
				}
			}
		}
	}
}

// TestWhatFollowsHere: what is so in a cluster is said with it.
func TestWhatFollowsHere(t *testing.T) {
	t.Parallel()
	const kubelet, balancer = "kube-apiserver-to-kubelet-signer", "loadbalancer-serving-signer"
	paused := &inspect.ControlPlaneStatus{
		Pools: []inspect.Pool{{Name: "master", Machines: 3, Current: "a", Desired: "a"}, {Name: "worker", Machines: 5, Paused: true, Current: "a", Desired: "rendered-worker-b"}},
		Nodes: []inspect.NodeState{{Name: "master-0", Ready: "True", Master: true}, {Name: "master-1", Ready: "False", Master: true}, {Name: "worker-0", Ready: "Unknown"}},
	}
	for i := range paused.Nodes {
		paused.Nodes[i].Lease.Advanced = true
	}
	silent := &inspect.ControlPlaneStatus{Nodes: []inspect.NodeState{{Name: "master-0", Ready: "True", Master: true, Heartbeat: time.Unix(0, 0), Lease: inspect.Lease{Asked: time.Unix(14*60, 0)}}, {Name: "master-1", Ready: "True", Master: true, Lease: inspect.Lease{Unread: "forbidden"}}}}
	unread := &inspect.ControlPlaneStatus{Gaps: []inspect.Gap{{What: catalog.Pools, Reason: "forbidden"}}}
	for _, c := range []struct {
		title, version, name string
		machinery            *inspect.ControlPlaneStatus
		stage                string
		held                 []string
	}{
		{"a paused pool, where nodes get it by pools", "4.12.1", kubelet, paused, catalog.FlowNodes, []string{"MachineConfigPool/worker is paused: 5 nodes, which wait for rendered-worker-b already: what else is in that comes to them, too"}},
		{"pools that were not read", "4.12.1", kubelet, unread, catalog.FlowNodes, []string{"which pools are paused could not be read: forbidden"}},
		{"pools that nobody asked for", "4.12.1", kubelet, nil, catalog.FlowNodes, []string{"which pools are paused was not asked"}},
		{"a paused pool, where nodes get it all the same", "4.13.1", kubelet, paused, catalog.FlowNodes, []string{"Node/master-1 is not Ready", "Node/worker-0 is not Ready"}},
		{"a master that is lost", "4.16.1", balancer, paused, catalog.FlowMasters, []string{"Node/master-1 is not Ready"}},
		{"masters without a heartbeat, and of which it is not known", "4.16.1", balancer, silent, catalog.FlowMasters, []string{"Node/master-0 has no heartbeat for 14m (Lease)", "whether Node/master-1 is alive is unknown (heartbeat not read: forbidden)"}},
		{"all is well", "4.16.1", balancer, &inspect.ControlPlaneStatus{}, catalog.FlowMasters, nil},
	} {
		var found []rotate.Consequence
		for _, got := range planned(t, c.version, c.name, c.machinery).Consequences() {
			if got.Stage == c.stage && (c.stage != catalog.FlowNodes || got.Node != "") {
				found = append(found, got)
			}
		}
		if len(found) == 0 || !slices.Equal(found[0].BlockedBy, c.held) || !strings.HasSuffix(found[0].Text, strings.Join(c.held, "; ")) {
			t.Errorf("%s: %+v, want it held up by %q", c.title, found, c.held)
		}
	}
}

// TestWhatFollowsWhen: what is signed says when it is signed again by a signer that is made
// now.
func TestWhatFollowsWhen(t *testing.T) {
	t.Parallel()
	at := catalog.InternalLoadBalancerServing()
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		title string
		made  time.Time
		want  time.Time
	}{
		{"when it is 15 days old", day(-4), day(11)},
		{"not before its signer is a day and a half old", day(-14), day(2).Add(12 * time.Hour)},
		{"past 80 % of its life, however young its signer is", day(-24), day(0)},
	} {
		leaf := pkitest.NewCA("signer", day(-60), day(60)).Issue("api-int", c.made, c.made.AddDate(0, 0, 30))
		var bundle inspect.Bundle
		for _, f := range pki.NewScanner().Scan(leaf.CertPEM) {
			bundle = inspect.Bundle{At: pki.Location{Kind: pki.Kind(at.Kind), Namespace: at.Namespace, Name: at.Name, Key: at.Key}, Content: f.Content}
		}
		var got *time.Time
		for _, f := range planned(t, "4.16.1", "loadbalancer-serving-signer", nil, bundle).Consequences() {
			if f.At == at.String() {
				got = f.From
			}
			if f.From != nil && !strings.HasSuffix(f.Text, f.From.Format("2006-01-02 15:04 MST")+" at the earliest") {
				t.Errorf("%s: %s", c.title, f.Text)
			}
		}
		if got == nil || !got.Equal(c.want) {
			t.Errorf("%s: signed anew from %v on, want %s", c.title, got, c.want)
		}
	}
}
