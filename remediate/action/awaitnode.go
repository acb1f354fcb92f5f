package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// AwaitNode waits until a node reports to the API server after its kubelet was
// restarted, and is Ready. It changes nothing: a node that is late with the right
// files is said to be late, and nothing is put back.
type AwaitNode struct{ NodeName string }

// ID is such as "await worker-0".
func (a AwaitNode) ID() string { return "await " + a.NodeName }

// Node is the node.
func (a AwaitNode) Node() string { return a.NodeName }

// Waits reports that it changes nothing.
func (a AwaitNode) Waits() {}

// AwaitsNode reports that it waits for its node.
func (a AwaitNode) AwaitsNode() {}

var _ remediate.NodeAwaiter = AwaitNode{}

// Diff compares the last sign of life with the start of the kubelet.
func (a AwaitNode) Diff(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	n, ok := snapshot.Node(a.NodeName)
	if ok && inspect.HeartbeatSinceStart(snapshot, n) {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	at := n.Time(now).Add(3 * time.Minute)
	return &remediate.Change{Summary: "wait for a heartbeat that is newer than the restart", Deltas: []inspect.Delta{inspect.HeartbeatRead{Node: a.NodeName, At: at}}, Versions: snapshot.Cluster.Versions, Own: csr.Expect(snapshot, now, a.NodeName)}, nil
}

// Apply does nothing.
func (a AwaitNode) Apply(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// heartbeatTime is how long a node may take to be Ready after its kubelet came up:
// a lease is renewed every ten seconds, and back-off in the kubelet goes up to
// some minutes.
const heartbeatTime = 3 * time.Minute

// Verify asks the API server. A Ready condition alone proves nothing: it may be
// left from before.
func (a AwaitNode) Verify(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if env.Heartbeat == nil {
		return a.onTheNode(ctx, env)
	}
	var unit host.Unit
	if err := env.Retry(ctx, a.NodeName, func(ctx context.Context, n nodeexec.Node) (err error) {
		unit, err = host.LookUnit(ctx, n, catalog.KubeletUnit)
		return err
	}); err != nil {
		return err
	}
	var asked error
	err := env.Until(ctx, heartbeatTime, func(ctx context.Context) (bool, error) {
		h, err := env.Heartbeat(ctx, a.NodeName)
		asked = err
		switch {
		case err != nil:
			return false, err
		case !h.At.After(unit.Entered.Add(time.Second)): // systemd tells whole seconds
			return false, fmt.Errorf("node %s: its last heartbeat is from %s, none since its kubelet started at %s, and Ready is %s", a.NodeName, remediate.Timestamp(h.At), remediate.Timestamp(unit.Entered), h.Ready)
		case h.Ready != "True":
			return false, fmt.Errorf("node %s reports again, and Ready is %s: %s", a.NodeName, h.Ready, foreign.Command(inspect.NodeNames, "kubectl describe node %s", a.NodeName))
		}
		return true, nil
	})
	switch {
	case err == nil:
		return nil
	case asked != nil && ctx.Err() == nil:
		return &remediate.UnknownEffectError{Reason: fmt.Sprintf("the heartbeat of node %s is unknown: %v", a.NodeName, err)}
	case ctx.Err() != nil:
		return remediate.Because(context.Cause(ctx), err)
	}
	return &remediate.LateEffectError{Inner: fmt.Errorf("%w%s", err, csr.PendingText(ctx, env, csr.Requested(env, c, a.NodeName)))}
}

// acceptedTime is how long a kubelet's credentials may be refused after its restart.
const acceptedTime = time.Minute

// onTheNode asks the node itself, where no API server can be asked from here: by the file
// that its kubelet has read, the API server is to be reached and trusted, and to take the
// kubelet for that node. That is enough to go on to another node, and is no heartbeat.
func (a AwaitNode) onTheNode(ctx context.Context, env *remediate.Env) error {
	unknown := &remediate.UnknownEffectError{Reason: fmt.Sprintf("the heartbeat of node %s is unknown: no API server could be asked", a.NodeName)}
	if env.RestartProbe == nil {
		return unknown
	}
	err := env.Until(ctx, acceptedTime, func(ctx context.Context) (bool, error) {
		var c *inspect.RestartProbe
		err := env.Retry(ctx, a.NodeName, func(ctx context.Context, n nodeexec.Node) (err error) {
			c, err = env.RestartProbe(ctx, n)
			return err
		})
		if err == nil {
			err = accepted(c)
		}
		return err == nil, err
	})
	switch {
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), unknown)
	case err != nil:
		unknown.Reason += fmt.Sprintf("; asked on the node, with its kubelet's own credentials: %v", err)
		return unknown
	}
	unknown.Reason += " from here; the API server answers its kubelet's own credentials, asked on the node"
	unknown.Enough = true
	return unknown
}

// accepted says why the API server does not take a kubelet's own credentials, or why that
// is unknown; nil: it does.
func accepted(c *inspect.RestartProbe) error {
	if c == nil {
		return errors.New("the restart probe did not run")
	}
	if problem := cmp.Or(c.Problem, c.Kubeconfig.Refused, c.Kubeconfig.Unread); problem != "" {
		return errors.New(problem)
	}
	for _, answer := range c.Kubeconfig.Answers {
		switch {
		case answer.Question != inspect.AskNode:
		case answer.Code == http.StatusOK:
			return nil
		case answer.Code != 0:
			return fmt.Errorf("%s says %d %s", answer.Server, answer.Code, answer.Reason)
		default:
			return errors.New(answer.Detail)
		}
	}
	return fmt.Errorf("%s has no credentials to ask with", c.Kubeconfig.Path)
}
