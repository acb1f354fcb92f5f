package rotate

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
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
			[]Late{{"who verifies it on worker-1", "the node was left out"}}, 2},
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
