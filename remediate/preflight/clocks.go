package preflight

import (
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Clocks is the check of the clocks of nodes whose kubelets are restarted. A plan for all nodes leaves out
// workers that fail it.
const Clocks = "clocks"

// MaxSkew is what clocks may differ by. What is signed in the incident is valid from
// about the moment of its making: a node that is behind takes it for not yet valid.
const MaxSkew = time.Minute

func (p Preflight) clocks() Result {
	for _, name := range p.Nodes {
		if n, ok := p.Snapshot.Node(name); p.Script && (!ok || n.Via == "") {
			continue // the script judges there what is presented, by that clock
		}
		if r := ClockOf(p.Snapshot, name); r.Passed != catalog.Yes {
			return r
		}
	}
	return Pass("")
}

// ClockOf is the check of one node's clock.
func ClockOf(snapshot inspect.Snapshot, node string) Result {
	next := "on " + node + ": chronyc tracking; systemctl status chronyd; timedatectl"
	n, ok := snapshot.Node(node)
	if !ok {
		return Result{Reason: "the clock of " + node + " was not read", Next: next}
	}
	least, most, ok := n.Clock.Ahead()
	if !ok {
		return Result{Reason: "the clock of " + node + " was not read", Next: next}
	}
	reference := "this machine's"
	if from, to, told := snapshot.Cluster.Clock.Ahead(); told {
		least, most, reference = least-to, most-from, "the API server's"
	}
	if least > MaxSkew || most < -MaxSkew {
		return Fail(next, "the clock of %s is %s %s", node, Skew(least, most), reference)
	}
	return Pass("")
}

// Skew says how far clocks are apart.
func Skew(least, most time.Duration) string {
	if least > 0 {
		return least.Round(time.Second).String() + " ahead of"
	}
	return (-most).Round(time.Second).String() + " behind"
}
