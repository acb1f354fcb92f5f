package preflight

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
)

// TestAProcessThatIsKnownNotToRun: only of a node whose processes were read is it known.
func TestAProcessThatIsKnownNotToRun(t *testing.T) {
	t.Parallel()
	const daemon = "machine-config-daemon"
	for name, c := range map[string]struct {
		command string
		node    inspect.Node
		gaps    []inspect.Gap
		absent  bool
	}{
		"it runs":                         {daemon, inspect.Node{AllProcesses: true, Processes: []inspect.Process{inspecttest.Process(daemon, time.Time{})}}, nil, false},
		"a tenant runs one of its name":   {daemon, inspect.Node{AllProcesses: true, Processes: []inspect.Process{inspecttest.TenantsProcess(daemon, time.Time{})}}, nil, true},
		"whose it is was not read":        {daemon, inspect.Node{AllProcesses: true, Processes: []inspect.Process{{Command: daemon}}}, nil, false},
		"others run":                      {daemon, inspect.Node{AllProcesses: true, Processes: []inspect.Process{{Command: "kube-proxy"}}}, nil, true},
		"nothing that runs was read":      {daemon, inspect.Node{}, nil, false},
		"not all that runs was read":      {daemon, inspect.Node{Kubelet: inspect.Kubelet{Active: "active"}, Processes: []inspect.Process{{Command: "kube-proxy"}}}, nil, false},
		"which process it is, is unknown": {"", inspect.Node{AllProcesses: true}, nil, false},
		"its processes were not read":     {daemon, inspect.Node{AllProcesses: true}, []inspect.Gap{{What: "node/worker-0", Reason: "processes of services: no /proc"}}, false},
		"a file was not read":             {daemon, inspect.Node{AllProcesses: true}, []inspect.Gap{{What: "node/worker-0", Where: "/etc/kubernetes/kubeconfig", Reason: "permission denied"}}, true},
		"another node was not read":       {daemon, inspect.Node{AllProcesses: true}, []inspect.Gap{{What: "node/worker-1", Reason: "processes of services: no /proc"}}, true},
	} {
		c.node.Name = "worker-0"
		if got := AbsentProcess(inspect.Snapshot{Gaps: c.gaps}, &c.node, c.command); got != c.absent {
			t.Errorf("%s: known not to run: %t", name, got)
		}
	}
}

// TestOnlyRisksAreOfferedToBeAccepted: where none of the checks may be accepted by name, nothing
// is said of that.
func TestOnlyRisksAreOfferedToBeAccepted(t *testing.T) {
	t.Parallel()
	verdict := func(id string, risk bool) Verdict {
		return Verdict{Assessment: Fail("look at "+id, "no").Assess(id), Risk: risk}
	}
	for want, checks := range map[string][]Verdict{
		"look at clocks\nlook at csr-signer\nto accept the risk: --accept-risk=clocks": {verdict("clocks", true), verdict("csr-signer", false)},
		"look at csr-signer": {verdict("csr-signer", false)},
	} {
		if got := (&Blocked{Checks: checks}).Next(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
