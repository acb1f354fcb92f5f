package remediate

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Whoever has a bootstrapper's token can ask in any node's name: that is a kubelet's
// request only where it has no certificate.
func TestBootstrappersAskForKubeletsWithoutACertificate(t *testing.T) {
	t.Parallel()
	ask := func(certified string) string {
		r := asker{"worker-0", workerZero(), catalog.Versions{Cluster: "4.15.0"}, certified}.judge(clientAsking(t).made(t))
		if r == nil {
			t.Fatal("it is not judged")
		}
		return r.why
	}
	if why := ask(""); why != "" {
		t.Errorf("a kubelet without a certificate: %s", why)
	}
	if why := ask("its kubelet has a client certificate until tomorrow"); !strings.Contains(why, "until tomorrow") {
		t.Errorf("a kubelet with one: %q", why)
	}
}

// What was paused is resumed before requests that nobody answered may end the run.
func TestFrameEndsBeforeRequests(t *testing.T) {
	t.Parallel()
	step := []Step{{Action: LeftCSRs{}}}
	for want, waves := range map[string][]Wave{
		",masters,,requests": {{Name: WaveMasters}, {Name: WaveRequests}},
		",masters,":          {{Name: WaveMasters}},
		",":                  nil,
	} {
		p := &Plan{Waves: slices.Clone(waves)}
		p.Frame(step, step)
		var got []string
		for _, w := range p.Waves {
			got = append(got, w.Name)
		}
		if s := strings.Join(got, ","); s != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
}

// With one master, all nodes are one wave, and kube-controller-manager is waited for
// after it: while its node is lost, it gets no CA.
func TestASingleNodeIsRepairedBeforeItsRootCAIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFixture("master-0")
	f.Cluster.Topology = "SingleReplica"
	f.Nodes[0].Role = catalog.RoleMaster
	fix := f.fix()
	fix.Nodes = nil
	fix.After.RootCA = &AwaitRootCA{}
	p, err := fix.Plan("run-1", f.Snapshot, noon)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range p.Waves {
		names = append(names, w.Name)
	}
	if !slices.Equal(names, []string{waveNodes, WaveControlPlane}) {
		t.Errorf("the waves are %q", names)
	}
}
