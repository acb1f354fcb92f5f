package remediate

import (
	"bytes"
	"cmp"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// APIInt makes kubelets trust what the API server shows at api-int: the CA in both
// of their kubeconfigs, then a restart (okd-project/okd#1881).
type APIInt struct {
	Nodes []string // these, one after another in this order; nil: all that the facts have
	Order Order    // of all nodes
	CA    []byte   // PEM: what kubelets are to trust, verbatim
	From  string   // where the CA is from, for people
	// Published: the CA is the value of OpenShift's ConfigMap, whose text
	// machine-config-daemon compares. Of any other text, only the certificates are
	// written.
	Published bool
	API       bool // an API server can be asked whether nodes come back
	// Deleting are how many pods of a node are marked for deletion; nil: not known.
	Deleting map[string]int
	// ApproveCSRs approves what restarted kubelets ask for, where it matches them.
	ApproveCSRs bool
	// Rebootstrap has kubelets make their kubeconfig anew, and ask for a client
	// certificate where theirs is of no more use.
	Rebootstrap bool
	After       After       // what follows the steps of kubelets, where all nodes are repaired
	trusted     []*pki.Cert // the certificates in CA
}

// Plan makes the plan for these facts. The error is a *Refusal where it must not
// be done, or where it is not known whether it may.
func (a APIInt) Plan(run string, facts inspect.Snapshot, now time.Time) (*Plan, error) {
	if err := a.supported(facts.Cluster); err != nil {
		return nil, err
	}
	ca, err := a.certificates(now)
	if err != nil {
		return nil, err
	}
	d := newDraft(run, facts, now)
	a.owner(d)
	if plain := encoded(ca); !a.Published && !bytes.Equal(dense(a.CA), dense(plain)) {
		a.CA = plain
		d.note("%s holds more than certificates in plain PEM; only those are written.", a.From)
	}
	a.trusted = ca
	if a.Nodes == nil {
		err = a.all(d)
	} else {
		err = a.named(d)
	}
	if err != nil {
		return nil, err
	}
	p := d.finish()
	if err := proven(p); err != nil {
		return nil, err
	}
	return p, nil
}

// named plans the nodes that were named.
func (a APIInt) named(d *draft) error {
	for _, name := range a.Nodes {
		d.node(name)
		if err := a.node(d, name); err != nil {
			return err
		}
	}
	return nil
}

// node adds the steps for a node, if it is known what it needs.
func (a APIInt) node(d *draft, name string) error {
	n, ok := d.facts.Node(name)
	if !ok || n.Via == "" {
		return unreadNode(d.facts, name)
	}
	if err := identified(d.facts, name); err != nil {
		return err
	}
	if err := a.verifies(d.facts, n, a.trusted, d.plan.Now); err != nil {
		return err
	}
	if a.Rebootstrap {
		return a.rejoin(d, n)
	}
	return a.repair(d, n)
}

// proven refuses a plan after which the checks find something new.
func proven(p *Plan) error {
	if len(p.Added) == 0 {
		return nil
	}
	f := p.Added[0]
	return &Refusal{Name: "plan-proven", Reason: fmt.Sprintf("the plan would bring a new problem: %s: %s (%s)", f.Check, f.Message, places(f)), Next: "please report this with the output of: certrot snapshot"}
}

// supported refuses clusters where a kubelet must not be restarted like this.
func (a APIInt) supported(c inspect.Cluster) error {
	if c.Versions.Plain {
		return &Refusal{Name: "openshift", Reason: "this cluster is no OpenShift: it has no api-int and none of OpenShift's kubeconfigs", Next: "for kubeadm: compare certificate-authority-data in /etc/kubernetes/kubelet.conf with the ConfigMap kube-public/cluster-info"}
	}
	if row, ok := catalog.KubeletRestartOn(c.Topology); ok && !row.Allowed {
		return &Refusal{Name: "topology", Reason: fmt.Sprintf("the control plane's topology is %s: %s", c.Topology, row.Doc), Next: row.Next}
	}
	if c.Topology != "" && !slices.ContainsFunc(catalog.Topologies(), func(t catalog.Topology) bool { return t.Name == c.Topology }) {
		return &Refusal{Name: "topology", Reason: fmt.Sprintf("the control plane's topology is %q, of which it is not known whether a kubelet may be restarted there", c.Topology), Next: "look for a newer certrot"}
	}
	return nil
}

// certificates are those to write, all of them CAs that are valid.
func (a APIInt) certificates(now time.Time) ([]*pki.Cert, error) {
	refuse := func(format string, args ...any) error {
		return &Refusal{Name: "ca-usable", Reason: a.From + ": " + fmt.Sprintf(format, args...), Next: "the right CAs are in ConfigMap openshift-config-managed/kube-apiserver-server-ca, and on masters in " + catalog.MasterServerCAs}
	}
	var out []*pki.Cert
	for _, found := range pki.NewScanner().Scan(a.CA) {
		c := found.Content
		switch {
		case len(c.Keys) > 0:
			return nil, refuse("a private key is in it")
		case len(c.Bad) > 0:
			return nil, refuse("not all of it can be read: %s", c.Bad[0].Reason)
		case found.Field != "":
			return nil, refuse("certificates are inside of a document; PEM is wanted")
		}
		out = append(out, c.Certs...)
	}
	if len(out) == 0 {
		return nil, refuse("no certificate is in it")
	}
	valid := false
	for _, c := range out {
		if !c.IsCA {
			return nil, refuse("%q (sha256 %s) is no CA", c.Subject, c.Fingerprint.Short())
		}
		valid = valid || c.NotAfter.After(now) && !c.NotBefore.After(now)
	}
	if !valid {
		return nil, refuse("none of its %d CAs is valid now; %q ended %s", len(out), out[0].Subject, out[0].NotAfter.UTC().Format(time.RFC3339))
	}
	return out, nil
}

// encoded is PEM as OpenShift's operators write it.
func encoded(certs []*pki.Cert) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER})...)
	}
	return out
}

// dense is text without its white space.
func dense(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }

// owner says whose the files are in this version.
func (a APIInt) owner(d *draft) {
	row, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), d.facts.Cluster.Versions)
	if answer == catalog.Yes && row.Delivered {
		then := "It takes what is written here for its own."
		if !a.Published {
			then = "Where the CAs of " + catalog.APIServerCA().String() + " are not all among what is written, it writes the file again."
		}
		d.note("In this version %s. If it has not done so, look at it too: oc get machineconfigpools; oc -n openshift-machine-config-operator logs -l k8s-app=machine-config-daemon. %s", row.Doc, then)
	}
	if d.facts.Cluster.Topology == "" {
		d.note("The topology of the control plane is not known. Where two nodes guard each other with fencing (DualReplica), or the control plane is hosted elsewhere (External), do not go on.")
	}
	if answer == catalog.Unknown {
		d.note("The cluster's version is not known. From 4.16 on machine-config-daemon writes these files too.")
	}
}

func unreadNode(facts inspect.Snapshot, name string) *Refusal {
	r := &Refusal{Name: "node-read", Node: name, Reason: "it was not read", Next: "is that its name? inspect nodes shows those that there are"}
	for _, g := range facts.Gaps {
		if g.What == "node/"+name || g.What == "nodes" {
			r.Reason, r.Next = g.Reason, g.Next
			break
		}
	}
	return r
}

// verifiesServed is the check that the CA is the right one. Where it fails on one
// node, nothing is done to any.
const verifiesServed = "ca-verifies-served"

// verifies holds the CA against what is really served, from the node.
func (a APIInt) verifies(facts inspect.Snapshot, n *inspect.Node, ca []*pki.Cert, now time.Time) error {
	refuse := func(name, reason, next string) error {
		return &Refusal{Name: name, Node: n.Name, Reason: reason, Next: next}
	}
	asked := false
	for _, k := range n.Kubeconfigs {
		c, ok := k.InUse()
		if !ok || !slices.Contains(catalog.KubeletKubeconfigs(), k.Path) || a.Rebootstrap && k.Path != catalog.KubeletKubeconfigs()[0] {
			continue // the other one is made anew, whatever is in it
		}
		address, name, err := c.Dialled()
		if err != nil {
			return refuse(fileShape, k.Path+": "+err.Error(), "compare it with the same file on another node")
		}
		served, ok := facts.ShownTo(n.Name, address)
		if !ok {
			return refuse("served-known", fmt.Sprintf("what is shown at %s is not known: %s", address, gapsOf(facts, address)), "is the API server up behind api-int? On the node: curl -kv https://"+address+"/readyz")
		}
		asked = true
		if err := pki.Verify(served.Chain, ca, name, n.Time(now)); err != nil {
			return refuse(verifiesServed, fmt.Sprintf("%s does not verify what is shown at %s to the node: %v\n%s", a.From, address, err, chain(served.Chain)),
				"the server side must be right first: what is shown is to be signed by a CA in openshift-config-managed/kube-apiserver-server-ca. A user's own certificate for api-int (APIServer spec.servingCerts.namedCertificates) is not supported by OpenShift")
		}
	}
	if !asked {
		return refuse(fileRead, "none of "+strings.Join(catalog.KubeletKubeconfigs(), ", ")+" could be read as a kubeconfig", "on the node: ls -l "+strings.Join(catalog.KubeletKubeconfigs(), " "))
	}
	return nil
}

// chain says which certificates were shown.
func chain(certs []*pki.Cert) string {
	var lines []string
	for i, c := range certs {
		lines = append(lines, fmt.Sprintf("  shown %d: %s, issued by %s, sha256 %s, until %s", i+1, c.Subject, c.Issuer, c.Fingerprint, c.NotAfter.UTC().Format(time.RFC3339)))
	}
	return strings.Join(lines, "\n")
}

// repair adds the steps for a node: the file to join with, which does nothing as
// long as the kubelet's client certificate is valid, the kubelet's own, and one
// restart. Each prefix of this leaves the node no worse than it was.
func (a APIInt) repair(d *draft, n *inspect.Node) error {
	files := catalog.KubeletKubeconfigs()
	if err := flagged(d, n); err != nil {
		return err
	}
	var changed []string
	for _, path := range files {
		if missingFile(d.facts, n, path) {
			if path == files[0] {
				d.note("%s is not on %s: should its kubelet have to join anew, it can't.", path, n.Name)
				continue
			}
			d.note("%s is not on %s: its kubelet writes it, from %s, when it starts.", path, n.Name, files[0])
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
	approve := NewApproveCSRs(n.Name, d.facts, d.plan.Now)
	restart := NewRestartUnit(n.Name, changed...)
	if a.API && a.ApproveCSRs {
		restart = restart.before(n, approve)
	}
	c, err := d.step(restart)
	if err != nil {
		return err
	}
	a.suggest(d, n, c == nil)
	inOrder := a.Nodes == nil && n.Role != catalog.RoleWorker // others wait for it
	if c == nil && !inOrder {
		return nil
	}
	if c != nil {
		a.returning(d, n)
	}
	if !a.API {
		d.note("No API server could be asked: whether nodes report again will not be seen.")
	}
	if a.API && a.ApproveCSRs {
		if _, err := d.step(approve); err != nil {
			return err
		}
	}
	if _, err = d.step(Await{On: n.Name}); err != nil || !inOrder {
		return err
	}
	return a.gate(d, n)
}

// suggest names the command for a kubelet that has to join anew, or may have to: its files
// are right, right: and there is nothing to do.
func (a APIInt) suggest(d *draft, n *inspect.Node, right bool) {
	line := fmt.Sprintf("certrot fix-api-int --nodes %s --rebootstrap --approve-csrs", n.Name)
	useless, err := uselessCertificate(d.plan.Basis, n, d.plan.Now)
	switch {
	case err == nil && useless != "" && clientOf(d.plan.Basis, n.Name) != nil && !a.ApproveCSRs:
		d.note("The kubelet on %s has no client certificate that is of use: %s. It will ask for one, which nobody approves by itself: %s", n.Name, useless, line)
	case right && n.Ready != "" && n.Ready != "True" && !missingFile(d.plan.Basis, n, catalog.KubeletKubeconfigs()[0]):
		d.note("The files of %s are right, and it is not Ready. What its kubelet is told: certrot verify restart-safe --nodes %s. Where its client certificate is not accepted, it joins anew by: %s", n.Name, n.Name, line)
	}
}

// flagged refuses a kubelet that works with other files.
func flagged(d *draft, n *inspect.Node) error {
	files := catalog.KubeletKubeconfigs()
	for i, used := range []string{n.Kubelet.BootstrapConfig, n.Kubelet.Kubeconfig} {
		if used != "" && used != files[i] {
			return &Refusal{Name: "kubelet-flags", Node: n.Name, Reason: fmt.Sprintf("its kubelet runs with %s, and OpenShift's with %s", used, files[i]), Next: "this node is not set up as OpenShift's are: mend it by hand"}
		}
	}
	if n.Kubelet.BootstrapConfig == "" && n.Kubelet.Kubeconfig == "" {
		d.note("Which kubeconfigs the kubelet on %s uses is not known, since it does not run: OpenShift's are taken.", n.Name)
	}
	return nil
}

// write adds the step that writes the CA into a file, and reports whether it changes.
func (a APIInt) write(d *draft, n *inspect.Node, path string) (bool, error) {
	c, err := d.step(ReplaceFile{On: n.Name, Path: path, CA: a.CA})
	if err != nil || c == nil {
		return false, err
	}
	if r := owned(d.facts.Cluster, n, path, absent(a.trusted, c.File.Old), d.plan.Now); r != nil && !slices.Contains(a.Order.Accept, OwnedFile) {
		return false, r
	}
	return true, nil
}

// gate adds the question whether a master's kube-apiserver answers, where there is
// another one to wait for.
func (a APIInt) gate(d *draft, n *inspect.Node) error {
	if row, _ := catalog.KubeletRestartOn(d.facts.Cluster.Topology); row.Single || n.Role != catalog.RoleMaster {
		return nil
	}
	for _, k := range n.Kubeconfigs {
		c, ok := k.InUse()
		if !ok || k.Path != catalog.KubeletKubeconfigs()[1] {
			continue
		}
		address, _, err := c.Dialled()
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		_, err = d.step(AwaitAPIServer{On: n.Name, Port: port, CA: a.CA})
		return err
	}
	return nil
}

// returning says what happens to pods on a node that was away for long.
func (a APIInt) returning(d *draft, n *inspect.Node) {
	if n.Ready == "True" || n.Ready == "" {
		return
	}
	pods := a.Deleting[n.Name]
	switch {
	case a.Deleting == nil:
		d.note("How many pods were given up on nodes that are not Ready is not known: those that are marked for deletion are killed when their node returns.")
	case pods > 0:
		d.note("When %s returns, %d of its pods are killed: they were marked for deletion while it was away, and what replaced them runs elsewhere.", n.Name, pods)
	}
}

// missingFile reports whether a file is known not to be there.
func missingFile(facts inspect.Snapshot, n *inspect.Node, path string) bool {
	return n.File(path) == nil && !slices.ContainsFunc(facts.Gaps, func(g inspect.Gap) bool {
		return g.What == "node/"+n.Name && (g.Where == "" || g.Where == path)
	})
}

func places(f inspect.Finding) string {
	var out []string
	for _, l := range f.At {
		out = append(out, l.String())
	}
	return cmp.Or(strings.Join(out, ", "), "the cluster")
}
