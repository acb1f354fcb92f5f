package cause

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestPendingRequestsAreCounted: by node, with how long the first one waits; requests of no node by the one
// that is to be answered, and those that were answered what the findings say.
func TestPendingRequestsAreCounted(t *testing.T) {
	t.Parallel()
	request := func(name string) pki.Location { return pki.Location{Kind: requestKind, Name: name} }
	node := func(name string) pki.Location { return inspect.OnNode(&inspect.Node{Name: name}, "") }
	asked := func(reason string, at ...pki.Location) Finding {
		f := finding("csr-answered", assess.Warning, at...)
		f.Reason = reason
		return f
	}
	for want, findings := range map[string][]Finding{
		"3 CSRs pending: worker-2 (2, for 5h), worker-1 (1, for 32m)": {
			asked("2 CSRs pending for 5h: a +1", request("a"), request("b"), node("worker-2")), asked("1 CSR pending for 32m: c", request("c"), node("worker-1")),
		},
		"8 CSRs pending: worker-2 (7, for 5h13m), worker-1 (1, for 32m)": { // the places of inspect nodes
			asked("7 CSRs pending for 5h13m: csr-b4x9f +6", node("worker-2")), asked("1 CSR pending for 32m: csr-8tq2z", node("worker-1")),
		},
		"4 CSRs pending: a +2 (for 5h), d (age unknown)": { // as inspect csr has them
			asked("3 CSRs pending for 5h: a +2", request("a"), request("b"), request("c")), asked("1 CSR pending (age unknown): d", request("d")),
		},
		"CSRs without a certificate: worker-1, worker-2": {asked("1 CSR pending for 5h: a", request("a"), node("worker-1")), asked("1 CSR approved 5h ago, no certificate issued: b", request("b"), node("worker-2"))},
	} {
		p := Fold(inspect.Hints{}, findings)[0]
		if got := p.Reason + ": " + strings.Join(p.Names(), ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAFilterChangesNoCause: a finding that is left out proves the cause of another one, and names its nodes;
// it is in no problem.
func TestAFilterChangesNoCause(t *testing.T) {
	t.Parallel()
	delivered := finding("api-ca-delivered", assess.Critical, secret("openshift-kube-apiserver-operator", "loadbalancer-serving-signer"))
	file := finding("node-file-current", assess.Critical, file("worker-1", kubeconfig))
	all := Fold(inspect.Hints{}, []Finding{delivered, file})
	file.Beside = true
	chosen := Fold(inspect.Hints{}, []Finding{delivered, file})
	if len(all) != 1 || len(chosen) != 1 || len(chosen[0].Findings) != 1 {
		t.Fatalf("%+v, %+v", all, chosen)
	}
	if a, c := all[0], chosen[0]; a.ID != c.ID || a.Reason != c.Reason || strings.Join(a.Names(), ",") != "worker-1" || strings.Join(c.Names(), ",") != "worker-1" {
		t.Errorf("%+v is not called %+v", c, a)
	}
}
