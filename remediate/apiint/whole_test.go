package apiint

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestARequestThatIsNotToBeApprovedHoldsUpNoPlan: its node has no heartbeat, there is nothing to do to it,
// and no API server tells whether it is back.
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

// TestAWaitThatMayBeSkippedIsSaid: of nodes that were named, one that is not back, and to which
// nothing else is done.
func TestAWaitThatMayBeSkippedIsSaid(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewCluster("worker-0! worker-1")
	f.Right("worker-0")
	fix := fixOf(f)
	p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(p.Notes.Texts(), "\n"); !strings.Contains(notes, "If it does not come back, leave it out: --nodes worker-1") {
		t.Errorf("steps %q, notes:\n%s", remediatetest.StepsOf(p), notes)
	}
}

// TestFromWhatAKubeletWritesItsFile: its own kubeconfig is missing.
func TestFromWhatAKubeletWritesItsFile(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	f.Drop("worker-0", remediatetest.KubeletFile)
	if notes := strings.Join(planOf(f, t).Notes.Texts(), "\n"); !strings.Contains(notes, "its kubelet writes it, from "+remediatetest.BootstrapFile+", when it starts") {
		t.Errorf("notes:\n%s", notes)
	}
}

// TestTheRootCAIsWaitedForBetweenMastersAndWorkers: when all masters can run installer pods.
func TestTheRootCAIsWaitedForBetweenMastersAndWorkers(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewCluster("master-0 master-1 worker-0 worker-1")
	fix := wholeOf(f)
	fix.FollowUp.RootCA = &action.AwaitRootCA{}
	p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range p.Waves {
		names = append(names, w.Name)
	}
	if !slices.Equal(names, []string{remediate.WaveMasters, remediate.WaveControlPlane, remediate.WaveFirst, remediate.WaveWorkers}) {
		t.Errorf("waves %q", names)
	}
}

// TestAPlanOfWorkersAloneSolvesNothingOfMasters: that masters are to be repaired first was accepted.
func TestAPlanOfWorkersAloneSolvesNothingOfMasters(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewCluster("master-0 worker-0")
	fix := wholeOf(f)
	fix.Order.Only, fix.Order.Accept = []string{remediate.WaveWorkers}, []string{preflight.MastersFirst}
	p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	solved := map[string]bool{}
	for _, finding := range p.Solved {
		for _, at := range finding.At {
			solved[at.Node] = true
		}
	}
	if solved["master-0"] || !solved["worker-0"] {
		t.Errorf("solved on %v", solved)
	}
}

// TestNetworkPodsOfANodeThatIsNotRight are left, and why is said: it was not read, or its kubelet's
// files are to be repaired first.
func TestNetworkPodsOfANodeThatIsNotRight(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*remediatetest.Fixture){
		"it was not read":       func(f *remediatetest.Fixture) { f.Right("worker-1"); f.Unread("worker-1") },
		"its files lack the CA": func(*remediatetest.Fixture) {},
	} {
		f := remediatetest.NewCluster("worker-0 worker-1")
		f.Right("worker-0")
		change(f)
		fix := wholeOf(f)
		row, approver, long := remediatetest.RowOf("multus"), remediatetest.RowOf("network-node-identity"), remediatetest.TestNow.Add(-25*time.Hour)
		fix.Order.Only = []string{remediate.WaveNetwork}
		fix.FollowUp.Network = &action.NetworkRestarts{CA: f.CaOf(), Pods: []inspect.Pod{remediatetest.PodOf(row, "worker-0", long), remediatetest.PodOf(row, "worker-1", long), remediatetest.PodOf(approver, "worker-0", long)}}
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		steps := remediatetest.StepsOf(p)
		of := func(pods string) (times int) {
			for _, id := range steps {
				if id == "restart "+pods {
					times++
				}
			}
			return times
		}
		if of("worker-0:openshift-network-node-identity/network-node-identity") != 1 || of("worker-0:openshift-multus/multus") != 1 || of("worker-1:openshift-multus/multus") != 0 || len(p.Unknown) != 1 || p.Unknown[0].Node != "worker-1" {
			t.Errorf("%s: steps %q, unknown %v", name, steps, p.Unknown)
		}
	}
}

// TestWhyAWorkerIsFirst: nothing is said of workers that were begun where they are not waited for.
func TestWhyAWorkerIsFirst(t *testing.T) {
	t.Parallel()
	const works, begun = "one that works, before the others", "those that were begun and are not back, and one that works, before the others"
	for name, c := range map[string]struct {
		change func(*remediatetest.Fixture, *Repair)
		want   string
	}{
		"it reports": {func(f *remediatetest.Fixture, _ *Repair) {
			f.Right("worker-0")
			for i := range f.Nodes {
				f.Nodes[i].Heartbeat = remediatetest.TestNow.Add(-time.Second)
			}
		}, works},
		"another one was begun": {func(f *remediatetest.Fixture, _ *Repair) { f.Began("worker-0") }, begun},
		"another one was begun, and is not waited for": {func(f *remediatetest.Fixture, fix *Repair) {
			f.Began("worker-0")
			fix.Order.Accept = []string{preflight.WorkersBack}
		}, works},
	} {
		f := remediatetest.NewCluster("worker-0 worker-1")
		fix := wholeOf(f)
		c.change(f, &fix)
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(p.Waves, func(w remediate.Wave) bool { return w.Name == remediate.WaveFirst })
		if i < 0 || p.Waves[i].Why != c.want {
			t.Errorf("%s: %+v", name, p.Waves)
		}
	}
}
