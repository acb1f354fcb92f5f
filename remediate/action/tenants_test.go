package action

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestTenantsProcessRestartsNothing: a process in another pod than those of the DaemonSet
// neither restarts them nor keeps them from being restarted, whatever it calls itself.
func TestTenantsProcessRestartsNothing(t *testing.T) {
	t.Parallel()
	const node = "worker-0"
	long, since := remediatetest.TestNow.Add(-25*time.Hour), remediatetest.TestNow.Add(-30*time.Second)
	for _, id := range []string{"multus", "machine-config-daemon", "ovnkube-node"} {
		row := remediatetest.RowOf(id)
		for name, c := range map[string]struct {
			pod       time.Time // its start
			processes []inspect.Process
			restarted bool
		}{
			"the platform's alone":                   {since, []inspect.Process{remediatetest.ProcessOf(id, node, since)}, false},
			"a tenant's is older":                    {since, []inspect.Process{remediatetest.ProcessOf(id, node, since), inspecttest.TenantsProcess(row.Command, long)}, false},
			"a tenant's is older, and the only one":  {since, []inspect.Process{inspecttest.TenantsProcess(row.Command, long)}, false},
			"a tenant's is younger":                  {long, []inspect.Process{remediatetest.ProcessOf(id, node, long), inspecttest.TenantsProcess(row.Command, since)}, true},
			"a tenant's is younger, the only one":    {long, []inspect.Process{inspecttest.TenantsProcess(row.Command, since)}, true},
			"the pod of an older one was not read":   {since, []inspect.Process{{Command: row.Command, Started: long}}, false},
			"a pod that the API server did not list": {since, []inspect.Process{inspecttest.Process(row.Command, long)}, false},
			"an older one of the host":               {since, []inspect.Process{{Command: row.Command, Started: long, Host: true}}, false},
		} {
			f := remediatetest.RepairedFixture()
			a := RestartPods{NodeName: node, Row: row, Pods: []inspect.Pod{remediatetest.PodOf(row, node, c.pod)}, CA: f.CaOf()}
			a.RootCA = &inspect.RootCA{Namespace: row.Namespace, CA: f.CaOf(), Written: remediatetest.TestNow.Add(-30 * time.Minute)}
			f.FirstNode().Processes = c.processes
			if change, err := a.Diff(f.Snapshot, remediatetest.TestNow); err != nil || (change != nil) != c.restarted {
				t.Errorf("%s, %s: %+v, %v", id, name, change, err)
			}
		}
	}
}
