package rotate

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestLateAreCounted: a stage that is not reached names each that is late, and its numbers agree
// with them.
func TestLateAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		but   func(r *rotating)
		stage string
		want  []Late
		has   int
	}{
		{"a kubelet has only the previous CA", func(r *rotating) { r.kubeletCA("worker-0", r.old.CertPEM) }, StageTrust,
			[]Late{{"kubelet, for client certificates on worker-0", "the next certificate presented will be signed by "}}, 1},
		{"a node was left out", func(r *rotating) { r.s.OtherNodes = []inspect.Node{{Name: "worker-1"}} }, StageTrust,
			[]Late{{"clients on worker-1", "the node was left out"}}, 2},
		{"what it signs is still signed by the previous one", func(*rotating) {}, StageLeaf, []Late{{"kubelet-client", "signed by the previous CA; rotates automatically "}}, 0},
	} {
		r := newRotating(toKubelet, "4.15.3")
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		both := pkitest.Bundle(r.old.CertPEM, r.new.CertPEM)
		for _, at := range append([]catalog.Ref{r.rotation().Bundle}, r.carried()...) {
			r.put(at, "", both)
		}
		r.kubeletCA("master-0", both)
		if c.but(r); c.title != "a kubelet has only the previous CA" {
			r.kubeletCA("worker-0", both)
		}
		found := false
		for _, s := range r.preflight(t, toKubelet).stages() {
			if s.Status == assess.Pass && (len(s.Late) > 0 || s.Reached != s.All || s.All == 0 && s.ID != StageSigner) || s.Reached+len(s.Late) > s.All {
				t.Errorf("%s: %+v", c.title, s)
			}
			if s.ID != c.stage {
				continue
			}
			found = true
			same := len(s.Late) == len(c.want) && s.Reached == c.has && s.All == c.has+len(c.want)
			for i := range s.Late {
				same = same && s.Late[i].Name == c.want[i].Name && strings.Contains(s.Late[i].Reason, c.want[i].Reason)
			}
			if !same {
				t.Errorf("%s: %d of %d, late %+v", c.title, s.Reached, s.All, s.Late)
			}
		}
		if !found {
			t.Errorf("%s: no stage %s", c.title, c.stage)
		}
	}
}

// TestLateInWords: a reason that several share stands once, and a client on several nodes does.
func TestLateInWords(t *testing.T) {
	t.Parallel()
	for want, late := range map[string][]Late{
		"a":                            {{"a", ""}},
		"k on w1, w2 (no CA)":          {{"k on w1", "no CA"}, {"k on w2", "no CA"}},
		"k on w1 (no CA); k on w2 (x)": {{"k on w1", "no CA"}, {"k on w2", "x"}},
		"k on w1, w2; l on w1, w2 (x) and 1 more": {{"k on w1", "x"}, {"k on w2", "x"}, {"l on w1", "x"}, {"l on w2", "x"}, {"l on w3", "x"}},
	} {
		if got := fewLate(late); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestWhatHelpsUntrustingClients: the next step is one that works: a file that a node which was read lacks
// is looked at there, and the CA comes to nodes by pretrust only until it signs.
func TestWhatHelpsUntrustingClients(t *testing.T) {
	t.Parallel()
	r := newRotating(toKubelet, "4.15.3")
	r.s.Nodes = append(r.s.Nodes, inspect.Node{Name: "worker-0", Via: "ssh"})
	p := r.preflight(t, toKubelet)
	claim := trust.Claim{
		Edge: catalog.Edge{Verifier: "kubelet", Trust: catalog.Ref{Kind: catalog.File, Name: "/etc/a.crt"}, Presented: r.rotation().Targets[0]},
		Node: "worker-0", Assessment: assess.Assessment{Status: assess.Unknown, Reason: "there is no /etc/a.crt"},
	}
	p.Claims = []trust.Claim{claim}
	p.ControlPlane, p.Facts.Snapshot.OtherNodes = nil, nil
	if s := p.trustStage(nil); s.Remediation.Command != "oc debug node/worker-0 -- chroot /host ls -l /etc/a.crt" || !strings.HasPrefix(s.Reason, "1 of 1 clients unknown: kubelet on worker-0 (") {
		t.Errorf("%s; next: %s", s.Reason, s.Remediation.Text)
	}
	p.Facts.Snapshot.OtherNodes = []inspect.Node{{Name: "worker-1"}}
	if s := p.trustStage(nil); !strings.Contains(s.Remediation.Text, "--nodes all") {
		t.Errorf("a node was left out: next: %s", s.Remediation.Text)
	}
	for _, signs := range []bool{false, true} {
		r := newRotating(loadBalancer, "4.15.3")
		want, by := "kubectl certrot pretrust --dry-run=client", r.old
		if signs {
			want, by = "kubectl certrot fix-api-int --dry-run=client", r.new
		}
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		r.put(catalog.InternalLoadBalancerServing(), "kubernetes.io/tls", by.Issue("api-int", r.at.AddDate(0, 0, -1), r.at.AddDate(0, 0, 29)).CertPEM)
		p := r.preflight(t, loadBalancer)
		p.Claims = []trust.Claim{{
			Edge: catalog.Edge{Verifier: "kubelet", Trust: catalog.KubeletKubeconfigCA(), Presented: catalog.InternalLoadBalancerServing()}, Node: "worker-0", Assessment: assess.Assessment{Status: assess.Fail, Reason: "no"},
		}}
		if s := p.trustStage(nil); s.Status != assess.Warn || s.Remediation.Command != want {
			t.Errorf("it signs %t: %s: %s; next: %s", signs, s.Status, s.Reason, s.Remediation.Text)
		}
	}
}
