package preflight

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// ownerTime is how long the owner of a file is given to bring a CA into it:
// machine-config-operator takes a change over once the ConfigMap was still for a minute,
// and its daemons follow within some more (openshift/machine-config-operator
// pkg/operator/sync.go, pkg/daemon/certificate_writer.go).
const ownerTime = 10 * time.Minute

// OwnedFile is the risk of writing a file that its owner may be about to write.
const OwnedFile = "owned-file"

// RefuseOwned refuses to change a kubeconfig into which, in this version, an operator brings
// the CA, and may be about to: two who write it and restart the kubelet are one too many.
// published is when the CAs became what they are in the ConfigMap from which it takes
// them; zero: unknown. nil where none does, where it does not run on the node, or
// where it had its time.
func RefuseOwned(snapshot inspect.Snapshot, n *inspect.Node, path string, missing []*pki.Cert, published, now time.Time) *remediate.Refusal {
	row, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), snapshot.Cluster.Versions)
	if answer != catalog.Yes || !row.Delivered || len(missing) == 0 || AbsentProcess(snapshot, n, row.Command) {
		return nil
	}
	var since time.Time // when he could have begun, at the latest
	what := fmt.Sprintf("the CA %s was made", foreign.QuotedName(missing[0].Subject))
	for _, m := range missing {
		if m.NotBefore.After(since) {
			since, what = m.NotBefore, fmt.Sprintf("the CA %s was made", foreign.QuotedName(m.Subject))
		}
	}
	if published.After(since) { // by the API server's clock
		since, what = published, catalog.APIServerCA().String()+" was written"
	}
	if f := n.File(path); f != nil && f.Modified.After(since) {
		since, what = f.Modified, "the file was written"
	}
	ago := n.Time(now).Sub(since)
	if ago >= ownerTime {
		return nil
	}
	return &remediate.Refusal{
		Name: OwnedFile, Node: n.Name, Risk: true,
		Reason: fmt.Sprintf("%s: in this version %s, and %s only %s ago: it may be about to", path, row.Doc, what, max(ago, 0).Round(time.Second)),
		Next: fmt.Sprintf("wait until %s and look again; what holds it up? oc -n openshift-machine-config-operator logs -l k8s-app=machine-config-daemon. Without waiting: --accept-risk="+OwnedFile,
			since.Add(ownerTime).UTC().Format("15:04 UTC")),
	}
}

// AbsentProcess reports whether a process is known not to run on a node. What the API says
// of its pod is not asked: that is old where the kubelet has no heartbeat, and containers live on
// without it.
func AbsentProcess(snapshot inspect.Snapshot, n *inspect.Node, command string) bool {
	if _, _, runs := n.Running(command); runs != catalog.No || command == "" || !n.AllProcesses {
		return false
	}
	return !slices.ContainsFunc(snapshot.Gaps, func(g inspect.Gap) bool {
		return g.What == "node/"+n.Name && g.Where == ""
	})
}
