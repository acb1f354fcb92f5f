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
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// certificates are those to write, all of them CAs that are valid.
func (a Repair) certificates(v catalog.Versions, now time.Time) ([]*pki.Cert, error) {
	refuse := func(format string, args ...any) error {
		row := catalog.KubeletSetups(v)[0]
		return &remediate.Refusal{Name: "ca-usable", Reason: a.CASource + ": " + fmt.Sprintf(format, args...), Next: fmt.Sprintf("the right CAs are in ConfigMap %s/%s, and on control plane nodes in %s", row.CA.Namespace, row.CA.Name, row.MasterCAFile)}
	}
	var out []*pki.Cert
	for _, found := range a.Cache.Scanner().Scan(a.CA) {
		c := found.Content
		switch {
		case len(c.Keys) > 0:
			return nil, refuse("a private key is in it")
		case len(c.Bad) > 0:
			return nil, refuse("not all of it can be read: %s", c.Bad[0].Reason)
		case found.Field != "":
			return nil, refuse("certificates are inside of a document; PEM is wanted")
		}
		if _, skipped := c.LoadedBy(pki.ReaderGo); a.Published && len(skipped) > 0 { // written as it is, kubelets would skip it
			return nil, refuse("%s. It is written byte for byte, so that kubelets would skip it, too", skipped[0])
		}
		out = append(out, c.Certs...)
	}
	if len(out) == 0 {
		return nil, refuse("no certificate is in it")
	}
	valid := false
	for _, c := range out {
		if !c.IsCA {
			return nil, refuse("%s (sha256 %s) is no CA", foreign.QuotedName(c.Subject), c.Fingerprint.Short())
		}
		valid = valid || c.NotAfter.After(now) && !c.NotBefore.After(now)
	}
	if !valid {
		return nil, refuse("none of its %d CAs is valid now; %s ended %s", len(out), foreign.QuotedName(out[0].Subject), out[0].NotAfter.UTC().Format(time.RFC3339))
	}
	return out, nil
}

// dense is text without its white space.
func dense(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }

// owner says whose the files are in this version.
func (a Repair) owner(d *remediate.Draft) {
	row, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), d.Snapshot.Cluster.Versions)
	if answer == catalog.Yes && row.Delivered {
		then := "It takes what is written here for its own."
		if !a.Published {
			then = "Where the CAs of " + catalog.APIServerCA().String() + " are not all among what is written, it writes the file again."
		}
		d.Note("In this version %s. If it has not done so, look at it too: oc get machineconfigpools; oc -n openshift-machine-config-operator logs -l k8s-app=machine-config-daemon. %s", row.Doc, then)
	}
	if !inspect.HasOperators(d.Snapshot) {
		return
	}
	if d.Snapshot.Cluster.Topology == "" {
		d.Note("The topology of the control plane is unknown. Do not go on if two nodes guard each other with fencing (DualReplica), or if the control plane is hosted elsewhere (External).")
	}
	if answer == catalog.Unknown {
		d.Note("The cluster's version is unknown. From 4.16 on machine-config-daemon writes these files too.")
	}
}

// verifiesServed is the check that the CA is the right one. Where it fails on a control plane
// node, or on each, nothing is done to any.
const verifiesServed = "ca-verifies-served"

// verifies holds the CA against what is really served, from the node.
func (a Repair) verifies(snapshot inspect.Snapshot, n *inspect.Node, ca []*pki.Cert, now time.Time) error {
	refuse := func(name, reason, next string) error {
		return &remediate.Refusal{Name: name, Node: n.Name, Reason: reason, Next: next}
	}
	asked, setup := false, inspect.KubeletSetupOf(snapshot, n)
	for _, k := range n.Kubeconfigs {
		c, ok := k.InUse()
		if !ok || !slices.Contains(setup.Kubeconfigs(), k.Path) || a.Rebootstrap && k.Path != setup.Kubeconfigs()[0] {
			continue // Rebootstrap has the kubelet write its second kubeconfig again, whatever is in it
		}
		address, name, err := c.Dialled()
		if err != nil {
			return refuse(remediate.FileShape, k.Path+": "+err.Error(), "compare it with the same file on another node")
		}
		served, ok := snapshot.ServedTo(n.Name, address)
		if !ok {
			return refuse("served-known", fmt.Sprintf("the certificate that %s presents is unknown: %s", address, action.WhyUnread(snapshot, address)), "is the API server up behind api-int? On the node: "+inspect.AskReadyz(address))
		}
		asked = true
		if err := pki.Verify(served.Chain, ca, name, n.Time(now)); err != nil {
			return refuse(verifiesServed, fmt.Sprintf("%s does not verify the certificate that %s presents to the node: %v\n%s", a.CASource, address, err, chain(served.Chain)), setup.CARemediation)
		}
	}
	if !asked {
		return refuse(remediate.FileRead, "none of "+strings.Join(setup.Kubeconfigs(), ", ")+" could be read as a kubeconfig", "on the node: "+foreign.Command("", "ls -l %s", foreign.Spaces(setup.Kubeconfigs())))
	}
	return nil
}

// chain says which certificates were presented.
func chain(certs []*pki.Cert) string {
	var lines []string
	for i, c := range certs {
		lines = append(lines, fmt.Sprintf("  presented %d: %s, issued by %s, sha256 %s, until %s", i+1, pki.Foreign(c.Subject), pki.Foreign(c.Issuer), c.Fingerprint, c.NotAfter.UTC().Format(time.RFC3339)))
	}
	return strings.Join(lines, "\n")
}
