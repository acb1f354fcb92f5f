package apiint

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// all plans the repair of all nodes that the facts have.
func (a Repair) all(d *remediate.Draft) error {
	var masters, workers []string
	var unseen []string
	for i := range d.Snapshot.Nodes {
		n := &d.Snapshot.Nodes[i]
		if a.APIServers == nil && n.Role == catalog.RoleWorker && n.Via == "" {
			unseen = append(unseen, n.Name)
		}
		if why := a.unlabelled(d.Snapshot, n); why != "" {
			next := foreign.Command(inspect.NodeNames, "if it is a worker: look what makes that there, and name the other nodes with --nodes, control plane nodes first; only if it was installed as a control plane node: kubectl label node %s node-role.kubernetes.io/master=", n.Name)
			if left := inspect.APIServerFile(d.Snapshot, n.Name); left != "" {
				next += fmt.Sprintf("; no control plane node any more: move what is left of one out of the way there, %s", path.Dir(left))
			}
			r := &remediate.Refusal{Name: "node-role", Node: n.Name, Reason: "it has no label of control plane nodes, and " + why, Next: next}
			if !a.knownWorker(d.Snapshot, n.Name) {
				return r
			}
			d.Plan.Unknown = append(d.Plan.Unknown, r) // its own kubelet and root say so
			continue
		}
		switch n.Role {
		case catalog.RoleMaster, catalog.RoleArbiter:
			masters = append(masters, n.Name)
		case catalog.RoleWorker:
			workers = append(workers, n.Name)
		default:
			return &remediate.Refusal{Name: "node-role", Node: n.Name, Reason: "whether it runs kube-apiserver is unknown: the API did not say", Next: "name the nodes with --nodes, in the order in which they are to be repaired: control plane nodes first"}
		}
	}
	if len(masters) == 0 && a.FollowUp.RootCA != nil && a.FollowUp.RootCA.Planned.Operator { // else there may be none in a file
		return &remediate.Refusal{Name: "node-role", Reason: "no node has a label of control plane nodes: which of them run kube-apiserver is unknown", Next: "name the nodes with --nodes, in the order in which they are to be repaired: control plane nodes first"}
	}
	if len(unseen) > 0 {
		d.Note("Not read: %s. That no kube-apiserver runs there is known by labels alone.", strings.Join(unseen, ", "))
	}
	unavailableFirst(d.Snapshot, masters)
	if err := a.masters(d, masters); err != nil {
		return err
	}
	if a.Order.wantsWorkers() {
		if err := a.workers(d, workers); err != nil {
			return err
		}
	}
	if row, _ := catalog.TopologyOf(d.Snapshot.Cluster.Topology); row.SingleAPIServer && len(d.Plan.Waves) > 0 {
		d.Plan.Waves = []remediate.Wave{{Name: remediate.WaveNodes, Why: "one after another: there is one kube-apiserver, and no other to wait for", Parallel: 1, Nodes: d.Plan.Nodes()}}
	}
	if err := a.after(d, append(masters, workers...)); err != nil {
		return err
	}
	action.DropTrailingGates(d.Plan)
	a.leftOut(d)
	return nothingKnown(d.Plan)
}

// unlabelled says what tells of a master that its labels make it a worker; empty: nothing
// does.
func (a Repair) unlabelled(snapshot inspect.Snapshot, n *inspect.Node) string {
	if n.Role != catalog.RoleWorker {
		return ""
	}
	if slices.Contains(a.APIServers, n.Name) {
		return "the API has a pod of kube-apiserver there, which only its own kubelet writes"
	}
	if file := inspect.APIServerFile(snapshot, n.Name); file != "" {
		return "files of a kube-apiserver are on it: " + file
	}
	if slices.Contains(a.operated(), n.Name) {
		return "an operator puts the control plane's static pods on it"
	}
	return ""
}

// FollowUp is what follows the steps of kubelets.
type FollowUp struct {
	RootCA   *action.AwaitRootCA     // nil: nothing publishes the CA to pods, or that is unknown
	Patch    *action.PatchKubeRootCA // in place of waiting for it; nil: not wanted
	Network  *action.NetworkRestarts // nil: not wanted, or unknown
	Requests bool                    // left-over requests of kubelets are looked at
}

// after plans what comes after the kubelets: the CA in pods, those of the network node
// by node, and requests that are left over.
func (a Repair) after(d *remediate.Draft, names []string) error {
	if a.Order.wants(remediate.WaveControlPlane) {
		if err := a.rootCA(d); err != nil {
			return err
		}
	}
	if a.Order.wants(remediate.WaveNetwork) && a.FollowUp.Network != nil {
		if err := a.network(d, names); err != nil {
			return err
		}
	}
	if !a.Order.wants(remediate.WaveRequests) || !a.FollowUp.Requests {
		return nil
	}
	n, err := d.ClusterStep(csr.NewApprovePending(names, a.ApproveCSRs, !action.OnlyAwaitsAPIServers(d.Plan)))
	d.AddWave(remediate.Wave{Name: remediate.WaveRequests, Why: "certificate requests of kubelets that are still pending", Parallel: 1, Nodes: n})
	return err
}

// rootCA comes between masters and workers: kube-controller-manager dials api-int, too,
// and gets its CA and publishes it to pods when all masters can run installer pods.
func (a Repair) rootCA(d *remediate.Draft) error {
	var step remediate.Action
	switch {
	case a.FollowUp.Patch != nil:
		step = *a.FollowUp.Patch
	case a.FollowUp.RootCA != nil:
		step = *a.FollowUp.RootCA
	default:
		return nil
	}
	n, err := d.ClusterStep(step)
	if err != nil {
		return err
	}
	w := remediate.Wave{Name: remediate.WaveControlPlane, Why: "kube-controller-manager trusts api-int, and pods get the CA by kube-root-ca.crt", Parallel: 1, Nodes: n}
	i := 0
	for i < len(d.Plan.Waves) && (d.Plan.Waves[i].Name == remediate.WaveMasters || d.Plan.Waves[i].Name == remediate.WaveNodes) {
		i++
	}
	if len(n) > 0 {
		d.Plan.Waves = slices.Insert(d.Plan.Waves, i, w)
	}
	return nil
}

// network restarts pods on nodes whose kubelets are right by then; first those that
// approve what the others ask for.
func (a Repair) network(d *remediate.Draft, names []string) error {
	w := remediate.Wave{Name: remediate.WaveNetwork, Why: "node by node, only where the kubelet is right: pods that have the old CA in memory", Parallel: 1}
	add := func(name string, actions []remediate.Action) error {
		if len(actions) == 0 {
			return nil
		}
		n, _ := d.Snapshot.Node(name)
		if life := d.Snapshot.NodeHealth(n); (n.Ready == "Unknown" || life.Alive == catalog.No) && !awaited(d.Plan, name) {
			return &remediate.Refusal{
				Name: "node-reports", Node: name, Reason: "its files are right, and it does not report to the API server (" + life.String() + "): a pod of the network that is deleted there would not come back",
				Next: d.Hints().Next("kubectl describe node %s; what its kubelet is told: {} verify restart-safe --nodes %s; on the node: journalctl -u kubelet -n 50", name, name),
			}
		}
		planned, err := d.NodeSteps(name, func(d *remediate.Draft) error {
			for _, action := range actions {
				if _, err := d.Step(action); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			w.Nodes = append(w.Nodes, planned)
		}
		return err
	}
	// What does not hold of a node keeps no other waiting.
	apart := func(name string, err error) error {
		var r *remediate.Refusal
		if !errors.As(err, &r) || r.Node != name {
			return err
		}
		if !slices.ContainsFunc(d.Plan.Unknown, func(u *remediate.Refusal) bool { return u.Node == name }) {
			d.Plan.Unknown = append(d.Plan.Unknown, r)
		}
		return nil
	}
	known := d.Snapshot
	known.Nodes = nil
	for _, n := range d.Snapshot.Nodes {
		switch {
		case slices.ContainsFunc(d.Plan.Unknown, func(r *remediate.Refusal) bool { return r.Node == n.Name }):
		case n.Via == "":
			d.Plan.Unknown = append(d.Plan.Unknown, remediate.UnreadNode(d.Snapshot, n.Name))
		default:
			known.Nodes = append(known.Nodes, n)
		}
	}
	var notes []string
	for _, n := range known.Nodes {
		one := known
		one.Nodes = []inspect.Node{n}
		first, more, err := a.FollowUp.Network.Approvers(one, d.Plan.Now)
		for _, action := range first {
			err = errors.Join(err, add(n.Name, []remediate.Action{action}))
		}
		if err := apart(n.Name, err); err != nil {
			return err
		}
		notes = append(notes, more...)
	}
	for _, name := range names {
		if _, ok := known.Node(name); !ok {
			continue
		}
		actions, more, err := a.FollowUp.Network.OnNode(known, d.Plan.Now, name)
		if err == nil {
			err = add(name, actions)
		}
		if err := apart(name, err); err != nil {
			return err
		}
		notes = append(notes, more...)
	}
	for _, text := range notes {
		d.Note("%s", text)
	}
	d.AddWave(w)
	return nil
}

// awaited reports whether a node is waited for before its network's pods, so that it reports
// by then. That a request of it is approved alone says nothing of that.
func awaited(p *remediate.Plan, node string) bool {
	return slices.ContainsFunc(p.Nodes(), func(n remediate.NodePlan) bool {
		return n.Name == node && slices.ContainsFunc(n.Due(), func(s remediate.Step) bool { return remediate.AwaitsNode(s.Action) })
	})
}

// unavailableFirst puts nodes that are NotReady or have no heartbeat before the others: to
// restart the kubelet of another control plane node while one is unavailable makes nothing
// better.
func unavailableFirst(snapshot inspect.Snapshot, names []string) {
	slices.SortStableFunc(names, func(a, b string) int {
		switch firstA, firstB := unavailable(snapshot, a), unavailable(snapshot, b); {
		case firstA && !firstB:
			return -1
		case firstB && !firstA:
			return 1
		}
		return 0
	})
}

func unavailable(snapshot inspect.Snapshot, name string) bool {
	n, ok := snapshot.Node(name)
	return ok && (n.Ready == "" || snapshot.NodeHealth(n).Unhealthy())
}

// masters plans the masters, or where they are not chosen, sees that they are right.
func (a Repair) masters(d *remediate.Draft, names []string) error {
	wave := remediate.Wave{
		Name: remediate.WaveMasters, Parallel: 1,
		Why: "one at a time, those that are NotReady or have no heartbeat first: each is Ready, with a new heartbeat, and its kube-apiserver answers, before the next one is touched",
	}
	chosen := a.Order.wants(remediate.WaveMasters)
	of := d
	if !chosen {
		of = &remediate.Draft{Plan: &remediate.Plan{RunID: d.Plan.RunID, Now: d.Plan.Now, Basis: d.Plan.Basis}, Snapshot: d.Snapshot}
	}
	nodes, unknown, err := a.each(of, names)
	if err != nil {
		return err
	}
	wave.Nodes = nodes
	if chosen {
		d.AddWave(wave)
		d.Plan.Unknown = append(d.Plan.Unknown, unknown...)
		if a.Order.mastersAlone() {
			return nil
		}
	}
	return a.mastersFirst(d, wave, unknown, chosen)
}

// mastersFirst refuses to go past a master that is not right. While one has no heartbeat, its
// installer pods wait, kube-controller-manager gets no new revision, and with it
// kube-root-ca.crt and the signing of requests stand still.
func (a Repair) mastersFirst(d *remediate.Draft, masters remediate.Wave, unknown []*remediate.Refusal, chosen bool) error {
	var reason, next string
	var due []remediate.NodePlan
	for _, n := range masters.Nodes {
		if action.WithoutGates(n).Changes() {
			due = append(due, n)
		}
	}
	switch {
	case len(unknown) > 0:
		reason, next = fmt.Sprintf("whether this control plane node is right is unknown, and no other node is changed after it: %v", unknown[0]), unknown[0].Next
	case !chosen && len(due) > 0:
		reason, next = "these control plane nodes are to be repaired before others: "+strings.Join(remediate.Titles(due), ", "), "repair them first: --only "+remediate.WaveMasters
	default:
		return nil
	}
	if !slices.Contains(a.Order.Accept, preflight.MastersFirst) {
		return &remediate.Refusal{Name: preflight.MastersFirst, Reason: reason, Risk: true, Next: next + "; or, if they are to be left out: --accept-risk=" + preflight.MastersFirst}
	}
	d.Plan.Notes.Add(remediate.AcceptedNote(preflight.MastersFirst + ": " + reason))
	return nil
}

// each plans nodes one by one. Those of which it is unknown what they need are
// left out, and workers to which another certificate is presented than to others.
func (a Repair) each(d *remediate.Draft, names []string) (nodes []remediate.NodePlan, unknown []*remediate.Refusal, err error) {
	for _, name := range names {
		n, err := d.NodeSteps(name, func(d *remediate.Draft) error { return a.node(d, name) })
		var r *remediate.Refusal
		switch {
		case err == nil:
			nodes = append(nodes, n)
		case errors.As(err, &r) && r.Node == name && (r.Name != verifiesServed || a.presentedApart(d, name)):
			unknown = append(unknown, r)
		default:
			return nil, nil, err
		}
	}
	return nodes, unknown, nil
}

// workers plans the workers: those that are unavailable, a first one of the others, and
// then the others.
func (a Repair) workers(d *remediate.Draft, names []string) error {
	nodes, unknown, err := a.each(d, names)
	if err != nil {
		return err
	}
	d.Plan.Unknown = append(d.Plan.Unknown, unknown...)
	most := a.Order.MaxUnavailable.scaled(len(names))
	unavailableOnes := remediate.Wave{Name: remediate.WaveNotReady, Why: "they are NotReady or have no heartbeat already: a tenth of them at once"}
	first := remediate.Wave{Name: remediate.WaveFirst, Why: "one that works, before the others", Parallel: 1}
	rest := remediate.Wave{Name: remediate.WaveWorkers, Why: fmt.Sprintf("at most %d at once", most), Parallel: most}
	var begun []remediate.NodePlan
	for _, n := range nodes {
		switch {
		case action.OnlyWaits(n):
			begun = append(begun, n)
		case n.Changes() && unavailable(d.Plan.Basis, n.Name):
			unavailableOnes.Nodes = append(unavailableOnes.Nodes, n)
		case n.Changes() && len(first.Nodes) == 0:
			first.Nodes = append(first.Nodes, n)
		default:
			rest.Nodes = append(rest.Nodes, n)
		}
	}
	if len(first.Nodes) > 0 {
		if n, ok := d.Plan.Basis.Node(first.Nodes[0].Name); ok && d.Plan.Basis.NodeHealth(n).Healthy() != catalog.Yes {
			first.Why = "one that is Ready, before the others; whether it is alive is unknown: " + d.Plan.Basis.NodeHealth(n).Heartbeat()
		}
	}
	if !a.Order.wants(remediate.WaveFirst) {
		first.Nodes = nil // none of them is begun
	}
	a.resumeFirst(d, begun, &first, &rest)
	unavailableOnes.Parallel = Share{10, true}.scaled(len(unavailableOnes.Nodes))
	a.Order.workerWaves(d, unavailableOnes, first, rest)
	return nil
}

// resumeFirst puts workers to which everything was done, and that are not back, before the
// first one that is Ready: what stopped them is not done to it. Where nothing is done to a
// Ready one, or that was accepted, they are not waited for: what repairs them may come later.
func (a Repair) resumeFirst(d *remediate.Draft, begun []remediate.NodePlan, first, rest *remediate.Wave) {
	accepted := slices.Contains(a.Order.Accept, preflight.WorkersBack)
	var waited []remediate.NodePlan
	for _, n := range begun {
		if accepted || len(first.Nodes) == 0 {
			n = action.WithoutWaits(d, n)
		}
		if n.Changes() {
			waited = append(waited, n)
		} else {
			rest.Nodes = append(rest.Nodes, n)
		}
	}
	const done = "All steps on these workers are done, and they are not confirmed to be back: %s. "
	switch names := strings.Join(remediate.Titles(begun), ", "); {
	case len(begun) == 0 || len(first.Nodes) == 0:
	case accepted:
		d.Plan.Notes.Add(remediate.AcceptedNote(preflight.WorkersBack + ": " + fmt.Sprintf(done, names) + "They are not waited for."))
	default:
		d.Note(done+"They are waited for before one that works is begun. Where one does not come back: --accept-risk=%s", names, preflight.WorkersBack)
	}
	if len(waited) > 0 {
		first.Why = "those that were begun and are not back, and one that works, before the others"
	}
	first.Nodes = append(waited, first.Nodes...)
}
