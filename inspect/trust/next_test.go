package trust_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestNext: how soon a kubelet reconnects, by version, topology, and its own
// client certificate.
func TestNext(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		given    func(w *world)
		verifies string
		from, to time.Time
	}{
		"4.15: only by its own doing": {func(*world) {}, "does not end it (its goaway-chance is 0)", from(20), from(26)},
		"4.20": {func(w *world) { w.s.Cluster.Versions.Cluster = "4.20.1"; w.s.Cluster.Topology = "HighlyAvailable" },
			"half of them within 2 h, 99 % within 13 h (goaway-chance 0.001, a request at least every 10s)", from(20), from(26)},
		"4.18, which had it late": {func(w *world) { w.s.Cluster.Versions.Cluster = "4.18.1"; w.s.Cluster.Topology = "HighlyAvailable" },
			"does not end it (its goaway-chance is 0)", from(20), from(26)},
		"4.18.24, which has it": {func(w *world) { w.s.Cluster.Versions.Cluster = "4.18.24"; w.s.Cluster.Topology = "HighlyAvailable" },
			"half of them within 2 h", from(20), from(26)},
		"4.19.10, which may have it": {func(w *world) { w.s.Cluster.Versions.Cluster = "4.19.10"; w.s.Cluster.Topology = "HighlyAvailable" },
			"whether it reconnects automatically is unknown", from(20), from(26)},
		"4.18.20, hosted": {func(w *world) { w.s.Cluster.Versions.Cluster = "4.18.20"; w.s.Cluster.Topology = "External" },
			"does not end it (its goaway-chance is 0; annotation hypershift.openshift.io/kube-apiserver-goaway-chance may set another)", from(20), from(26)},
		"4.20, single node": {func(w *world) { w.s.Cluster.Versions.Cluster = "4.20.1"; w.s.Cluster.Topology = "SingleReplica" },
			"goaway-chance is 0", from(20), from(26)},
		"4.20, the topology was not read":         {func(w *world) { w.s.Cluster.Versions.Cluster = "4.20.1" }, "whether it reconnects automatically is unknown", from(20), from(26)},
		"its client certificate is not renewed":   {func(w *world) { w.s.Nodes[0].Kubelet.RotateCertificates = &no }, "goaway-chance is 0", time.Time{}, time.Time{}},
		"its client certificate was not read":     {func(w *world) { w.s.Bundles = w.s.Bundles[:len(w.s.Bundles)-1] }, "goaway-chance is 0", time.Time{}, time.Time{}},
		"its client certificate is long past due": {func(w *world) { w.s.Taken = from(40) }, "goaway-chance is 0", time.Time{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := story(t, -2, false)
			w.s.Taken = noon
			ca := pkitest.NewCA("kubelets'", from(-10), from(900))
			w.put(catalog.Ref{Kind: catalog.File, Name: inspect.KubeletClient}, ca.Issue("system:node:n1", from(-1), from(29)).CertPEM)
			c.given(w)
			got := entryOf(t, w, "kubelet-api-int").Next
			if !strings.Contains(got.Verifies, c.verifies) || !got.From.Equal(c.from) || !got.To.Equal(c.to) || got.Reload != catalog.ReloadAtStart {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestNextByItsOwnCertificate: who has a client certificate in files reconnects when that is renewed,
// whether it is the kubelet's, a network pod's own, or a Secret's on masters.
func TestNextByItsOwnCertificate(t *testing.T) {
	no := false
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	for id, c := range map[string]struct {
		at       catalog.Ref
		days     float64 // that it is valid
		from, to time.Time
		kubelets bool // its renewal is the kubelet's
	}{
		"machine-config-daemon-node-writer-api-int": {catalog.Ref{Kind: catalog.File, Name: inspect.KubeletClient}, 30, from(20), from(26), true},
		"multus-api-int":             {catalog.Ref{Kind: catalog.File, Name: "/etc/cni/multus/certs/multus-client-current.pem"}, 10, from(6), from(8), false},
		"ovnkube-node-api-int":       {catalog.Ref{Kind: catalog.File, Name: "/var/lib/ovn-ic/etc/ovnkube-node-certs/ovnkube-client-current.pem"}, 10, from(6), from(8), false},
		"scheduler-api-int":          {catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-scheduler", Name: "kube-scheduler-client-cert-key", Key: "tls.crt"}, 30, from(14), from(14), false},
		"controller-manager-api-int": {catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-controller-manager", Name: "kube-controller-manager-client-cert-key", Key: "tls.crt"}, 30, time.Time{}, time.Time{}, false},
	} {
		for _, rotates := range []*bool{nil, &no} {
			e := edge(t, id)
			w := newWorld(catalog.Versions{Cluster: "4.16.3"})
			w.s.Taken, w.s.Nodes[0].Kubelet.RotateCertificates = noon, rotates
			w.stage(e, ca, ca.CertPEM)
			leaf := ca.Issue("client", from(-1), from(c.days-1)).CertPEM
			w.put(c.at, leaf)
			if c.at.Kind == catalog.Secret { // of which it is a copy
				original := c.at
				original.Namespace = "openshift-config-managed"
				w.put(original, leaf)
			}
			wantFrom, wantTo := c.from, c.to
			if c.kubelets && rotates != nil {
				wantFrom, wantTo = time.Time{}, time.Time{}
			}
			if got := entryOf(t, w, id).Next; !got.From.Equal(wantFrom) || !got.To.Equal(wantTo) {
				t.Errorf("%s: %+v", id, got)
			}
		}
	}
}

// entryOf is what the report says of an edge in the one place where it is.
func entryOf(t *testing.T, w *world, id string) report.VerificationClaim {
	t.Helper()
	w.s.Sort()
	slices.SortFunc(w.s.Nodes[0].Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	var out []report.VerificationClaim
	for _, c := range report.NewVerification(context.Background(), inspect.NewFacts(w.s, w.s.Taken, 30*day)).Claims {
		if c.ID == id {
			out = append(out, c)
		}
	}
	if len(out) != 1 {
		t.Fatalf("claims: %+v", out)
	}
	return out[0]
}

// TestNextOfEveryEdge: each says when its verifier looks again.
func TestNextOfEveryEdge(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	for _, e := range catalog.Edges() {
		w := newWorld(versions(e))
		w.s.Taken = noon
		w.stage(e, ca, ca.CertPEM)
		got := entryOf(t, w, e.ID).Next
		_, holds := catalog.ConnectionOf(e.ID)
		if got.Verifies == "" || got.Reload != e.Reload || strings.Contains(got.Verifies, "rollout of kube-apiserver") != holds {
			t.Errorf("%s: %+v", e.ID, got)
		}
	}
}

// TestNextOfWhoReadsOnce: when trust anchors are read is one thing, and when a certificate is verified
// by them another, but for who dials by a kubeconfig when it starts.
func TestNextOfWhoReadsOnce(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	for id, want := range map[string]string{"kubeadm-etcd-peers": "at each new connection", "kubelet-bootstrap-api-int": "at its next start"} {
		e := edge(t, id)
		w := newWorld(versions(e))
		w.s.Taken = noon
		w.stage(e, ca, ca.CertPEM)
		if got := entryOf(t, w, id).Next; got.Verifies != want || got.Reload != catalog.ReloadAtStart {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// TestNextWithoutARhythm: of who makes requests at no known interval, the number of them is
// told.
func TestNextWithoutARhythm(t *testing.T) {
	e := edge(t, "pods-kubernetes-service")
	w := newWorld(catalog.Versions{Cluster: "4.20.1"})
	w.s.Taken, w.s.Cluster.Topology = noon, "HighlyAvailable"
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	w.stage(e, ca, ca.CertPEM)
	if got := entryOf(t, w, e.ID).Next; !strings.Contains(got.Verifies, "by itself about every 1000 requests (goaway-chance 0.001") {
		t.Errorf("got %+v", got)
	}
}

// TestCopiesEndWithTheirOriginal: that a certificate expires that nothing renews is told where a
// copy of it is presented; of one that nothing is known to renew, that it is near.
func TestCopiesEndWithTheirOriginal(t *testing.T) {
	made := catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-ingress", Name: "router-certs-default", Key: "tls.crt"}
	annotated := func(w *world, namespace, annotation string, leaf []byte) {
		w.put(catalog.Ref{Kind: catalog.Secret, Namespace: namespace, Name: "wildcard", Key: "tls.crt"}, leaf)
		w.s.Bundles[len(w.s.Bundles)-1].Object.Annotations = map[string]string{annotation: "wildcard"}
	}
	for _, id := range []string{"published-ingress", "pods-routes", "console-oauth"} {
		for name, c := range map[string]struct {
			begin, end float64
			given      func(w *world, leaf []byte)
			want       assess.Status
			why        string
		}{
			"the operator's, in its last month": {-700, 20, func(w *world, leaf []byte) { w.put(made, leaf) }, assess.Warn, "not even a new router-ca"},
			"the operator's, with a year left":  {-365, 365, func(w *world, leaf []byte) { w.put(made, leaf) }, assess.Pass, ""},
			"an administrator's, in its last":   {-700, 20, func(*world, []byte) {}, assess.Unknown, "the certificate presented expires 2024-06-21 12:00 UTC, and what renews it is unknown"},
			"one of 90 days, with 20 left":      {-70, 20, func(*world, []byte) {}, assess.Pass, ""}, // as who renews it at two thirds may do yet
			"one of 90 days, with 10 left":      {-80, 10, func(*world, []byte) {}, assess.Unknown, "what renews it is unknown"},
			"cert-manager's":                    {-700, 20, func(w *world, leaf []byte) { annotated(w, "openshift-ingress", catalog.AnnotationCertManager, leaf) }, assess.Pass, ""},
			// A tenant can put what is public into a Secret of their own, with any annotation.
			"a tenant's, as if cert-manager's": {-700, 20, func(w *world, leaf []byte) { annotated(w, "team", catalog.AnnotationCertManager, leaf) }, assess.Unknown, "what renews it is unknown"},
			"a tenant's, as if service-ca's":   {-700, 20, func(w *world, leaf []byte) { annotated(w, "team", catalog.AnnotationServiceName, leaf) }, assess.Unknown, "what renews it is unknown"},
			"the operator's, and a tenant's": {-700, 20, func(w *world, leaf []byte) {
				annotated(w, "a-team", catalog.AnnotationServiceName, leaf)
				w.put(made, leaf)
			}, assess.Warn, "not even a new router-ca"},
		} {
			t.Run(id+"/"+name, func(t *testing.T) {
				e := edge(t, id)
				ca := pkitest.NewCA("ingress-operator", from(-800), from(900))
				leaf := leafFor(e, ca, c.begin, c.end).CertPEM
				w := newWorld(versions(e))
				w.show(e, leaf)
				w.trust(e, ca.CertPEM)
				c.given(w, leaf)
				got := one(t, w.judge(id))
				if got.Status != c.want || !strings.Contains(got.Reason, c.why) || c.want != assess.Pass && !got.From.Equal(from(c.end)) {
					t.Errorf("%s from %s: %s", got.Status, got.From, got.Reason)
				}
			})
		}
	}
}

// TestTheEndIsToldWithoutTheSigner: what is presented expires and nothing renews it; who signs next,
// which was not read, changes nothing about that.
func TestTheEndIsToldWithoutTheSigner(t *testing.T) {
	e := edge(t, "kubeadm-kubelet-api")
	ca := pkitest.NewCA("kubernetes", from(-800), from(900))
	for end, want := range map[float64]assess.Status{20: assess.Warn, 300: assess.Unknown} {
		w := newWorld(versions(e))
		w.show(e, leafFor(e, ca, end-365, end).CertPEM)
		w.trust(e, ca.CertPEM)
		if got := one(t, w.judge(e.ID)); got.Status != want || (want == assess.Warn) != got.From.Equal(from(end)) {
			t.Errorf("%v days before: %s from %s: %s", end, got.Status, got.From, got.Reason)
		}
	}
}

// TestTheSignersKeyIsKeptElsewhere: where the CA is on the node and its key is not, nothing
// there signs, and what comes next is not unknown for that.
func TestTheSignersKeyIsKeptElsewhere(t *testing.T) {
	e := edge(t, "kubeadm-apiserver-etcd")
	ca := pkitest.NewCA("etcd-ca", from(-10), from(900))
	w := newWorld(versions(e))
	w.show(e, leafFor(e, ca, -1, 300).CertPEM)
	w.trust(e, ca.CertPEM)
	if got := one(t, w.judge(e.ID)); got.Status != assess.Pass || got.Reason != "" {
		t.Errorf("%s: %s", got.Status, got.Reason)
	}
}

// TestShardsBefore412: up to 4.11 one Secret held what all IngressControllers present.
func TestShardsBefore412(t *testing.T) {
	for _, id := range []string{"published-ingress", "pods-routes", "console-oauth"} {
		e := edge(t, id)
		ca, other := pkitest.NewCA("ingress-operator", from(-800), from(900)), pkitest.NewCA("of a shard", from(-800), from(900))
		for version, want := range map[string]int{"4.11.9": 0, "4.12.0": 2} {
			w := newWorld(catalog.Versions{Cluster: version})
			for key, by := range map[string]*pkitest.Authority{"apps.example.com": ca, "shard.example.com": other} {
				r := e.Presented
				r.Key = key
				w.put(r, leafFor(e, by, -1, 59).CertPEM)
			}
			w.trust(e, ca.CertPEM)
			got := slices.DeleteFunc(w.judge(id), func(c trust.Claim) bool {
				return c.Status == assess.Unknown && strings.Contains(c.Reason, "4.11 was not reviewed")
			})
			if len(got) != want {
				t.Errorf("%s, %s: %+v", id, version, got)
			}
		}
	}
}
