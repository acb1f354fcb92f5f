package remediate

import (
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// earlyMargin is for how long the own certificate of a pod is to be valid where it is
// restarted before those who approve the next one: static pods may take rolloutTime until
// the next master, and as long again for kube-controller-manager.
const earlyMargin = 2 * rolloutTime

// early restarts on a master, as soon as its kubelet is right, what gives new pods their
// network and reads nothing but the kubelet's file: an installer pod has to run there
// before kube-controller-manager has the CA, and while it waits, the next master is not
// begun. Everything else reads kube-root-ca.crt, and waits for that.
//
// What has no certificate of its own that lasts until then would ask for one, which nobody
// approves yet, and take the node's network away meanwhile: that is left to WaveNetwork.
func (a APIInt) early(d *draft, n *inspect.Node) error {
	rootCA, network := a.After.RootCA, a.After.Network
	if a.Nodes != nil || rootCA == nil || network == nil || len(network.Next) > 0 || n.Role != catalog.RoleMaster || !installs(rootCA, n.Name, d.plan.Now) {
		return nil
	}
	for _, row := range catalog.NetworkPodsIn(d.facts.Cluster.Versions) {
		if row.First || row.Heals || row.ByInit || row.Trust.Kind != catalog.File || row.Client == "" {
			continue
		}
		restart := network.restart(row, n.Name)
		if c, err := restart.Diff(d.facts, d.plan.Now); err != nil || c == nil {
			continue // WaveNetwork says why, if there is something to say
		}
		what := row.Namespace + "/" + row.DaemonSet + " on " + n.Name
		cert := soleCert(d.facts, n.Name, row.Client)
		if cert == nil || !cert.NotAfter.After(n.Time(d.plan.Now).Add(earlyMargin)) {
			until := "it is not known until when its own certificate is valid"
			if cert != nil {
				until = "its own certificate ends at " + cert.NotAfter.UTC().Format(time.RFC3339)
			}
			d.note("%s is not restarted before kube-controller-manager has the CA: %s, and nobody may approve the next one until then. If an installer pod waits there for its network, look at it first: oc -n %s get events.", what, until, catalog.ServiceAccountCA().Namespace)
			continue
		}
		d.note("On masters, %s/%s is restarted before the next master is begun: the installer pod of kube-controller-manager's next revision gets its network from it.", row.Namespace, row.DaemonSet)
		if _, err := d.step(restart); err != nil {
			return err
		}
	}
	return nil
}

// installs reports whether a revision of kube-controller-manager is to be installed on a
// master, so that it has the CA.
func installs(a *AwaitRootCA, master string, now time.Time) bool {
	i := slices.IndexFunc(a.Known.Masters, func(m inspect.Revision) bool { return m.Node == master })
	return a.Known.Operator && i >= 0 && len(inspect.Lacking(a.Known.Masters[i].CA, notEnded(a.CA, now))) > 0
}

// soleCert is the first certificate in a file of a node; nil: none was read.
func soleCert(facts inspect.Snapshot, node, path string) *pki.Cert {
	if held, _ := heldOn(facts, node, path); len(held) > 0 {
		return held[0]
	}
	return nil
}

// restarted reports whether the plan has the restart of these pods already.
func (p *Plan) restarted(a Action) bool {
	restart, is := a.(RestartPods)
	return is && slices.ContainsFunc(p.Nodes(), func(n NodePlan) bool {
		return slices.ContainsFunc(n.due(), func(s Step) bool { return s.Action.ID() == restart.ID() })
	})
}
