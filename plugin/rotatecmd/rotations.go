package rotatecmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// rotations is what was read of everything that can be rotated.
type rotations struct {
	facts     *inspect.Facts
	claims    []trust.Claim
	machinery *inspect.ControlPlaneStatus // nil: no API server was asked
	network   *action.NetworkRestarts     // see RotatePreflight
	unread    string                      // see RotatePreflight
	all       []rotate.Rotatable
	called    string    // how the user calls the program
	since     *pki.Cert // the signer's, that was to be replaced; nil: it is not known
}

func (r rotations) chain(of rotate.Rotatable) rotate.Chain {
	return rotate.Chain{Facts: r.facts, Claims: r.claims, Of: of, Since: r.since, Machinery: r.machinery}
}

func (r rotations) preflight(of rotate.Rotatable) rotate.Preflight {
	return rotate.Preflight{Chain: r.chain(of), Now: r.facts.Now, Network: r.network, Unread: r.unread}
}

// ask asks the API server for what is no certificate's. Pods that dial api-int are of
// interest only while its certificate is to be signed by a new CA.
func (r *rotations) ask(ctx context.Context, conn *connect.Connection) {
	r.machinery = conn.Cluster.Machinery(ctx)
	at := catalog.InternalLoadBalancerServing()
	of, err := rotate.FindRotatable(r.all, at.Namespace+"/"+at.Name)
	if err != nil {
		return // there is none
	}
	if signed, _ := r.chain(of).Signed(); signed != catalog.No {
		return
	}
	w := apply.Session{Conn: conn}
	n, err := apply.NetworkOf(ctx, &w, r.facts.Snapshot.Cluster.Versions)
	if err != nil {
		r.unread = ": " + ui.OneLine(err.Error())
		return
	}
	r.network = &action.NetworkRestarts{Pods: n.Pods, Rollout: n.Rollout}
}

// find returns what is named.
func (r rotations) find(app cli.App, name string) (rotate.Rotatable, error) {
	of, err := rotate.FindRotatable(r.all, name)
	if err == nil {
		return of, nil
	}
	if r.facts.Snapshot.Cluster.Versions.Plain {
		return of, cli.WithHint(fmt.Errorf("%w: this is no OpenShift", err), "what kubeadm made is renewed by kubeadm certs renew")
	}
	return of, cli.WithHint(err, "%s rotate --list shows what there is", app.Called)
}

// entry is a line of --list.
func (r rotations) entry(of rotate.Rotatable) rotationEntry {
	v := r.facts.Snapshot.Cluster.Versions
	e := rotationEntry{
		Name: of.Name, Secret: of.At.Namespace + "/" + of.At.Name, Role: "signer", Rotates: "yes",
		Consumers: []string{}, Effect: []string{}, Why: []rotateVerdict{}, How: of.Trigger.Doc,
	}
	if !of.Signer() {
		e.Role, e.By = "signed", of.Rotation.Signer.Namespace+"/"+of.Rotation.Signer.Name
	}
	if c := of.Cert(); c != nil {
		e.Subject, e.SHA256, e.NotBefore, e.NotAfter = c.Subject, &c.Fingerprint, &c.NotBefore, &c.NotAfter
		if next := of.Next(r.facts); !next.IsZero() {
			e.Next = &next
		}
	}
	for _, edge := range of.Rotation.Consumers(v) {
		if (of.Signer() || edge.Presented == of.At) && !slices.Contains(e.Consumers, edge.Verifier) {
			e.Consumers = append(e.Consumers, edge.Verifier)
		}
	}
	if of.Signer() {
		for _, d := range of.Rotation.Brought(v) {
			e.Effect = append(e.Effect, effectOf(d))
		}
	}
	if reason, next := of.Unmanaged(); reason != "" {
		e.Rotates = "no"
		if of.Known == catalog.Unknown {
			e.Rotates = "unknown"
		}
		e.Why = append(e.Why, rotateVerdict{Check: "managed", Holds: e.Rotates, Reason: reason, Next: next, stopped: true})
		return e
	}
	for _, v := range r.preflight(of).Check() {
		d := verdictOf(v)
		if e.Why = append(e.Why, d); !d.stopped {
			continue
		}
		if e.Rotates == "yes" || v.Holds == catalog.No {
			e.Rotates = v.Holds.String()
		}
	}
	return e
}

func effectOf(d catalog.Delivery) string {
	return d.To.Name + ": " + cmp.Or(d.Effect, d.Doc)
}

func verdictOf(v preflight.Verdict) rotateVerdict {
	return rotateVerdict{v.Name, v.Holds.String(), v.Reason, v.Next, v.Risk, v.Blind, v.Stops()}
}
