package fixapiintcmd

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// fixFlags is what was typed, of fix-api-int and of pretrust.
type fixFlags struct {
	repairFlags
	preflight apply.PreflightFlags
	waves     waveFlags
	network   apply.NetworkFlags
	scripts   string
	pretrust  bool // it is the command pretrust
	details   bool // the plan in full
}

// fixOptions is what a run of fix-api-int or of pretrust needs.
type fixOptions struct {
	repairOptions
	preflight apply.PreflightOptions
	scripts   string // the folder for scripts; empty: none are asked for
	pretrust  bool   // only while no served certificate is signed by the new CA
	lines     commandLines
	details   bool // the plan in full
	// after is asked once all nodes are repaired.
	after verification
}

// commandLines are the commands that continue a run that stopped.
type commandLines struct {
	resume     string // as it was called
	allWaves   string // the same, but for --only and --accept-risk
	namedNodes string // the same as resume, but for what names nodes
	apply      string // does what a dry run printed
	applyNamed string // the same as apply, but for what names nodes
	details    string // prints the plan in full, and changes nothing
	reads      string // the flags by which nodes are reached; see apply.ReadingFlags
}

// NewCommand is the command fix-api-int.
func NewCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &fixFlags{repairFlags: newRepairFlags(app, config)}
	cmd := &cobra.Command{
		Use:        "fix-api-int",
		SuggestFor: []string{"repair", "recover", "heal"},
		Short:      "Make kubelets trust the API server's new CA, and restart them",
		Long: strings.ReplaceAll(`Repairs nodes whose kubelet fails with "x509: certificate signed by unknown authority" after the CA of api-int (on plain Kubernetes: of the API server) was rotated, or will fail at its next reconnect.

On each node it adds the CAs of the ConfigMap openshift-config-managed/kube-apiserver-server-ca to certificate-authority-data in /etc/kubernetes/kubeconfig and /var/lib/kubelet/kubeconfig, restarts the kubelet once, and waits until the node reports again. CAs that are there and have not expired are kept; nothing else in the files changes. Pods keep running: no node is drained or cordoned.

Without --nodes it repairs all nodes in waves, one wave after the other: control plane nodes one at a time; then workers: those that are NotReady or have no heartbeat a tenth at once, one that works, and the others --max-unavailable at once. Nodes that need nothing are left alone. It stops at the first failure, and prints the line that goes on. Nodes that are named are done one after another, in that order.

The CA is checked before anything is written: it must verify the certificate that the API server presents at api-int to that node. Each file is checked after it was written, and put back if it fails. A backup is kept on the node, in /var/lib/certrot/RUN; {} undo RUN puts it back.

A node without a heartbeat is reachable only by ssh, or with --local on the node itself.

Exit codes: 0 done, or already up to date; 1 a dry run would change something; 2 usage or no access; 3 done, and whether a node reports again is unknown, or nodes could not be read; 4 a write failed, or was stopped or undone; 5 refused, or not confirmed.`, "{}", app.ProgramName),
		Example: templates.Examples(strings.ReplaceAll(`  # What would be done in the whole cluster, and why
  {} fix-api-int --via ssh --dry-run=client

  # Do it; first the control plane nodes alone
  {} fix-api-int --via ssh --only masters
  {} fix-api-int --via ssh --max-unavailable 10%

  # How far it is, for who takes over
  {} fix-api-int status --via ssh

  # One node: as a diff, then do it without being asked
  {} fix-api-int --nodes worker-1 --via ssh --dry-run=client -o diff
  {} fix-api-int --nodes worker-1 --via ssh --yes

  # As a script for the node's console
  {} fix-api-int --nodes worker-1 --ca-file kube-apiserver-server-ca.crt --emit-script scripts

  # On the node itself, without the API, with a CA copied from a control plane node
  {} fix-api-int --local --ca-file kube-apiserver-server-ca.crt`, "{}", app.ProgramName)),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.scripts == "" { // scripts change nothing either
				apply.FromIsDryRun(cmd, f.from, &f.DryRun)
			}
			o, err := f.toOptions(cmd.Context())
			if err != nil {
				return err
			}
			o.lines = linesOf(cmd)
			return o.run(cmd.Context())
		},
	}
	f.AddFlags(cmd, "Nodes to repair, by name; one after another, in this order. Without it, or with all: all nodes, in waves.", connect.AllNodes)
	f.addSources(cmd)
	addEmitFlag(cmd, &f.scripts)
	f.addFlags(cmd)
	cmd.AddCommand(newStatusCommand(app, config))
	return cmd
}

// addFlags adds what fix-api-int and pretrust have in common, beside which nodes.
func (f *fixFlags) addFlags(cmd *cobra.Command) {
	f.preflight.AddFlags(cmd)
	f.waves.addFlags(cmd)
	f.network.AddFlags(cmd)
	cmd.Flags().BoolVar(&f.details, "details", false, "Print the plan in full: each step of each node, with the CAs that each file gains and loses.")
}

func linesOf(cmd *cobra.Command) commandLines {
	return commandLines{
		resume: apply.CommandLine(cmd), allWaves: apply.CommandLine(cmd, "only", "accept-risk"),
		namedNodes: apply.CommandLine(cmd, "nodes", "node-selector", "only", "max-unavailable"),
		apply:      apply.CommandLine(cmd, "from", "dry-run", "yes", "output", "details"),
		applyNamed: apply.CommandLine(cmd, "from", "dry-run", "yes", "output", "details", "nodes", "node-selector", "only", "max-unavailable"),
		details:    apply.CommandLine(cmd, "dry-run", "yes", "output", "details") + " --dry-run=" + apply.DryRunClient + " --details",
		reads:      apply.ReadingFlags(cmd, "nodes", "node-selector"),
	}
}

// check refuses flags that are wrong, or do not go together.
func (f *fixFlags) check() error {
	if err := errors.Join(f.Check(), f.Nodes.Check(), f.waves.check(), f.preflight.Check(), f.network.Check(f.preflight.Risks), f.checkRebootstrap()); err != nil || len(f.from) == 0 {
		return err
	}
	if f.DryRun == apply.DryRunNone && f.scripts == "" {
		return errors.New("--from makes a plan and changes nothing: --dry-run=client goes with it")
	}
	return f.Nodes.CheckWayFrom(f.from)
}

func (f *fixFlags) toOptions(ctx context.Context) (*fixOptions, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	repair, err := f.toRepairOptions(ctx, connect.Writing(f.preflight.Risks, f.givesCA()))
	if err != nil {
		return nil, err
	}
	o := &fixOptions{repairOptions: repair, scripts: f.scripts, pretrust: f.pretrust, details: f.details}
	o.Nodes.RestartProbe = f.rebootstrap
	if err := f.checkEmit(); err != nil {
		return nil, err
	}
	if o.order, err = f.waves.toOrder(o.named(), f.preflight.Risks); err != nil {
		return nil, err
	}
	if o.preflight, err = f.preflight.ToOptions(); err != nil {
		return nil, err
	}
	o.preflight.Script = f.scripts != ""
	if o.network, err = f.network.ToOptions(f.preflight.Risks, f.Nodes.Debug); err != nil {
		return nil, err
	}
	if !o.named() {
		o.after, err = f.toVerification(ctx)
	}
	return o, err
}

func (o *fixOptions) run(ctx context.Context) error {
	if len(o.from) > 0 {
		return o.offline(ctx)
	}
	given, w, err := o.session(ctx)
	if err != nil {
		return err
	}
	w.Script = !o.rebootstrap
	if o.scripts != "" {
		err = o.emit(ctx, w, given)
	} else {
		err = o.execute(ctx, w, given)
	}
	if closed := w.Close(); closed != nil {
		cli.Warn(o.App.Streams, "clean up: ", closed)
	}
	return err
}

// command is the name of the command.
func (o *fixOptions) command() string {
	if o.pretrust {
		return "pretrust"
	}
	return "fix-api-int"
}

// plan makes the plan for these facts.
func (o *fixOptions) plan(fix apiint.Repair, run string, snapshot inspect.Snapshot) (*remediate.Plan, error) {
	if !o.pretrust {
		return fix.Plan(run, snapshot, snapshot.Taken)
	}
	ahead, err := apiint.PretrustOf(snapshot, snapshot.Taken)
	if err != nil {
		return nil, err
	}
	if fix.FollowUp.Network != nil {
		fix.FollowUp.Network.Next = ahead.CAs
	}
	p, err := fix.Plan(run, snapshot, snapshot.Taken)
	if err != nil {
		return nil, err
	}
	return p, ahead.AddTo(p, fix.CA)
}

// execute repairs nodes. given are the CAs that a flag leads to.
func (o *fixOptions) execute(ctx context.Context, w *apply.Session, given []byte) error {
	fix, err := o.repair(ctx, w, given)
	if err != nil {
		return err
	}
	risks := o.preflight.Risks
	a := &apply.Execution{
		Options: o.Options, Session: w, Command: o.command(), RunID: remediate.NewRun(collect.Now()), Lines: o.linesFor(w.All),
		Summary: !o.details, CASource: fix.CASource,
		NoLease: slices.Contains(risks, remediate.NoLease), Recheck: apply.Recheck{Accept: risks},
	}
	if w.All && w.Conn != nil && len(o.order.Only) == 0 {
		a.Verified = o.after.verified
	}
	a.Plan = func(ctx context.Context) (*remediate.Plan, error) {
		snapshot := o.preflight.Accepted(w.ReadSnapshot(ctx, gather.Options{}))
		if ctx.Err() != nil {
			return nil, cli.NothingChanged(errors.New("interrupted"))
		}
		fix := fix
		if err := o.followUp(ctx, w, snapshot, &fix, func(text string) { a.Printf("    %s\n", ui.Clean(text)) }); err != nil {
			return nil, err
		}
		if patch := fix.FollowUp.Patch; patch != nil {
			js, err := apply.Journals()
			if err != nil {
				return nil, err
			}
			kept := js.ObjectBackup(a.RunID)
			patch.Keep = func(text []byte) error { return apply.KeepFile(kept, text) }
		}
		p, err := o.checkedPlan(ctx, w, fix, a, snapshot)
		if err == nil && w.NoAPI != nil {
			p.Notes.Add(remediate.Note{Text: "Without the API server: " + foreign.Prose(w.NoAPI.Error())})
		}
		return p, err
	}
	a.PrintBasis = func(out io.Writer, p *remediate.Plan) { apply.AboutCA(out, fix, p) }
	return a.Execute(ctx)
}

// linesFor are the commands that a run names where it stopped. all: it is of the whole cluster.
func (o *fixOptions) linesFor(all bool) apply.Lines {
	lines := apply.Lines{Resume: o.lines.resume, NamedNodes: o.lines.namedNodes, Apply: o.lines.apply, Details: o.lines.details, Reads: o.lines.reads}
	if o.source.file == "-" {
		lines.Resume += " # with the same CAs on its standard input once more"
	}
	if !all {
		return lines
	}
	lines.ApplyNamed = o.lines.applyNamed
	lines.PastMasters = apply.PastMasters(o.lines.allWaves, o.preflight.Risks)
	if !slices.Contains(o.preflight.Risks, preflight.WorkersBack) {
		lines.PastWorkers = o.lines.resume + " --accept-risk=" + preflight.WorkersBack
	}
	return lines
}
