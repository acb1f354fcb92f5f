package rotate

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestNodesThatLackTheSignerComeFirst: where nodes do not trust the signer that signs now, they are
// named, and no order of steps makes another one. Where their kubelets fail for another reason, or
// work until they reconnect, it is the order.
func TestNodesThatLackTheSignerComeFirst(t *testing.T) {
	t.Parallel()
	r := newRotating(loadBalancer, "4.15.3")
	roots := func(pem []byte) []*pki.Cert { return r.sc.Scan(pem)[0].Content.Certs }
	claim := func(node string, status assess.Status, of []byte) trust.Claim {
		return trust.Claim{Edge: catalog.Edge{Trust: catalog.KubeletKubeconfigCA(), Presented: catalog.InternalLoadBalancerServing()}, Node: node, Roots: roots(of), Assessment: assess.Assessment{Status: status}}
	}
	lacks := func(node string) trust.Claim { return claim(node, assess.Fail, r.new.CertPEM) }
	pods := lacks("worker-1")
	pods.Edge.Trust = catalog.Ref{Kind: catalog.File, Name: "/etc/kubernetes/kubeconfig"}
	const order = "OpenShift 4.15 does not write the new CA to /var/lib/kubelet/kubeconfig; kubelets fail at their next reconnect once it signs ("
	for _, c := range []struct {
		title  string
		claims []trust.Claim
		says   string
	}{
		{"none lacks it", []trust.Claim{claim("worker-1", assess.Pass, r.old.CertPEM)}, order},
		{"one lacks it", []trust.Claim{lacks("worker-1"), lacks("worker-1")}, "worker-1 does not trust the current signer: another one makes it worse"},
		{"two lack it", []trust.Claim{lacks("worker-1"), lacks("worker-2")}, "worker-1 and worker-2 do not trust the current signer"},
		{"many lack it", []trust.Claim{lacks("a"), lacks("b"), lacks("c"), lacks("d"), lacks("e")}, "a, b, c, d and 1 more do not trust the current signer"},
		{"a name that is none", []trust.Claim{lacks("a; rm -rf /")}, "“a; rm -rf /” does not trust"},
		{"it fails for another reason", []trust.Claim{claim("worker-1", assess.Fail, r.old.CertPEM)}, order},
		{"it works until something is signed", []trust.Claim{claim("worker-1", assess.Warn, r.new.CertPEM)}, order},
		{"another file lacks it", []trust.Claim{pods}, order},
	} {
		p := r.preflight(t, loadBalancer)
		p.Claims = c.claims
		got := p.reaches()
		if got.Passed != catalog.No || !strings.HasPrefix(got.Reason, c.says) {
			t.Errorf("%s: %q", c.title, got.Reason)
		}
		if steps := strings.Contains(got.Next, "(1) "); steps != (c.says == order) || !steps && got.Next != "kubectl certrot fix-api-int --dry-run=client" {
			t.Errorf("%s: next %q", c.title, got.Next)
		}
	}
}
