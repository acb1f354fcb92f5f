package trust_test

import (
	"context"
	"encoding/json"
	"path"
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
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

var noon = time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func from(days float64) time.Time { return noon.Add(time.Duration(days * float64(day))) }

// world is a snapshot in the making: one node, and objects.
type world struct {
	sc *pki.Scanner
	s  inspect.Snapshot
}

func newWorld(v catalog.Versions) *world {
	w := &world{sc: pki.NewScanner()}
	w.s.Cluster = inspect.Cluster{Versions: v, Internal: "https://api-int.example.com:6443"}
	w.s.Nodes = []inspect.Node{{Name: "n1", Via: "ssh"}}
	if v.NotOpenShift {
		w.s.Cluster.Kubeadm = catalog.Yes
	}
	return w
}

// put adds what a place holds. In a family's name the star becomes "n1".
func (w *world) put(r catalog.Ref, pem ...[]byte) {
	at := pki.Location{Kind: pki.Kind(r.Kind), Namespace: strings.ReplaceAll(r.Namespace, "*", "team"), Name: strings.ReplaceAll(r.Name, "*", "n1"), Key: r.Key}
	var object *inspect.Object
	if r.Kind == catalog.File {
		at = pki.Location{Kind: pki.KindFile, Node: "n1", Path: r.Name, Field: r.Key}
		w.s.Nodes[0].Files = append(w.s.Nodes[0].Files, inspect.NodeFile{Path: r.Name})
	} else {
		object = &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}
	}
	for _, f := range w.sc.Scan(pkitest.Bundle(pem...)) {
		w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: object, Content: f.Content})
	}
}

// kubeconfig adds one on the node, with this CA and server.
func (w *world) kubeconfig(path, server string, ca ...[]byte) {
	const field = "clusters[0].cluster.certificate-authority-data"
	at := pki.Location{Kind: pki.KindFile, Node: "n1", Path: path, Field: field}
	for _, f := range w.sc.Scan(pkitest.Bundle(ca...)) {
		w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Content: f.Content})
	}
	w.s.Nodes[0].Files = append(w.s.Nodes[0].Files, inspect.NodeFile{Path: path})
	w.s.Nodes[0].Kubeconfigs = append(w.s.Nodes[0].Kubeconfigs, inspect.Kubeconfig{
		Path: path, Current: "local", Clusters: []inspect.KubeconfigCluster{{Name: "local", Server: server, CAData: true, Field: field}},
	})
}

// show makes what an edge is shown be this.
func (w *world) show(e catalog.Edge, pem []byte) {
	r := e.Presented
	if r.Name == "" {
		r.Namespace, r.Name = "team", "served"
	}
	w.put(r, pem)
	if e.Selector.Annotation != "" {
		w.s.Bundles[len(w.s.Bundles)-1].Object.Annotations = map[string]string{e.Selector.Annotation: "svc"}
	}
}

// trust makes an edge's trust anchors hold these.
func (w *world) trust(e catalog.Edge, ca ...[]byte) {
	if e.ServerName == catalog.NameInKubeconfig {
		w.kubeconfig(e.Trust.Name, "https://api-int.example.com:6443", ca...)
		return
	}
	w.put(e.Trust, ca...)
}

// stage makes an edge's fixture: what is shown, and these trust anchors; and whatever
// it takes for its verifier to be there.
func (w *world) stage(e catalog.Edge, ca *pkitest.Authority, trusted ...[]byte) {
	if len(e.Platforms) > 0 {
		w.s.Cluster.Platform, w.s.Cluster.OwnAddresses = e.Platforms[0], catalog.Yes
	}
	if e.OnlyIfExists != (catalog.Ref{}) {
		w.put(e.OnlyIfExists, ca.CertPEM)
	}
	switch e.Verify {
	case catalog.VerifyAggregate:
		w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-config-managed", Name: "kube-apiserver-server-ca", Key: "ca-bundle.crt"}, ca.CertPEM)
		w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-kube-scheduler", Name: "serviceaccount-ca", Key: "ca-bundle.crt"}, trusted...)
		w.whole("configmaps")
	case catalog.VerifyNodeCopies:
		w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-config-managed", Name: "kube-apiserver-client-ca", Key: "ca-bundle.crt"}, ca.CertPEM)
		w.put(catalog.Ref{Kind: catalog.File, Name: "/etc/kubernetes/kubelet-ca.crt"}, trusted...)
	case catalog.VerifyServiceCertificate:
		w.put(catalog.Ref{Kind: catalog.Secret, Namespace: "team", Name: "served", Key: "tls.crt"}, ca.Issue("served", from(-1), from(29), pkitest.DNS("svc.team.svc")).CertPEM)
		w.s.Bundles[len(w.s.Bundles)-1].Object.Annotations = map[string]string{catalog.AnnotationServiceName: "svc"}
		w.call(e, trusted...)
		w.signer(catalog.Edge{Selector: catalog.ObjectSelector{Annotation: catalog.AnnotationServiceName}}, ca)
	case catalog.VerifyDelivered:
		source, target := e.Presented, e.Trust
		if source.Kind != catalog.ConfigMap && source.Kind != catalog.File { // a field that names one
			source = catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-config", Name: "named", Key: "registry.example.com..5000"}
			w.s.References = []inspect.Reference{{From: pki.Location{Kind: pki.Kind(e.Presented.Kind), Name: "cluster", Field: e.Presented.Key}, To: pki.Location{Kind: catalog.ConfigMap, Namespace: source.Namespace, Name: source.Name}}}
		}
		target.Name = strings.Replace(target.Name, "*", "registry.example.com:5000", 1)
		w.put(source, ca.CertPEM)
		w.put(target, trusted...)
	default:
		w.show(e, leafFor(e, ca, -1, 59).CertPEM)
		w.trust(e, trusted...)
		w.signer(e, ca)
	}
}

// signs reports whether a rotation is about what an edge is shown.
func signs(r catalog.Rotation, e catalog.Edge) bool {
	if r.Selector != (catalog.ObjectSelector{}) {
		return e.Selector == r.Selector
	}
	return slices.ContainsFunc(r.Targets, func(t catalog.Ref) bool {
		same, err := path.Match(t.Name, e.Presented.Name)
		return t == e.Presented || t.Kind == catalog.File && err == nil && same
	})
}

// signer makes this authority the one that signs what an edge is shown next, where the
// catalog knows of one.
func (w *world) signer(e catalog.Edge, ca *pkitest.Authority) {
	for _, r := range catalog.Rotations() {
		if r.In.Holds(w.s.Cluster.Versions) == catalog.Yes && signs(r, e) {
			if r.Signer != e.Trust {
				w.put(r.Signer, ca.CertPEM)
			}
			if r.Signer.Kind == catalog.File {
				w.key(r.Signer)
			}
			return
		}
	}
}

// call adds an object that names the Service team/svc and these CAs, put there by
// service-ca.
func (w *world) call(e catalog.Edge, ca ...[]byte) {
	at := pki.Location{Kind: pki.Kind(e.Trust.Kind), Name: "caller", Field: "spec.caBundle"}
	object := &inspect.Object{Kind: at.Kind, Name: at.Name, Annotations: map[string]string{catalog.AnnotationInjectCABundle: "true"}}
	for _, f := range w.sc.Scan(pkitest.Bundle(ca...)) {
		w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: object, Content: f.Content})
	}
	w.s.References = append(w.s.References, inspect.Reference{From: at, To: pki.Location{Kind: "Service", Namespace: "team", Name: "svc"}})
}

func (w *world) judge(id string) []trust.Claim {
	w.s.Sort()
	slices.SortFunc(w.s.Nodes[0].Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	var out []trust.Claim
	for _, c := range trust.Judge(context.Background(), inspect.NewFacts(w.s, noon, 30*day)) {
		if c.Edge.ID == id {
			out = append(out, c)
		}
	}
	return out
}

// versions in which an edge holds.
func versions(e catalog.Edge) catalog.Versions {
	if e.In.Component == catalog.Kubernetes {
		return catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}
	}
	for _, m := range []catalog.Minor{e.In.From, e.In.To, {Major: 4, Minor: 15}} {
		if m != (catalog.Minor{}) {
			return catalog.Versions{Cluster: m.String() + ".3"}
		}
	}
	return catalog.Versions{}
}

// leafFor makes what is shown on an edge.
func leafFor(e catalog.Edge, ca *pkitest.Authority, begin, end float64) pkitest.Pair {
	name := string(e.ServerName)
	if strings.HasPrefix(name, "(") || name == "" {
		name = "api-int.example.com"
	}
	return ca.Issue("leaf of "+e.ID, from(begin), from(end), pkitest.DNS(name))
}

// TestEveryEdge: each holds where its trust anchors have the CA of what is shown,
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
		"what is shown was not seen": {func(w *world) { w.trust(e, ca.CertPEM); w.s.Bundles = w.s.Bundles[1:] }, "was not seen"},
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
			if w.s.Cluster.Topology != "" { // there, a handshake alone shows it
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

// key puts a signer's key beside it on the node.
func (w *world) key(signer catalog.Ref) {
	w.s.Nodes[0].Files = append(w.s.Nodes[0].Files, inspect.NodeFile{Path: strings.TrimSuffix(signer.Name, ".crt") + ".key", Secret: true})
}

// whole says that all objects of these kinds were read.
func (w *world) whole(kinds ...string) {
	for _, k := range kinds {
		w.s.Reads = append(w.s.Reads, inspect.Read{What: k})
	}
}

// TestNobodyIsTrusted: trust anchors that are known to be absent trust nobody,
// unless then there is no such verifier.
func TestNobodyIsTrusted(t *testing.T) {
	ca := pkitest.NewCA("the CA", from(-10), from(900))
	for _, e := range catalog.Edges() {
		if e.Trust.Kind == catalog.File || e.Verify != catalog.VerifyChain {
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
			"the version is not known":   {func(w *world) { w.whole("secrets", "configmaps"); w.s.Cluster.Versions = catalog.Versions{} }, assess.Unknown, "version that decides"},
			"what is shown is not there": {func(w *world) { w.whole("secrets", "configmaps"); w.s.Bundles = nil }, assess.Pass, ""},
		} {
			t.Run(e.ID+"/"+name, func(t *testing.T) {
				w := newWorld(versions(e))
				w.show(e, leafFor(e, ca, -1, 29).CertPEM)
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
// other masters show, comes next.
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
	// The Secret holds another one already: the next master that reads it ends that.
	claims := w.judge(e.ID)
	if len(claims) != 1 || claims[0].Status != assess.Warn || claims[0].Server != "api-int.example.com:6443" || !strings.Contains(claims[0].Reason, "its Secret already holds another certificate, and ") {
		t.Errorf("got %+v", claims)
	}
	// And one of the masters has: the next connection may be led there.
	for _, f := range w.sc.Scan(leafFor(e, after, -1, 29).CertPEM) {
		w.s.Served = append(w.s.Served, inspect.Served{Node: "n1", Of: "m2", Server: catalog.ListenerAPIServer, Address: "10.0.0.2:6443", Name: "api-int.example.com", Chain: f.Content.Certs})
	}
	claims = w.judge(e.ID)
	if len(claims) != 1 || claims[0].Status != assess.Fail || claims[0].Server != "10.0.0.2:6443" || !strings.Contains(claims[0].Reason, "by m2, one of the masters") {
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

// TestInstead: an administrator's certificate is shown in place of the operator's.
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
					if e.In.Holds(v) != catalog.Yes || e.Verify != catalog.VerifyChain || len(e.Platforms) > 0 || elsewhere || placed[e.Trust] && e.ServerName == catalog.NameInKubeconfig {
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
// makes of what its server showed to that node.
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
	// What is shown there is seen, and what it comes from is not looked for.
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

// TestServedByName: what was shown for another name, at the same address, is not what the
// owner of a kubeconfig is shown.
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
