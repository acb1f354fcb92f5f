package rotate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
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

	since *pki.Cert // the signer's certificate before the rotation; nil: unknown
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
	hints := r.Facts.Hints()
	return of, &Error{Outcome: Unread, Err: err, Next: hints.Next("list the names: {} rotate --list") + hints.From()}
}

// OldTrust judges each CA in a signer's bundle. Where one is to be removed, it refuses while a client trusts
// an old one, and not the current signer: that client is repaired first. It proves the removal, too: what is said
// of each CA follows the certificates that were found, and the proof the clients that verify them.
func (r Reading) OldTrust(of Rotatable, accepted []string) ([]OldCA, error) {
	cas, err := OldTrust(r.Facts, of.Rotation, accepted)
	if err == nil && !slices.ContainsFunc(cas, func(ca OldCA) bool { return ca.Keep == "" }) {
		return cas, nil
	}
	c := r.Chain(of)
	if late := c.onlyOld(); len(late) > 0 && !slices.Contains(accepted, SignerTrusted) {
		return nil, &remediate.Refusal{
			Name: SignerTrusted, Risk: true, Next: c.lateOnNodes().Text,
			Reason: fmt.Sprintf("clients trust a previous CA of the bundle, and not the current signer: %s", fewLate(late)),
		}
	}
	if err != nil {
		return nil, err
	}
	removal, _ := pruneOf(of.Rotation.Bundle, cas)
	if _, err := r.prove(removal); err != nil {
		return nil, err
	}
	return cas, nil
}

// onlyOld are the clients that trust another CA of the bundle than the current signer, and not that.
func (c Chain) onlyOld() []Late {
	bundle, _ := published(c.Facts, c.Of.Rotation.Bundle)
	signer := c.signer()
	if signer == nil {
		return nil
	}
	var out []Late
	for _, claim := range c.claims() {
		old := slices.ContainsFunc(bundle, func(ca *pki.Cert) bool {
			return ca.Fingerprint != signer.Fingerprint && ca.NotAfter.After(c.Facts.Now) && pki.Contains(claim.Roots, ca)
		})
		late := Late{whoOf(claim), ""}
		if claim.Tenant == "" && !aboutServer(claim) && old && pki.VerifyCA(signer, claim.Roots, c.Facts.Now) != nil && !slices.Contains(out, late) {
			out = append(out, late)
		}
	}
	return out
}
