package apiint

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestARequestThatIsNotToBeApprovedHoldsUpNoPlan: its node is lost, there is nothing to do to it, and
// no API server tells whether it is back.
func TestARequestThatIsNotToBeApprovedHoldsUpNoPlan(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{false, true} {
		f := remediatetest.NewCluster("worker-0! worker-1")
		f.Right("worker-0")
		if asks {
			f.Asks("worker-0")
		}
		fix := wholeOf(f)
		fix.API = false
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		if got := remediatetest.Course(p); got != "workers-first/1: worker-1" {
			t.Errorf("it asks: %t: %s, steps %q", asks, got, remediatetest.StepsOf(p))
		}
	}
}

// TestKubeadmsNodesAreNotToldToRejoinAsOpenShiftsDo: kubeadm joins nodes in another way.
func TestKubeadmsNodesAreNotToldToRejoinAsOpenShiftsDo(t *testing.T) {
	t.Parallel()
	f := remediatetest.KubeadmFixture("worker-0")
	f.Pem("worker-0", inspect.KubeletClient, f.Young.Issue("system:node:worker-0", remediatetest.TestNow.AddDate(0, 0, -40), remediatetest.TestNow.AddDate(0, 0, -10)).CertPEM)
	if notes := strings.Join(planOf(f, t).Notes.Texts(), "\n"); strings.Contains(notes, "--rebootstrap") {
		t.Errorf("notes:\n%s", notes)
	}
}
