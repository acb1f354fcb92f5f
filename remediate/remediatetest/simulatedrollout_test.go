package remediatetest

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// makesPods reports whether kube-controller-manager works: by an old connection, or by the
// new CA.
func (s *simulation) makesPods() bool { return s.leading || s.revised() }

// revised reports whether a master has a revision with the new CA.
func (s *simulation) revised() bool {
	return slices.ContainsFunc(s.nodes, func(n *simulated) bool { return n.revised })
}

// rollOut brings the CA to one master after another, as long as all of them are Ready, and
// an installer pod gets its network.
func (s *simulation) rollOut() {
	if s.clock.Sub(s.rolled) < 40*time.Second {
		return
	}
	masters := s.masters()
	if slices.ContainsFunc(masters, func(n *simulated) bool { return !n.connected }) {
		return
	}
	for _, n := range masters {
		if !n.revised {
			if n.networked() {
				n.revised, s.rolled = true, s.clock
			}
			return
		}
	}
}

// machinery is what may reboot nodes, as it is read.
func (s *simulation) machinery(context.Context) *inspect.ControlPlaneStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &inspect.ControlPlaneStatus{Update: inspect.Update{Progressing: "False"}, StaticPods: []inspect.StaticPods{{Resource: "kubeapiservers", Latest: 7}}}
	if s.answers() != nil {
		m.Gaps = []inspect.Gap{{What: catalog.ClusterVersions, Reason: errSimulated.Error(), Next: "wait"}}
		return m
	}
	for _, n := range s.nodes {
		if !n.gone {
			m.Nodes = append(m.Nodes, inspect.NodeState{Name: n.name, Ready: n.heartbeat().Ready, Master: n.role == catalog.RoleMaster})
		}
		if n.role == catalog.RoleMaster {
			m.StaticPods[0].Masters = append(m.StaticPods[0].Masters, inspect.StaticPodState{Node: n.name, Current: 7})
		}
	}
	if s.check != nil {
		a := inspect.Actor{Resource: catalog.MachineHealthChecks, Namespace: s.check.GetNamespace(), Name: s.check.GetName(), Active: catalog.Yes, Why: "it heeds Ready Unknown"}
		if by, ok := s.paused(); ok {
			a.Paused = []string{by}
		}
		m.Actors = append(m.Actors, a)
	}
	return m
}

const pausedBy = "cluster.x-k8s.io/paused"

// paused says who keeps the health check from acting.
func (s *simulation) paused() (by string, ok bool) {
	by, ok = s.check.GetAnnotations()[pausedBy]
	return by, ok
}

// pause is what someone else writes there; empty: no one is to.
func (s *simulation) pause(by string) {
	s.check.SetAnnotations(nil)
	if by != "" {
		s.check.SetAnnotations(map[string]string{pausedBy: by})
	}
	s.check.SetResourceVersion(s.version())
}

// answers lets something happen, and is why the API server does not answer then.
func (s *simulation) answers() error {
	s.happens()
	if s.dead || s.clock.Before(s.back) {
		return errSimulated
	}
	return nil
}

// rollout reads how far kube-controller-manager is.
func (s *simulation) rollout(context.Context) (inspect.Rollout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answers(); err != nil {
		return inspect.Rollout{}, err
	}
	return s.revisions(), nil
}

func (s *simulation) revisions() inspect.Rollout {
	r := inspect.Rollout{Operator: true, Source: s.young, Latest: 8, RootCAs: []inspect.RootCA{{Namespace: "openshift-multus", CA: s.old}}}
	if s.revised() {
		r.RootCAs[0].CA = s.young
	}
	for _, n := range s.masters() {
		m := inspect.Revision{Node: n.name, Current: 7, CA: s.old, Ready: n.heartbeat().Ready}
		if n.revised {
			m.Current, m.CA = 8, s.young
		}
		r.Masters = append(r.Masters, m)
	}
	return r
}
