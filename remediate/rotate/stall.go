package rotate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// causes joins what holds something up; or is what to look at where nothing was seen.
func causes(seen []string, look string) string {
	if len(seen) == 0 {
		return look
	}
	return strings.Join(seen, "; ")
}

// ownerDown says why an operator does not do what it is to do: its Deployment, and what
// its ClusterOperator says of it. Nothing: it was not asked, or nothing speaks against it.
func (c Chain) ownerDown(owner string) []string {
	if c.ControlPlane == nil {
		return nil
	}
	var out []string
	for _, w := range c.ControlPlane.Workloads {
		switch at := w.Namespace + "/" + w.Name; {
		case w.Name != owner || w.Kind != inspect.Deployment:
		case w.Desired == 0:
			out = append(out, fmt.Sprintf("%s does not run: its Deployment %s is scaled to 0: %s", owner, at, foreign.Command("", "oc -n %s scale deployment/%s --replicas=1", w.Namespace, w.Name)))
		case w.Ready == 0:
			out = append(out, fmt.Sprintf("%s does not run: no pod of its Deployment %s is ready: %s", owner, at, foreign.Command("", "oc -n %s describe pods", w.Namespace)))
		}
	}
	return append(out, c.operatorSick(strings.TrimSuffix(owner, "-operator"))...)
}

// operatorSick says what a ClusterOperator says that speaks against it.
func (c Chain) operatorSick(name string) []string {
	for _, o := range c.ControlPlane.Operators {
		switch {
		case o.Name != name:
		case o.Available == "False":
			return []string{fmt.Sprintf("ClusterOperator %s is not Available: %s", name, preflight.OrNone(foreign.Text(o.Message)))}
		case o.Degraded == "True":
			return []string{fmt.Sprintf("ClusterOperator %s is Degraded: %s", name, preflight.OrNone(foreign.Text(o.Message)))}
		}
	}
	return nil
}

// publishersDown says why a CA does not come into bundles: who makes them is down, or a
// revision of static pods waits for a master.
func (c Chain) publishersDown() []string {
	if c.ControlPlane == nil {
		return nil
	}
	var out []string
	for _, name := range catalog.Publishers() {
		out = append(out, c.ownerDown(name)...)
	}
	return append(out, c.waitingRevisions()...)
}

// waitingRevisions are those that are not on a master that does not work.
func (c Chain) waitingRevisions() []string {
	var out []string
	for _, s := range c.ControlPlane.StaticPods {
		for _, m := range s.Masters {
			if m.Current < s.Latest && c.ControlPlane.NodeUnhealthy(m.Node) {
				out = append(out, fmt.Sprintf("revision %d of %s waits for %s, which %s: %s", s.Latest, s.Resource, m.Node, c.ControlPlane.NodeHealth(m.Node).WhyUnhealthy(), foreign.Command(inspect.NodeNames, "kubectl describe node %s", m.Node)))
			}
		}
	}
	return out
}

// revisions says which control plane nodes run a static pod whose revision lacks one of some CAs: the original tells of the
// next revision alone, which may wait for a node for hours. known is false where it was not read. Empty: all of them have
// these CAs, or the claim is about no such client.
func (c Chain) revisions(claim trust.Claim, cas []*pki.Cert) (reason string, known bool) {
	at := claim.Edge.Trust
	resource := catalog.RevisionsOf(at, c.Facts.Snapshot.Cluster.Versions)
	if claim.Reload != catalog.ReloadByRollout || resource == "" {
		return "", true
	}
	if c.ControlPlane == nil {
		return "which revision it runs was not read", false
	}
	if gap, unread := c.ControlPlane.Gap(resource); unread {
		return "which revision it runs: " + gap.Reason, false
	}
	var late, unread []string
	for _, s := range c.ControlPlane.StaticPods {
		if s.Resource != resource || s.Latest == 0 { // without a revision there is no copy to read
			continue
		}
		for _, m := range s.Masters {
			copied := at
			copied.Name = fmt.Sprintf("%s-%d", at.Name, m.Current)
			told := fmt.Sprintf("revision %d on %s", m.Current, foreign.Name(m.Node))
			h := c.Facts.At(copied)
			if m.Current == 0 || h == nil {
				unread = append(unread, told)
				continue
			}
			loaded, _ := h.Content.LoadedBy(claim.Reader)
			if slices.ContainsFunc(cas, func(ca *pki.Cert) bool { return pki.VerifyCA(ca, loaded, c.Facts.Now) != nil }) {
				late = append(late, told)
			}
		}
	}
	switch {
	case len(late) > 0:
		return at.Name + " lacks it in " + few(late), true
	case len(unread) > 0:
		return at.Name + " was not read of " + few(unread), false
	}
	return "", true
}

// nodesLate says why a CA does not come to nodes, of those that lack it.
func (c Chain) nodesLate() []string {
	if c.ControlPlane == nil {
		return nil
	}
	byDaemon, byPools := false, false
	for _, d := range c.Of.Rotation.Deliveries(c.Facts.Snapshot.Cluster.Versions) {
		byDaemon, byPools = byDaemon || d.Delivered && !d.Pools, byPools || d.Pools
	}
	var out, unavailable, silent, without []string
	for _, node := range c.lacking() {
		switch {
		case c.ControlPlane.NodeUnhealthy(node):
			if unavailable = append(unavailable, node); c.ControlPlane.NodeHealth(node).Ready == "True" {
				silent = append(silent, node)
			}
		case byDaemon && !c.daemonOn(node) && c.daemonsRead():
			without = append(without, node)
		}
	}
	for _, node := range silent {
		unavailable = slices.DeleteFunc(unavailable, func(l string) bool { return l == node })
		out = append(out, fmt.Sprintf("%s %s: %s", node, c.ControlPlane.NodeHealth(node).WhyUnhealthy(), foreign.Command(inspect.NodeNames, "kubectl describe node %s", node)))
	}
	if len(unavailable) > 0 {
		out = append(out, fmt.Sprintf("not Ready: %s: %s", few(unavailable), foreign.Command(inspect.NodeNames, "kubectl describe node %s", unavailable[0])))
	}
	if len(without) > 0 {
		out = append(out, fmt.Sprintf("machine-config-daemon does not run on %s: %s", few(without), foreign.Command("", "oc -n %s get pods -o wide -l k8s-app=machine-config-daemon", catalog.ConfigDaemon().Namespace)))
	}
	for _, pool := range c.ControlPlane.Pools {
		switch {
		case byPools && pool.Paused:
			out = append(out, fmt.Sprintf("the pool %s is paused, and in this version its nodes get no new CA meanwhile: %s", pool.Name, foreign.Command("oc get machineconfigpools -o name", `oc patch machineconfigpool %s --type merge -p '{"spec":{"paused":false}}'`, pool.Name)))
		case (byPools || byDaemon) && pool.Degraded == "True":
			out = append(out, fmt.Sprintf("the pool %s is degraded: %s", pool.Name, foreign.Command("oc get machineconfigpools -o name", "oc describe machineconfigpool %s", pool.Name)))
		}
	}
	if byDaemon || byPools {
		out = append(out, c.operatorSick("machine-config")...)
	}
	return out
}

// lacking are the nodes with a client that is known not to trust what is, or will be, presented.
func (c Chain) lacking() []string {
	var out []string
	for _, claim := range c.claims() {
		if claim.Node != "" && claim.Status.Wrong() && !slices.Contains(out, claim.Node) {
			out = append(out, claim.Node)
		}
	}
	return out
}

// daemonsRead reports whether it is known where machine-config-daemon runs: where there is
// none at all, nodes are kept by something else.
func (c Chain) daemonsRead() bool {
	return slices.ContainsFunc(c.ControlPlane.Workloads, func(w inspect.Workload) bool { return w.Kind == inspect.DaemonPod })
}

func (c Chain) daemonOn(node string) bool {
	return slices.ContainsFunc(c.ControlPlane.Workloads, func(w inspect.Workload) bool {
		return w.Kind == inspect.DaemonPod && w.Node == node && w.Ready > 0
	})
}
