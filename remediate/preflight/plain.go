package preflight

import (
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// plainChecks are those for clusters without OpenShift's operators, as kubeadm makes them.
// Nothing there tells whether an upgrade is under way.
func plainChecks() []preflightCheck {
	return []preflightCheck{
		{ServerSide, "each control plane node presents a certificate that the published CAs verify", true, true, Preflight.serversShow},
		{"etcd-healthy", "etcd's static pods are ready", true, true, Preflight.etcdPods},
		{"static-pods-settled", "the control plane's static pods are ready", true, true, Preflight.controlPlanePods},
		{Clocks, "the clocks agree", true, false, Preflight.clocks},
		{"remediation-active", "nothing deletes or reboots nodes meanwhile", true, true, Preflight.remediation},
	}
}

// labelled reports whether it is a plain cluster where a node has the label of control plane nodes,
// which no kubelet may give to its node or take from it.
func (p Preflight) labelled() bool {
	return !p.hasOperators() && slices.ContainsFunc(p.ControlPlane.Nodes, func(n inspect.NodeState) bool { return n.Master })
}

// serversShow holds the CAs against every kube-apiserver: behind a balancer, one that
// presents another certificate would lose kubelets now and then.
func (p Preflight) serversShow() Result {
	rows := catalog.KubeletSetups(p.Snapshot.Cluster.Versions)
	row := rows[len(rows)-1] // OpenShift's come first
	return p.presented(func(v inspect.Served) bool { return v.Server == "" || v.Server == catalog.ListenerAPIServer }, p.CA, false,
		row.CARemediation, "and the CAs that kubelets are to trust do not verify it",
		Result{Reason: "the certificate that the API server presents is unknown: none answered", Next: "look up the server in " + row.Kubeconfig + " on a node, and ask it: curl -kv https://SERVER/readyz"})
}

// etcdPods lets members be that are down because of their kubelet alone.
func (p Preflight) etcdPods() Result {
	return p.podsReady(func(pod inspect.Pod) bool { return strings.HasPrefix(pod.Name, "etcd-") },
		"no etcd runs as a static pod in kube-system: it is elsewhere, and no kubelet here holds it")
}

func (p Preflight) controlPlanePods() Result {
	return p.podsReady(func(pod inspect.Pod) bool { return !strings.HasPrefix(pod.Name, "etcd-") },
		"no static pod in kube-system tells of the control plane")
}

// podsReady asks for static pods: a kubelet presents them as mirror pods, whose controller
// is the Node.
func (p Preflight) podsReady(which func(inspect.Pod) bool, none string) Result {
	if f, ok := p.Unread("nodes"); ok {
		return f
	}
	if masters, ok := p.masters(); ok && len(masters) == 0 {
		return Pass(NoMaster)
	}
	switch {
	case p.StaticPods == nil:
		return Result{Reason: "the pods of kube-system were not asked for", Next: "kubectl -n kube-system get pods"}
	case p.StaticPods.Gap != nil:
		return Result{Reason: p.StaticPods.Gap.Reason, Next: p.StaticPods.Gap.Next}
	}
	var unavailable, others []string
	found := false
	for _, pod := range p.StaticPods.Pods {
		if pod.OwnerKind != "Node" || !which(pod) {
			continue
		}
		if p.worker(pod.Node) {
			if !pod.Ready {
				others = append(others, pod.Name)
			}
			continue
		}
		found = true
		switch {
		case pod.Ready && p.ControlPlane.NodeHealth(pod.Node).Alive != catalog.No:
		case p.ControlPlane.NodeUnhealthy(pod.Node):
			unavailable = append(unavailable, pod.Name)
		default:
			return Fail(foreign.Command("kubectl -n kube-system get pods -o name", "kubectl -n kube-system describe pod %[1]s; kubectl -n kube-system logs %[1]s", pod.Name), "static pod kube-system/%s on %s is not ready (%s), and its node is", pod.Name, pod.Node, foreign.Name(pod.Phase))
		}
	}
	slices.Sort(unavailable)
	slices.Sort(others)
	var notes []string
	if !found {
		notes = append(notes, none)
	}
	if len(unavailable) > 0 {
		notes = append(notes, "state unknown, since their nodes are NotReady or have no heartbeat: "+strings.Join(unavailable, ", "))
	}
	if len(others) > 0 {
		notes = append(notes, "not ready, and not counted, since their nodes are no control plane nodes: "+strings.Join(others, ", "))
	}
	return Pass("%s", strings.Join(notes, "; "))
}
