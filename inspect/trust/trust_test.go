package trust_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestEveryEdge: each holds where its trust anchors have the CA of what is presented,
// and is broken where they have another of that name.
func TestEveryEdge(t *testing.T) {
	ca, other := pkitest.NewCA("the CA", from(-10), from(900)), pkitest.NewCA("the CA", from(-20), from(900))
	ids := map[string]bool{}
	for _, e := range catalog.Edges() {
		if ids[e.ID] {
			t.Errorf("two edges are called %s", e.ID)
		}
		ids[e.ID] = true
		v := versions(e)
		for _, c := range []struct {
			name string
			ca   []byte
			want assess.Status
		}{{"holds", ca.CertPEM, assess.Pass}, {"broken", other.CertPEM, assess.Fail}} {
			t.Run(e.ID+"/"+c.name, func(t *testing.T) {
				w := newWorld(v)
				w.stage(e, ca, c.ca)
				claims := w.judge(e.ID)
				if len(claims) != 1 || claims[0].Status != c.want {
					t.Fatalf("want one claim that is %s, got %+v", c.want, claims)
				}
				if got := claims[0]; c.want == assess.Fail && !strings.Contains(got.Reason, "unknown authority") && !strings.Contains(got.Reason, `lacks “the CA”`) {
					t.Errorf("why: %s", got.Reason)
				}
			})
		}
	}
}

func edge(t *testing.T, id string) catalog.Edge {
	t.Helper()
	for _, e := range catalog.Edges() {
		if e.ID == id {
			return e
		}
	}
	t.Fatalf("no edge is called %s", id)
	return catalog.Edge{}
}

// story is okd#1881: the signer was replaced, and the leaf is still of the old one
// or already of the new one.
func story(t *testing.T, leafBegin float64, rotated bool) *world {
	w := newWorld(catalog.Versions{Cluster: "4.15.0-0.okd-2024-01-27-070424"})
	e := edge(t, "kubelet-api-int")
	before, after := pkitest.NewCA("kube-apiserver-lb-signer", from(-2000), from(1000)), pkitest.NewCA("lb@1", from(-1), from(3000))
	issuer := before
	if rotated {
		issuer = after
	}
	w.put(catalog.LoadBalancerSigner(), after.CertPEM, after.KeyPEM)
	w.put(e.Presented, leafFor(e, issuer, leafBegin, leafBegin+30).CertPEM)
	w.trust(e, before.CertPEM)
	return w
}

func TestForecast(t *testing.T) {
	for name, c := range map[string]struct {
		begin   float64
		rotated bool
		want    assess.Status
		from    time.Time
		lacks   string
	}{
		"the leaf is of the old signer, young":             {-2, false, assess.Warn, from(13), "CN=lb@1"},
		"the leaf is due, the signer younger than 1.5 d":   {-15, false, assess.Warn, from(0.5), "CN=lb@1"},
		"the leaf is past 80 %, whatever the signer's age": {-23.9, false, assess.Warn, from(0.1), "CN=lb@1"},
		"the leaf is of the new signer":                    {-0.5, true, assess.Fail, time.Time{}, "CN=lb@1"},
	} {
		t.Run(name, func(t *testing.T) {
			claims := story(t, c.begin, c.rotated).judge("kubelet-api-int")
			if len(claims) != 1 {
				t.Fatalf("claims: %+v", claims)
			}
			got := claims[0]
			if got.Status != c.want || !got.From.Equal(c.from) || got.Missing == nil || got.Missing.Subject != c.lacks {
				t.Errorf("got %s from %s, lacks %v: %s", got.Status, got.From, got.Missing, got.Reason)
			}
		})
	}
}

// TestNobodyIsTrusted: trust anchors that are known to be absent trust no server,
// unless then there is no such verifier.
func TestNobodyIsTrusted(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	for _, e := range catalog.Edges() {
		if e.Trust.Kind == catalog.File || e.Verify != catalog.VerifyChain || e.OnlyWithout != (catalog.Ref{}) { // of the latter, the edge by the other place says it
			continue
		}
		why := "there is no " + e.Trust.String()
		for name, c := range map[string]struct {
			given func(w *world)
			want  assess.Status
			why   string
		}{
			"all was read":            {func(w *world) { w.whole("secrets", "configmaps") }, assess.Fail, why},
			"nothing was read wholly": {func(*world) {}, assess.Unknown, "not read: " + e.Trust.String()},
			"reading broke off": {func(w *world) {
				w.whole("secrets", "configmaps")
				w.s.Gaps = []inspect.Gap{{What: "secrets"}, {What: "configmaps"}}
			}, assess.Unknown, "not read"},
			"a namespace was read":       {func(w *world) { w.s.Reads = []inspect.Read{{What: "configmaps", Where: "team"}} }, assess.Unknown, "not read"},
			"the version is unknown":     {func(w *world) { w.whole("secrets", "configmaps"); w.s.Cluster.Versions = catalog.Versions{} }, assess.Unknown, "version that decides"},
			"what is shown is not there": {func(w *world) { w.whole("secrets", "configmaps"); w.s.Bundles = nil }, assess.Pass, ""},
		} {
			t.Run(e.ID+"/"+name, func(t *testing.T) {
				w := newWorld(versions(e))
				w.show(e, leafFor(e, ca, -1, 29).CertPEM)
				if e.OnlyIfExists != (catalog.Ref{}) {
					w.put(e.OnlyIfExists, ca.CertPEM)
				}
				c.given(w)
				claims := w.judge(e.ID)
				if c.want == assess.Pass || e.Optional && c.why != "not read" && !strings.HasPrefix(c.why, "not read: ") {
					if len(claims) > 0 {
						t.Fatalf("want no claim, got %+v", claims)
					}
					return
				}
				if len(claims) != 1 || claims[0].Status != c.want || !strings.Contains(claims[0].Reason, c.why) {
					t.Fatalf("want one claim that is %s, got %+v", c.want, claims)
				}
			})
		}
	}
}

// TestServedGoesFirst: what a handshake saw counts now; what the Secret holds, and what
// other masters present, comes next.
func TestServedGoesFirst(t *testing.T) {
	e := edge(t, "kubelet-api-int")
	before, after := pkitest.NewCA("before", from(-10), from(900)), pkitest.NewCA("after", from(-10), from(900))
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.put(e.Presented, leafFor(e, after, -1, 29).CertPEM)
	w.trust(e, before.CertPEM)
	var chain []*pki.Cert
	for _, f := range w.sc.Scan(leafFor(e, before, -2, 28).CertPEM) {
		chain = f.Content.Certs
	}
	w.s.Served = []inspect.Served{{Node: "n1", Address: "api-int.example.com:6443", Name: "api-int.example.com", Chain: chain}}
	// The Secret holds another one already: the next master that reads it presents that.
	claims := w.judge(e.ID)
	if len(claims) != 1 || claims[0].Status != assess.Warn || claims[0].Server != "api-int.example.com:6443" || !strings.Contains(claims[0].Reason, "its Secret already holds another certificate, and ") {
		t.Errorf("got %+v", claims)
	}
	// And one of the masters has: the next connection may be led there.
	for _, f := range w.sc.Scan(leafFor(e, after, -1, 29).CertPEM) {
		w.s.Served = append(w.s.Served, inspect.Served{Node: "n1", Of: "m2", Server: catalog.ListenerAPIServer, Address: "10.0.0.2:6443", Name: "api-int.example.com", Chain: f.Content.Certs})
	}
	claims = w.judge(e.ID)
	if len(claims) != 1 || claims[0].Status != assess.Fail || claims[0].Server != "10.0.0.2:6443" || !strings.Contains(claims[0].Reason, "by m2, one of the control plane nodes") {
		t.Errorf("got %+v", claims)
	}
}

// TestNodeTime: a node judges by its own clock.
func TestNodeTime(t *testing.T) {
	e := edge(t, "kubelet-api-int")
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.put(e.Presented, leafFor(e, ca, -1, 29).CertPEM)
	w.trust(e, ca.CertPEM)
	behind := noon.Add(-2 * day)
	w.s.Nodes[0].Clock = inspect.Clock{Sent: noon, Before: behind, After: behind, Received: noon}
	claims := w.judge(e.ID)
	if len(claims) != 1 || claims[0].Status != assess.Fail || !strings.Contains(claims[0].Reason, "not yet valid") || claims[0].Missing != nil {
		t.Errorf("got %+v", claims)
	}
}

func TestReport(t *testing.T) {
	w := story(t, -2, false)
	w.s.Sort()
	r := report.NewVerification(context.Background(), inspect.NewFacts(w.s, noon, 30*day), catalog.PartAPIInt)
	if r.Worst() != assess.Warn {
		t.Errorf("worst is %s", r.Worst())
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"status":"warn"`, `"from":"2024-06-14T12:00:00Z"`, `"missingCA":{"subject":"CN=lb@1"`, `pretrust --nodes n1 --dry-run=client"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the report lacks %s: %s", want, raw)
		}
	}
	if r = report.NewVerification(context.Background(), inspect.NewFacts(inspect.Snapshot{}, noon, 30*day)); r.Worst() != assess.Unknown {
		t.Errorf("of nothing, the worst is %s", r.Worst())
	}
}

// TestInstead: an administrator's certificate is presented in place of the operator's.
func TestInstead(t *testing.T) {
	e := edge(t, "console-oauth")
	ca, own := pkitest.NewCA("the CA", from(-10), from(900)), pkitest.NewCA("example.com's", from(-10), from(900))
	w := newWorld(versions(e))
	w.stage(e, ca, own.CertPEM)
	w.put(e.CustomPresented, leafFor(e, own, -1, 29).CertPEM)
	if claims := w.judge(e.ID); len(claims) != 1 || claims[0].Status != assess.Pass {
		t.Errorf("got %+v", claims)
	}
}

// TestServedByName: what was presented for another name, at the same address, is not what
// is presented to the owner of a kubeconfig.
func TestServedByName(t *testing.T) {
	e := edge(t, "kubelet-api-int")
	ca, other := pkitest.NewCA("the CA", from(-10), from(900)), pkitest.NewCA("another", from(-10), from(900))
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.show(e, leafFor(e, ca, -1, 59).CertPEM)
	w.signer(e, ca)
	w.trust(e, ca.CertPEM)
	w.served("", "", internalName+":6443", "api.example.com", other.Issue("api", from(-1), from(59), pkitest.DNS("api.example.com")).CertPEM)
	if got := one(t, w.judge(e.ID)); got.Status != assess.Pass || got.Server != "" {
		t.Errorf("%s at %q: %s", got.Status, got.Server, got.Reason)
	}
	w.served("", "", internalName+":6443", internalName, leafFor(e, other, -1, 59).CertPEM)
	if got := one(t, w.judge(e.ID)); got.Status != assess.Fail || got.Server != internalName+":6443" {
		t.Errorf("%s at %q: %s", got.Status, got.Server, got.Reason)
	}
}
