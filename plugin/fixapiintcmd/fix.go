package fixapiintcmd

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
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

// fixFlags are those of fix-api-int.
type fixFlags struct {
	apply.Flags
	apply.PreflightFlags
	caFile string
	caFrom string
	// given are the CAs that these two lead to; nil: neither was given.
	given  []byte
	from   []string
	waves  waveFlags
	pods   apply.NetworkFlags
	resume string // the command line that goes on
	line   string // the same, but for --only and --accept-risk
	named  string // the same as resume, but for what names nodes
	// approve: certificate requests of restarted kubelets
	approve bool
	// rebootstrap: kubelets write their kubeconfig again
	rebootstrap bool
	scripts     string // the folder for scripts
	ahead       bool   // only while no served certificate is signed by the new CA: pretrust
}

// command is the name of the command.
func (f *fixFlags) command() string {
	if f.ahead {
		return "pretrust"
	}
	return "fix-api-int"
}

// preflight is what the flags of preflight come to. They are checked when a run begins.
func (f *fixFlags) preflight() apply.PreflightOptions {
	o, _ := f.PreflightFlags.ToOptions()
	o.Script = f.scripts != ""
	return o
}

// network is what the flags of the network's pods come to. They are checked when a run begins.
func (f *fixFlags) network() apply.NetworkOptions {
	o, _ := f.pods.ToOptions(f.Risks, f.Nodes.Debug)
	return o
}

// plan makes the plan for these facts.
func (f *fixFlags) plan(fix apiint.Repair, run string, facts inspect.Snapshot) (*remediate.Plan, error) {
	if !f.ahead {
		return fix.Plan(run, facts, facts.Taken)
	}
	ahead, err := apiint.PretrustOf(facts, facts.Taken)
	if err != nil {
		return nil, err
	}
	if fix.FollowUp.Network != nil {
		fix.FollowUp.Network.Next = ahead.CAs
	}
	p, err := fix.Plan(run, facts, facts.Taken)
	if err != nil {
		return nil, err
	}
	return p, ahead.AddTo(p, fix.CA)
}

// NewCommand is the command fix-api-int.
func NewCommand(app cli.App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &fixFlags{Flags: apply.Flags{App: app, Config: config, AllByDefault: true}}
	cmd := &cobra.Command{
		Use:   "fix-api-int",
		Short: "Make kubelets trust the API server's new CA, and restart them",
		Long: strings.ReplaceAll(`Repairs nodes whose kubelet fails with "x509: certificate signed by unknown authority" after the CA of api-int (on plain Kubernetes: of the API server) was rotated, or will fail at its next reconnect.

On each node it adds the CAs of the ConfigMap openshift-config-managed/kube-apiserver-server-ca to certificate-authority-data in /etc/kubernetes/kubeconfig and /var/lib/kubelet/kubeconfig, restarts the kubelet once, and waits until the node reports again. CAs that are there and have not expired are kept; nothing else in the files changes. Pods keep running: no node is drained or cordoned.

Without --nodes it repairs all nodes in waves, one wave after the other: control plane nodes one at a time; then workers: those that are NotReady or have no heartbeat a tenth at once, one that works, and the others --max-unavailable at once. Nodes that need nothing are left alone. It stops at the first failure, and prints the line that goes on. Nodes that are named are done one after another, in that order.

The CA is checked before anything is written: it must verify the certificate that the API server presents at api-int to that node. Each file is checked after it was written, and put back if it fails. A backup is kept on the node, in /var/lib/certrot/RUN; {} undo RUN puts it back.

A node without a heartbeat is reachable only by ssh, or with --local on the node itself.

Exit codes: 0 done, or already up to date; 1 a dry run would change something; 2 usage or no access; 3 done, and whether a node reports again is unknown, or nodes could not be read; 4 a write failed, or was stopped or undone; 5 refused, or not confirmed.`, "{}", app.ProgramName),
		Example: templates.Examples(strings.ReplaceAll(`  # What would be done in the whole cluster, and why
  {} fix-api-int --via ssh --dry-run=client

  # Do it; first the masters alone
  {} fix-api-int --via ssh --only masters
  {} fix-api-int --via ssh --max-unavailable 10%

  # How far it is, for who takes over
  {} fix-api-int status --via ssh

  # One node: as a diff, then do it without being asked
  {} fix-api-int --nodes worker-1 --via ssh --dry-run=client -o diff
  {} fix-api-int --nodes worker-1 --via ssh --yes

  # As a script for the node's console
  {} fix-api-int --nodes worker-1 --ca-file kube-apiserver-server-ca.crt --emit-script scripts

  # On the node itself, without the API, with a CA copied from a master
  {} fix-api-int --local --ca-file kube-apiserver-server-ca.crt`, "{}", app.ProgramName)),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.lines(cmd)
			return f.run(cmd.Context())
		},
	}
	f.Flags.AddFlags(cmd, "Nodes to repair, by name; one after another, in this order. Without it, or with all: all nodes, in waves.", connect.AllNodes)
	f.addSources(cmd)
	addEmitFlag(cmd, &f.scripts)
	f.PreflightFlags.AddFlags(cmd)
	f.waves.addFlags(cmd)
	f.pods.AddFlags(cmd)
	cmd.AddCommand(newFixStatusCommand(app, config))
	return cmd
}

// lines are the commands that go on.
func (f *fixFlags) lines(cmd *cobra.Command) {
	f.resume, f.line = apply.CommandLine(cmd), apply.CommandLine(cmd, "only", "accept-risk")
	f.named = apply.CommandLine(cmd, "nodes", "node-selector", "only", "max-unavailable")
}

func (f *fixFlags) run(ctx context.Context) error {
	if err := errors.Join(f.Flags.Check(), f.Nodes.Check(), f.waves.check(), f.PreflightFlags.Check(), f.pods.Check(f.Risks), f.checkRebootstrap()); err != nil {
		return err
	}
	if len(f.from) > 0 {
		return f.offline(ctx)
	}
	if err := f.give(ctx); err != nil {
		return err
	}
	o, w, err := f.session(ctx, connect.Writing(f.Risks, f.given != nil))
	if err != nil {
		return err
	}
	w.Choice.RestartProbe, w.Script = f.rebootstrap, !f.rebootstrap
	if f.scripts != "" {
		err = f.emit(ctx, w)
	} else {
		err = f.execute(ctx, o, w)
	}
	if closed := w.Close(); closed != nil {
		cli.Warn(f.App.Streams, "clean up: ", closed)
	}
	return err
}

func (f *fixFlags) execute(ctx context.Context, o apply.Options, w *apply.Session) error {
	fix, err := f.repair(ctx, w)
	if err != nil {
		return err
	}
	a := &apply.Run{Options: o, Session: w, Command: f.command(), Run: remediate.NewRun(collect.Now()), ResumeLine: f.resume, NamedNodesLine: f.named, NoLease: slices.Contains(f.Risks, remediate.NoLease), Risks: f.Risks}
	if f.caFile == "-" {
		a.ResumeLine += " # with the same CAs on its standard input once more"
	}
	if w.All {
		a.PastMastersLine = apply.PastMasters(f.line, f.Risks)
		if !slices.Contains(f.Risks, preflight.WorkersBack) {
			a.PastWorkersLine = f.resume + " --accept-risk=" + preflight.WorkersBack
		}
	}
	if w.All && w.Conn != nil && len(f.waves.only) == 0 {
		a.Verified = f.verified
	}
	a.Plan = func(ctx context.Context) (*remediate.Plan, error) {
		facts := f.preflight().Accepted(w.Facts(ctx, gather.Options{}))
		if ctx.Err() != nil {
			return nil, cli.NothingChanged(errors.New("interrupted"))
		}
		fix := fix
		if err := f.after(ctx, w, facts, &fix, func(text string) { a.Printf("    %s\n", ui.Clean(text)) }); err != nil {
			return nil, err
		}
		if patch := fix.FollowUp.Patch; patch != nil {
			js, err := apply.Journals()
			if err != nil {
				return nil, err
			}
			kept := js.ObjectBackup(a.Run)
			patch.Keep = func(text []byte) error { return apply.KeepFile(kept, text) }
		}
		p, err := f.plan(fix, a.Run, facts)
		err = f.preflight().Preflight(ctx, w, facts, fix.CA, p, withPast(err, a.PastMastersLine))
		if err == nil && w.NoAPI != nil {
			p.Notes = append(p.Notes, "Without the API server: "+foreign.Prose(w.NoAPI.Error()))
		}
		return p, err
	}
	a.PrintBasis = func(out io.Writer, p *remediate.Plan) { apply.AboutCA(out, fix, p) }
	return a.Execute(ctx)
}
