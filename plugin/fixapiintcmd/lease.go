package fixapiintcmd

import (
	"context"
	"io"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// repairLease is the run that changes the cluster now, or did when it was killed.
type repairLease struct {
	State  string     `json:"state"` // leaseActive, leaseStale or leaseUnknown
	Holder string     `json:"holder,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	Silent string     `json:"silent,omitempty"` // since it was renewed last
	Reason string     `json:"reason,omitempty"` // why it is unknown
	// Remediation is what to do about it.
	Remediation assess.Remediation `json:"remediation,omitzero"`
}

// The states of a Lease that is not free.
const (
	leaseActive  = "active"
	leaseStale   = "stale"
	leaseUnknown = "unknown"
)

// leaseOf reads which run changes the cluster; nil: none does.
func leaseOf(ctx context.Context, w *apply.Session) *repairLease {
	if w.Conn == nil {
		return &repairLease{State: leaseUnknown, Reason: "no API server answered", Remediation: assess.Advise("on each node: cat " + host.DefaultFolder + "/.held")}
	}
	h, err := remediate.Lease{Kube: w.Conn.Kube, Now: w.Conn.Clock.Now}.CurrentHolder(ctx)
	switch {
	case err != nil:
		return &repairLease{State: leaseUnknown, Reason: foreign.Prose(err.Error()), Remediation: assess.FixedCommand(inspect.Hints{}.Unread(inspect.MayGet("leases.coordination.k8s.io", remediate.LeaseNamespace)))}
	case h == nil:
		return nil
	}
	l := &repairLease{State: leaseActive, Holder: h.Name, Silent: h.Idle.Round(time.Second).String(), Remediation: assess.Advise("wait for its end, or talk to them: a second run is refused meanwhile (lease-held)")}
	if h.Stale {
		l.State, l.Remediation = leaseStale, assess.Advise("that run ended without a word. The next one takes the Lease over")
	}
	if !h.Since.IsZero() {
		since := h.Since.UTC().Truncate(time.Second)
		l.Since = &since
	}
	return l
}

// print says it to people.
func (l *repairLease) print(w io.Writer) {
	if l == nil {
		return
	}
	switch l.State {
	case leaseUnknown:
		ui.Wrap(w, "Lease    ", "unknown whether another run changes this cluster: "+l.Reason)
	case leaseStale:
		ui.Wrap(w, "Lease    ", "stale: "+l.Holder+since(l.Since)+", silent for "+l.Silent)
	default:
		ui.Wrap(w, "Lease    ", "active: "+l.Holder+" changes this cluster"+since(l.Since)+", renewed "+l.Silent+" ago")
	}
	ui.Assessment(w, "         ", assess.Assessment{Remediation: l.Remediation}, nil)
}

func since(at *time.Time) string {
	if at == nil {
		return ""
	}
	return ", since " + at.UTC().Format("15:04:05 UTC")
}
