package remediate

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestTrustOfWhoWasNotAsked: nodes that were left out are not known to trust anybody.
func TestTrustOfWhoWasNotAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		but   func(*inspect.Snapshot)
		want  catalog.Answer
		says  string
	}{
		{"the one node trusts it", func(*inspect.Snapshot) {}, catalog.Yes, "all 1"},
		{"another one was left out", func(s *inspect.Snapshot) { s.Unasked = []inspect.Node{{Name: "worker-1"}} }, catalog.Unknown, "worker-1 (the node was left out)"},
		{"which nodes there are is not known", func(s *inspect.Snapshot) {
			s.Gaps = append(s.Gaps, inspect.Gap{What: "nodes", Reason: "forbidden"})
		}, catalog.Unknown, "forbidden"},
	} {
		r := newRotating(toKubelet, "4.15.3")
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		both := pkitest.Bundle(r.old.CertPEM, r.new.CertPEM)
		for _, at := range append([]catalog.Ref{r.rotation().Bundle}, r.carried()...) {
			r.put(at, "", both)
		}
		r.kubeletCA("worker-0", both)
		c.but(&r.s)
		for _, name := range []string{toKubelet, "kubelet-client"} {
			p := r.preflight(t, name)
			for _, s := range p.Stages() {
				if s.Name == StageTrust && (s.Reached != c.want || !strings.Contains(s.Text, c.says)) {
					t.Errorf("%s, of %s: %s: %s", c.title, name, s.Reached, s.Text)
				}
			}
			p.Follows = true
			for _, v := range p.Check() {
				if name == "kubelet-client" && v.Name == SignerTrusted && v.Stops() != (c.want != catalog.Yes) {
					t.Errorf("%s: it may be signed: %+v", c.title, v)
				}
			}
		}
	}
}

// TestTrustInMemory: a kubelet that has not read its file anew does not trust the new CA,
// and where that is not known it is not taken to.
func TestTrustInMemory(t *testing.T) {
	t.Parallel()
	counted := 0
	for _, row := range catalog.Processes() {
		r := newRotating(loadBalancer, "4.15.3")
		p := r.preflight(t, "internal-loadbalancer-serving-certkey")
		e := row.Edge
		e.Shown = catalog.InternalLoadBalancerServing() // as trust.Judge has it, of the edge row.Of
		p.Claims = []trust.Claim{{Edge: e, Node: "worker-0", Status: trust.Unknown, Why: "it was not restarted"}}
		for _, s := range p.Stages() {
			if s.Name == StageTrust && strings.Contains(s.Text, "it was not restarted") {
				counted++
			}
		}
	}
	if counted == 0 || counted != len(catalog.Processes()) {
		t.Errorf("%d of %d processes count", counted, len(catalog.Processes()))
	}
}
