package preflight

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestPreflightOfTheSigner refuses a rejoin before anything is changed.
func TestPreflightOfTheSigner(t *testing.T) {
	t.Parallel()
	clock := inspect.Clock{Sent: remediatetest.TestNow, Before: remediatetest.TestNow, After: remediatetest.TestNow, Received: remediatetest.TestNow}
	expired := pki.NewScanner().Scan(pkitest.NewCA("kubernetes", remediatetest.TestNow.AddDate(0, 0, -40), remediatetest.TestNow.AddDate(0, 0, -10)).CertPEM)[0].Content
	plain := inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, Clock: clock}}
	plain.Nodes = []inspect.Node{{Name: "master-0", Via: "ssh", Role: catalog.RoleMaster}, {Name: "worker-9", Via: "ssh", Role: catalog.RoleWorker}}
	on := func(node string, content *pki.Content) inspect.Bundle {
		return inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node, Path: catalog.KubeadmCA}, Content: content}
	}
	withCA, withStale := plain, plain
	withCA.Bundles = []inspect.Bundle{on("master-0", expired)}
	withStale.Bundles = []inspect.Bundle{on("worker-9", expired)}
	withTwo := plain
	withTwo.Bundles = []inspect.Bundle{on("master-0", &pki.Content{Certs: append(pki.NewScanner().Scan(pkitest.NewCA("kubernetes", remediatetest.TestNow.AddDate(0, 0, -1), remediatetest.TestNow.AddDate(0, 0, 9)).CertPEM)[0].Content.Certs, expired.Certs...)})}
	for name, c := range map[string]struct {
		p     Preflight
		asked bool
		holds catalog.Tristate
		blind bool
		says  string
	}{
		"nothing is approved":        {p: Preflight{}},
		"no API":                     {p: Preflight{NeedsSigner: true}, asked: true, holds: catalog.Unknown, blind: true},
		"may not be read":            {p: Preflight{NeedsSigner: true, ControlPlane: &inspect.ControlPlaneStatus{}, Signer: &csr.SignerVerdict{Reason: "forbidden"}}, asked: true, holds: catalog.Unknown},
		"valid":                      {p: Preflight{NeedsSigner: true, ControlPlane: &inspect.ControlPlaneStatus{}, Signer: &csr.SignerVerdict{Valid: catalog.Yes}}, asked: true, holds: catalog.Yes},
		"plain, and not read":        {p: Preflight{NeedsSigner: true, ControlPlane: &inspect.ControlPlaneStatus{}, Snapshot: plain, Now: remediatetest.TestNow}, asked: true, holds: catalog.Yes},
		"plain, a worker's is stale": {p: Preflight{NeedsSigner: true, ControlPlane: &inspect.ControlPlaneStatus{}, Snapshot: withStale, Now: remediatetest.TestNow}, asked: true, holds: catalog.Yes},
		"plain, and it has two CAs":  {p: Preflight{NeedsSigner: true, ControlPlane: &inspect.ControlPlaneStatus{}, Snapshot: withTwo, Now: remediatetest.TestNow}, asked: true, holds: catalog.Yes, says: "is valid is unknown: on master-0 it has 2 certificates"},
		"plain, and its CA expired":  {p: Preflight{NeedsSigner: true, ControlPlane: &inspect.ControlPlaneStatus{}, Snapshot: withCA, Now: remediatetest.TestNow}, asked: true, holds: catalog.No},
	} {
		checks := c.p.Check()
		v := checks[len(checks)-1]
		if (v.ID == csr.CsrSigner) != c.asked || c.asked && (v.Status != (Result{Passed: c.holds}).Assess("").Status || v.Risk || v.NoAPIServer != c.blind) || !strings.Contains(v.Reason, c.says) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
