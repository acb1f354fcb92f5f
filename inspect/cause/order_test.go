package cause

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// clientLink is where a kubelet's client certificate is.
const clientLink = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// TestWhatIsDownComesFirst: a problem of nodes without a heartbeat before what fails later, and after what it waits for.
func TestWhatIsDownComesFirst(t *testing.T) {
	t.Parallel()
	findings := []Finding{
		finding("node-file-current", assess.Critical, file("worker-1", kubeconfig)),
		finding("node-file-current", assess.Critical, file("worker-2", kubeconfig)),
		finding("kubelet-current", assess.Critical, file("worker-2", clientLink)),
		finding("csr-answered", assess.Warning, file("worker-2", "")),
	}
	expired := finding("certificate-expired", assess.Critical, secret("openshift-kube-apiserver", "internal-loadbalancer-serving-certkey"))
	for name, c := range map[string]struct {
		down     []string
		findings []Finding
		want     string
	}{
		"all are up":                   {nil, findings, "kubelets do not trust api-int; kubelets have no client certificate; csr-answered"},
		"worker-2 is down":             {[]string{"worker-2"}, findings, "kubelets have no client certificate; kubelets do not trust api-int; csr-answered"},
		"both are":                     {[]string{"worker-1", "worker-2"}, findings, "kubelets do not trust api-int; kubelets have no client certificate; csr-answered"},
		"what is repaired before that": {[]string{"worker-1"}, append([]Finding{expired}, findings[0]), "all clients refuse api-int's expired certificate; kubelets do not trust api-int"},
	} {
		problems := Fold(inspect.LiveHints("oc certrot"), c.findings)
		down := map[string]bool{}
		for _, node := range c.down {
			down[node] = true
		}
		DownFirst(problems, down)
		var got []string
		for _, p := range problems {
			got = append(got, strings.TrimPrefix(strings.Replace(p.Reason, "0 CSRs pending", "csr-answered", 1), "the reason of "))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNodesOfAnotherProblemAreNamed: worker-2 lacks the CA, too; its findings are told with its client certificate.
func TestNodesOfAnotherProblemAreNamed(t *testing.T) {
	t.Parallel()
	problems := Fold(inspect.LiveHints("oc certrot"), []Finding{
		finding("node-file-current", assess.Critical, file("worker-1", kubeconfig)),
		finding("node-file-current", assess.Critical, file("worker-2", kubeconfig)),
		finding("api-trusted", assess.Critical, file("worker-2", kubeconfig)),
		finding("kubelet-current", assess.Critical, file("worker-2", clientLink)),
	})
	if len(problems) != 2 || strings.Join(problems[0].Elsewhere, ",") != "worker-2" || strings.Join(problems[0].Nodes, ",") != "worker-1" || len(problems[1].Elsewhere) != 0 {
		t.Errorf("%+v", problems)
	}
}
