package rotatecmd

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/metadata"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// cluster is the one that the options name, or the files.
type cluster struct {
	*rotateOptions
	conn *connect.Connection // nil: files are read
}

// Recheck reads everything again. What servers present is read, too, once a rotation is
// tracked.
func (c cluster) Recheck(ctx context.Context) (rotate.Reading, error) {
	r, err := c.read(ctx)
	if err != nil {
		return r, outcomeOf(err)
	}
	if c.conn != nil {
		ask(ctx, c.conn, &r)
	}
	return r, nil
}

// Read reads everything again, and what servers present.
func (c cluster) Read(ctx context.Context, clients func(*inspect.Snapshot) bool) (rotate.Reading, error) {
	c.reading.Nodes.Served, c.reading.Nodes.Callers, c.reading.Board = true, clients, c.progress()
	return c.Recheck(ctx)
}

// Trigger is the removal of an annotation from a Secret, as it is now.
func (c cluster) Trigger(ctx context.Context, of catalog.Ref, annotation string) (action.RemoveAnnotation, error) {
	client, err := metadata.NewForConfig(c.conn.Rest)
	if err != nil {
		return action.RemoveAnnotation{}, fmt.Errorf("client for %s: %w", c.conn.Server, err)
	}
	return action.PlanRotation(ctx, client, of, annotation, c.app.Hints())
}

// Removal takes old CAs out of a bundle as it is now, as the API server tried it.
func (c cluster) Removal(ctx context.Context, of catalog.Ref, judged []rotate.OldCA) (rotate.PruneBundle, error) {
	return rotate.NewPruneBundle(ctx, c.conn.Kube, of, judged)
}

// Apply makes a plan, as a run of its own.
func (c cluster) Apply(ctx context.Context, plan func(context.Context) (*remediate.Plan, error)) (changed bool, err error) {
	c.progress().Keep()
	return applyPlan(ctx, c.applyRun(c.conn, rotate.RotateCommand), plan)
}

// oneRun is a cluster to which one plan is applied, as a run whose name is known before.
type oneRun struct {
	cluster
	run *apply.Execution
}

// Apply makes the plan.
func (c oneRun) Apply(ctx context.Context, plan func(context.Context) (*remediate.Plan, error)) (changed bool, err error) {
	return applyPlan(ctx, c.run, plan)
}

// applyPlan takes the Lease, asks for the plan, and makes it. changed: a step changed something, or may have.
func applyPlan(ctx context.Context, a *apply.Execution, plan func(context.Context) (*remediate.Plan, error)) (changed bool, err error) {
	leased, release, err := a.Hold(ctx)
	if err != nil {
		return false, outcomeOf(err)
	}
	defer release()
	p, err := plan(ctx)
	if err != nil {
		return false, err
	}
	p.RunID = a.RunID
	j, err := a.Begin(p)
	if err != nil {
		return false, outcomeOf(err)
	}
	err = a.Apply(leased, p, j)
	_ = j.Close() // each line is on the disk already
	return len(a.Changed) > 0, err
}

// applyRun writes one thing, as a run of its own.
func (o *rotateOptions) applyRun(conn *connect.Connection, command string) *apply.Execution {
	return &apply.Execution{
		Options: apply.Options{App: o.app, Config: o.reading.Config, Yes: o.yes, Output: o.output}, Command: command, RunID: remediate.NewRun(collect.Now()),
		Session: &apply.Session{App: o.app, Conn: conn}, NoLease: slices.Contains(o.risks, remediate.NoLease),
	}
}

// ask asks the API server for what is no certificate's. Pods that dial api-int are of
// interest only while its certificate is to be signed by a new CA.
func ask(ctx context.Context, conn *connect.Connection, r *rotate.Reading) {
	status := &inspect.ClusterStatus{ControlPlane: conn.Cluster.ControlPlaneStatus(ctx)}
	defer func() { tell(r, status) }()
	at := catalog.InternalLoadBalancerServing()
	of, err := rotate.FindRotatable(r.All, at.Namespace+"/"+at.Name)
	if err != nil {
		return // there is none
	}
	if signed, _ := r.Chain(of).Signed(); signed != catalog.No {
		return
	}
	status.Network = conn.Cluster.Network(ctx, catalog.NodeDaemonSetNamespaces(r.Facts.Snapshot.Cluster.Versions))
	status.MarkForeign()
}

// tell takes what was read that is no certificate's, just now or for a file; nil: nothing was.
func tell(r *rotate.Reading, status *inspect.ClusterStatus) {
	if status == nil {
		return
	}
	r.ControlPlane = status.ControlPlane
	if status.Network == nil {
		return
	}
	n, err := apply.NetworkIn(status.Network)
	if err != nil {
		r.Unread = ": " + ui.OneLine(err.Error())
		return
	}
	r.Network = &action.NetworkRestarts{Pods: n.Pods, Rollout: n.Rollout}
}
