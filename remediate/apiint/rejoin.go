package apiint

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// rejoin adds the steps by which a kubelet writes its kubeconfig again from the bootstrap
// file. A client certificate that is of use stays: then it asks for none
// (kubernetes/kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go v1.35.4).
// Nothing is removed before the API server accepts, asked on the node itself, what
// the kubelet will join with.
func (a Repair) rejoin(d *remediate.Draft, n *inspect.Node) error {
	bootstrap, own := catalog.KubeletKubeconfigs()[0], catalog.KubeletKubeconfigs()[1]
	if !inspect.KubeletSetupOf(d.Snapshot, n).HasOperators {
		return &remediate.Refusal{Name: "openshift", Node: n.Name, Reason: "a kubelet that kubeadm set up joins again with a token from kubeadm", Next: "on a control plane node: kubeadm token create --print-join-command; on this node: kubeadm reset, then what that prints"}
	}
	if inspect.MissingFile(d.Snapshot, n, bootstrap) {
		return &remediate.Refusal{Name: "bootstrap-file", Node: n.Name, Reason: bootstrap + " is not there: its kubelet could not join again", Next: "copy it from another node of the same pool, mode 0600, owner root, and try again"}
	}
	before := d.Snapshot
	wrote, err := a.write(d, n, bootstrap)
	if err != nil {
		return err
	}
	useless, err := uselessCertificate(before, n, d.Plan.Now)
	if err != nil {
		return err
	}
	var changed []string
	if wrote {
		changed = append(changed, bootstrap)
	}
	ca, unfit := action.AddKubeconfigCAs{NodeName: n.Name, Path: own, CA: a.CA, Cache: a.Cache}.Diff(d.Snapshot, d.Plan.Now)
	joins := useless != "" || unfit != nil || ca != nil
	if (unfit != nil || ca != nil) && !inspect.MissingFile(d.Snapshot, n, own) {
		var old []*pki.Cert // what can't be changed may lack all
		if ca != nil {
			old = ca.File.Old
		}
		if err := a.ownerFirst(d, n, own, old); err != nil {
			return err
		}
	}
	if joins {
		if err := a.mayJoin(d, n, useless, wrote); err != nil {
			return err
		}
		steps := []remediate.Action{action.ProbeBootstrap{NodeName: n.Name}}
		// One that has expired is left alone by the kubelet, too. The link goes first: that
		// the certificate is of no use is only told as long as the kubeconfig is there.
		cert, there := inspect.KubeletClientCert(before, n.Name), n.File(inspect.KubeletClient) != nil
		if useless != "" && there && (cert == nil || cert.NotAfter.After(n.Time(d.Plan.Now))) {
			steps = append(steps, action.RemoveFile{NodeName: n.Name, Path: inspect.KubeletClient})
		}
		for _, s := range append(steps, action.RemoveFile{NodeName: n.Name, Path: own}) {
			if _, err := d.Step(s); err != nil {
				return err
			}
		}
		changed = append(changed, own)
	}
	approve := csr.NewApprove(n.Name, d.Snapshot, d.Plan.Now)
	c, err := d.Step(action.NewRestartKubelet(n.Name, changed...).NotingRequests(n, approve))
	if err != nil || c == nil && !a.waitedFor(n) {
		return err
	}
	var first []remediate.Action
	if useless != "" {
		first = []remediate.Action{approve, csr.AwaitCertificate{NodeName: n.Name, State: approve.State}}
	}
	return a.awaitReturn(d, n, c != nil, first...)
}

// mayJoin refuses what would leave a kubelet without an answer, and says what will happen.
// wrote: the plan writes the CA into the bootstrap file first.
func (a Repair) mayJoin(d *remediate.Draft, n *inspect.Node, useless string, wrote bool) error {
	if err := csr.CheckBootstrap(d.Snapshot, n, wrote); err != nil {
		return err
	}
	if useless == "" {
		d.Note("The kubelet on %s writes its kubeconfig again from %s and keeps its client certificate: it asks for no other one.", n.Name, catalog.KubeletKubeconfigs()[0])
		if c := n.RestartProbe; c == nil || !csr.Answered(c.Kubeconfig) {
			d.Note("Whether the API server accepts that client certificate of %s is unknown: its own kubeconfig does not lead there. If the node has no heartbeat afterwards, run the same command again to find out.", n.Name)
		}
		return nil
	}
	refuse := func(reason, next string) error {
		return &remediate.Refusal{Name: csr.NoApprover, Node: n.Name, Reason: fmt.Sprintf("its kubelet will ask for a client certificate, as %s, and %s", useless, reason), Next: next}
	}
	if !a.API {
		return refuse("no API server could be asked to approve that", d.Hints().UnreadRestart("repair your own access first: {} fix-kubeconfig, --api-ca-from, or --kubeconfig of a control plane node"))
	}
	if row, ok := csr.ApprovedByHand(d.Snapshot.Cluster.Versions); ok && !a.ApproveCSRs {
		return refuse("that request is not approved automatically: "+row.Doc, "add --approve-csrs: the request is printed, and approved if it is this kubelet's")
	}
	d.Note("The kubelet on %s asks for a new client certificate, by %s, as %s.", n.Name, catalog.KubeletKubeconfigs()[0], useless)
	return nil
}

// uselessCertificate says why a kubelet can't go on with its client certificate; empty
// where it can, as far as is known.
func uselessCertificate(snapshot inspect.Snapshot, n *inspect.Node, now time.Time) (string, error) {
	cert := inspect.KubeletClientCert(snapshot, n.Name)
	switch {
	case cert == nil && inspect.UnreadClient(snapshot, n) != "":
		return "", &remediate.Refusal{Name: csr.ClientCertificate, Node: n.Name, Reason: "whether its kubelet has a client certificate is unknown: " + inspect.UnreadClient(snapshot, n), Next: "on the node: " + foreign.Command("", "ls -l %s", inspect.KubeletClient)}
	case cert == nil:
		return "there is none in " + inspect.KubeletClient, nil
	case cert.NotAfter.Before(n.Time(now)):
		return "that in " + inspect.KubeletClient + " ended " + cert.NotAfter.UTC().Format(time.RFC3339), nil
	}
	if c := n.RestartProbe; c != nil && c.Kubeconfig.Certificate == inspect.KubeletClient && slices.ContainsFunc(c.Kubeconfig.Answers, func(a inspect.ProbeAnswer) bool { return a.Code == 401 }) {
		return "the API server does not accept that in " + inspect.KubeletClient + " (401), which is valid until " + cert.NotAfter.UTC().Format(time.RFC3339), nil
	}
	return "", nil
}

// unapproved says which requests of a kubelet wait, or will, and that the plan lets them.
func unapproved(d *remediate.Draft, n *inspect.Node) {
	node, requests := n.Name, csr.PendingOfKubelet(d.Snapshot, n.Name)
	if len(requests) == 0 {
		useless, err := uselessCertificate(d.Plan.Basis, n, d.Plan.Now)
		if _, byHand := csr.ApprovedByHand(d.Snapshot.Cluster.Versions); err == nil && useless != "" && byHand && d.Plan.Basis.NodeHealth(n).Alive == catalog.No {
			d.Plan.Unapproved = append(d.Plan.Unapproved, node)
		}
		return
	}
	pending, first := len(requests), d.Plan.Now
	for _, r := range requests {
		if r.Since.Before(first) {
			first = r.Since
		}
	}
	d.Plan.Unapproved = append(d.Plan.Unapproved, node)
	csrs := "1 CSR"
	if pending > 1 {
		csrs = fmt.Sprintf("%d CSRs", pending)
	}
	waits := "pending for " + duration.HumanDuration(d.Plan.Now.Sub(first))
	if first.IsZero() {
		waits = "pending (age unknown)"
	}
	text := fmt.Sprintf("%s: %s %s: to approve, add --approve-csrs", foreign.Name(node), csrs, waits)
	d.Plan.Notes.Add(remediate.Note{Kind: remediate.NotePending, Text: text})
}
