package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// etcd asks the operator's conditions about members, which it sees by calling them.
// Those about nodes and installers are True in the incident itself. A member may be
// down because of its kubelet alone, which then is what must come back.
func (p Preflight) etcd() Result {
	if f, ok := p.Unread(catalog.EtcdOperators, "nodes"); ok {
		return f
	}
	if masters, ok := p.masters(); ok && len(masters) == 0 {
		return Pass(NoMaster)
	}
	const look = "oc get etcd cluster -o yaml; oc -n openshift-etcd rsh -c etcdctl etcd-NODE etcdctl endpoint health --cluster"
	i := slices.IndexFunc(p.ControlPlane.StaticPods, func(s inspect.StaticPods) bool { return s.Resource == catalog.EtcdOperators })
	if i < 0 {
		return Result{Reason: "there is no Etcd object that would tell of etcd's members", Next: look}
	}
	s := p.ControlPlane.StaticPods[i]
	degraded, available := catalog.EtcdMembers()
	message := s.Messages[degraded]
	switch {
	case s.Conditions[available] == "False":
		return Fail(look, "etcd has no quorum: %s", foreign.Text(s.Messages[available]))
	case s.Conditions[degraded] == "" || s.Conditions[degraded] == "Unknown":
		return Result{Reason: "the etcd operator does not say how etcd's members are", Next: look}
	case s.Conditions[degraded] == "False":
		return Pass("")
	}
	// "2 of 3 members are available, master-1 is unhealthy"
	parts := strings.Split(message, ", ")
	for _, part := range parts[1:] {
		member, _, _ := strings.Cut(part, " ")
		if !p.ControlPlane.NodeUnhealthy(member) {
			return Fail(look, "%s", foreign.Text(message))
		}
	}
	if len(parts) == 1 {
		return Fail(look, "%s", foreign.Text(message))
	}
	return Pass("%s: on control plane nodes that are NotReady or have no heartbeat; their kubelets are to bring it back", foreign.Text(message))
}

// StaticPodsSettle lets a rollout be that waits for a master that is not Ready: it can't go
// on before that master's kubelet is right. One that goes on by itself is waited for.
func (p Preflight) StaticPodsSettle() Result {
	resources := []string{"nodes", "pods"}
	for _, row := range catalog.ControlPlaneResources() {
		if row.Reports == catalog.ReportsStaticPods {
			resources = append(resources, row.Resource())
		}
	}
	if f, ok := p.Unread(resources...); ok {
		return f
	}
	if masters, ok := p.masters(); ok && len(masters) == 0 {
		return Pass(NoMaster)
	}
	if len(p.ControlPlane.StaticPods) == 0 {
		return Result{Reason: "there is no operator that would tell of static pods", Next: "oc get etcd,kubeapiserver,kubecontrollermanager,kubescheduler cluster"}
	}
	const wait = "wait for its end: oc get kubeapiserver,kubecontrollermanager,kubescheduler,etcd cluster -o yaml"
	var stuck []string
	for _, i := range p.ControlPlane.Installers {
		if p.worker(i.Node) { // operators put none there; a kubelet can make a pod of that name on its own node
			continue
		}
		if !p.ControlPlane.NodeUnhealthy(i.Node) {
			return Fail(wait, "pod %s/%s puts a revision on %s, and has not finished (%s)", i.Namespace, i.Name, OrNone(i.Node), foreign.Name(i.Phase))
		}
		stuck = append(stuck, fmt.Sprintf("pod %s/%s waits for %s", i.Namespace, i.Name, i.Node))
	}
	for _, s := range p.ControlPlane.StaticPods {
		var moving, behind, unavailable []string
		for _, m := range s.Masters {
			switch {
			case m.Target != 0 && m.Target != m.Current && p.ControlPlane.NodeUnhealthy(m.Node):
				unavailable = append(unavailable, m.Node)
			case m.Target != 0 && m.Target != m.Current:
				moving = append(moving, m.Node)
			case m.Current < s.Latest && p.ControlPlane.NodeUnhealthy(m.Node):
				unavailable = append(unavailable, m.Node)
			case m.Current < s.Latest:
				behind = append(behind, m.Node)
			}
		}
		switch {
		case len(moving) > 0:
			return Fail(wait, "%s: revision %d is put on %s", s.Resource, s.Latest, strings.Join(moving, ", "))
		case len(behind) > 0 && len(unavailable) == 0:
			return Fail(wait, "%s: revision %d is to be put on %s", s.Resource, s.Latest, strings.Join(behind, ", "))
		case len(unavailable) > 0:
			stuck = append(stuck, fmt.Sprintf("revision %d of %s waits for %s", s.Latest, s.Resource, strings.Join(unavailable, ", ")))
		}
	}
	if len(stuck) > 0 {
		return Pass("a rollout waits for control plane nodes that are NotReady or have no heartbeat, and goes on once they are back: %s", strings.Join(stuck, "; "))
	}
	return Pass("")
}

// OrNone is a node for people.
func OrNone(node string) string {
	if node == "" {
		return "no node yet"
	}
	return node
}

// Upgrade reads Progressing, which ClusterVersion sets while it goes to another
// version alone: operators that are degraded in the incident make it Failing.
func (p Preflight) Upgrade() Result {
	if f, ok := p.Unread(catalog.ClusterVersions); ok {
		return f
	}
	u := p.ControlPlane.Update
	switch u.Progressing {
	case "False":
		return Pass("")
	case "True":
		stuck := ""
		if u.Failing != "" {
			stuck = "; it does not get on: " + foreign.Text(u.Failing)
		}
		return Fail("wait for its end: oc adm upgrade. If it waits for the nodes that are to be repaired, pause the pools, so that it reboots no node meanwhile (oc patch machineconfigpool worker --type merge -p '{\"spec\":{\"paused\":true}}'), and accept this by name",
			"the cluster goes to %s: %s%s", foreign.Text(u.Desired), foreign.Text(u.Message), stuck)
	}
	return Result{Reason: "ClusterVersion does not say whether an upgrade is under way", Next: "oc get clusterversion version -o yaml"}
}
