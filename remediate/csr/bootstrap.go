package csr

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Names of refusals to have a kubelet join again.
const (
	BootstrapCredential = "bootstrap-credential"
	ClientCertificate   = "client-certificate"
	NoApprover          = "approver"
)

// ApprovedByHand is the row of who asks for a first certificate, where no one approves that.
func ApprovedByHand(v catalog.Versions) (catalog.KubeletRequester, bool) {
	for _, r := range catalog.KubeletRequesters() {
		if r.ManualApproval && r.In.Holds(v) != catalog.No {
			return r, true
		}
	}
	return catalog.KubeletRequester{}, false
}

// Answered reports whether the API server answered to a kubeconfig.
func Answered(f inspect.ProbedKubeconfig) bool {
	return slices.ContainsFunc(f.Answers, func(a inspect.ProbeAnswer) bool { return a.Code > 0 })
}

// bootstrapPath is the file with which a kubelet joins.
func bootstrapPath(snapshot inspect.Snapshot, n *inspect.Node) string {
	if snapshot.Cluster.Versions.NotOpenShift && n.RestartProbe != nil {
		return cmp.Or(n.RestartProbe.Bootstrap.Path, catalog.KubeadmKubeconfigs()[0])
	}
	return catalog.KubeletKubeconfigs()[0]
}

// CheckBootstrap refuses a node whose bootstrap file does not get a certificate. untrusted:
// that its CA does not verify the server is about to be fixed, and it is asked again.
func CheckBootstrap(snapshot inspect.Snapshot, n *inspect.Node, untrusted bool) error {
	path := bootstrapPath(snapshot, n)
	said := foreign.Text(path) // a kubelet may run with any
	refuse := func(reason, next string) error {
		return &remediate.Refusal{Name: BootstrapCredential, Node: n.Name, Reason: reason, Next: next}
	}
	const again = "put another token into it, on the node: oc -n openshift-machine-config-operator create token node-bootstrapper --duration=2h creates one that expires; that of new nodes is in Secret openshift-machine-config-operator/node-bootstrapper-token"
	look := snapshot.Hints.UnreadRestart("{} verify restart-safe --nodes %s", n.Name)
	const ask = "whether %s works is unknown: %s"
	c := n.RestartProbe
	switch {
	case c == nil:
		return refuse(fmt.Sprintf(ask, said, "it was not asked on the node"), look)
	case c.Problem != "":
		return refuse(fmt.Sprintf(ask, said, c.Problem), look)
	case c.Bootstrap.Path != path || c.Bootstrap.Absent:
		return refuse("its kubelet has no bootstrap kubeconfig "+said, "copy it from another node of the same pool, mode 0600, owner root")
	case c.Bootstrap.Refused != "":
		return refuse(said+" can't be loaded: "+c.Bootstrap.Refused, "compare it with the same file on another node")
	case c.Bootstrap.Unread != "":
		return refuse(fmt.Sprintf(ask, said, c.Bootstrap.Unread), "compare it with the same file on another node")
	case c.Bootstrap.Presents == inspect.CredentialNone:
		return refuse("there is neither a token nor a certificate in "+said, again)
	}
	if len(c.Bootstrap.Answers) > 0 {
		a := c.Bootstrap.Answers[0]
		switch {
		case a.Code == 401:
			return refuse("the API server does not accept what is in "+said+" (401 "+a.Reason+"): it has expired, or was deleted", again)
		case a.Code == 200 || a.Code == 403: // it is known
			return nil
		case a.Failure == inspect.FailedTrust && untrusted:
			return nil
		case a.Code > 0:
			return refuse(fmt.Sprintf("the API server answers %d %s to what is in %s", a.Code, a.Reason, said), "is the API server well? kubectl get --raw '/readyz?verbose'")
		}
		return refuse(fmt.Sprintf(ask, said, a.Detail), look)
	}
	return refuse(fmt.Sprintf(ask, said, "it was not asked on the node"), look)
}
