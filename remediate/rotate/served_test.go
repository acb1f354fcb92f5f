package rotate

import (
	"crypto/x509"
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

// TestAcceptedByKubelets: what kubelets answer to masters' requests counts, and masters
// that have another certificate yet, or were not read, are not through.
func TestAcceptedByKubelets(t *testing.T) {
	t.Parallel()
	row := catalog.Callers()[0]
	no := false
	for _, c := range []struct {
		title   string
		masters []string // what their files hold: "new", "old", "" (not read)
		codes   []int    // of two kubelets, to the first master, and to each that has an old one; nil: no API server asked
		want    string
	}{
		{"both accept it", []string{"new"}, []int{200, 403}, "pass: all 2 requests with a certificate of it were accepted"},
		{"no API server asked", []string{"new"}, nil, "unknown: unknown: kubelet-client (no request was made with it: that takes a control plane node that can be read)"},
		{"one does not", []string{"new"}, []int{200, 401}, "warn: 1 of 2 requests with a certificate of it were accepted; not: 10.0.0.2:10250 answers 401"},
		{"one does not answer", []string{"new"}, []int{200, 0}, "unknown: 1 of 2 requests with a certificate of it were accepted; unknown: a request from master-0 to 10.0.0.2:10250 had no answer"},
		{"a master still has the old one, which is accepted", []string{"new", "old"}, []int{200, 200}, "warn: 2 of 3 requests with a certificate of it were accepted; not: " + row.Certificate + " on master-1 still has the one made"},
		{"a master was not read", []string{"new", ""}, []int{200, 200}, "unknown: 2 of 2 requests with a certificate of it were accepted; unknown: what kube-apiserver on master-1 presents"},
		{"a master has none", []string{"new", "none"}, []int{200, 200}, "unknown: 2 of 2 requests with a certificate of it were accepted; unknown: what kube-apiserver on master-1 presents"},
	} {
		r := newRotating(toKubelet, "4.15.3")
		issue := func(by *pkitest.Authority, name string) []byte {
			return by.Issue("system:kube-apiserver", r.at.Add(-10*time.Minute), r.at.AddDate(0, 0, 30), pkitest.KeyName(name)).CertPEM
		}
		leaf := map[string][]byte{"new": issue(r.new, "new"), "old": issue(r.old, "old")}
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		both := pkitest.Bundle(r.old.CertPEM, r.new.CertPEM)
		for _, at := range append([]catalog.Ref{r.rotation().Bundle}, r.carried()...) {
			r.put(at, "", both)
		}
		r.put(r.rotation().Targets[0], "kubernetes.io/tls", leaf["new"])
		for i, holds := range c.masters {
			n := inspect.Node{Name: []string{"master-0", "master-1"}[i], Role: catalog.RoleMaster}
			if holds != "" {
				n.Via = "ssh"
			}
			if leaf[holds] != nil {
				n.Files = []inspect.NodeFile{{Path: row.Certificate}}
				at := pki.Location{Kind: pki.KindFile, Node: n.Name, Path: row.Certificate}
				r.s.Bundles = append(r.s.Bundles, inspect.Bundle{At: at, Content: r.sc.Scan(leaf[holds])[0].Content})
				for k, code := range c.codes {
					a := inspect.Accepted{Row: row.ID, Of: []string{"worker-0", "worker-1"}[k], Certificate: row.Certificate}
					a.Server, a.Code = []string{"10.0.0.1:10250", "10.0.0.2:10250"}[k], code
					n.Accepted = append(n.Accepted, a)
				}
			}
			r.s.Nodes = append(r.s.Nodes, n)
		}
		for _, name := range []string{"worker-0", "worker-1"} {
			r.s.Nodes = append(r.s.Nodes, inspect.Node{Name: name, Via: "ssh", Kubelet: inspect.Kubelet{Anonymous: &no}})
		}
		for _, name := range []string{toKubelet, "kubelet-client"} {
			for _, s := range r.preflight(t, name).stages() {
				if s.ID != StageServed {
					continue
				}
				if s.Status == assess.Warn && strings.Contains(s.Reason, "401") && !strings.HasPrefix(s.Remediation.Text, "on worker-1: where ") {
					t.Errorf("%s, of %s: next: %s", c.title, name, s.Remediation.Text)
				}
				if got := s.Status.String() + ": " + s.Reason; !strings.HasPrefix(got, c.want) || (s.Remediation.Text == "") != (s.Status == assess.Pass) {
					t.Errorf("%s, of %s: %s (next: %s), want %s", c.title, name, got, s.Remediation.Text, c.want)
				}
			}
		}
	}
}

// TestServedByNoServerThatIsAsked: why no handshake tells what is presented, with a next step that tells
// it, or with none: to read the nodes tells nothing.
func TestServedByNoServerThatIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ signer, name, why, next, trust string }{
		{"csr-signer-signer", "csr-signer-signer", "csr-signer (no server presents it", "nothing: ", ""},
		{aggregator, "aggregator-client", "aggregator-client (a client presents it: a handshake with a server does not tell)", "nothing: ", ""},
		{"router-ca", "router-ca", "router-certs-default (no handshake was made: ", "ask its server yourself: kubectl certrot inspect HOST:PORT", "its clients are unknown: the catalog has none"},
	} {
		r := newRotating(c.signer, "4.20.3")
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.old.CertPEM)
		at, leaf := r.rotation().Targets[0], r.old.CertPEM
		if at.Name = strings.Replace(at.Name, "*", "default", 1); at.Name != "csr-signer" {
			use := x509.ExtKeyUsageServerAuth
			if c.signer == aggregator {
				use = x509.ExtKeyUsageClientAuth
			}
			leaf = r.old.Issue(at.Name, r.at.AddDate(0, 0, -1), r.at.AddDate(0, 0, 30), pkitest.Usages(use)).CertPEM
		}
		r.put(at, "kubernetes.io/tls", leaf)
		stages := r.preflight(t, c.name).stages()
		of := func(id string) Stage {
			return stages[slices.IndexFunc(stages, func(s Stage) bool { return s.ID == id })]
		}
		if s := of(StageServed); s.Status != assess.Unknown || !strings.Contains(s.Reason, c.why) || !strings.HasPrefix(s.Remediation.Text, c.next) {
			t.Errorf("%s: %s: %s (next: %s)", c.name, s.Status, s.Reason, s.Remediation.Text)
		}
		for _, id := range []string{StageTrust, StageEdges} {
			if s := of(id); c.trust != "" && (s.Status != assess.Unknown || s.Reason != c.trust || !strings.HasPrefix(s.Remediation.Text, "nothing: ")) {
				t.Errorf("%s: %s: %s: %s (next: %s)", c.name, id, s.Status, s.Reason, s.Remediation.Text)
			}
		}
	}
}
