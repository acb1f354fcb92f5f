package remediate

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Share is a number of nodes, or a part of all.
type Share struct {
	N       int // at least 1
	Percent bool
}

// ParseShare reads "2" or "10%".
func ParseShare(text string) (Share, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || percent && n > 100 || strings.Trim(digits, "0123456789") != "" {
		return Share{}, fmt.Errorf("%q is neither a number of nodes, at least 1, nor a percentage such as 10%%", text)
	}
	return Share{n, percent}, nil
}

// of is the share of so many nodes, rounded down, and at least 1.
func (s Share) of(nodes int) int {
	if s.Percent {
		return max(nodes*s.N/100, 1)
	}
	return max(s.N, 1)
}

// Order says which nodes are repaired when, where all are.
type Order struct {
	Only           []string // names of waves; none: all of them
	MaxUnavailable Share    // of Ready workers; the zero value is one
	Accept         []string // risks, by name
}

func (o Order) wants(wave string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, wave) }

// all plans the repair of all nodes that the facts have.
func (a APIInt) all(d *draft) error {
	var masters, workers []string
	var unseen []string
	for i := range d.facts.Nodes {
		n := &d.facts.Nodes[i]
		if a.APIServers == nil && n.Role == catalog.RoleWorker && n.Via == "" {
			unseen = append(unseen, n.Name)
		}
		if why := a.unlabelled(d.facts, n); why != "" {
			next := foreign.Command(inspect.NodeNames, "if it is a worker: look what makes that there, and name the other nodes with --nodes, control plane nodes first; only if it was installed as a control plane node: kubectl label node %s node-role.kubernetes.io/master=", n.Name)
			if left := ofAPIServer(d.facts, n.Name); left != "" {
				next += fmt.Sprintf("; no control plane node any more: move what is left of one out of the way there, %s", path.Dir(left))
			}
			return &Refusal{Name: "node-role", Node: n.Name, Reason: "it has no master's label, and " + why, Next: next}
		}
		switch n.Role {
		case catalog.RoleMaster, catalog.RoleArbiter:
			masters = append(masters, n.Name)
		case catalog.RoleWorker:
			workers = append(workers, n.Name)
		default:
			return &Refusal{Name: "node-role", Node: n.Name, Reason: "whether it runs kube-apiserver is not known: the API did not say", Next: "name the nodes with --nodes, in the order in which they are to be repaired: masters first"}
		}
	}
	if len(masters) == 0 && a.After.RootCA != nil && a.After.RootCA.Known.Operator { // else there may be none in a file
		return &Refusal{Name: "node-role", Reason: "no node has a master's label: which of them run kube-apiserver is not known", Next: "name the nodes with --nodes, in the order in which they are to be repaired: masters first"}
	}
	if len(unseen) > 0 {
		d.note("That these nodes, which were not read, run no kube-apiserver is known by their labels alone: %s.", strings.Join(unseen, ", "))
	}
	lostFirst(d.facts, masters)
	if err := a.masters(d, masters); err != nil {
		return err
	}
	if a.Order.wants(WaveWorkers) {
		if err := a.workers(d, workers); err != nil {
			return err
		}
	}
	if row, _ := catalog.KubeletRestartOn(d.facts.Cluster.Topology); row.Single && len(d.plan.Waves) > 0 {
		d.plan.Waves = []Wave{{Name: waveNodes, Why: "one after another: there is one kube-apiserver, and no other to wait for", Parallel: 1, Nodes: d.plan.Nodes()}}
	}
	if err := a.after(d, append(masters, workers...)); err != nil {
		return err
	}
	dropTrailingGates(d.plan)
	if len(d.plan.Nodes()) == 0 && len(d.plan.Unknown) > 0 {
		return d.plan.Unknown[0]
	}
	return nil
}

// unlabelled says what tells of a master that its labels make it a worker; empty: nothing
// does.
func (a APIInt) unlabelled(facts inspect.Snapshot, n *inspect.Node) string {
	if n.Role != catalog.RoleWorker {
		return ""
	}
	if slices.Contains(a.APIServers, n.Name) {
		return "the API has a pod of kube-apiserver there, which only its own kubelet writes"
	}
	if file := ofAPIServer(facts, n.Name); file != "" {
		return "files of a kube-apiserver are on it: " + file
	}
	if a.After.RootCA != nil && slices.ContainsFunc(a.After.RootCA.Known.Masters, func(m inspect.Revision) bool { return m.Node == n.Name }) {
		return "kube-controller-manager's operator rolls out static pods to it"
	}
	return ""
}

// ofAPIServer is a file on a node that only nodes with a kube-apiserver have; empty: none
// was read.
func ofAPIServer(facts inspect.Snapshot, node string) string {
	for _, b := range facts.Bundles {
		if b.At.Kind == pki.KindFile && b.At.Node == node && catalog.OfAPIServer(b.At.Path) {
			return b.At.Path
		}
	}
	return ""
}

// RunsAPIServer reports whether a node of these facts is a master: by its labels, else by
// its files, where no API tells the labels or the node lost its own.
func RunsAPIServer(facts inspect.Snapshot, n *inspect.Node) bool {
	return n.Role == catalog.RoleMaster || n.Role != catalog.RoleArbiter && ofAPIServer(facts, n.Name) != ""
}

// After is what follows the steps of kubelets.
type After struct {
	RootCA   *AwaitRootCA     // nil: nobody publishes the CA to pods, or it is not known
	Patch    *PatchKubeRootCA // in place of waiting for it; nil: not wanted
	Network  *NetworkRestarts // nil: not wanted, or not known
	Requests bool             // left-over requests of kubelets are looked at
}

// after plans what comes after the kubelets: the CA in pods, those of the network node
// by node, and requests that are left over.
func (a APIInt) after(d *draft, names []string) error {
	if a.Order.wants(WaveControlPlane) {
		if err := a.rootCA(d); err != nil {
			return err
		}
	}
	if a.Order.wants(WaveNetwork) && a.After.Network != nil {
		if err := a.network(d, names); err != nil {
			return err
		}
	}
	if !a.Order.wants(WaveRequests) || !a.After.Requests {
		return nil
	}
	n, err := d.cluster(NewLeftCSRs(names, a.ApproveCSRs, !idle(d.plan)))
	d.wave(Wave{Name: WaveRequests, Why: "what kubelets asked for and nobody answered", Parallel: 1, Nodes: n})
	return err
}

// rootCA comes between masters and workers: kube-controller-manager dials api-int, too,
// and gets its CA and publishes it to pods when all masters can run installer pods.
func (a APIInt) rootCA(d *draft) error {
	var step Action
	switch {
	case a.After.Patch != nil:
		step = *a.After.Patch
	case a.After.RootCA != nil:
		step = *a.After.RootCA
	default:
		return nil
	}
	n, err := d.cluster(step)
	if err != nil {
		return err
	}
	w := Wave{Name: WaveControlPlane, Why: "kube-controller-manager trusts api-int, and pods get the CA by kube-root-ca.crt", Parallel: 1, Nodes: n}
	i := 0
	for i < len(d.plan.Waves) && (d.plan.Waves[i].Name == WaveMasters || d.plan.Waves[i].Name == waveNodes) {
		i++
	}
	if len(n) > 0 {
		d.plan.Waves = slices.Insert(d.plan.Waves, i, w)
	}
	return nil
}

// network restarts pods on nodes whose kubelets are right by then; first those that
// approve what the others ask for.
func (a APIInt) network(d *draft, names []string) error {
	w := Wave{Name: WaveNetwork, Why: "node by node, only where the kubelet is right: pods that have the old CA in memory", Parallel: 1}
	add := func(name string, actions []Action) error {
		if len(actions) == 0 {
			return nil
		}
		n, _ := d.facts.Node(name)
		if life := d.facts.Life(n); (n.Ready == "Unknown" || life.Alive == catalog.No) && !mends(d.plan, name) {
			return &Refusal{
				Name: "node-reports", Node: name, Reason: "its files are right, and it does not report to the API server (" + life.String() + "): a pod of the network that is deleted there would not come back",
				Next: d.hints().Next("kubectl describe node %s; what its kubelet is told: {} verify restart-safe --nodes %s; on the node: journalctl -u kubelet -n 50", name, name),
			}
		}
		planned, err := d.apart(name, func(d *draft) error {
			for _, action := range actions {
				if _, err := d.step(action); err != nil {
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
	// What does not hold of a node keeps nobody else waiting.
	apart := func(name string, err error) error {
		var r *Refusal
		if !errors.As(err, &r) || r.Node != name {
			return err
		}
		if !slices.ContainsFunc(d.plan.Unknown, func(u *Refusal) bool { return u.Node == name }) {
			d.plan.Unknown = append(d.plan.Unknown, r)
		}
		return nil
	}
	known := d.facts
	known.Nodes = nil
	for _, n := range d.facts.Nodes {
		switch {
		case slices.ContainsFunc(d.plan.Unknown, func(r *Refusal) bool { return r.Node == n.Name }):
		case n.Via == "":
			d.plan.Unknown = append(d.plan.Unknown, unreadNode(d.facts, n.Name))
		default:
			known.Nodes = append(known.Nodes, n)
		}
	}
	var notes []string
	for _, n := range known.Nodes {
		one := known
		one.Nodes = []inspect.Node{n}
		first, more, err := a.After.Network.First(one, d.plan.Now)
		for _, action := range first {
			err = errors.Join(err, add(n.Name, []Action{action}))
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
		actions, more, err := a.After.Network.OnNode(known, d.plan.Now, name)
		if err == nil {
			err = add(name, actions)
		}
		if err := apart(name, err); err != nil {
			return err
		}
		notes = append(notes, more...)
	}
	for _, text := range notes {
		d.note("%s", text)
	}
	d.wave(w)
	return nil
}

// mends reports whether a node is waited for before its network's pods, so that it reports
// by then. That a request of it is approved alone says nothing of that.
func mends(p *Plan, node string) bool {
	return slices.ContainsFunc(p.Nodes(), func(n NodePlan) bool {
		return n.Name == node && slices.ContainsFunc(n.due(), func(s Step) bool { _, waits := s.Action.(Await); return waits })
	})
}

// lostFirst puts nodes that are lost before the others: to restart the kubelet
// of another master while one is lost makes nothing better.
func lostFirst(facts inspect.Snapshot, names []string) {
	slices.SortStableFunc(names, func(a, b string) int {
		switch lostA, lostB := lost(facts, a), lost(facts, b); {
		case lostA && !lostB:
			return -1
		case lostB && !lostA:
			return 1
		}
		return 0
	})
}

func lost(facts inspect.Snapshot, name string) bool {
	n, ok := facts.Node(name)
	return ok && (n.Ready == "" || facts.Life(n).Lost())
}

// masters plans the masters, or where they are not chosen, sees that they are right.
func (a APIInt) masters(d *draft, names []string) error {
	wave := Wave{
		Name: WaveMasters, Parallel: 1,
		Why: "one at a time, those that are lost first (NotReady, or no heartbeat): each is Ready, with a new heartbeat, and its kube-apiserver answers, before the next one is touched",
	}
	chosen := a.Order.wants(WaveMasters)
	of := d
	if !chosen {
		of = &draft{plan: &Plan{Run: d.plan.Run, Now: d.plan.Now, Basis: d.plan.Basis}, facts: d.facts}
	}
	nodes, unknown, err := a.each(of, names)
	if err != nil {
		return err
	}
	wave.Nodes = nodes
	if chosen {
		d.wave(wave)
		d.plan.Unknown = append(d.plan.Unknown, unknown...)
		if len(a.Order.Only) == 1 {
			return nil // nothing comes after them
		}
	}
	return a.mastersFirst(d, wave, unknown, chosen)
}

// mastersFirst refuses to go past a master that is not right. While one is lost, its
// installer pods wait, kube-controller-manager gets no new revision, and with it
// kube-root-ca.crt and the signing of requests stand still.
func (a APIInt) mastersFirst(d *draft, masters Wave, unknown []*Refusal, chosen bool) error {
	var reason, next string
	var due []NodePlan
	for _, n := range masters.Nodes {
		if withoutGates(n).Changes() {
			due = append(due, n)
		}
	}
	switch {
	case len(unknown) > 0:
		reason, next = fmt.Sprintf("it is not known whether this master is right, and nothing is to be done to others after it: %v", unknown[0]), unknown[0].Next
	case !chosen && len(due) > 0:
		reason, next = "these masters are to be repaired before others: "+strings.Join(titles(due), ", "), "repair them first: --only "+WaveMasters
	default:
		return nil
	}
	if !slices.Contains(a.Order.Accept, MastersFirst) {
		return &Refusal{Name: MastersFirst, Reason: reason, Risk: true, Next: next + "; or, if they are to be left out: --accept-risk=" + MastersFirst}
	}
	d.note("Accepted by name (%s): %s", MastersFirst, reason)
	return nil
}

// each plans nodes one by one. Those of which it is not known what they need are
// left out.
func (a APIInt) each(d *draft, names []string) (nodes []NodePlan, unknown []*Refusal, err error) {
	for _, name := range names {
		n, err := d.apart(name, func(d *draft) error { return a.node(d, name) })
		var r *Refusal
		switch {
		case err == nil:
			nodes = append(nodes, n)
		case errors.As(err, &r) && r.Node == name && r.Name != verifiesServed:
			unknown = append(unknown, r)
		default:
			return nil, nil, err
		}
	}
	return nodes, unknown, nil
}

// workers plans the workers: those that are lost, a first one of the others, and
// then the others.
func (a APIInt) workers(d *draft, names []string) error {
	nodes, unknown, err := a.each(d, names)
	if err != nil {
		return err
	}
	d.plan.Unknown = append(d.plan.Unknown, unknown...)
	most := a.Order.MaxUnavailable.of(len(names))
	lostOnes := Wave{Name: waveLost, Why: "they are lost already: a tenth of them at once"}
	first := Wave{Name: waveFirst, Why: "one that works, before the others", Parallel: 1}
	rest := Wave{Name: WaveWorkers, Why: fmt.Sprintf("at most %d at once", most), Parallel: most}
	var begun []NodePlan
	for _, n := range nodes {
		switch {
		case onlyWaits(n):
			begun = append(begun, n)
		case n.Changes() && lost(d.plan.Basis, n.Name):
			lostOnes.Nodes = append(lostOnes.Nodes, n)
		case n.Changes() && len(first.Nodes) == 0:
			first.Nodes = append(first.Nodes, n)
		default:
			rest.Nodes = append(rest.Nodes, n)
		}
	}
	if len(first.Nodes) > 0 {
		if n, ok := d.plan.Basis.Node(first.Nodes[0].Name); ok && d.plan.Basis.Life(n).Works() != catalog.Yes {
			first.Why = "one that is Ready, before the others; whether it is alive is not known: " + d.plan.Basis.Life(n).Heartbeat()
		}
	}
	a.resumeFirst(d, begun, &first, &rest)
	lostOnes.Parallel = Share{10, true}.of(len(lostOnes.Nodes))
	d.wave(lostOnes)
	d.wave(first)
	d.wave(rest)
	return nil
}
