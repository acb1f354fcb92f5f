package trust_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func TestKubeletsAccept(t *testing.T) {
	t.Parallel()
	row := catalog.Callers()[0]
	yes, no := true, false
	for _, c := range []struct {
		title  string
		answer inspect.ProbeAnswer
		but    func(w *world, kubelet *inspect.Node)
		status assess.Status
		why    string
	}{
		{"it is known", inspect.ProbeAnswer{Code: 200}, nil, assess.Pass, ""},
		{"it is known, and may not", inspect.ProbeAnswer{Code: 403}, nil, assess.Pass, ""},
		{"the kubelet is not well, and knows it", inspect.ProbeAnswer{Code: 500}, nil, assess.Pass, ""},
		{"it is unknown", inspect.ProbeAnswer{Code: 401}, nil, assess.Fail, "10.0.0.7:10250 answers 401 to a request from m0 with"},
		{"it is unknown, and the file is just written", inspect.ProbeAnswer{Code: 401}, func(w *world, n *inspect.Node) {
			n.Kubelet.ClientCAFile = "/etc/kubernetes/kubelet-ca.crt"
			n.Files = []inspect.NodeFile{{Path: n.Kubelet.ClientCAFile, Modified: noon.Add(-time.Minute)}}
		}, assess.Unknown, "may take 2 minutes; run it again"},
		{"it is unknown, and the file was written before", inspect.ProbeAnswer{Code: 401}, func(w *world, n *inspect.Node) {
			n.Kubelet.ClientCAFile = "/etc/kubernetes/kubelet-ca.crt"
			n.Files = []inspect.NodeFile{{Path: n.Kubelet.ClientCAFile, Modified: noon.Add(-3 * time.Minute)}}
		}, assess.Fail, "does not accept it"},
		{"no answer", inspect.ProbeAnswer{Failure: inspect.FailedTrust, Detail: "the CA does not verify it"}, nil, assess.Unknown, "a request from m0 to 10.0.0.7:10250 had no answer: the CA does not verify it"},
		{"no answer, and no reason", inspect.ProbeAnswer{}, nil, assess.Unknown, "for an unknown reason"},
		{"it lets anybody in", inspect.ProbeAnswer{Code: 200}, func(_ *world, n *inspect.Node) { n.Kubelet.Anonymous = &yes }, assess.Unknown, "admits anonymous clients"},
		{"who it lets in was not read", inspect.ProbeAnswer{Code: 200}, func(_ *world, n *inspect.Node) { n.Kubelet.Anonymous = nil }, assess.Unknown, "whether it admits anonymous clients was not read"},
		{"the node was not read", inspect.ProbeAnswer{Code: 200}, func(w *world, _ *inspect.Node) { w.s.Nodes = w.s.Nodes[:1] }, assess.Unknown, "was not read"},
		{"what was shown was not read", inspect.ProbeAnswer{Code: 200}, func(w *world, _ *inspect.Node) { w.s.Bundles = nil }, assess.Unknown, "which certificate was presented is unknown"},
	} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		ca := pkitest.NewCA("to-kubelet", from(-100), from(900))
		leaf := ca.Issue("system:kube-apiserver", from(-1), from(29))
		c.answer.Server = "10.0.0.7:10250"
		w.s.Nodes = []inspect.Node{
			{Name: "m0", Via: "ssh", Accepted: []inspect.Accepted{{Row: row.ID, Of: "n7", Certificate: row.Certificate, ProbeAnswer: c.answer}, {Row: "another"}}},
			{Name: "n7", Via: "ssh", Kubelet: inspect.Kubelet{Anonymous: &no}},
		}
		w.s.Bundles = []inspect.Bundle{{At: pki.Location{Kind: pki.KindFile, Node: "m0", Path: row.Certificate}, Content: w.sc.Scan(leaf.CertPEM)[0].Content}}
		if c.but != nil {
			c.but(w, &w.s.Nodes[1])
		}
		got := one(t, w.judge(row.ID))
		if got.Status != c.status || !strings.Contains(got.Reason, c.why) || (got.Reason == "") != (c.status == assess.Pass) {
			t.Errorf("%s: %s, %q", c.title, got.Status, got.Reason)
		}
		if got.Node != "n7" || got.Server != "10.0.0.7:10250" || got.Edge.Presented != row.Presented {
			t.Errorf("%s: %+v", c.title, got)
		}
	}
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.s.Nodes = []inspect.Node{{Name: "m0", Via: "ssh"}}
	if got := w.judge(row.ID); len(got) > 0 {
		t.Errorf("nobody asked, and something is claimed: %+v", got)
	}
}

// TestEveryCaller: each passes where it is accepted, fails where it is not, and is unknown where no
// answer came.
func TestEveryCaller(t *testing.T) {
	t.Parallel()
	no := false
	for _, row := range catalog.Callers() {
		for code, want := range map[int]assess.Status{200: assess.Pass, 403: assess.Pass, 401: assess.Fail, 0: assess.Unknown} {
			w := newWorld(versions(row.Edge))
			w.s.Nodes = []inspect.Node{
				{Name: "n1", Via: "ssh", Accepted: []inspect.Accepted{{Row: row.ID, Of: "n7", Certificate: row.Certificate, ProbeAnswer: inspect.ProbeAnswer{Server: "10.0.0.7:1", Code: code}}}},
				{Name: "n7", Via: "ssh", Kubelet: inspect.Kubelet{Anonymous: &no}},
			}
			w.put(catalog.Ref{Kind: catalog.File, Name: row.Certificate}, pkitest.NewCA("the CA", from(-10), from(900)).Issue("client", from(-1), from(29)).CertPEM)
			if got := one(t, w.judge(row.ID)); got.Status != want || got.Node != "n7" {
				t.Errorf("%s, %d: %s of %s, want %s: %s", row.ID, code, got.Status, got.Node, want, got.Reason)
			}
		}
	}
}
