package apiint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Repair makes kubelets trust what the API server presents: the CA in both of their
// kubeconfigs, then a restart. On OpenShift that is at api-int (okd-project/okd#1881).
type Repair struct {
	Nodes    []string // these, one after another in this order; nil: all that the facts have
	Order    Order    // of all nodes
	CA       []byte   // PEM: what kubelets are to trust, verbatim
	CASource string   // where the CA is from, for people
	// Published: the CA is the value of OpenShift's ConfigMap, whose text
	// machine-config-daemon compares. Of any other text, only the certificates are
	// written.
	Published bool
	// Since is when the ConfigMap got the value that it has; zero: unknown.
	Since time.Time
	API   bool // an API server can be asked whether nodes come back
	// APIServers are the nodes of which the API has a kube-apiserver's pod, whatever their
	// labels say; nil: unknown.
	APIServers []string
	// StaticPodNodes are those on which operators put the control plane's static pods; empty: that is unknown,
	// or no operator does.
	StaticPodNodes []string
	// Deleting are how many pods of a node are marked for deletion; nil: unknown.
	Deleting map[string]int
	// ApproveCSRs approves what restarted kubelets ask for, where it matches them.
	ApproveCSRs bool
	scripted    bool // it is for a script, which asks no API server
	unproven    bool // what it brings is proven with the scripts of other nodes
	// Rebootstrap has kubelets make new kubeconfigs, and ask for a client
	// certificate where theirs is of no more use.
	Rebootstrap bool
	FollowUp    FollowUp             // what follows the steps of kubelets, where all nodes are repaired
	trusted     []*pki.Cert          // the certificates in CA
	Busy        []*remediate.Refusal // workers that a plan for all nodes leaves out: see preflight.BusyError
	// apart are workers that are left out of a plan for all nodes, by name, and why.
	apart  map[string]*remediate.Refusal
	Cache  *action.Cache     // nil: nothing yet
	before *remediate.Before // of the facts that plans are made from; nil: they are not judged yet
}

// Plan makes the plan for these facts. The error is a *Refusal where it must not
// be done, or where it is unknown whether it may.
func (a Repair) Plan(run string, snapshot inspect.Snapshot, now time.Time) (*remediate.Plan, error) {
	if err := a.supported(snapshot.Cluster); err != nil {
		return nil, err
	}
	if a.Cache == nil {
		a.Cache = action.NewCache()
	}
	ca, err := a.certificates(snapshot.Cluster.Versions, now)
	if err != nil {
		return nil, err
	}
	var holds string
	if plain := pki.EncodePEM(ca); !a.Published && !bytes.Equal(dense(a.CA), dense(plain)) {
		a.CA = plain
		holds = a.CASource + " holds more than certificates in plain PEM; only those are written."
	}
	a.trusted, a.apart = ca, a.busy()
	if a.before == nil {
		a.before = remediate.NewBefore(snapshot, now)
	}
	for {
		d := remediate.NewDraft(run, snapshot, now)
		d.Before = a.before
		a.owner(d)
		if holds != "" {
			d.Note("%s", holds)
		}
		if a.Nodes == nil {
			err = a.all(d)
		} else {
			err = a.named(d)
		}
		if err != nil {
			return nil, err
		}
		a.otherTrustFiles(d)
		if a.unproven {
			return d.Plan, nil
		}
		p := d.Finish()
		if a.Nodes == nil && (a.clocksApart(p) || a.setApart(p)) {
			continue
		}
		if err := p.Proven(); err != nil {
			if a.scripted && a.setApart(p) && a.apart[a.Nodes[0]] != nil {
				return nil, a.apart[a.Nodes[0]] // by the node's name: the scripts of others do without it
			}
			return nil, err
		}
		return p, nil
	}
}

// named plans the nodes that were named.
func (a Repair) named(d *remediate.Draft) error {
	for _, name := range a.Nodes {
		d.AddNode(name)
		if err := a.node(d, name); err != nil {
			return err
		}
	}
	action.DropTrailingWaits(d, a.API)
	action.NoteSkippable(d)
	action.DropTrailingGates(d.Plan)
	return nil
}

// node adds the steps for a node, if it is known what it needs.
func (a Repair) node(d *remediate.Draft, name string) error {
	if r := a.apart[name]; r != nil {
		return r
	}
	n, ok := d.Snapshot.Node(name)
	if !ok || n.Via == "" {
		return remediate.UnreadNode(d.Snapshot, name)
	}
	if err := remediate.Identified(d.Snapshot, name); err != nil {
		return err
	}
	if err := likeSetup(d.Snapshot, n); err != nil {
		return err
	}
	if err := a.verifies(d.Snapshot, n, a.trusted, d.Plan.Now); err != nil {
		return err
	}
	if a.Rebootstrap {
		return a.rejoin(d, n)
	}
	return a.repair(d, n)
}

// leftOut notes the nodes of the cluster that were not to be read, such as those of a snapshot
// that was narrowed to some: what they need is unknown.
func (a Repair) leftOut(d *remediate.Draft) {
	for _, n := range d.Snapshot.LeftOut() {
		masters := n.Role == catalog.RoleMaster || n.Role == catalog.RoleArbiter
		if a.Order.wants(remediate.WaveMasters) && (masters || n.Role == "") || a.Order.wantsWorkers() && !masters {
			d.Plan.Unknown = append(d.Plan.Unknown, remediate.UnreadNode(d.Snapshot, n.Name))
		}
	}
	for _, g := range d.Snapshot.Gaps {
		if g.What == "nodes" && g.Where == "" { // they were not listed
			d.Plan.Unknown = append(d.Plan.Unknown, &remediate.Refusal{Name: "node-read", Node: "other nodes", Reason: g.Reason, Next: g.Next})
		}
	}
}

// nothingKnown refuses a plan of which nothing is known but that nodes are unknown.
func nothingKnown(p *remediate.Plan) error {
	switch {
	case len(p.Nodes()) > 0 || len(p.Unknown) == 0:
		return nil
	case len(p.Unknown) == 1:
		return p.Unknown[0]
	}
	return remediate.UnknownNodesError(p.Unknown)
}

// supported refuses clusters where a kubelet must not be restarted like this.
func (a Repair) supported(c inspect.Cluster) error {
	if row, ok := catalog.DistributionOf(c.Versions); ok {
		return &remediate.Refusal{Name: "kubelet-setup", Reason: fmt.Sprintf("this cluster is %s (%s), whose kubelets neither OpenShift nor kubeadm set up: %s", row.Name, c.Versions.Kubernetes, row.Doc), Next: row.Next}
	}
	if row, ok := catalog.TopologyOf(c.Topology); ok && !row.RestartAllowed {
		return &remediate.Refusal{Name: "topology", Reason: fmt.Sprintf("the control plane's topology is %s: %s", c.Topology, row.Doc), Next: row.Next}
	}
	if c.Topology != "" && !slices.ContainsFunc(catalog.Topologies(), func(t catalog.Topology) bool { return t.Name == c.Topology }) {
		return &remediate.Refusal{Name: "topology", Reason: fmt.Sprintf("the control plane's topology is %s: whether a kubelet may be restarted there is unknown", foreign.QuotedName(c.Topology)), Next: "look for a newer certrot"}
	}
	return nil
}

// repair adds the steps for a node: the file to join with, which does nothing as
// long as the kubelet's client certificate is valid, the kubelet's own, and one
// restart. Each prefix of this leaves the node no worse than it was.
func (a Repair) repair(d *remediate.Draft, n *inspect.Node) error {
	setup := inspect.KubeletSetupOf(d.Snapshot, n)
	files := setup.Kubeconfigs()
	if n.Kubelet.BootstrapConfig == "" && n.Kubelet.Kubeconfig == "" {
		d.Note("The kubelet on %s does not run, so which kubeconfigs it uses is unknown: %s's are taken.", n.Name, setup.Name)
	}
	var changed []string
	for _, path := range files {
		if inspect.MissingFile(d.Snapshot, n, path) {
			if path == files[0] && setup.BootstrapDeleted {
				continue
			}
			if path == files[0] {
				d.Note("%s is not on %s: its kubelet can't join again without it.", path, n.Name)
				continue
			}
			d.Note("%s is not on %s: its kubelet writes it, from %s, when it starts.", path, n.Name, files[0])
			changed = append(changed, path)
			continue
		}
		wrote, err := a.write(d, n, path)
		if err != nil {
			return err
		}
		if wrote {
			changed = append(changed, path)
		}
	}
	approve := csr.NewApprove(n.Name, d.Snapshot, d.Plan.Now)
	restart := action.NewRestartKubelet(n.Name, changed...)
	if a.API && a.ApproveCSRs {
		restart = restart.NotingRequests(n, approve)
	}
	c, err := d.Step(restart)
	if err != nil {
		return err
	}
	if own := n.PerhapsOutdatedKubeconfig(); own != "" && c == nil {
		d.Note("Whether the kubelet on %s has read %s is unknown: its mode, owner, label or content changed later. That alone plans no restart.", n.Name, own)
	}
	a.suggest(d, n, c == nil)
	if c != nil && a.API && !a.ApproveCSRs && !a.scripted {
		unapproved(d, n)
	}
	// Its kubelet may have been restarted by a run that was interrupted before it answered.
	begun := a.API && a.Nodes == nil && action.NotReturned(d.Snapshot, n, d.Plan.Now)
	asks := a.API && a.Nodes != nil && a.ApproveCSRs && len(csr.PendingRequests(d.Snapshot, n.Name)) > 0
	if c == nil && !a.waitedFor(n) && !asks && !begun {
		return nil
	}
	var first []remediate.Action
	if a.API && a.ApproveCSRs {
		first = append(first, approve)
	}
	return a.awaitReturn(d, n, c != nil, first...)
}

// awaitReturn adds the waits for a node, and before them what is done for its kubelet after a
// restart: by this plan, or by a run that was stopped before it was back.
func (a Repair) awaitReturn(d *remediate.Draft, n *inspect.Node, restarted bool, first ...remediate.Action) error {
	if restarted {
		a.returning(d, n)
	}
	if restarted && !a.API {
		d.Note("No API server could be asked: whether nodes report again will not be seen. Before the next node is begun, each is asked itself whether the API server takes its kubelet's own credentials.")
	}
	for _, s := range first {
		if _, err := d.Step(s); err != nil {
			return err
		}
	}
	return action.AwaitReturn(d, n.Name, a.API, a.waitedFor(n), a.CA)
}

// waitedFor reports whether others are begun only when this node is back: masters and
// arbiters of all nodes, and of nodes that were named, all but the last.
func (a Repair) waitedFor(n *inspect.Node) bool {
	if a.Nodes == nil {
		return n.Role != catalog.RoleWorker
	}
	return n.Name != a.Nodes[len(a.Nodes)-1]
}

// suggest names the command for a kubelet that has to join again, or may have to: its files
// are right, and there is nothing to do.
func (a Repair) suggest(d *remediate.Draft, n *inspect.Node, right bool) {
	if !inspect.KubeletSetupOf(d.Snapshot, n).HasOperators {
		return // kubeadm joins nodes in another way
	}
	line := d.Hints().Next("{} fix-api-int --nodes %s --rebootstrap --approve-csrs --dry-run=client", n.Name)
	useless, err := uselessCertificate(d.Plan.Basis, n, d.Plan.Now)
	switch {
	case err == nil && useless != "" && inspect.KubeletClientCert(d.Plan.Basis, n.Name) != nil && !a.ApproveCSRs:
		d.Note("The kubelet on %s has no usable client certificate: %s. It will ask for one, and that request is not approved automatically: %s", n.Name, useless, line)
	case right && d.Plan.Basis.NodeHealth(n).Unhealthy() && !inspect.MissingFile(d.Plan.Basis, n, catalog.KubeletKubeconfigs()[0]):
		told := d.Hints().UnreadRestart("{} verify restart-safe --nodes %s", n.Name)
		d.Note("The files of %s are right, and it %s. What the API server answers its kubelet: %s. If its client certificate is not accepted, have it join again: %s", n.Name, d.Plan.Basis.NodeHealth(n).WhyUnhealthy(), told, line)
	}
}

// write adds the step that writes the CA into a file, and reports whether it changes.
func (a Repair) write(d *remediate.Draft, n *inspect.Node, path string) (bool, error) {
	c, err := d.Step(action.AddKubeconfigCAs{NodeName: n.Name, Path: path, CA: a.CA, Cache: a.Cache})
	if err != nil || c == nil {
		return false, err
	}
	if err := a.ownerFirst(d, n, path, c.File.Old); err != nil {
		return false, err
	}
	return true, nil
}

// ownerFirst is owned, unless that risk was accepted. old are the CAs in the file.
func (a Repair) ownerFirst(d *remediate.Draft, n *inspect.Node, path string, old []*pki.Cert) error {
	if r := preflight.RefuseOwned(d.Snapshot, n, path, pki.Without(a.trusted, old), a.Since, d.Plan.Now); r != nil && !slices.Contains(a.Order.Accept, preflight.OwnedFile) {
		return r
	}
	return nil
}

// otherTrustFiles says which other files on the plan's nodes lack CAs that kubelets are given. They
// are left as they are: who reads them at its start would have to be restarted, too.
func (a Repair) otherTrustFiles(d *remediate.Draft) {
	type lack struct { // ca is empty where it is unknown
		row catalog.OtherTrustFile
		ca  string
	}
	on := map[lack][]string{}
	var order []lack
	clusters := map[string]string{}
	for _, planned := range d.Plan.Nodes() {
		n, ok := d.Snapshot.Node(planned.Name)
		if !ok {
			continue
		}
		for _, row := range inspect.KubeletSetupOf(d.Snapshot, n).OtherTrustFiles {
			if !row.For(n.Role) || inspect.MissingFile(d.Snapshot, n, row.Path) {
				continue
			}
			l := lack{row: row}
			old, read := certsOn(d.Snapshot, n.Name, row.Path)
			if missing := action.Unexpired(pki.Without(a.trusted, old), d.Plan.Now); read && len(missing) == 0 {
				continue
			} else if read {
				l.ca = pki.Named(missing[0])
			}
			for _, k := range n.Kubeconfigs {
				if c, ok := k.InUse(); ok && k.Path == row.Path {
					clusters[row.Path] = c.Name
				}
			}
			if on[l] == nil {
				order = append(order, l)
			}
			if !slices.Contains(on[l], n.Name) {
				on[l] = append(on[l], n.Name)
			}
		}
	}
	for _, l := range order {
		row, nodes := l.row, strings.Join(on[l], ", ")
		if l.ca == "" {
			d.Note("Whether %s on %s has the CA is unknown: %s.", row.Path, nodes, row.Reader)
			continue
		}
		d.Note("%s on %s lacks %s, and stays as it is: %s. To fix it, there: %s", row.Path, nodes, l.ca, row.Reader, strings.ReplaceAll(row.Remediation, "CLUSTER", nodeexec.Quote(clusters[row.Path])))
	}
}

// certsOn are the certificates in a file on a node; false where none was read.
func certsOn(snapshot inspect.Snapshot, node, path string) (out []*pki.Cert, read bool) {
	for _, b := range snapshot.Bundles {
		if b.At.Node == node && b.At.Path == path {
			loaded, _ := b.Content.LoadedBy(pki.ReaderGo)
			out, read = append(out, loaded...), true
		}
	}
	return out, read
}

// likeSetup refuses a node whose kubelet works with other files.
func likeSetup(snapshot inspect.Snapshot, n *inspect.Node) error {
	setup := inspect.KubeletSetupOf(snapshot, n)
	for i, used := range []string{n.Kubelet.BootstrapConfig, n.Kubelet.Kubeconfig} {
		if path := setup.Kubeconfigs()[i]; used != "" && used != path {
			return &remediate.Refusal{Name: "kubelet-flags", Node: n.Name, Reason: fmt.Sprintf("its kubelet runs with %s, and %s's with %s", foreign.Text(used), setup.Name, path), Next: "this node is not set up as " + setup.Name + "'s are: fix it by hand"}
		}
	}
	return nil
}

// returning says what happens to pods on a node that was unavailable for long.
func (a Repair) returning(d *remediate.Draft, n *inspect.Node) {
	if !d.Plan.Basis.NodeHealth(n).Unhealthy() {
		return
	}
	pods := a.Deleting[n.Name]
	switch {
	case a.Deleting == nil:
		d.Plan.Notes.Add(remediate.Note{Text: foreign.Name(n.Name) + ": Pods that are being deleted are killed when it returns:", Command: foreign.Command(inspect.NodeNames, "kubectl get pods -A --field-selector spec.nodeName=%s", n.Name)})
	case pods > 0:
		d.Note("When %s returns, %d of its pods are killed: they were marked for deletion while it was unavailable, and their replacements run elsewhere.", n.Name, pods)
	}
}
