package rotate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// memory says of what pods verify that what they loaded is not asked.
func (p Preflight) memory() preflight.Result {
	ca, cert := p.signer(), p.Of.Cert()
	if p.Of.Signer() || ca == nil || cert == nil || signed(cert, ca) && !p.SignerFirst { // by a new signer alone
		return preflight.Pass("")
	}
	if p.Of.At == catalog.InternalLoadBalancerServing() {
		return p.networkMemory(ca)
	}
	for _, e := range p.Of.Rotation.ClientEdges(p.versions()) {
		if e.MayBeOutdated && e.Presented == p.Of.At {
			return preflight.Result{
				Reason: fmt.Sprintf("%s that were started before %s reached them may have only the previous CA loaded, and that can't be checked: they lose the API server at their next connection", e.Verifier, p.newCA(ca)),
				Next:   "restart them first, operators before the others; or leave it to its operator, which rotates it later",
			}
		}
	}
	return preflight.Pass("")
}

// newCA names the CA that is to sign.
func (p Preflight) newCA(ca *pki.Cert) string {
	if p.SignerFirst {
		return "the new CA"
	}
	return pki.Named(ca)
}

// networkMemory asks when the pods were started that dial api-int, and read the CA of their
// kube-root-ca.crt once. Those that read the kubelet's kubeconfig are asked by their edges.
func (p Preflight) networkMemory(ca *pki.Cert) preflight.Result {
	if p.SignerFirst {
		return preflight.Fail(p.restarting(restartLines(p.dialling())), "pods that dial api-int read their CA when they start, and run since before the new one: %s", strings.Join(daemonSets(p.dialling()), ", "))
	}
	if p.Network == nil {
		return preflight.Result{Reason: "since when the pods run that dial api-int was not read" + p.Unread, Next: p.unreadPods()}
	}
	var late, names, unknown []string
	for _, row := range p.dialling() {
		if row.In.Holds(p.versions()) != catalog.Yes {
			unknown = append(unknown, fmt.Sprintf("whether %s/%s reads kube-root-ca.crt in this version", row.Namespace, row.DaemonSet))
			continue
		}
		one := action.RestartPods{Row: row, CA: []*pki.Cert{ca}, Next: []*pki.Cert{ca}}
		if root, ok := p.Network.Rollout.RootCA(row.Namespace); ok {
			one.RootCA = &root
		}
		for _, pod := range p.Network.Pods {
			if pod.Namespace != row.Namespace || pod.OwnerKind != "DaemonSet" || pod.OwnerName != row.DaemonSet {
				continue
			}
			n, ok := p.Facts.Snapshot.Node(pod.Node)
			if !ok {
				n = &inspect.Node{Name: pod.Node}
			}
			one.NodeName, one.Pods = pod.Node, []inspect.Pod{pod}
			switch answer, why := one.Needed(p.Facts.Snapshot, n, p.Now); answer {
			case catalog.Yes:
				names = append(names, pod.Name+" on "+pod.Node+" ("+why+")")
				late = append(late, foreign.Command("", "kubectl -n %s delete pod %s", pod.Namespace, pod.Name))
			case catalog.Unknown:
				unknown = append(unknown, "whether "+pod.Name+" on "+pod.Node+" has loaded it ("+why+")")
			}
		}
	}
	switch {
	case len(names) > 0:
		return preflight.Fail(p.restarting(late), "these pods dial api-int, and have only the previous CA loaded: %s", few(names))
	case len(unknown) > 0:
		return preflight.Result{Reason: "unknown: " + few(unknown), Next: "see when they were started, or: " + p.restarting(restartLines(p.dialling()))}
	}
	return preflight.Pass("")
}

// dialling are the rows of pods that read kube-root-ca.crt when they start, and not again.
func (p Preflight) dialling() []catalog.NodeDaemonSet {
	return slices.DeleteFunc(catalog.NodeDaemonSets(), func(row catalog.NodeDaemonSet) bool {
		return row.SelfReloading || row.Trust.Kind != catalog.ConfigMap || row.In.Holds(p.versions()) == catalog.No
	})
}

func daemonSets(rows []catalog.NodeDaemonSet) []string {
	var out []string
	for _, row := range rows {
		out = append(out, row.Namespace+"/"+row.DaemonSet)
	}
	return out
}

// restarting says how pods are restarted: not before they can be replaced, and
// they find the CA.
func (p Preflight) restarting(lines []string) string {
	how := "node by node, each when the one before is Ready again, and not before kube-root-ca.crt of their namespaces, kube-controller-manager and kube-scheduler have the CA, else they are not replaced: " + few(lines)
	if row, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), p.versions()); answer == catalog.Yes && !row.Delivered {
		return p.hints().Next("{} pretrust, which does this in its order; or ") + how
	}
	return how
}

// restartLines are the commands that restart the pods of a node.
func restartLines(rows []catalog.NodeDaemonSet) []string {
	var out []string
	for _, row := range rows {
		out = append(out, foreign.Command("", "kubectl -n %s delete pod -l %s --field-selector spec.nodeName=NODE", row.Namespace, foreign.Words(row.Label)))
	}
	return out
}
