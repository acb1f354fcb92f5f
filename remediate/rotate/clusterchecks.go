package rotate

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// trusted refuses to have something signed by a certificate that not every verifier trusts.
func (p Preflight) trusted() preflight.Result {
	if p.Of.Signer() {
		return preflight.Pass("")
	}
	if f, gone := p.gone(); gone {
		return f
	}
	ca := p.signer()
	if ca == nil {
		return preflight.Result{Reason: p.Of.Rotation.Signer.String() + " was not read", Next: p.hints().Unread(inspect.MayGet("secrets", p.Of.Rotation.Signer.Namespace))}
	}
	for _, s := range p.stages() {
		switch {
		case s.ID == StageTrust && s.Status == assess.Unknown && catalog.IsExternalServingCert(p.Of.At): // asked by itself
		case s.ID != StageBundle && s.ID != StageAggregates && s.ID != StageTrust:
		case s.Status == assess.Pass:
		case s.ID == StageTrust && s.Status == assess.Warn: // the check's name says of what
			return preflight.Fail(s.Remediation.Text, "%s", s.Reason)
		case s.ID == StageTrust:
			return preflight.Result{Reason: s.Reason, Next: s.Remediation.Text}
		case s.Status == assess.Warn:
			return preflight.Fail(s.Remediation.Text, "%s: %s", s.ID, s.Reason)
		default:
			return preflight.Result{Reason: s.ID + ": " + s.Reason, Next: s.Remediation.Text}
		}
	}
	return preflight.Pass("")
}

// own refuses to have the API server present what the caller's own kubeconfig does not trust:
// who rotates would be the first to be shut out.
func (p Preflight) own() preflight.Result {
	cert, ca := p.Of.Cert(), p.signer()
	server, err := url.Parse(p.Facts.Snapshot.Cluster.Server)
	read := slices.ContainsFunc(p.Facts.Snapshot.Reads, func(r inspect.Read) bool { return r.What == "kubeconfig" })
	if p.Of.Signer() || cert == nil || ca == nil || err != nil || !read {
		return preflight.Pass("")
	}
	x, err := cert.X509()
	presented := func(name string) bool { return x.VerifyHostname(name) == nil }
	if err != nil || !presented(server.Hostname()) && !slices.ContainsFunc(p.askedFor(), presented) { // it is presented to others
		return preflight.Pass("")
	}
	var roots []*pki.Cert
	for i := range p.Facts.Entries {
		if h := &p.Facts.Entries[i]; h.At.Node == "" && h.At.Kind == pki.KindFile && !strings.HasPrefix(h.At.Field, "users[") {
			loaded, _ := h.Content.LoadedBy(pki.ReaderGo)
			roots = append(roots, loaded...)
		}
	}
	switch {
	case len(roots) == 0:
		return preflight.Result{Reason: "your kubeconfig names no CA for " + server.Hostname() + ", so this machine's trust store decides", Next: p.hints().Next("{} verify access says whether it trusts the certificate that the API presents")}
	case pki.VerifyCA(ca, roots, p.Now) != nil:
		return preflight.Fail(p.hints().Next("{} fix-kubeconfig gives it the CA, as long as the API still answers; so do all others who have such a kubeconfig"), "your kubeconfig does not trust %s, which signs the certificate that %s presents from then on", pki.Named(ca), server.Hostname())
	}
	return preflight.Pass("")
}

// askedFor are the names for which the caller's kubeconfig asks its server, such as its tls-server-name. For
// api-int's the server is asked besides.
func (p Preflight) askedFor() (names []string) {
	for _, v := range p.Facts.Snapshot.Served {
		if v.Server == catalog.ListenerUserKubeconfig {
			names = append(names, v.Name)
		}
	}
	if internal, ok := inspect.ServerName(catalog.NameInternal, p.Facts.Snapshot.Cluster); ok && len(names) > 1 {
		names = slices.DeleteFunc(names, func(name string) bool { return name == internal })
	}
	return names
}

// topology is about the kubelets that are restarted to give them a new CA.
func (p Preflight) topology() preflight.Result {
	restarts := ""
	for _, d := range p.Of.Rotation.Deliveries(p.versions()) {
		if d.To == catalog.KubeletKubeconfigCA() {
			if d.Node == catalog.NodeKubelet {
				restarts = d.Effect
			}
			if !d.Delivered {
				restarts = "nodes are to be given the CA by hand, and their kubelets restarted"
			}
		}
	}
	if !p.Of.Signer() || restarts == "" {
		return preflight.Pass("")
	}
	name := p.Facts.Snapshot.Cluster.Topology
	row, known := catalog.TopologyOf(name)
	switch {
	case name == "":
		return preflight.Result{Reason: "the topology was not read, and " + restarts, Next: "oc get infrastructure cluster -o jsonpath='{.status.controlPlaneTopology}'"}
	case !known:
		return preflight.Result{Reason: fmt.Sprintf("the effect of a kubelet restart on the topology %s is unknown, and %s", name, restarts), Next: "ask its vendor"}
	case !row.RestartAllowed:
		return preflight.Fail(row.Next, "the topology is %s: %s; and %s", name, row.Doc, restarts)
	}
	return preflight.Pass("")
}

// general asks what is asked before kubelets are restarted, too.
func (p Preflight) general() preflight.Preflight {
	all := preflight.Preflight{Snapshot: p.Facts.Snapshot, ControlPlane: p.ControlPlane, Now: p.Now}
	if p.ControlPlane != nil {
		for _, n := range p.ControlPlane.Nodes {
			all.Nodes = append(all.Nodes, n.Name)
		}
	}
	return all
}

func (p Preflight) upgrade() preflight.Result { return p.general().Upgrade() }

func (p Preflight) staticPods() preflight.Result {
	f := p.general().StaticPodsSettle()
	if f.Reason == preflight.NoMaster { // there is none
		f.Reason = ""
	}
	return f
}

func (p Preflight) operators() preflight.Result {
	row := "clusteroperators"
	if f, ok := p.general().Unread(row); ok {
		return f
	}
	var bad, silent []string
	for _, o := range p.ControlPlane.Operators {
		switch {
		case o.Degraded == "True" || o.Available == "False" || o.Progressing == "True":
			bad = append(bad, fmt.Sprintf("%s (Available %s, Progressing %s, Degraded %s)", o.Name, o.Available, o.Progressing, o.Degraded))
		case o.Available != "True" || o.Progressing != "False" || o.Degraded != "False":
			silent = append(silent, o.Name)
		}
	}
	const look = "oc get clusteroperators; oc adm wait-for-stable-cluster"
	switch {
	case len(bad) > 0:
		return preflight.Fail(look, "%s", few(bad))
	case len(silent) > 0:
		return preflight.Result{Reason: "how they are is not said by: " + few(silent), Next: look}
	case len(p.ControlPlane.Operators) == 0:
		return preflight.Result{Reason: "there is no ClusterOperator", Next: look}
	}
	return preflight.Pass("")
}

// pools goes on where other checks let be: a paused pool may hold up the new CA, or
// hide that it can't be brought.
func (p Preflight) pools() preflight.Result {
	if f, ok := p.general().Unread(catalog.Pools); ok {
		return f
	}
	var bad []string
	for _, pool := range p.ControlPlane.Pools {
		var is []string
		if pool.Paused {
			is = append(is, "paused")
		}
		if pool.Updating == "True" || pool.Current != pool.Desired && pool.Machines > 0 {
			is = append(is, "updating")
		}
		if pool.Degraded == "True" {
			is = append(is, "degraded")
		}
		if len(is) > 0 {
			bad = append(bad, pool.Name+" is "+strings.Join(is, " and "))
		}
	}
	if len(bad) == 0 {
		return preflight.Pass("")
	}
	effect := "in this version nodes get the CA all the same"
	if slices.ContainsFunc(p.Of.Rotation.Deliveries(p.versions()), func(d catalog.Delivery) bool { return d.Pools }) {
		effect = "in this version its nodes get no new CA meanwhile"
	}
	return preflight.Fail("oc get machineconfigpools; oc adm wait-for-stable-cluster", "%s; %s", few(bad), effect)
}

func (p Preflight) nodes() preflight.Result {
	if names, reasons, master := p.notWorking(); p.ControlPlane == nil && len(reasons) > 0 {
		return preflight.Fail(p.revive(names), "%s. %s (as of %s)", few(reasons), withoutNode(master), remediate.Timestamp(p.Facts.Snapshot.Taken))
	}
	if f, ok := p.general().Unread("nodes"); ok {
		return f
	}
	var unavailable, notReady, unknown, names []string
	master := false
	for _, n := range p.ControlPlane.Nodes {
		switch life := n.Health(); {
		case n.Ready != "True":
			notReady, names, master = append(notReady, n.Name), append(names, n.Name), master || n.Master
		case life.Unhealthy():
			unavailable, names, master = append(unavailable, foreign.Name(n.Name)+": "+life.String()), append(names, n.Name), master || n.Master
		case life.Healthy() != catalog.Yes:
			unknown = append(unknown, foreign.Name(n.Name)+": "+life.Heartbeat())
		}
	}
	if len(notReady) > 0 {
		unavailable = append([]string{"not Ready: " + few(notReady)}, unavailable...)
	}
	switch {
	case len(unavailable) > 0:
		return preflight.Fail(p.revive(names), "%s. %s", few(unavailable), withoutNode(master))
	case len(unknown) > 0:
		return preflight.Result{Reason: "whether these nodes are alive is unknown: " + few(unknown), Next: p.hints().Unread(inspect.MayList("leases.coordination.k8s.io", "kube-node-lease"))}
	}
	return preflight.Pass("")
}

// withoutNode says what does not go on while a node does not work; master: one of the control plane.
func withoutNode(master bool) string {
	if master {
		return "Rollouts wait for such a control plane node, and such a node gets no new CA"
	}
	return "Such a node gets no new CA"
}

// revive is what to do about nodes that do not work: the repair, where the kubelet of one is known not to trust api-int.
func (p Preflight) revive(nodes []string) string {
	if slices.ContainsFunc(p.Claims, func(c trust.Claim) bool {
		return c.Status == assess.Fail && c.Edge.Part == catalog.PartAPIInt && slices.Contains(nodes, c.Node) && strings.Contains(c.Advice.Text, " fix-api-int ")
	}) {
		if next, fit := p.Facts.RepairOf(nodes); fit {
			return next
		}
		return p.hints().Next("{} fix-api-int --dry-run=client")
	}
	return "kubectl get nodes; kubectl get leases -n kube-node-lease"
}

// notWorking are the nodes that do not work, by the Node objects and Leases of the facts themselves: a file
// may have those, and no status of the cluster. master: one is of the control plane.
func (p Preflight) notWorking() (names, out []string, master bool) {
	s := p.Facts.Snapshot
	for _, n := range s.AllNodes() {
		if life := s.NodeHealth(&n); life.Unhealthy() {
			names, out, master = append(names, n.Name), append(out, foreign.Name(n.Name)+": "+life.String()), master || n.Role == catalog.RoleMaster
		}
	}
	return names, out, master
}
