package apply

import (
	"context"
	"errors"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Holder says who changes a cluster, and its nodes. What comes first is read by others:
// nodeexec.Gone.
func (a *Execution) Holder() string {
	text := nodeexec.ThisHolder().String() + ", run " + a.RunID
	if a.User != "" {
		text += ", as " + a.User
	}
	return text
}

// Hold takes the Lease of the cluster, and keeps it until release: two runs in the same
// cluster must not restart two control plane nodes at once. The context is cancelled when
// another run takes the Lease. Without an API there is no Lease: then only nodes know
// which run changes them.
func (a *Execution) Hold(ctx context.Context) (leased context.Context, release func(), err error) {
	w := a.Session
	if w.Conn == nil {
		return ctx, func() {}, nil
	}
	if a.User == "" {
		a.User = w.Conn.CurrentUser(ctx)
	}
	env := w.Env(a.RunID, a.Read)
	lease := remediate.Lease{Kube: w.Conn.Kube, Holder: a.Holder(), Sleep: env.Sleep, Now: w.Conn.Clock.Now}
	lapsed, err := lease.Take(ctx)
	if lapsed != "" {
		a.expiredHolder = lapsed
	}
	if err != nil {
		var r *remediate.Refusal
		if errors.As(err, &r) && r.Risk && a.NoLease {
			a.Printf("\nAccepted by name: %s: %s\n", r.Name, ui.Clean(r.Reason))
			return ctx, func() {}, nil
		}
		if errors.As(err, &r) && r.Risk {
			r.Next += "; or, if you know that no other run changes this cluster: --accept-risk=" + r.Name
		}
		return nil, nil, Refused(err)
	}
	leased, done := lease.Keep(ctx)
	return leased, func() {
		if err := done(); err != nil {
			cli.Warn(a.App.Streams, "", err)
		}
	}, nil
}
