package rotate

import (
	"context"
	"fmt"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// Reading is what was read of everything that can be rotated, at one time.
type Reading struct {
	Facts  *inspect.Facts
	Claims []trust.Claim // of all edges
	All    []Rotatable
	// ControlPlane, Network and Unread are those of Chain and Preflight.
	ControlPlane *inspect.ControlPlaneStatus
	Network      *action.NetworkRestarts
	Unread       string

	since *pki.Cert // the signer's certificate before the rotation; nil: it is not known
}

// NewReading judges what was read, until ctx ends.
func NewReading(ctx context.Context, f *inspect.Facts) Reading {
	return Reading{Facts: f, Claims: trust.Judge(ctx, f), All: rotatables(f)}
}

// Chain is a rotation with what was read of it.
func (r Reading) Chain(of Rotatable) Chain {
	return Chain{Facts: r.Facts, Claims: r.Claims, Of: of, Since: r.since, ControlPlane: r.ControlPlane}
}

// Preflight is what is asked before something is rotated.
func (r Reading) Preflight(of Rotatable) Preflight {
	return Preflight{Chain: r.Chain(of), Now: r.Facts.Now, Network: r.Network, Unread: r.Unread}
}

// Find returns what a name means, as FindRotatable does.
func (r Reading) Find(name string) (Rotatable, error) {
	of, err := FindRotatable(r.All, name)
	switch {
	case err == nil:
		return of, nil
	case r.Facts.Snapshot.Cluster.Versions.NotOpenShift:
		return of, &Error{Outcome: Unread, Err: fmt.Errorf("%w: this is no OpenShift", err), Next: "what kubeadm made is renewed by kubeadm certs renew"}
	}
	if p, ok := catalog.UnrotatedSigner(strings.TrimPrefix(name, "secret/"), r.Facts.Snapshot.Cluster.Versions); ok {
		next := p.Doc
		if life, known := p.Lifetime(r.Facts.Snapshot.Cluster.Versions); known == catalog.Yes && life.Doc != "" {
			next += "; " + life.Doc
		}
		return of, &Error{Outcome: Refused, Err: fmt.Errorf("%s/%s: certrot does not rotate it", p.Namespace, p.Name), Next: next}
	}
	return of, &Error{Outcome: Unread, Err: err, Next: r.Facts.Hints().Next("list the names: {} rotate --list")}
}
