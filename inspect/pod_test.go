package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func TestRolloutBehind(t *testing.T) {
	t.Parallel()
	made := func(name string) []*pki.Cert {
		return pki.NewScanner().Scan(pkitest.NewCA(name, time.Unix(1.7e9, 0), time.Unix(1.8e9, 0)).CertPEM)[0].Content.Certs
	}
	before, now := made("old"), made("new")
	both := append(before[:1:1], now...)
	everywhere := func() Rollout {
		return Rollout{
			Operator: true, Source: both, Latest: 8, Masters: []Revision{{Node: "master-0", Current: 8, CA: both, Ready: "True"}},
			RootCAs: []RootCA{{Namespace: "a", CA: both}},
		}
	}
	for name, c := range map[string]struct {
		change func(*Rollout)
		want   string
	}{
		"everywhere":  {func(*Rollout) {}, ""},
		"no operator": {func(r *Rollout) { r.Operator, r.Source, r.Masters = false, nil, nil }, ""},
		"the operator has not put it together": {func(r *Rollout) { r.Source = before },
			"serviceaccount-ca, of which kube-controller-manager's next revision is made, lacks a CA"},
		"a master that is held up": {func(r *Rollout) {
			r.Masters[0] = Revision{Node: "master-1", Current: 7, Target: 8, CA: before, Ready: "Unknown", Installer: "Pending"}
		}, "master-1 runs revision 7, whose serviceaccount-ca lacks a CA; the latest is 8, 8 is being installed (installer pod Pending); the node is not Ready"},
		"a revision that failed": {func(r *Rollout) { r.Masters[0].CA, r.Masters[0].Failed = before, "InstallerFailed: no space" },
			"master-0 runs revision 8, whose serviceaccount-ca lacks a CA; it failed: InstallerFailed: no space"},
		"a revision that was pruned": {func(r *Rollout) { r.Masters[0].CA = nil }, "master-0 runs revision 8, whose serviceaccount-ca is not there any more"},
		"the scheduler, too": {func(r *Rollout) {
			r.Scheduler = &Revisions{Source: both, Latest: 5, Masters: []Revision{{Node: "master-0", Current: 4, Target: 5, CA: before}, {Node: "master-1", Current: 5, CA: both}}}
		}, "kube-scheduler: master-0 runs revision 4, whose serviceaccount-ca lacks a CA; the latest is 5, 5 is being installed"},
		"the scheduler's source": {func(r *Rollout) { r.Scheduler = &Revisions{Source: before} },
			"serviceaccount-ca, of which kube-scheduler's next revision is made, lacks a CA"},
		"two namespaces": {func(r *Rollout) {
			r.RootCAs = []RootCA{{Namespace: "a", CA: before}, {Namespace: "b", CA: both}, {Namespace: "c"}}
		}, "kube-root-ca.crt lacks the CA in a, c"},
	} {
		r := everywhere()
		c.change(&r)
		if got := strings.Join(r.Missing(now), "\n"); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
