package undocmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// cluster is what the kubeconfig leads to. This machine has journals of all clusters of its user, and
// nodes of many clusters have the same names.
type cluster struct {
	conn *connect.Connection // nil: no API server answers
	is   inspect.Cluster     // as far as it tells
}

// cluster asks which cluster it is.
func (o *pruneOptions) cluster(ctx context.Context) (cluster, error) {
	conn, err := o.API(ctx, pki.NewScanner())
	var refused *cli.RefusedError
	switch {
	case errors.As(err, &refused):
		return cluster{}, refused
	case err != nil:
		return cluster{}, nil // then the nodes tell
	}
	return clusterOf(ctx, conn), nil
}

func clusterOf(ctx context.Context, conn *connect.Connection) cluster {
	s := collect.All(ctx, conn.Cluster.Identity(conn.Server, conn.Context))
	s.MarkForeign()
	return cluster{conn, s.Cluster}
}

// refuseOther refuses a run of another cluster than the one that is reached: Lease, heartbeats and requests would be
// that one's, of nodes of the same names.
func refuseOther(ctx context.Context, conn *connect.Connection, s remediate.RunRecord) error {
	if conn == nil {
		return nil // then the nodes tell
	}
	if other := clusterOf(ctx, conn).otherThan(s); other != "" {
		return refusedOther(s, other, namesCluster)
	}
	return nil
}

func refusedOther(s remediate.RunRecord, other, next string) error {
	return cli.Refused(cli.WithHint(cli.RefusedUnchanged(fmt.Errorf("run %s: %s", s.Run, other)), "%s", next))
}

const namesCluster = "name the kubeconfig or the context of its cluster: --kubeconfig FILE, --context NAME"

// recorded is the cluster of a run as its journal has it.
func recorded(s remediate.RunRecord) inspect.Cluster {
	return inspect.Cluster{ID: s.Cluster, Server: s.Server}
}

// otherThan says of what other cluster a run is; empty: of this one, or nothing tells.
func (c cluster) otherThan(s remediate.RunRecord) string {
	if !connect.OtherCluster(recorded(s), c.is) {
		return ""
	}
	return fmt.Sprintf("it is of another cluster: of %s, and %s was reached", clusterName(recorded(s)), c)
}

// String names it with the context that leads there.
func (c cluster) String() string {
	if c.conn == nil {
		return "no API server"
	}
	name := clusterName(c.is)
	if c.conn.Context != "" {
		name += fmt.Sprintf(" (context %s)", foreign.QuotedName(c.conn.Context))
	}
	return name
}

func clusterName(c inspect.Cluster) string {
	var names []string
	if c.Server != "" {
		names = append(names, foreign.Text(c.Server))
	}
	if c.ID != "" {
		names = append(names, "ID "+foreign.Name(c.ID))
	}
	return ui.OrDash(strings.Join(names, ", "))
}

// ofCluster leaves out the runs of other clusters. It refuses one that was named.
func (o *pruneOptions) ofCluster(records []remediate.RunRecord, c cluster, folder string) (out []remediate.RunRecord, err error) {
	for _, s := range records {
		switch other := c.otherThan(s); {
		case other == "":
			out = append(out, s)
		case len(o.runs) > 0:
			return nil, refusedOther(s, other, itsCluster(s, folder))
		default:
			ui.Printf(o.App.Streams.Out, "run %s: left alone: %s\n", s.Run, other)
		}
	}
	return out, nil
}

// itsCluster is the next step where a run is, or may be, of another cluster.
func itsCluster(s remediate.RunRecord, folder string) string {
	return namesCluster + fmt.Sprintf(". Where its nodes are gone, or keep nothing any more, move %s.jsonl out of %s", s.Run, ui.Clean(folder))
}

// underWay refuses a run, or one that an undo takes back, that holds the Lease.
func (c cluster) underWay(ctx context.Context, js remediate.Journals, s remediate.RunRecord) error {
	if c.conn == nil {
		return nil // nodes know who is at work there
	}
	h, err := remediate.Lease{Kube: c.conn.Kube, Now: c.conn.Clock.Now}.CurrentHolder(ctx)
	switch {
	case apierrors.IsForbidden(err):
		return nil // as without an API server
	case err != nil:
		return err
	case h == nil || h.Stale || h.Run == "":
		return nil
	}
	if h.Run != s.Run {
		if by, err := js.Read(h.Run); err != nil || by.Undoes != s.Run {
			return nil
		}
	}
	return cli.WithHint(fmt.Errorf("it is under way: %s holds the Lease %s/%s", h.Name, remediate.LeaseNamespace, remediate.LeaseName), "wait for its end, and run the same command again")
}
