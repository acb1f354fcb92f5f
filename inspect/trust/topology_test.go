package trust_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestEveryTopologyAndVersion: a cluster where all is well is said to be well,
// whatever its topology, its build, and its operators' versions in the middle of an
// upgrade; what is only there in some version or topology is not missed in others.
func TestEveryTopologyAndVersion(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	shown := ca.Issue("shown", from(-1), from(59), pkitest.DNS("api-int.example.com", "kubernetes.default.svc", "localhost", "localhost-recovery",
		"api.openshift-oauth-apiserver.svc", "image-registry.openshift-image-registry.svc")).CertPEM
	first, last := inspecttest.ReviewedVersions(t)
	for name, v := range map[string]catalog.Versions{
		"the first minor":     {Cluster: first + ".60"},
		"OKD 4.15":            {Cluster: "4.15.0-0.okd-2024-03-10-010116"},
		"a release candidate": {Cluster: "4.16.0-rc.3"},
		"the last minor":      {Cluster: last + ".1"},
		"the middle of an upgrade to 4.16": {Cluster: "4.15.30", Operators: map[string]string{
			"kube-apiserver": "4.16.2", "kube-controller-manager": "4.16.2", "machine-config": "4.15.30", "network": "4.15.30",
		}},
	} {
		for _, topology := range []string{"HighlyAvailable", "SingleReplica", "DualReplica", "HighlyAvailableArbiter", "External", ""} {
			t.Run(name+"/"+topology, func(t *testing.T) {
				w := newWorld(v)
				w.s.Cluster.Topology, w.s.Cluster.Platform, w.s.Cluster.OwnAddresses = topology, "AWS", catalog.No
				w.whole("secrets", "configmaps")
				want, placed := map[string]bool{}, map[catalog.Ref]bool{}
				for _, e := range catalog.Edges() {
					elsewhere := topology == "External" && (catalog.InHostingCluster(e.Presented, topology) || catalog.InHostingCluster(e.Trust, topology))
					if e.In.Holds(v) != catalog.Yes || e.Verify != catalog.VerifyChain || len(e.Platforms) > 0 || e.OnlyWithout != (catalog.Ref{}) || elsewhere || placed[e.Trust] && e.ServerName == catalog.NameInKubeconfig {
						continue
					}
					want[e.ID] = true
					if !placed[e.Presented] {
						w.show(e, shown)
					}
					if !placed[e.Trust] {
						w.trust(e, ca.CertPEM)
					}
					if e.OnlyIfExists != (catalog.Ref{}) && !placed[e.OnlyIfExists] {
						w.put(e.OnlyIfExists, ca.CertPEM)
					}
					placed[e.Presented], placed[e.Trust], placed[e.OnlyIfExists] = true, true, true
				}
				w.judge("") // sorts
				for _, c := range trust.Judge(context.Background(), inspect.NewFacts(w.s, noon, 30*day)) {
					isEdge := slices.ContainsFunc(catalog.Edges(), func(e catalog.Edge) bool { return e.ID == c.Edge.ID })
					if isEdge && c.Status != assess.Pass && c.Verify == catalog.VerifyChain && (topology != "External" || c.Trust[0].Kind != pki.KindFile) { // there, these files have nothing to verify
						t.Errorf("%s %s %s: %s", c.Edge.ID, c.Node, c.Status, c.Reason)
					}
					delete(want, c.Edge.ID)
				}
				for id := range want {
					t.Errorf("nothing is said of %s", id)
				}
			})
		}
	}
}

// Of a version that was not reviewed only what was seen is said: what a node's kubeconfig
// makes of what its server presented to that node.
func TestUnreviewedVersionsAreUnknown(t *testing.T) {
	ca, other := pkitest.NewCA("the CA", from(-10), from(900)), pkitest.NewCA("another CA", from(-10), from(900))
	for _, version := range []string{"4.8.13", "4.11.9", "4.99.0", "5.7.0"} {
		for trusted, want := range map[*pkitest.Authority]assess.Status{ca: assess.Pass, other: assess.Fail} {
			w := newWorld(catalog.Versions{Cluster: version})
			w.s.Cluster.Topology, w.s.Cluster.Platform, w.s.Cluster.OwnAddresses = "HighlyAvailable", "AWS", catalog.No
			w.whole("secrets", "configmaps")
			for _, path := range catalog.KubeletKubeconfigs() {
				w.kubeconfig(path, "https://api-int.example.com:6443", trusted.CertPEM)
			}
			w.put(catalog.InternalLoadBalancerServing(), leafFor(catalog.Edge{}, ca, -1, 29).CertPEM)
			chain := w.sc.Scan(ca.Issue("api", from(-1), from(29), pkitest.DNS("api-int.example.com")).CertPEM)[0].Content.Certs
			w.s.Served = []inspect.Served{{Node: "n1", Address: "api-int.example.com:6443", Name: "api-int.example.com", Chain: chain}}
			w.judge("") // sorts
			seen := 0
			for _, c := range trust.Judge(context.Background(), inspect.NewFacts(w.s, noon, 30*day)) {
				switch {
				case c.Server != "" && c.Status == assess.Fail:
					seen++
				case c.Server != "" && want == assess.Pass && strings.HasPrefix(c.Reason, "trusted now; "):
					seen++
				case c.Status != assess.Unknown:
					t.Errorf("%s: %s %s: %s", version, c.Edge.ID, c.Status, c.Reason)
				}
			}
			if seen == 0 {
				t.Errorf("%s: nothing is said of what was seen", version)
			}
		}
	}
}

// TestHostedControlPlane: of a cluster whose control plane runs in another one, what
// is there no more than that is not missed.
func TestHostedControlPlane(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	w := newWorld(catalog.Versions{Cluster: "4.16.3"})
	w.s.Cluster.Topology, w.s.Cluster.Platform, w.s.Cluster.OwnAddresses = "External", "AWS", catalog.No
	w.whole("secrets", "configmaps")
	for _, path := range catalog.KubeletKubeconfigs() {
		w.kubeconfig(path, "https://api-int.example.com:6443", ca.CertPEM)
	}
	w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "*", Name: "kube-root-ca.crt", Key: "ca.crt"}, ca.CertPEM)
	w.put(catalog.Ref{Kind: catalog.File, Name: "/var/lib/kubelet/pki/kubelet-client-current.pem"}, leafFor(catalog.Edge{}, ca, -1, 29).CertPEM)
	w.judge("")
	for _, c := range trust.Judge(context.Background(), inspect.NewFacts(w.s, noon, 30*day)) {
		if c.Status == assess.Fail || c.Part == catalog.PartAPIInt && (c.Status != assess.Unknown || !strings.Contains(c.Reason, "no handshake")) {
			t.Errorf("%s: %s: %s", c.Edge.ID, c.Status, c.Reason)
		}
	}
	// What is presented there is seen, and what it comes from is not looked for.
	chain := w.sc.Scan(ca.Issue("api", from(-1), from(29), pkitest.DNS("api-int.example.com")).CertPEM)[0].Content.Certs
	w.s.Served = []inspect.Served{
		{Node: "n1", Address: "api-int.example.com:6443", Name: "api-int.example.com", Chain: chain},
		{Server: catalog.ListenerUserKubeconfig, Address: "api.example.com:6443", Name: "api.example.com", Chain: chain},
	}
	held := 0
	for _, c := range trust.Judge(context.Background(), inspect.NewFacts(w.s, noon, 30*day)) {
		if strings.Contains(c.Edge.ID, "-show") || c.Status == assess.Fail || c.Part == catalog.PartAPIInt && c.Status != assess.Pass {
			t.Errorf("%s: %s: %s", c.Edge.ID, c.Status, c.Reason)
		}
		if c.Part == catalog.PartAPIInt {
			held++
		}
	}
	if held == 0 {
		t.Error("nothing is said of the kubelets")
	}
}
