package rotate

import (
	"context"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// sameSaved has a snapshot saved of what a preflight was made from, and holds what each check
// says of it against what it said.
func (r *rotating) sameSaved(t *testing.T, title string, live Preflight) {
	t.Helper()
	s := live.Facts.Snapshot
	s.Taken = live.Now
	if live.ControlPlane != nil {
		s.Status = &inspect.ClusterStatus{Read: live.Now, ControlPlane: live.ControlPlane}
		if live.Network != nil {
			s.Status.Network = &inspect.NetworkRead{PodList: inspect.PodList{Pods: live.Network.Pods}, Rollout: live.Network.Rollout}
		}
	}
	f := inspect.NewFacts(remediatetest.Saved(t, s), live.Now, 0)
	of, err := FindRotatable(rotatables(f), live.Of.Name)
	if err != nil {
		t.Fatal(err)
	}
	saved := live
	saved.Chain = Chain{Facts: f, Claims: trust.Judge(context.Background(), f), Of: of, Since: live.Since}
	saved.Network = nil
	if status := f.Snapshot.Status; status != nil {
		saved.ControlPlane = status.ControlPlane
		if status.Network != nil {
			saved.Network = &action.NetworkRestarts{Pods: status.Network.Pods, Rollout: status.Network.Rollout}
		}
	}
	before, after := live.Check(), saved.Check()
	for i, want := range before {
		got := after[i]
		if want.NoAPIServer {
			want.Reason = "this file has no status"
		}
		if got.ID != want.ID || got.Status != want.Status || got.Risk != want.Risk || got.NoAPIServer != want.NoAPIServer || remediatetest.Unmarked(got.Reason) != remediatetest.Unmarked(want.Reason) {
			t.Errorf("%s: of the file:\n%+v\nwant:\n%+v", title, got, want)
		}
		if got.Blocks() && want.Remediation.Text != "" && got.Remediation.Text == "" {
			t.Errorf("%s: %s of the file has no next step", title, got.ID)
		}
		switch got.ID {
		case "operators-settled", "upgrade-running", "static-pods-settled", "pools-ready", "nodes-ready":
			if s.Status != nil && got.Reason != "" && !strings.Contains(got.Reason, "(as of 20") {
				t.Errorf("%s: %s does not say when it was read: %s", title, got.ID, got.Reason)
			}
		}
	}
}
