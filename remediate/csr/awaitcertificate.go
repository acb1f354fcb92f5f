package csr

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// AwaitCertificate waits for the client certificate of a kubelet that asked for one, and
// wants it to be for the key that was approved.
type AwaitCertificate struct {
	NodeName string
	State    *State
}

// ID is such as "see-certificate worker-0".
func (a AwaitCertificate) ID() string { return "see-certificate " + a.NodeName }

// Node is the node.
func (a AwaitCertificate) Node() string { return a.NodeName }

// Diff is to be done where there is no certificate that has not ended.
func (a AwaitCertificate) Diff(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	n, ok := snapshot.Node(a.NodeName)
	if !ok {
		return nil, &remediate.Refusal{Name: remediate.FileRead, Node: a.NodeName, Reason: "the node was not read", Next: "see what is unknown"}
	}
	if cert := inspect.KubeletClientCert(snapshot, a.NodeName); cert != nil && cert.NotAfter.After(n.Time(now)) && a.State.bootstrapped[a.NodeName] == nil {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	return &remediate.Change{Summary: "wait for the kubelet's new client certificate"}, nil
}

// Apply does nothing.
func (a AwaitCertificate) Apply(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// Verify looks for it on the node.
func (a AwaitCertificate) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	cert, err := a.State.arrived(ctx, env, a.NodeName)
	if err != nil {
		return err
	}
	env.Note(a.NodeName, fmt.Sprintf("client certificate %s until %s, sha256 %s", pki.Foreign(cert.Subject), cert.NotAfter.UTC().Format(time.RFC3339), cert.Fingerprint))
	return nil
}
