package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// RestartKubelet restarts a node's kubelet, if it runs since before its kubeconfig
// was changed. Pods go on running: containers are outside of its unit.
type RestartKubelet struct {
	NodeName string
	// files are those that the same plan changes, or may have changed. With them,
	// any change after the start of the kubelet counts; without, only one that can't
	// be the kubelet's own.
	files []string
	// AcceptUntrusted says that untrusted serving certificates were accepted by the check's name.
	AcceptUntrusted bool
	// Restores says that the run may have put back its kubeconfig before, with the time that it had.
	Restores bool
	state    *restarting
	// requests approves what it asks for afterwards; nil: nothing does.
	requests *csr.State
}

// restarting is what one run of the action remembers.
type restarting struct{ before host.Unit }

// NewRestartKubelet returns the action for a node and the files that the plan changes.
func NewRestartKubelet(node string, files ...string) RestartKubelet {
	return RestartKubelet{NodeName: node, files: files, state: &restarting{}}
}

// NotingRequests makes the restart take down which requests are from before it. Only kubelets
// that renew their certificates make a new key and a new request at each start.
func (a RestartKubelet) NotingRequests(n *inspect.Node, asks csr.Approve) RestartKubelet {
	if n.Kubelet.RotateCertificates != nil && *n.Kubelet.RotateCertificates {
		a.requests = asks.State
	}
	return a
}

// ID is such as "restart worker-0:kubelet.service".
func (a RestartKubelet) ID() string { return "restart " + a.NodeName + ":" + catalog.KubeletUnit }

// Node is the node.
func (a RestartKubelet) Node() string { return a.NodeName }

// RestartsKubelet reports that it does.
func (a RestartKubelet) RestartsKubelet() {}

var _ remediate.KubeletRestarter = RestartKubelet{}

// Diff compares times of the node's own clock.
func (a RestartKubelet) Diff(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	n, ok := snapshot.Node(a.NodeName)
	if !ok || n.Via == "" {
		return nil, &remediate.Refusal{Name: remediate.FileRead, Node: a.NodeName, Reason: "the node was not read", Next: "see what is unknown"}
	}
	if n.Kubelet.Started.IsZero() && n.Kubelet.Active == "" {
		return nil, &remediate.Refusal{Name: "kubelet-known", Node: a.NodeName, Reason: "the state of its kubelet is unknown: " + catalog.KubeletUnit + " did not answer", Next: "on the node: systemctl status kubelet"}
	}
	due := n.OutdatedKubeconfig() != "" || a.Restores && n.PerhapsOutdatedKubeconfig() != "" || n.Kubelet.Active != "active" || n.Kubelet.Sub != "running"
	if len(a.files) > 0 && !n.Clock.After.IsZero() && n.Kubelet.Started.After(n.Clock.After.Add(time.Second)) {
		due = true // the node's clock was set back since: its times tell nothing
	}
	for _, path := range a.files {
		f := n.File(path)
		due = due || f == nil || !f.Written().Before(n.Kubelet.Started)
	}
	if !due {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	at := n.Time(now)
	if at.Before(n.Kubelet.Started) {
		at = n.Kubelet.Started
	}
	at = at.Add(2 * time.Minute) // after everything that the plan writes
	return &remediate.Change{Summary: "restart " + catalog.KubeletUnit, Deltas: []inspect.Delta{inspect.KubeletRestarted{Node: a.NodeName, At: at}}}, nil
}

// Apply has systemd restart it, and returns before that.
func (a RestartKubelet) Apply(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	err := env.Retry(ctx, a.NodeName, func(ctx context.Context, n nodeexec.Node) (err error) {
		a.state.before, err = host.LookUnit(ctx, n, catalog.KubeletUnit)
		return err
	})
	if err != nil {
		return err
	}
	if a.requests != nil && env.Kube != nil {
		if err := a.requests.NoteEarlier(ctx, env, a.NodeName); err != nil {
			return err
		}
	}
	n, err := env.Connect(ctx, a.NodeName)
	if err != nil {
		return err
	}
	err = host.RunFolder{ID: env.RunID}.Restart(ctx, n, catalog.KubeletUnit)
	if errors.Is(err, nodeexec.ErrUnknownOutcome) {
		err = nil // Verify tells
	}
	env.Disconnect(a.NodeName) // the way may lead through the kubelet
	return err
}

// restartTime is how long a kubelet may take to end, and to run again; starting
// how long it may take then to have its files in order.
const (
	restartTime = time.Minute
	starting    = 15 * time.Second
)

// Verify waits for another process that has been active since a later time, runs,
// and trusts what is served with the files that it started with.
func (a RestartKubelet) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	err := env.Until(ctx, restartTime, func(ctx context.Context) (bool, error) {
		var u host.Unit
		err := env.Retry(ctx, a.NodeName, func(ctx context.Context, n nodeexec.Node) (err error) {
			u, err = host.LookUnit(ctx, n, catalog.KubeletUnit)
			return err
		})
		switch {
		case err != nil:
			return false, err
		case u.Active != "active" || u.Sub != "running": // first: it has not entered anything then
			return false, fmt.Errorf("%s on %s does not come up: %s (%s), %s; on the node: journalctl -u kubelet -n 50", catalog.KubeletUnit, a.NodeName, u.Active, u.Sub, u.Result)
		case u.MainPID == a.state.before.MainPID && u.MainPID != 0 || !u.Entered.After(a.state.before.Entered):
			return false, fmt.Errorf("%s on %s was not restarted: it is %s (%s), process %d since %s", catalog.KubeletUnit, a.NodeName, u.Active, u.Sub, u.MainPID, remediate.Timestamp(u.Entered))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	// A kubelet that had no kubeconfig writes one while it starts.
	return env.Until(ctx, starting, func(ctx context.Context) (bool, error) {
		snapshot, err := env.Read(ctx, a.NodeName)
		if err != nil {
			return false, err
		}
		n, _ := snapshot.Node(a.NodeName)
		if err := readAtStart(n); err != nil {
			return false, err
		}
		var errs []error
		for _, path := range a.files {
			if a.AcceptUntrusted {
				break
			}
			errs = append(errs, Trusts(snapshot, a.NodeName, path, env.Now()))
		}
		err = errors.Join(errs...)
		return err == nil, err
	})
}

// readAtStart says why a kubelet has not read its kubeconfig as it is now, or may not have.
func readAtStart(n *inspect.Node) error {
	if own := n.OutdatedKubeconfig(); own != "" {
		return fmt.Errorf("the kubelet on %s has not read %s since it was changed: it changed again", n.Name, own)
	}
	if own := n.PerhapsOutdatedKubeconfig(); own != "" {
		return fmt.Errorf("whether the kubelet on %s has read %s is unknown: its mode, owner, label or content changed later", n.Name, own)
	}
	return nil
}
