package apply_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient/kubeclienttest"
)

// restartsThere is a step that restarts a kubelet, as far as the engine and its gate know.
type restartsThere struct{ looking }

func (restartsThere) RestartsKubelet() {}

var _ remediate.KubeletRestarter = restartsThere{}

// TestAWorkerAtWorkIsLeftOutOfARun, as its Node says after the plan was made. The others are done at once, the run says
// which is left out and how to go on, its journal has it, and an undo of it names no file there.
func TestAWorkerAtWorkIsLeftOutOfARun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ca := pkitest.NewCA("any", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	node := func(name, role, state string) string {
		return `{"metadata":{"name":"` + name + `","labels":{"node-role.kubernetes.io/` + role + `":""},"annotations":{"machineconfiguration.openshift.io/currentConfig":"a","machineconfiguration.openshift.io/desiredConfig":"a","machineconfiguration.openshift.io/state":"` + state + `"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	}
	api := plugintest.SettledAPI().With("/api/v1/nodes", plugintest.List(node("master-0", "master", "Done"), node("worker-0", "worker", "Done"), node("worker-1", "worker", "Working"), node("worker-2", "worker", "Done")))
	var nodes []plugintest.LiveNode
	var steps []remediate.Action
	var done []string
	for _, name := range []string{"worker-0", "worker-1", "worker-2"} {
		n := plugintest.NewLiveNode(t, name)
		n.Kubelet(t, ca.CertPEM, "https://127.0.0.1:1", ca)
		nodes = append(nodes, n)
		steps = append(steps, restartsThere{looking{name, func() { done = append(done, name) }}})
	}
	var out plugintest.Transcript
	w := applytest.OnNodes(applytest.Connect(api, t), &out, nodes...)
	w.Conn.Kube = kubeclienttest.Of(fake.NewClientset()) // for the Lease
	p := stepsOn(steps...)
	p.Waves[0].Name = remediate.WaveWorkers
	for i := range p.Basis.Nodes {
		p.Basis.Nodes[i].Role = catalog.RoleWorker
	}
	p.Basis.Cluster.Versions = catalog.Versions{Cluster: "4.15.1"}
	_, code, said := doing(t, w, &out, apply.DryRunNone, p)
	if code != cli.ExitIncomplete || strings.Join(done, " ") != "worker-0 worker-2" {
		t.Errorf("exit code %d, done on %q:\n%s", code, done, said)
	}
	for _, want := range []string{
		"? worker-1  left out: pools-settled: machine-config-daemon is at work on worker-1", "\nDone. Left out: worker-1.",
		"everything else was done; left out while it ran: pools-settled on worker-1", "certrot fix-api-int --via ssh", "oc get node worker-1 -o yaml",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "waits, for") {
		t.Errorf("it was waited for:\n%s", said)
	}
	js, err := apply.Journals()
	if err != nil {
		t.Fatal(err)
	}
	runs, err := js.List()
	if err != nil || len(runs) != 1 || runs[0].Outcome() != "finished; left out: worker-1" || len(runs[0].Touched()) > 0 {
		t.Errorf("%v: %+v", err, runs)
	}
}
