package fixapiintcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
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

// waveFlags say what is done when, where all nodes are repaired.
type waveFlags struct {
	only           []string
	maxUnavailable string
}

func (f *waveFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "only", nil, "Only these waves: "+strings.Join(remediate.Waves(), ", ")+".")
	flags.StringVar(&f.maxUnavailable, "max-unavailable", "1", "How many workers that work (Ready, with a heartbeat) may be worked on at once, or which part of them: 3, 10%.")
	ui.Must(cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(remediate.Waves(), cobra.ShellCompDirectiveNoFileComp)))
}

// check is the error for flags that are wrong whatever else is given.
func (f *waveFlags) check() error {
	for _, name := range f.only {
		if !slices.Contains(remediate.Waves(), name) {
			return cli.NoneOf("--only ", name, remediate.Waves())
		}
	}
	if _, err := apiint.ParseShare(f.maxUnavailable); err != nil {
		return fmt.Errorf("--max-unavailable: %w", err)
	}
	return nil
}

// order is what the flags come to. named: the nodes are, and done in that order.
func (f *waveFlags) order(named bool, accept []string) (o apiint.Order, err error) {
	if err := f.check(); err != nil {
		return o, err
	}
	if named && (len(f.only) > 0 || f.maxUnavailable != "1") {
		return o, errors.New("--only and --max-unavailable are for all nodes: those that are named are done one after another, in that order")
	}
	o = apiint.Order{Only: f.only, Accept: accept}
	o.MaxUnavailable, err = apiint.ParseShare(f.maxUnavailable)
	return o, err
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
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.lines(cmd)
			if f.scripts == "" { // scripts change nothing either
				apply.FromIsDryRun(cmd, f.from, &f.DryRun)
			}
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

func (f *fixFlags) addSources(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.caFile, "ca-file", "", "PEM file with the CAs that kubelets are to trust, in place of the ConfigMap's; - for standard input.")
	cmd.Flags().StringVar(&f.caFrom, "api-ca-from", "", "Where your own kubeconfig fails, too. "+connect.MasterCAUsage+" The API server is trusted by them, and if it does not answer, they are what kubelets are to trust.")
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "Make the plan from this snapshot, as a dry run; repeatable.")
	addApproveFlag(cmd, &f.approve)
	addRebootstrapFlag(cmd, &f.rebootstrap)
	ui.Must(cmd.MarkFlagFilename("ca-file"))
	ui.Must(cmd.MarkFlagFilename("from"))
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

// session gets ready to go onto nodes. give goes before it.
func (f *fixFlags) session(ctx context.Context, purpose connect.Purpose) (o apply.Options, w *apply.Session, err error) {
	if o, err = f.ToOptions(ctx, purpose); err != nil {
		return o, nil, err
	}
	o.Trust(f.given)
	w, err = o.NewSession(ctx, nil)
	return o, w, err
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
		facts := f.Accepted(w.Facts(ctx, gather.Options{}))
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
		err = f.Preflight(ctx, w, facts, fix.CA, p, withPast(err, a.PastMastersLine))
		if err == nil && w.NoAPI != nil {
			p.Notes = append(p.Notes, "Without the API server: "+foreign.Prose(w.NoAPI.Error()))
		}
		return p, err
	}
	a.PrintBasis = func(out io.Writer, p *remediate.Plan) { apply.AboutCA(out, fix, p) }
	return a.Execute(ctx)
}

// give reads the CAs that flags name. The administrator's own kubeconfig may lack them as
// kubelets' do: see Options.Trust.
func (f *fixFlags) give(ctx context.Context) (err error) {
	switch {
	case f.caFile != "" && f.caFrom != "":
		return errors.New("--ca-file and --api-ca-from are two sources of the CA: give one")
	case f.caFrom != "":
		var master connect.Master
		if master, err = f.Nodes.SSH.ToMaster(ctx, f.caFrom); err == nil {
			f.given, err = master.CAs(ctx, f.App)
		}
	case f.caFile != "":
		f.given, err = collect.ReadNamed(ctx, f.caFile, f.App.Streams.In, connect.MaxCAFile)
	}
	if err != nil && f.caFile != "" {
		err = fmt.Errorf("--ca-file: %w", err)
	}
	return err
}

// repair is what is asked for of the nodes of a workplace.
func (f *fixFlags) repair(ctx context.Context, w *apply.Session) (fix apiint.Repair, err error) {
	fix.API, fix.ApproveCSRs, fix.Rebootstrap = w.Conn != nil, f.approve, f.rebootstrap
	if fix.Order, err = f.waves.order(!w.All, f.Risks); err != nil {
		return fix, err
	}
	if !w.All {
		fix.Nodes = w.Names()
		return fix, f.ca(ctx, w, &fix)
	}
	fix.APIServers = w.Conn.APIServerNodes(ctx)
	workers := func(wave string) bool { return wave != remediate.WaveMasters && wave != remediate.WaveControlPlane }
	if len(fix.Order.Only) > 0 && !slices.ContainsFunc(fix.Order.Only, workers) && fix.APIServers != nil { // else it is the nodes' files that tell
		w.Filter(func(o collect.NodeObject) bool {
			return o.Role != catalog.RoleWorker || slices.Contains(fix.APIServers, o.Name)
		})
	}
	return fix, f.ca(ctx, w, &fix)
}

// after reads what decides on the steps that follow those of kubelets. say is told what
// is waited for.
func (f *fixFlags) after(ctx context.Context, w *apply.Session, facts inspect.Snapshot, fix *apiint.Repair, say func(string)) error {
	if w.Conn == nil {
		return nil
	}
	if deleting, err := w.Conn.Cluster.DeletingPods(ctx); err == nil { // else the plan says that it is not known
		fix.Deleting = deleting
	}
	if !w.All {
		return nil
	}
	if err := f.follow(fix, say, func() (apply.NetworkFacts, error) { return apply.NetworkOf(ctx, w, facts.Cluster.Versions) }); err != nil {
		return err
	}
	patch, wanted, err := f.pods.Patches(ctx, w, apply.CertsIn(fix.CA), facts.Taken)
	if wanted {
		fix.FollowUp.Patch = &patch
	}
	return err
}

// afterInFile is after by the status in a file; without one, nothing follows.
func (f *fixFlags) afterInFile(facts inspect.Snapshot, fix *apiint.Repair) error {
	if facts.Status == nil || fix.Nodes != nil {
		return nil
	}
	return f.follow(fix, nil, func() (apply.NetworkFacts, error) {
		if facts.Status.Network == nil && len(catalog.NetworkNamespaces(facts.Cluster.Versions)) > 0 {
			return apply.NetworkFacts{}, cli.WithHint(errors.New("the network's pods are not in the file"), "%s; or leave the network's pods as they are: --restart-network=never", facts.Hints.Unread(inspect.MayList("pods", "")))
		}
		return apply.NetworkIn(facts.Status.Network)
	})
}

// follow puts the steps into a repair that follow those of kubelets.
func (f *fixFlags) follow(fix *apiint.Repair, say func(string), read func() (apply.NetworkFacts, error)) error {
	ca := apply.CertsIn(fix.CA)
	wants := func(wave string) bool { return len(f.waves.only) == 0 || slices.Contains(f.waves.only, wave) }
	var network apply.NetworkFacts
	if wants(remediate.WaveMasters) || wants(remediate.WaveControlPlane) || wants(remediate.WaveNetwork) {
		var err error
		if network, err = read(); err != nil && f.pods.Restart != apply.RestartNever {
			return err
		}
	}
	fix.FollowUp.Requests = true
	if network.Rollout.Operator || len(network.Rollout.RootCAs) > 0 {
		step := network.RootCA(ca, say)
		fix.FollowUp.RootCA = &step
	}
	if restarts, wanted := f.pods.Restarts(network, f.Nodes.Debug, ca); wanted {
		fix.FollowUp.Network = &restarts
	}
	return nil
}
