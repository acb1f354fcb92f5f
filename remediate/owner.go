package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// ownerTime is how long the owner of a file is given to bring a CA into it:
// machine-config-operator takes a change over once the ConfigMap was still for a minute,
// and its daemons follow within some more (openshift/machine-config-operator
// pkg/operator/sync.go, pkg/daemon/certificate_writer.go).
const ownerTime = 10 * time.Minute

// OwnedFile is the risk of writing a file that its owner may be about to write.
const OwnedFile = "owned-file"

// owned refuses to change a kubeconfig into which, in this version, somebody else brings
// the CA, and may be about to: two who write it and restart the kubelet are one too many.
// nil where nobody does, or where he had his time.
func owned(c inspect.Cluster, n *inspect.Node, path string, missing []*pki.Cert, now time.Time) *Refusal {
	row, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), c.Versions)
	if answer != catalog.Yes || !row.Delivered || len(missing) == 0 {
		return nil
	}
	var since time.Time // when he could have begun, at the latest
	what := fmt.Sprintf("the CA %q was made", missing[0].Subject)
	for _, m := range missing {
		if m.NotBefore.After(since) {
			since, what = m.NotBefore, fmt.Sprintf("the CA %q was made", m.Subject)
		}
	}
	if f := n.File(path); f != nil && f.Modified.After(since) {
		since, what = f.Modified, "the file was written"
	}
	ago := n.Time(now).Sub(since)
	if ago >= ownerTime {
		return nil
	}
	return &Refusal{
		Name: OwnedFile, Node: n.Name, Risk: true,
		Reason: fmt.Sprintf("%s: in this version %s, and %s only %s ago: it may be about to", path, row.Doc, what, max(ago, 0).Round(time.Second)),
		Next: fmt.Sprintf("wait until %s and look again; does it run on the node? oc -n openshift-machine-config-operator get pods -o wide -l k8s-app=machine-config-daemon. If it does not: --accept-risk="+OwnedFile,
			since.Add(ownerTime).UTC().Format("15:04 UTC")),
	}
}

// absent are those of certs that are not among others.
func absent(certs, others []*pki.Cert) []*pki.Cert {
	return slices.DeleteFunc(slices.Clone(certs), func(c *pki.Cert) bool { return holds(others, c) })
}
