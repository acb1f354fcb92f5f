package trust_test

import (
	"context"
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// presented is what a server at this address presented to other clients.
func (w *world) presented(t *testing.T, address string, pem ...[]byte) inspect.Handshake {
	t.Helper()
	to, err := inspect.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	h := inspect.Handshake{Address: to}
	for _, f := range w.sc.Scan(pkitest.Bundle(pem...)) {
		h.Chain = f.Content.Certs
	}
	return h
}

func (w *world) facts() *inspect.Facts {
	w.s.Sort()
	return inspect.NewFacts(w.s, noon, 30*day)
}

// TestClientsOfAnAddress: those of api-int, in objects and on nodes, and of other addresses only those
// whose kubeconfig names them.
func TestClientsOfAnAddress(t *testing.T) {
	t.Parallel()
	w, ca, _, after := masters()
	other := pkitest.NewCA("another CA", from(-10), from(900))
	w.kubeconfig("/var/lib/kubelet/kubeconfig", "https://api-int.example.com:6443", other.CertPEM)
	w.kubeconfig("/etc/kubernetes/kubeconfig", "https://API-int.example.com:6443", ca.CertPEM)
	w.put(edge(t, "controller-manager-api-int").Trust, ca.CertPEM)
	w.put(edge(t, "scheduler-api-int").Trust, other.CertPEM)
	w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: "n2"})
	f := w.facts()
	claims, known := trust.Clients(t.Context(), f, w.presented(t, "api-int.example.com:6443", after.CertPEM))
	got := map[string]assess.Status{}
	for _, c := range claims {
		got[c.Edge.ID+" "+c.Node] = c.Status
		if c.Status == assess.Fail && c.Missing == nil {
			t.Errorf("%s lacks no CA: %s", c.Edge.ID, c.Reason)
		}
	}
	for id, want := range map[string]assess.Status{
		"kubelet-api-int n1": assess.Fail, "kubelet-api-int n2": assess.Unknown, "kubelet-bootstrap-api-int n1": assess.Pass,
		"controller-manager-api-int ": assess.Pass, "scheduler-api-int ": assess.Fail,
	} {
		if status, told := got[id]; !told || status != want {
			t.Errorf("%s: %s, %t; want %s, among %v", id, status, told, want, got)
		}
	}
	if !known {
		t.Error("api-int's clients are known")
	}
	for _, address := range []string{"api-int.example.com:443", "api.example.com:6443", "192.0.2.9:6443"} {
		if claims, known := trust.Clients(t.Context(), f, w.presented(t, address, after.CertPEM)); known || len(claims) > 0 {
			t.Errorf("%s has %d clients", address, len(claims))
		}
	}
	over, end := context.WithCancel(t.Context())
	end()
	if claims, known := trust.Clients(over, f, w.presented(t, "api-int.example.com:6443", after.CertPEM)); len(claims) > 0 || !known {
		t.Errorf("it was interrupted, and told %d", len(claims))
	}
}

// TestClientsOfAKubeadmMaster: each kubeconfig names one address.
func TestClientsOfAKubeadmMaster(t *testing.T) {
	t.Parallel()
	k := newKubeadm()
	leaf := k.ca.Issue("apiserver", from(-1), from(300), pkitest.IPs("10.0.0.1"))
	claims, known := trust.Clients(t.Context(), k.facts(), k.presented(t, "10.0.0.1:6443", leaf.CertPEM))
	if !known || len(claims) != 1 || claims[0].Edge.ID != "kubeadm-scheduler-api" || claims[0].Node != "n1" || claims[0].Status != assess.Pass {
		t.Errorf("%t, %+v", known, claims)
	}
}

// TestTrustedBy: what verifies a chain is a CA bundle, not the chain's own Secret, and at its own time.
func TestTrustedBy(t *testing.T) {
	t.Parallel()
	w, ca, _, after := masters()
	intermediate := ca.CA("intermediate", from(-5), from(400))
	leaf := intermediate.Issue("web", from(-1), from(30), pkitest.DNS("web.example.com"))
	for name, pem := range map[string][]byte{"root": ca.CertPEM, "both": pkitest.Bundle(pkitest.NewCA("x", from(-1), from(9)).CertPEM, ca.CertPEM), "other": pkitest.NewCA("y", from(-1), from(9)).CertPEM} {
		w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "team", Name: name, Key: "ca.crt"}, pem)
	}
	w.put(catalog.Ref{Kind: catalog.Secret, Namespace: "team", Name: "web", Key: "tls.crt"}, leaf.CertPEM)
	f := w.facts()
	names := func(chain ...[]byte) (out []string) {
		by, unjudged := trust.TrustedBy(t.Context(), f, w.presented(t, "web.example.com:443", chain...))
		if len(unjudged) > 0 {
			t.Errorf("not judged: %v", unjudged)
		}
		for _, at := range by {
			out = append(out, at.Name)
		}
		slices.Sort(out)
		return out
	}
	want := []string{"both", catalog.APIServerCA().Name, "root"}
	slices.Sort(want)
	if got := names(leaf.CertPEM, intermediate.CertPEM); !slices.Equal(got, want) {
		t.Errorf("with its intermediate: %q, want %q", got, want)
	}
	if got := names(leaf.CertPEM); len(got) > 0 {
		t.Errorf("without its intermediate: %q", got)
	}
	if got := names(after.CertPEM); !slices.Equal(got, want) {
		t.Errorf("api-int's: %q, want %q", got, want)
	}
	costly := w.presented(t, "web.example.com:443", ca.CertPEM)
	for i := range 99 { // keys that are only said to be large cost nothing here
		of := *costly.Chain[0]
		of.Fingerprint, of.PublicKey = pki.Fingerprint{byte(i)}, "RSA 8192"
		costly.Chain = append(costly.Chain, &of)
	}
	if by, unjudged := trust.TrustedBy(t.Context(), f, costly); len(by) == 0 || len(unjudged) == 0 {
		t.Errorf("trusted by %v, not judged %v", by, unjudged)
	}
}
