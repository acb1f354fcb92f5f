package csr

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// SeeCertificate waits for the client certificate of a kubelet that asked for one, and
// wants it to be for the key that was approved.
type SeeCertificate struct {
	On    string
	State *State
}

// ID is such as "see-certificate worker-0".
func (a SeeCertificate) ID() string { return "see-certificate " + a.On }

// Node is the node.
func (a SeeCertificate) Node() string { return a.On }

// Diff is to be done where there is no certificate that has not ended.
func (a SeeCertificate) Diff(facts inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	n, ok := facts.Node(a.On)
	if !ok {
		return nil, &remediate.Refusal{Name: remediate.FileRead, Node: a.On, Reason: "the node was not read", Next: "see what is unknown"}
	}
	if cert := inspect.KubeletClientCert(facts, a.On); cert != nil && cert.NotAfter.After(n.Time(now)) && a.State.joined[a.On] == nil {
		return nil, nil //nolint:nilnil // so already, as Action says
	}
	return &remediate.Change{Summary: "wait for the kubelet's new client certificate"}, nil
}

// Apply does nothing.
func (a SeeCertificate) Apply(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// Verify looks for it on the node.
func (a SeeCertificate) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	cert, err := a.State.arrived(ctx, env, a.On)
	if err != nil {
		return err
	}
	env.Note(a.On, fmt.Sprintf("client certificate %s until %s, sha256 %s", pki.Foreign(cert.Subject), cert.NotAfter.UTC().Format(time.RFC3339), cert.Fingerprint))
	return nil
}

// Undo does nothing: a certificate that was issued can't be called back.
func (a SeeCertificate) Undo(context.Context, *remediate.Env, *remediate.Change) error { return nil }
