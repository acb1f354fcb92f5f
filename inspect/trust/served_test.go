package trust_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

const (
	internalName = "api-int.example.com"
	master       = "10.0.0.5:6443"
)

// served adds what a server on a node presented.
func (w *world) served(server, of, address, name string, pem ...[]byte) {
	v := inspect.Served{Node: "n1", Server: server, Of: of, Address: address, Name: name}
	for _, f := range w.sc.Scan(pkitest.Bundle(pem...)) {
		v.Chain = f.Content.Certs
	}
	w.s.Served = append(w.s.Served, v)
}

// masters is a cluster whose api-int certificate was rotated five days ago.
func masters() (w *world, ca *pkitest.Authority, before, after pkitest.Pair) {
	w = newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.s.Cluster.External = "https://api.example.com:6443"
	ca = pkitest.NewCA("kube-apiserver-lb-signer", from(-100), from(900))
	before = ca.Issue("old", from(-20), from(10), pkitest.DNS(internalName))
	after = ca.Issue("new", from(-5), from(25), pkitest.DNS(internalName))
	w.put(catalog.APIServerCA(), ca.CertPEM)
	w.put(catalog.InternalLoadBalancerServing(), after.CertPEM)
	return w, ca, before, after
}

func one(t *testing.T, claims []trust.Claim) trust.Claim {
	t.Helper()
	if len(claims) != 1 {
		t.Fatalf("want one claim, got %+v", claims)
	}
	return claims[0]
}

func TestMastersShowTheirSecrets(t *testing.T) {
	proxy := pkitest.NewCA("kube-apiserver-lb-signer", from(-200), from(900)) // of the same name
	w, ca, before, after := masters()
	newer := ca.Issue("newer", from(-1), from(29), pkitest.DNS(internalName))
	for name, c := range map[string]struct {
		shown  []byte
		status assess.Status
		why    string
	}{
		"what the Secret holds":       {after.CertPEM, assess.Pass, ""},
		"what it held before":         {before.CertPEM, assess.Fail, "10.0.0.5:6443 presents"},
		"what no CA here has signed":  {proxy.Issue("old", from(-20), from(10), pkitest.DNS(internalName)).CertPEM, assess.Unknown, "a proxy terminates TLS"},
		"what is newer than that":     {newer.CertPEM, assess.Unknown, "Run it again"},
		"what its own CA signed late": {ca.Issue("expired", from(-60), from(-30), pkitest.DNS(internalName)).CertPEM, assess.Fail, "made 2024-04-02"},
	} {
		t.Run(name, func(t *testing.T) {
			w.s.Served = nil
			w.served("kube-apiserver", "master-0", master, internalName, c.shown)
			got := one(t, w.judge("masters-show-secrets"))
			if got.Status != c.status || !strings.Contains(got.Because(), c.why) || got.Node != "master-0" || got.Server != master {
				t.Errorf("%s: %q on %q at %q", got.Status, got.Because(), got.Node, got.Server)
			}
			if c.status == assess.Fail && (got.Stored == nil || got.Stored.Fingerprint != pki.FingerprintOf(after.Cert.Raw)) {
				t.Errorf("the Secret holds %v", got.Stored)
			}
		})
	}
}

func TestAReloadTakesTime(t *testing.T) {
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	ca := pkitest.NewCA("ca", from(-100), from(900))
	w.put(catalog.APIServerCA(), ca.CertPEM)
	w.put(catalog.InternalLoadBalancerServing(), ca.Issue("new", from(-1.0/24/60), from(30), pkitest.DNS(internalName)).CertPEM)
	w.served("kube-apiserver", "master-0", master, internalName, ca.Issue("old", from(-20), from(10), pkitest.DNS(internalName)).CertPEM)
	if got := one(t, w.judge("masters-show-secrets")); got.Status != assess.Unknown || !strings.Contains(got.Because(), "may take 5 minutes; run it again") {
		t.Errorf("%s: %s", got.Status, got.Because())
	}
}

// TestWhoIsLate: the file on the master tells whether it was written or not read.
func TestWhoIsLate(t *testing.T) {
	for name, c := range map[string]struct {
		file func(before, after pkitest.Pair) []byte
		why  string
	}{
		"nobody wrote it": {func(before, _ pkitest.Pair) []byte { return before.CertPEM }, "on n1 is the old one, too: look at the cert-syncer"},
		"nobody read it":  {func(_, after pkitest.Pair) []byte { return after.CertPEM }, "on n1 is another one: the server has not read it"},
	} {
		t.Run(name, func(t *testing.T) {
			w, ca, before, after := masters()
			w.put(catalog.Ref{Kind: catalog.File, Name: "/etc/kubernetes/kubelet-ca.crt"}, ca.CertPEM) // a copy of something else
			w.put(catalog.Ref{Kind: catalog.File, Name: "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt"}, c.file(before, after))
			w.served("kube-apiserver", "n1", master, internalName, before.CertPEM)
			if got := one(t, w.judge("masters-show-secrets")); got.Status != assess.Fail || !strings.Contains(got.Because(), c.why) {
				t.Errorf("%s: %s", got.Status, got.Because())
			}
		})
	}
}

func TestHandshakesThatWereNotMade(t *testing.T) {
	w, _, _, _ := masters()
	if got := one(t, w.judge("masters-show-secrets")); got.Status != assess.Unknown || !strings.Contains(got.Reason, "no handshake with them was made") || !strings.Contains(got.Assessment.Remediation.Text, "verify --nodes all") {
		t.Errorf("%s: %s; next: %s", got.Status, got.Reason, got.Assessment.Remediation.Text)
	}
	w.s.Served = []inspect.Served{{Node: "n1", Of: "master-0", Server: "kube-apiserver", Address: master, Name: internalName, Problem: "connection refused"}}
	if got := one(t, w.judge("masters-show-secrets")); got.Status != assess.Unknown || got.Reason != master+": TLS handshake from n1: connection refused" {
		t.Errorf("%s: %s", got.Status, got.Reason)
	}
	w.s.Cluster.Versions = catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}
	if got := w.judge("masters-show-secrets"); len(got) > 0 {
		t.Errorf("of a cluster that is no OpenShift: %+v", got)
	}
}

// TestTheNameOutside: an administrator's certificate may stand in for that of api,
// and at an address the default is presented, whatever it is.
func TestTheNameOutside(t *testing.T) {
	w, ca, _, after := masters()
	w.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver", Name: "external-loadbalancer-serving-certkey", Key: "tls.crt"},
		ca.Issue("api", from(-5), from(25), pkitest.DNS("api.example.com")).CertPEM)
	users := pkitest.NewCA("Corporate CA", from(-100), from(900)).Issue("api", from(-50), from(50), pkitest.DNS("api.example.com"))
	w.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver", Name: "user-serving-cert-000", Key: "tls.crt"}, users.CertPEM)
	for name, c := range map[string]struct {
		asked  string
		shown  []byte
		status assess.Status
	}{
		"the administrator's, for api": {"api.example.com", users.CertPEM, assess.Pass},
		"the Secret's, for an address": {"10.0.0.1", after.CertPEM, assess.Pass},
		"another, for an address":      {"10.0.0.1", ca.Issue("x", from(-20), from(10), pkitest.DNS("x")).CertPEM, assess.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			w.s.Served = nil
			w.served(catalog.ListenerUserKubeconfig, "", "api.example.com:6443", c.asked, c.shown)
			if got := one(t, w.judge("access-shows-secret")); got.Status != c.status {
				t.Errorf("%s: %s", got.Status, got.Reason)
			}
		})
	}
}

func TestAnAdministratorsCertificateForAPIInt(t *testing.T) {
	wildcard := pkitest.NewCA("Corporate CA", from(-100), from(900)).Issue("*", from(-50), from(50), pkitest.DNS("*.example.com"))
	users := catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver", Name: "user-serving-cert-000", Key: "tls.crt"}
	for name, c := range map[string]struct {
		given  func(w *world, after pkitest.Pair)
		status assess.Status
	}{
		"is shown": {func(w *world, _ pkitest.Pair) {
			w.served("kube-apiserver", "master-0", master, internalName, wildcard.CertPEM)
		}, assess.Fail},
		"is shown to a node": {func(w *world, _ pkitest.Pair) { w.served("", "", internalName+":6443", internalName, wildcard.CertPEM) }, assess.Fail},
		"is not shown": {func(w *world, after pkitest.Pair) {
			w.served("kube-apiserver", "master-0", master, internalName, after.CertPEM)
		}, assess.Pass},
		"who knows": {func(*world, pkitest.Pair) {}, assess.Unknown},
		"is asked for as api": {func(w *world, _ pkitest.Pair) {
			w.served("kube-apiserver", "master-0", master, "api.example.com", wildcard.CertPEM)
		}, assess.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, _, after := masters()
			w.put(users, wildcard.CertPEM)
			c.given(w, after)
			if got := one(t, w.judge("api-int-own-certificate")); got.Status != c.status {
				t.Errorf("%s: %s", got.Status, got.Reason)
			}
		})
	}
	w, _, _, _ := masters()
	if got := w.judge("api-int-own-certificate"); len(got) > 0 {
		t.Errorf("where there is none: %+v", got)
	}
}

// TestSeenGoesBeforeHeld: a kubelet, or a machine config server, presents to its clients
// what a handshake saw, whatever its file or Secret holds.
func TestSeenGoesBeforeHeld(t *testing.T) {
	ca, other := pkitest.NewCA("csr-signer", from(-10), from(900)), pkitest.NewCA("csr-signer", from(-20), from(900))
	e := edge(t, "apiserver-kubelet-serving")
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.put(e.Trust, ca.CertPEM)
	w.signer(e, ca)
	good := ca.Issue("kubelet", from(-1), from(29), pkitest.DNS("n1"), pkitest.IPs("10.0.0.5"))
	w.put(e.Presented, good.CertPEM)
	w.served("kubelet", "n1", "10.0.0.5:10250", "", good.CertPEM)
	w.served("kubelet", "n2", "10.0.0.6:10250", "", good.CertPEM)
	w.served("kubelet", "n3", "10.0.0.5:10250", "", other.Issue("kubelet", from(-1), from(29), pkitest.IPs("10.0.0.5")).CertPEM)
	got := map[string]assess.Status{}
	for _, c := range w.judge(e.ID) {
		got[c.Node] = c.Status
	}
	if len(got) != 3 || got["n1"] != assess.Pass || got["n2"] != assess.Fail || got["n3"] != assess.Fail {
		t.Errorf("who is right, has the address of another, is signed by another: %v", got)
	}
	files := map[string]assess.Status{}
	for _, c := range w.judge("kubelets-show-file") {
		files[c.Node] = c.Status
	}
	if len(files) != 3 || files["n1"] != assess.Pass || files["n2"] != assess.Unknown || files["n3"] != assess.Unknown {
		t.Errorf("against their files: %v", files)
	}

	server := edge(t, "new-worker-config-server")
	w = newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.put(server.Trust, ca.CertPEM)
	w.put(server.Presented, ca.Issue("mcs", from(-1), from(900), pkitest.DNS(internalName)).CertPEM)
	w.served("machine-config-server", "master-0", "10.0.0.5:22623", internalName, other.Issue("mcs", from(-5), from(900), pkitest.DNS(internalName)).CertPEM)
	if got := one(t, w.judge(server.ID)); got.Status != assess.Fail || got.Server != "10.0.0.5:22623" {
		t.Errorf("%s at %q: %s", got.Status, got.Server, got.Reason)
	}
}

// TestServersAreWhole: each row can be asked and judged.
func TestServersAreWhole(t *testing.T) {
	ids := map[string]bool{}
	for _, e := range catalog.Edges() {
		ids[e.ID] = true
	}
	c := inspect.Cluster{Internal: "https://api-int:6443", External: "https://api:6443"}
	for _, row := range catalog.Servers() {
		if ids[row.ID] || row.Statement == "" || row.Impact == "" || row.Remediation == "" || row.Source == "" || !slices.Contains(catalog.Parts(), row.Part) {
			t.Errorf("%s lacks something, or is there twice: %+v", row.ID, row)
		}
		ids[row.ID] = true
		for _, s := range row.Certs {
			if _, ok := inspect.ServerName(s.Name, c); !ok {
				t.Errorf("%s: name %q is of no cluster", row.ID, s.Name)
			}
			if s.From.Kind == catalog.File {
				continue
			}
			if _, ok := catalog.Lookup(s.From.Kind, s.From.Namespace, s.From.Name, s.From.Key, catalog.Versions{Cluster: "4.15.3"}); !ok {
				t.Errorf("%s: the catalog does not know %s", row.ID, s.From)
			}
		}
	}
	for _, row := range catalog.Callers() {
		copied, known := catalog.NodeCopyOf(row.Certificate, catalog.Versions{Cluster: "4.15.3"})
		if ids[row.ID] || row.Statement == "" || row.Impact == "" || row.Remediation == "" || row.Source == "" || row.Path == "" || !known || copied.Object.Name != row.Presented.Name ||
			!slices.ContainsFunc(catalog.Servers(), func(s catalog.Server) bool { return s.Listener.Name == row.ListenerName }) {
			t.Errorf("%s lacks something, or is there twice: %+v", row.ID, row)
		}
		ids[row.ID] = true
	}
}
