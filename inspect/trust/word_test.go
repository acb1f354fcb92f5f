package trust_test

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestOneWorkersWordOfAControlPlaneNode is no proof against other nodes: root on it chooses what is presented to it.
func TestOneWorkersWordOfAControlPlaneNode(t *testing.T) {
	t.Parallel()
	e := edge(t, "kubelet-api-int")
	own, other := pkitest.NewCA("own", from(-10), from(900)), pkitest.NewCA("other", from(-10), from(900))
	for name, c := range map[string]struct {
		from []string
		want assess.Status
		why  string
	}{
		"one worker":                  {[]string{"w1"}, assess.Unknown, "by m2, one of the control plane nodes, as w1 alone was presented: "},
		"two workers":                 {[]string{"w1", "w2"}, assess.Fail, "by m2, one of the control plane nodes: "},
		"a control plane node":        {[]string{"m1"}, assess.Fail, "by m2, one of the control plane nodes: "},
		"a worker, and the same node": {[]string{"n1"}, assess.Fail, "by m2, one of the control plane nodes: "},
	} {
		w := newWorld(catalog.Versions{Cluster: "4.15.3"})
		w.trust(e, own.CertPEM)
		w.signer(e, own)
		met := leafFor(e, own, -1, 29).CertPEM
		w.put(e.Presented, met)
		w.s.Served = []inspect.Served{{Node: "n1", Address: "api-int.example.com:6443", Name: "api-int.example.com", Chain: w.sc.Scan(met)[0].Content.Certs}}
		w.s.Nodes[0].Role = catalog.RoleWorker
		for _, name := range []string{"m1", "w1", "w2"} {
			role := catalog.RoleWorker
			if name == "m1" {
				role = catalog.RoleMaster
			}
			w.s.Nodes = append(w.s.Nodes, inspect.Node{Name: name, Via: "ssh", Role: role})
		}
		for _, node := range c.from {
			w.s.Served = append(w.s.Served, inspect.Served{Node: node, Of: "m2", Server: catalog.ListenerAPIServer, Address: "10.0.0.2:6443", Name: "api-int.example.com", Chain: w.sc.Scan(leafFor(e, other, -1, 29).CertPEM)[0].Content.Certs})
		}
		found := false
		for _, got := range w.judge(e.ID) {
			if got.Node != "n1" {
				continue
			}
			found = true
			if got.Status != c.want || !strings.Contains(got.Reason, c.why) {
				t.Errorf("%s: %s, %q", name, got.Status, got.Reason)
			}
		}
		if !found {
			t.Errorf("%s: no claim about n1", name)
		}
	}
}
