package trust_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func TestUnknown(t *testing.T) {
	e := edge(t, "kubelet-api-int")
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	for name, c := range map[string]struct {
		given func(w *world)
		why   string
	}{
		"the node was not read":  {func(w *world) { w.s.Nodes[0].Via = "" }, "the node was not read"},
		"there is no kubeconfig": {func(*world) {}, "on the node"},
		"the kubeconfig was not read": {func(w *world) {
			w.s.Gaps = append(w.s.Gaps, inspect.Gap{What: "node/" + w.s.Nodes[0].Name, Where: e.Trust.Name, Reason: "its shape is not understood (line 4: an anchor)"})
		}, "the file on the node was not read: its shape is not understood (line 4: an anchor)"},
		"what is shown was not seen": {func(w *world) { w.trust(e, ca.CertPEM); w.s.Bundles = w.s.Bundles[1:] }, "not read: Secret/"},
		"verification is off":        {func(w *world) { w.trust(e, ca.CertPEM); w.s.Nodes[0].Kubeconfigs[0].Clusters[0].Insecure = true }, "insecure-skip-tls-verify"},
		"the CA is a file": {func(w *world) {
			w.trust(e, ca.CertPEM)
			c := &w.s.Nodes[0].Kubeconfigs[0].Clusters[0]
			c.CAData, c.CAFile = false, "/x"
		}, "file of its own"},
		"there is no CA":                {func(w *world) { w.trust(e, ca.CertPEM); w.s.Nodes[0].Kubeconfigs[0].Clusters[0].CAData = false }, "names no CA"},
		"the CA did not leave the node": {func(w *world) { w.trust(e, ca.CertPEM); w.s.Nodes[0].Kubeconfigs[0].Clusters[0].Masked = true }, "did not leave"},
		"no context":                    {func(w *world) { w.trust(e, ca.CertPEM); w.s.Nodes[0].Kubeconfigs[0].Current = "" }, "no current context"},
		"no version":                    {func(w *world) { w.trust(e, ca.CertPEM); w.s.Cluster.Versions = catalog.Versions{} }, "version that decides"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(catalog.Versions{Cluster: "4.15.3"})
			w.put(e.Presented, leafFor(e, ca, -1, 29).CertPEM)
			c.given(w)
			claims := w.judge(e.ID)
			if len(claims) != 1 || claims[0].Status != assess.Unknown || !strings.Contains(claims[0].Reason, c.why) {
				t.Errorf("got %+v", claims)
			}
		})
	}
}

// TestSignerNotRead: where it was not read who signs next, the bundle that publishes it
// tells, if all that may sign next is trusted; else nothing is known of what comes next.
func TestSignerNotRead(t *testing.T) {
	signer := catalog.LoadBalancerSigner()
	published := catalog.Ref{Kind: catalog.ConfigMap, Namespace: signer.Namespace, Name: "loadbalancer-serving-ca", Key: "ca-bundle.crt"}
	old, ca, fresh := pkitest.NewCA("old", from(-900), from(900)), pkitest.NewCA("lb", from(-10), from(900)), pkitest.NewCA("fresh", from(-1), from(900))
	for name, c := range map[string]struct {
		given func(w *world)
		want  assess.Status
		why   string
	}{
		"nothing was read":                         {func(*world) {}, assess.Unknown, "trusted now; the signer of the next certificate is unknown: " + signer.String() + " was not read, nor " + published.String()},
		"there is no signer":                       {func(w *world) { w.whole("secrets") }, assess.Pass, ""},
		"the control plane is in another cluster":  {func(w *world) { w.s.Cluster.Topology = "External" }, assess.Pass, ""},
		"the bundle has nobody else":               {func(w *world) { w.put(published, ca.CertPEM) }, assess.Pass, ""},
		"the bundle has one of before, too":        {func(w *world) { w.put(published, old.CertPEM, ca.CertPEM) }, assess.Pass, ""},
		"the bundle has another one, made since":   {func(w *world) { w.put(published, ca.CertPEM, fresh.CertPEM) }, assess.Unknown, `holds "fresh"`},
		"the signer was read, and is another one":  {func(w *world) { w.put(signer, fresh.CertPEM) }, assess.Warn, `the next certificate presented will be signed by "fresh"`},
		"the signer was read, and is the same one": {func(w *world) { w.put(signer, ca.CertPEM); w.put(published, ca.CertPEM, fresh.CertPEM) }, assess.Pass, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := edge(t, "kubelet-api-int")
			w := newWorld(catalog.Versions{Cluster: "4.15.3"})
			w.show(e, leafFor(e, ca, -1, 29).CertPEM)
			w.trust(e, ca.CertPEM)
			c.given(w)
			if w.s.Cluster.Topology != "" { // there, a handshake alone tells
				w.s.Bundles = w.s.Bundles[1:]
				w.served("", "", internalName+":6443", internalName, leafFor(e, ca, -1, 29).CertPEM)
			}
			got := one(t, w.judge(e.ID))
			if got.Status != c.want || got.NextUnknown != (c.want == assess.Unknown) || !strings.Contains(got.Reason, c.why) || c.want == assess.Pass && got.Reason != "" {
				t.Errorf("%s: %s", got.Status, got.Reason)
			}
		})
	}
}

// TestUncertain: what calls, bundles and conditions can't tell is unknown, and why.
func TestUncertain(t *testing.T) {
	ca, other := pkitest.NewCA("the CA", from(-10), from(900)), pkitest.NewCA("the CA", from(-20), from(900))
	forget := func(w *world, name string) {
		w.s.Bundles = slices.DeleteFunc(w.s.Bundles, func(b inspect.Bundle) bool { return b.At.Name == name })
	}
	for name, c := range map[string]struct {
		id    string
		given func(w *world)
		want  assess.Status
		why   string
	}{
		"a call of a Service with a certificate in memory": {"apiserver-aggregated-apis", func(w *world) { w.s.Bundles[0].Object.Annotations = nil }, assess.Unknown, "one of its own"},
		"a call of a Service of which nothing was read":    {"apiserver-mutating-webhooks", func(w *world) { forget(w, "served") }, assess.Unknown, "was not seen"},
		"a call that names no CA":                          {"apiserver-validating-webhooks", func(w *world) { forget(w, "caller") }, assess.Fail, "no CA is named"},
		"a bundle of which a part was not read":            {"bundle-parts", func(w *world) { w.s.Reads = nil; w.s.Bundles[1].Content = w.s.Bundles[0].Content }, assess.Unknown, "default-ingress-cert"},
		"a part that was made a moment ago":                {"bundle-parts", func(w *world) { w.s.Bundles[0].Content.Certs[0].NotBefore = noon.Add(-time.Minute) }, assess.Unknown, "within the hour"},
		"a platform that was not read":                     {"balancers-api-int", func(w *world) { w.s.Cluster.Platform = "" }, assess.Unknown, "platformStatus"},
		"a network of which nothing was read":              {"ovnkube-node-api-int", func(w *world) { forget(w, "kube-root-ca.crt") }, assess.Unknown, "whether it runs here"},
	} {
		t.Run(name, func(t *testing.T) {
			e := edge(t, c.id)
			w := newWorld(versions(e))
			w.stage(e, ca, other.CertPEM)
			c.given(w)
			claims := w.judge(e.ID)
			if len(claims) != 1 || claims[0].Status != c.want || !strings.Contains(claims[0].Reason, c.why) {
				t.Errorf("want one claim that is %s (%s), got %+v", c.want, c.why, claims)
			}
		})
	}
}

// TestNoSuchVerifier: where the component does not run, there is no claim.
func TestNoSuchVerifier(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	for name, c := range map[string]struct {
		id    string
		given func(w *world)
	}{
		"another platform":                        {"balancers-api-int", func(w *world) { w.s.Cluster.Platform = "AWS" }},
		"a balancer of the administrator's":       {"balancers-api-int", func(w *world) { w.s.Cluster.OwnAddresses = catalog.No }},
		"another network":                         {"ovnkube-node-api-int", func(w *world) { w.s.Bundles = w.s.Bundles[1:]; w.whole("configmaps") }},
		"a version before":                        {"multus-api-int", func(w *world) { w.s.Cluster.Versions.Cluster = "4.13.9" }},
		"a control plane in another cluster":      {"scheduler-api-int", func(w *world) { w.s.Cluster.Topology = "External"; w.s.Bundles = nil; w.whole("secrets", "configmaps") }},
		"the same, with nothing read but a token": {"apiserver-scheduler", func(w *world) { w.s.Cluster.Topology = "External" }},
	} {
		t.Run(name, func(t *testing.T) {
			e := edge(t, c.id)
			w := newWorld(versions(e))
			w.stage(e, ca, ca.CertPEM)
			if claims := w.judge(e.ID); len(claims) != 1 {
				t.Fatalf("want one claim before, got %+v", claims)
			}
			c.given(w)
			if claims := w.judge(e.ID); len(claims) != 0 {
				t.Errorf("got %+v", claims)
			}
		})
	}
}

// TestOptionalOnUnreadNodes: what is known to run on every node is unknown where the node
// was not read; of what may be there or not, nothing is said.
func TestOptionalOnUnreadNodes(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	for id, want := range map[string][]assess.Status{
		"multus-api-int": {assess.Pass, assess.Unknown}, "ovnkube-node-api-int": {assess.Pass, assess.Unknown}, "balancers-api-int": {assess.Pass, assess.Unknown}, "kubelet-api-int": {assess.Pass, assess.Unknown},
		"whereabouts-api-int": {assess.Pass}, "node-registry": {assess.Pass}, "kubeadm-scheduler-api": {assess.Pass},
	} {
		e := edge(t, id)
		w := newWorld(versions(e))
		w.stage(e, ca, ca.CertPEM)
		w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "n2"}, inspect.Node{Name: "n3", Via: "ssh"})
		if !e.Optional {
			w.s.Nodes = w.s.Nodes[:2]
		}
		var got []assess.Status
		for _, c := range w.judge(id) {
			got = append(got, c.Status)
			if c.Status == assess.Unknown && (c.Node != "n2" || c.Reason != "the node was not read") {
				t.Errorf("%s: %s on %s", id, c.Reason, c.Node)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

// TestWhatALogDoesNotSayOfOtherServers: each control plane node has its own machine config server.
func TestWhatALogDoesNotSayOfOtherServers(t *testing.T) {
	t.Parallel()
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.s.Nodes[0].Role = catalog.RoleMaster
	w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "m2", Role: catalog.RoleMaster}, inspect.Node{Name: "m3", Role: catalog.RoleMaster}, inspect.Node{Name: "w1", Role: catalog.RoleWorker})
	for _, node := range []string{"n1", "m3"} { // that of m3 is the API's
		w.s.ServerLogs = append(w.s.ServerLogs, inspect.ServerLog{At: pki.Location{Kind: pki.KindFile, Node: node, Path: "/var/log/pods/x/0.log"}, Row: "config-server-refused", From: from(-1), To: noon})
	}
	got := w.judge("config-server-refused")
	if len(got) != 2 || got[0].Status != assess.Pass || got[1].Status != assess.Unknown || got[1].Node != "m2" || got[1].Reason != "the node was not read" {
		t.Errorf("%+v", got)
	}
}
