package remediatetest

import (
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Settled is a cluster that is left alone.
func Settled() *inspect.ControlPlaneStatus {
	m := QuietMachinery()
	for i := range m.Nodes {
		m.Nodes[i].Ready = "True"
	}
	return m
}

// BegunUpgrade makes the cluster one that is upgraded.
func BegunUpgrade(m *inspect.ControlPlaneStatus) {
	m.Update = inspect.Update{Progressing: "True", Desired: "4.15.1"}
}

// BegunRollout makes kube-apiserver roll out.
func BegunRollout(m *inspect.ControlPlaneStatus) { m.StaticPods[1].Masters[0].Target = 8 }

// Silent makes the API server answer nothing.
func Silent(m *inspect.ControlPlaneStatus) {
	m.Gaps = append(m.Gaps, inspect.Gap{What: catalog.ClusterVersions, Reason: "connection refused", Next: "look"})
}

// WithoutOperators is what is read of a cluster that kubeadm made.
func WithoutOperators(m *inspect.ControlPlaneStatus) {
	Silent(m)
	m.StaticPods, m.Pools, m.Update = nil, nil, inspect.Update{}
}

// QuietMachinery is what moves a cluster of three masters, one of which is lost, and a worker:
// nothing.
func QuietMachinery() *inspect.ControlPlaneStatus {
	degraded, available := catalog.EtcdMembers()
	static := func(resource string) inspect.StaticPods {
		s := inspect.StaticPods{Resource: resource, Latest: 7, Conditions: map[string]string{degraded: "False", available: "True"}, Messages: map[string]string{}}
		for _, n := range []string{"master-0", "master-1", "master-2"} {
			s.Masters = append(s.Masters, inspect.StaticPodState{Node: n, Current: 7})
		}
		return s
	}
	done := catalog.PoolState{Current: "rendered-1", Desired: "rendered-1", State: "Done"}
	return &inspect.ControlPlaneStatus{
		Update:     inspect.Update{Progressing: "False"},
		StaticPods: []inspect.StaticPods{static("etcds"), static("kubeapiservers")},
		Pools:      []inspect.Pool{{Name: "master", Current: "rendered-1", Desired: "rendered-1", Machines: 3, Updated: 3}},
		Nodes: []inspect.NodeState{
			{Name: "master-0", Ready: "True", Master: true, Config: done},
			{Name: "master-1", Ready: "Unknown", Master: true, Config: done},
			{Name: "master-2", Ready: "True", Master: true, Config: done},
			{Name: "worker-0", Ready: "Unknown", Config: done},
		},
	}
}
