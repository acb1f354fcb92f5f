package apply

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// PreflightFlags say which failed or unknown checks the user accepts, as they were typed.
type PreflightFlags struct {
	Risks []string
	Pause bool
}

// PreflightOptions is what PreflightFlags come to.
type PreflightOptions struct {
	Risks  []string // accepted, by name
	Pause  bool
	Script bool // what is planned is for scripts
	// All: the plan is for all nodes. It can be made without a worker, see preflight.BusyError.
	All bool
}

// AddFlags adds --accept-risk and what goes with it.
func (f *PreflightFlags) AddFlags(cmd *cobra.Command) {
	AddRiskFlag(cmd, &f.Risks, "Accept that this check fails or is unknown, by its name; repeatable", preflight.Risks())
	cmd.Flags().BoolVar(&f.Pause, "pause-remediation", false, "Pause health checks that delete or reboot nodes which are not Ready, for as long as this takes.")
}

// Check refuses names of risks that there are not.
func (f *PreflightFlags) Check() error {
	return CheckRisks(f.Risks, preflight.Risks())
}

// ToOptions checks the flags.
func (f *PreflightFlags) ToOptions() (PreflightOptions, error) {
	return PreflightOptions{Risks: f.Risks, Pause: f.Pause}, f.Check()
}

// Accepted are the facts as far as risks are accepted by name: a version that was not
// reviewed is answered as the nearest one that was.
func (o PreflightOptions) Accepted(s inspect.Snapshot) inspect.Snapshot {
	s.Cluster.Versions.UnreviewedAccepted = slices.Contains(o.Risks, preflight.UnreviewedVersion)
	return s
}

// Unreviewed refuses to write where a version runs that was not reviewed, or that an API
// server was asked for and that can't be read, unless that is accepted by name.
func Unreviewed(c inspect.Cluster, risks []string) error {
	v := preflight.Reviewed(c)
	if !v.Blocks() || slices.Contains(risks, v.ID) {
		return nil
	}
	return Stopped([]preflight.Verdict{v})
}

// Preflight asks what has to hold of the whole cluster before a plan is carried out,
// and notes in it what is worth knowing. planned is why there is no plan. w is nil for
// facts from a file: then their status is what was read when it was taken.
func (o PreflightOptions) Preflight(ctx context.Context, w *Session, snapshot inspect.Snapshot, ca []byte, p *remediate.Plan, planned error) error {
	if planned == nil && p.Empty() {
		return o.leftPaused(ctx, w, snapshot, p)
	}
	var nodes []string
	if planned == nil {
		nodes = askedAbout(p)
	}
	return o.Ask(ctx, w, snapshot, ca, nodes, p, planned)
}

// Ask is preflight for what is done to these nodes, be it by the plan or not.
func (o PreflightOptions) Ask(ctx context.Context, w *Session, snapshot inspect.Snapshot, ca []byte, nodes []string, p *remediate.Plan, planned error) error {
	var refused *remediate.Refusal
	explains := errors.As(planned, &refused) && refused.Name == "ca-verifies-served"
	if err := Unreviewed(snapshot.Cluster, o.Risks); err != nil {
		return err // it may be the reason why there is no plan
	}
	if reason := preflight.UnreadVersion(snapshot.Cluster); reason != "" && p != nil {
		p.Notes.Add(remediate.AcceptedNote(preflight.UnreviewedVersion + ": " + reason + "."))
	}
	if snapshot.Cluster.Versions.WhyUnreviewed() != "" && p != nil {
		p.Notes.Add(remediate.AcceptedNote(preflight.UnreviewedVersion + ": " + "what the catalog says of the nearest version that was reviewed is taken."))
	}
	if planned != nil && !explains {
		return planned
	}
	if w != nil && w.Conn == nil && answered(w.NoAPI) && !slices.Contains(o.Risks, preflight.NoAPI) {
		return cli.Refused(cli.WithHint(cli.RefusedUnchanged(fmt.Errorf("%s: the API server answers, and it can't be asked whether this is safe now: %w", preflight.NoAPI, w.NoAPI)),
			"get access first: --api-ca-from ssh://core@NODE (a control plane node) where its CA is not trusted, a kubeconfig with a client certificate where a token is not accepted; or accept the risk: --accept-risk=%s", preflight.NoAPI))
	}
	approves := p != nil && csr.Approves(p)
	if w != nil && w.Conn != nil {
		snapshot.Served = append(slices.Clone(snapshot.Served), w.mastersPresent(ctx, snapshot)...)
		if !explains {
			snapshot.Status = w.Status(ctx, snapshot, approves)
		}
	}
	ask := preflight.Of(snapshot)
	ask.Pause, ask.CA, ask.Nodes, ask.Script, ask.NeedsSigner = o.Pause, CertsIn(ca), nodes, o.Script, approves
	if explains {
		if v := ask.ServerSideVerdict(); v.Status == assess.Fail {
			return cli.Refused(cli.WithHint(cli.RefusedUnchanged(fmt.Errorf("%w\n%s: %s", planned, v.ID, v.Reason)), "%s", v.Remediation.Text))
		}
		return planned
	}
	if ctx.Err() != nil {
		return cli.NothingChanged(errors.New("interrupted"))
	}
	if busy := ask.BusyWorkers(); o.All && len(busy) > 0 && !slices.Contains(o.Risks, preflight.PoolsSettled) {
		return &preflight.BusyError{Workers: busy}
	}
	if err := o.judge(ask, p); err != nil || !o.Pause {
		return err
	}
	if ask.ControlPlane == nil {
		p.Notes.Add(remediate.Note{Text: "Nothing is paused, since no API server was asked."})
		return nil
	}
	first, last, err := action.Pauses(ask.ControlPlane, p.RunID)
	if err != nil {
		return err
	}
	if action.Frame(p, first, last); len(first) > 0 {
		p.Notes.Add(remediate.Note{Text: "Health checks are paused first, and resumed at the end. If this stops half-way they stay paused: undo resumes them, and so does the same command when it comes to its end."})
	}
	return nil
}

// Status asks the API server for what the preflight of these facts depends on, and no more.
// approves: requests are to be approved.
func (s *Session) Status(ctx context.Context, snapshot inspect.Snapshot, approves bool) *inspect.ClusterStatus {
	c := s.Conn.Cluster
	status := &inspect.ClusterStatus{Read: collect.Now(), ControlPlane: c.ControlPlaneStatus(ctx)}
	switch operated := inspect.HasOperators(snapshot); {
	case !operated:
		status.StaticPods = c.StaticPods(ctx)
	case approves:
		status.Signers = c.Signers(ctx)
	}
	status.MarkForeign()
	return status
}

// leftPaused adds to a plan with nothing to do what earlier runs left paused, if it is to
// be looked after.
func (o PreflightOptions) leftPaused(ctx context.Context, w *Session, snapshot inspect.Snapshot, p *remediate.Plan) error {
	var m *inspect.ControlPlaneStatus
	switch {
	case !o.Pause:
	case w != nil && w.Conn != nil:
		m = w.Conn.Cluster.ControlPlaneStatus(ctx)
	case w == nil && snapshot.Status != nil:
		m = snapshot.Status.ControlPlane
	}
	if m == nil {
		return nil
	}
	last, err := action.LeftPaused(m)
	action.Frame(p, nil, last)
	return err
}

// answered reports whether a server is there that answers, and the user does not get in.
func answered(noAPI error) bool { return unverified(noAPI) || apierrors.IsUnauthorized(noAPI) }

// unverified reports whether a server presents a certificate that is not verified.
func unverified(err error) bool {
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &invalid)
}

// AddUnpauseSteps adds to the plan of an undo what ends the pauses of a run, as the objects say it.
func (s *Session) AddUnpauseSteps(ctx context.Context, run string, record remediate.RunRecord, p *remediate.Plan) error {
	if s.Conn == nil {
		if action.Paused(record) {
			p.Notes.Add(remediate.Note{Text: "The run paused health checks; without an API server they stay so: run this again when there is one."})
		}
		return nil
	}
	m := s.Conn.Cluster.ControlPlaneStatus(ctx)
	if g, ok := m.Gap(catalog.MachineHealthChecks, catalog.NodeHealthChecks); ok && action.Paused(record) {
		return cli.WithHint(cli.NothingChanged(fmt.Errorf("the run paused health checks, and they can't be read: %s", g.Reason)), "%s", g.Next)
	}
	last, err := action.UnpauseSteps(m, run)
	action.Frame(p, nil, last)
	return err
}

// judge adds the checks to the plan, and notes of what was accepted and is worth knowing, or says
// what stops it.
func (o PreflightOptions) judge(ask preflight.Preflight, p *remediate.Plan) error {
	var accepted []string
	var stops []preflight.Verdict
	verdicts := ask.Check()
	for _, v := range verdicts {
		switch {
		case v.Blocks() && v.Risk && slices.Contains(o.Risks, v.ID):
			accepted = append(accepted, v.ID)
			p.Notes.Add(remediate.AcceptedNote(v.Named()))
		case v.Blocks():
			stops = append(stops, v)
		case v.Reason != "" && v.Reason != preflight.NoMaster && !v.NoAPIServer: // the checks that passed have a line
			p.Notes.Add(remediate.Note{Kind: remediate.NotePassed, Text: v.Named()})
		}
	}
	if len(stops) > 0 {
		return Stopped(stops)
	}
	p.Checked = remediate.CheckedOf(ask.Snapshot, verdicts, accepted)
	if ask.ControlPlane != nil {
		p.Notes.Add(remediate.PlainNotes(unwell(ask.ControlPlane)...)...)
	}
	return nil
}

// unwell are operators that say so, and APIs that are not available. It stops nothing: a master that is not Ready is
// enough for it.
func unwell(m *inspect.ControlPlaneStatus) []string {
	var notes []string
	for _, o := range m.Operators {
		if o.Degraded == "True" || o.Available == "False" {
			notes = append(notes, fmt.Sprintf("The operator %s says that it is not well, which the incident itself may be the reason for: %s", o.Name, ui.OneLine(o.Message)))
		}
	}
	if len(m.UnavailableAPIs) > 0 {
		notes = append(notes, "APIs that others serve are not available: "+strings.Join(m.UnavailableAPIs, ", ")+". Requests for them fail at once (503); nothing here needs one.")
	}
	return notes
}

// Stopped is the error that says all that stops a plan, and how to go on.
func Stopped(stops []preflight.Verdict) error {
	blocked := &preflight.Blocked{Checks: stops}
	return cli.Refused(cli.WithHint(cli.RefusedUnchanged(blocked), "%s", blocked.Next()))
}

// mastersPresent reads what each control plane node presents, from nodes that were read.
func (s *Session) mastersPresent(ctx context.Context, snapshot inspect.Snapshot) []inspect.Served {
	all, err := s.Conn.Cluster.NodeObjects(ctx, nil)
	if err != nil {
		return nil // what they present is unknown then; api-int was asked in any case
	}
	var masters []collect.NodeObject
	for _, n := range all {
		if read, ok := snapshot.Node(n.Name); ok && inspect.RunsAPIServer(snapshot, read) {
			n.Master = true // it may have lost its label
		}
		if n.Master {
			masters = append(masters, n)
		}
	}
	if len(masters) == 0 {
		return nil
	}
	presented := collect.Handshakes{Nodes: masters, Twice: true, Open: s.Source(gather.Options{}).Open}.Collect(ctx, &snapshot)
	return slices.DeleteFunc(presented, func(v inspect.Served) bool { return v.Server != catalog.ListenerAPIServer })
}
