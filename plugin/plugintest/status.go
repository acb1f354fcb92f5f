package plugintest

import (
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// AtRest is the status of a cluster with these nodes in which nothing is under way.
func AtRest(s inspect.Snapshot) *inspect.ClusterStatus {
	degraded, available := catalog.EtcdMembers()
	m := &inspect.ControlPlaneStatus{
		Update:    inspect.Update{Progressing: "False"},
		Operators: []inspect.OperatorState{{Name: "etcd", Available: "True", Progressing: "False", Degraded: "False"}},
		Pools:     []inspect.Pool{{Name: "worker", Updating: "False", Degraded: "False"}},
		StaticPods: []inspect.StaticPods{{Resource: catalog.EtcdOperators, Latest: 7,
			Conditions: map[string]string{degraded: "False", available: "True"}, Messages: map[string]string{}}},
	}
	for _, n := range s.Nodes {
		m.Nodes = append(m.Nodes, inspect.NodeState{Name: n.Name, Ready: "True", Master: n.Role == catalog.RoleMaster, Heartbeat: s.Taken, Lease: inspect.Lease{Asked: s.Taken}})
	}
	return &inspect.ClusterStatus{Read: s.Taken, ControlPlane: m, Network: &inspect.NetworkRead{}}
}
