package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// pools goes by what pools and nodes are to have, and not by the condition Updating, which is
// True for every pool with a node that is not Ready. Root on a worker writes what its Node says:
// that stops what is done to this worker alone.
func (p Preflight) pools() Result {
	if f, ok := p.Unread(catalog.Pools, "nodes"); ok {
		return f
	}
	if r, ok := p.movingPool(); ok {
		return r
	}
	var notes, others []string
	for _, n := range p.ControlPlane.Nodes {
		switch {
		case !n.Config.Updating():
		case p.ControlPlane.NodeUnhealthy(n.Name):
			notes = append(notes, fmt.Sprintf("machine-config-daemon goes on with its work on %s once it is back (%s)", n.Name, foreign.Name(n.Config.State)))
		case p.ownWord(n.Name) && !slices.Contains(p.Nodes, n.Name):
			others = append(others, n.Name)
		default:
			return atWork(n)
		}
	}
	if len(others) > 0 {
		stay := "which stays as it is"
		if len(others) > 1 {
			stay = "which stay as they are"
		}
		notes = append(notes, "machine-config-daemon is at work on "+strings.Join(others, ", ")+", "+stay+"; no pool says so")
	}
	for _, pool := range p.ControlPlane.Pools {
		switch {
		case pool.Paused:
			notes = append(notes, "pool "+pool.Name+" is paused, and stays so")
		case pool.Degraded == "True":
			notes = append(notes, "pool "+pool.Name+" is degraded; that reboots no node")
		}
	}
	return Pass("%s", strings.Join(notes, "; "))
}

// movingPool is the answer where a pool that is not paused goes to another MachineConfig; false: none does.
func (p Preflight) movingPool() (Result, bool) {
	row, _ := catalog.ControlPlaneResourceOf(catalog.Pools)
	for _, pool := range p.ControlPlane.Pools {
		if !pool.Paused && pool.Current != pool.Desired && pool.Machines > 0 {
			return Fail("wait for its end, or pause it: "+row.Command(row.Pause, "", pool.Name),
				"pool %s goes from %s to %s, with a reboot of each of its %d nodes (%d are done)", pool.Name, pool.Current, pool.Desired, pool.Machines, pool.Updated), true
		}
	}
	return Result{}, false
}

// ownWord reports whether a node is a worker, so that what its Node says is a worker's own word.
func (p Preflight) ownWord(node string) bool {
	return p.worker(node) && !slices.ContainsFunc(p.Snapshot.AllNodes(), func(n inspect.Node) bool {
		return n.Name == node && n.Role != "" && n.Role != catalog.RoleWorker
	})
}

// atWork is the answer where a node says that it is being changed.
func atWork(n inspect.NodeState) Result {
	return Fail("wait until it is done: "+foreign.Command(inspect.NodeNames, "oc get node %s -o yaml | grep machineconfiguration", n.Name),
		"machine-config-daemon is at work on %s (%s, from %s to %s)", n.Name, foreign.Name(n.Config.State), foreign.Name(n.Config.Current), foreign.Name(n.Config.Desired))
}

// BusyError is why a plan for all nodes is made once more, without these workers.
type BusyError struct{ Workers []*remediate.Refusal }

func (e *BusyError) Error() string { return remediate.UnknownNodesError(e.Workers).Error() }

// BusyWorkers are workers of the plan that say of themselves that they are being changed, while no pool
// says so: a plan for all nodes leaves them out, and so does a run of any plan.
func (p Preflight) BusyWorkers() (out []*remediate.Refusal) {
	if _, unread := p.Unread(catalog.Pools, "nodes"); unread || !p.hasOperators() {
		return nil
	}
	if _, moving := p.movingPool(); moving {
		return nil
	}
	for _, n := range p.ControlPlane.Nodes {
		if n.Config.Updating() && !p.ControlPlane.NodeUnhealthy(n.Name) && p.ownWord(n.Name) && slices.Contains(p.Nodes, n.Name) {
			r := atWork(n)
			out = append(out, &remediate.Refusal{Name: PoolsSettled, Node: n.Name, Reason: r.Reason, Next: r.Next})
		}
	}
	return out
}
