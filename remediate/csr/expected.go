package csr

import (
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// expected is what the facts of a plan say of certificate requests.
type expected struct {
	// certified says, by node, why its kubelet does not ask as one without a certificate.
	certified map[string]string
	// signer is the CA with which requests are signed where no operator keeps one; nil: it
	// was not read. asked is what time it was at the API server then.
	signer *pki.Cert
	asked  time.Time
	// unknown is why the CA that signs is unknown.
	unknown string
}

// Expect is what an action that looks at requests of these nodes keeps in its Change.
func Expect(snapshot inspect.Snapshot, now time.Time, nodes ...string) any {
	e := expected{certified: certifiedNodes(snapshot, now, nodes...)}
	e.signer, e.asked, e.unknown = KubeadmSigner(snapshot, now)
	return e
}

func expectedBy(c *remediate.Change) expected {
	e, _ := c.Own.(expected)
	return e
}

// Requested is the node, as the facts were from which the change was made.
func Requested(env *remediate.Env, c *remediate.Change, node string) RequestedNode {
	return RequestedNode{Name: node, Versions: c.Versions, certified: expectedBy(c).certified[node], Hints: env.Hints}
}
