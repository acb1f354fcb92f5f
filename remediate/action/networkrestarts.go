package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// NetworkRestarts finds out which network pods have to be restarted.
type NetworkRestarts struct {
	CA      []*pki.Cert                                    // what is to be trusted
	Pods    []inspect.Pod                                  // of the namespaces of catalog.NodeDaemonSets
	Rollout inspect.Rollout                                // of the same namespaces
	Read    func(context.Context) (inspect.Rollout, error) // see RestartPods
	Always  bool                                           // see RestartPods
	Probe   NetworkProbe                                   // what to ask a node with afterwards; NodeName is set for each
	// EachProbed: nodes on which nothing is restarted are asked, too.
	EachProbed bool
	Next       []*pki.Cert // see RestartPods
}

// Approvers returns the restarts that come before those of any node, for the nodes on
// which there are such pods: who approves certificate requests of the others. Facts are
// as they will be when the nodes are repaired. Notes say what is unknown, for people.
func (r NetworkRestarts) Approvers(snapshot inspect.Snapshot, now time.Time) (actions []remediate.Action, notes []string, err error) {
	for _, n := range snapshot.Nodes {
		more, unknown, err := r.restarts(snapshot, now, n.Name, true)
		if err != nil {
			return nil, nil, err
		}
		actions, notes = append(actions, more...), append(notes, unknown...)
	}
	return actions, notes, nil
}

// OnNode returns what is to be done on a node, in this order: its restarts, and then a
// new pod as the proof. See Approvers.
func (r NetworkRestarts) OnNode(snapshot inspect.Snapshot, now time.Time, node string) (actions []remediate.Action, notes []string, err error) {
	actions, notes, err = r.restarts(snapshot, now, node, false)
	if err == nil && (r.EachProbed || len(actions) > 0) {
		probe := r.Probe
		probe.NodeName = node
		actions = append(actions, probe)
	}
	return actions, notes, err
}

func (r NetworkRestarts) restarts(snapshot inspect.Snapshot, now time.Time, node string, first bool) (actions []remediate.Action, notes []string, err error) {
	for _, row := range catalog.NodeDaemonSetsIn(snapshot.Cluster.Versions) {
		if row.RestartFirst != first {
			continue
		}
		a := RestartPods{NodeName: node, Row: row, Pods: r.podsOf(row, node), CA: r.CA, Next: r.Next, always: r.Always, read: r.Read}
		if root, ok := r.Rollout.RootCA(row.Namespace); ok {
			a.RootCA = &root
		}
		c, err := a.Diff(snapshot, now)
		var refusal *remediate.Refusal
		switch {
		case errors.As(err, &refusal) && refusal.Name == networkMemory:
			notes = append(notes, fmt.Sprintf("%s: %s; %s.", node, refusal.Reason, refusal.Next))
		case err != nil:
			return nil, nil, err
		case c != nil:
			actions = append(actions, a)
		}
	}
	return actions, notes, nil
}

// podsOf are the pods that a row's DaemonSet has on a node.
func (r NetworkRestarts) podsOf(row catalog.NodeDaemonSet, node string) []inspect.Pod {
	var out []inspect.Pod
	for _, p := range r.Pods {
		if p.Node == node && p.Namespace == row.Namespace && p.OwnerKind == "DaemonSet" && p.OwnerName == row.DaemonSet {
			out = append(out, p)
		}
	}
	return out
}
