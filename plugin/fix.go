package plugin

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

type fixFlags struct {
	mendFlags
	preflightFlags
	caFile string
	caFrom string
	// given are the CAs that these two lead to; nil: neither was given.
	given  []byte
	from   []string
	waves  waveFlags
	pods   networkFlags
	resume string // the command line that goes on
	line   string // the same, but for --only and --accept-risk
	named  string // the same as resume, but for what names nodes
	// approve: certificate requests of restarted kubelets
	approve bool
	// anew: kubelets make their kubeconfig anew
	anew    bool
	scripts string // the folder for scripts
	ahead   bool   // only while nothing that is shown is of the new CA: pretrust
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
	ahead, err := apiint.AheadOf(facts, facts.Taken)
	if err != nil {
		return nil, err
	}
	if fix.After.Network != nil {
		fix.After.Network.Next = ahead.CAs
	}
	p, err := fix.Plan(run, facts, facts.Taken)
	if err != nil {
		return nil, err
	}
	return p, ahead.Onto(p, fix.CA)
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
	must(cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(remediate.Waves(), cobra.ShellCompDirectiveNoFileComp)))
}

// check is the error for flags that are wrong whatever else is given.
func (f *waveFlags) check() error {
	for _, name := range f.only {
		if !slices.Contains(remediate.Waves(), name) {
			return fmt.Errorf("--only %s is none of: %s", name, strings.Join(remediate.Waves(), ", "))
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

func newFixAPIIntCommand(app App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &fixFlags{mendFlags: mendFlags{app: app, config: config, everyone: true}}
	cmd := &cobra.Command{
		Use:   "fix-api-int",
		Short: "Make kubelets trust the API server's new CA, and restart them",
		Long: strings.ReplaceAll(`Repairs nodes whose kubelet fails with "x509: certificate signed by unknown authority" after the CA of api-int (on plain Kubernetes: of the API server) was rotated, or will fail at its next reconnect.

On each node it adds the CAs of the ConfigMap openshift-config-managed/kube-apiserver-server-ca to certificate-authority-data in /etc/kubernetes/kubeconfig and /var/lib/kubelet/kubeconfig, restarts the kubelet once, and waits until the node reports again. CAs that are there and have not ended are kept; nothing else in the files changes. Pods keep running: no node is drained or cordoned.

Without --nodes it repairs all nodes in waves, each of which ends before the next one begins: masters one at a time; then workers: those that are lost (NotReady, or without a heartbeat) a tenth at once, one that works, and the others --max-unavailable at once. Nodes that need nothing are left alone. The first failure stops it, and the line that goes on is printed. Nodes that are named are done one after another, in that order.

The CA is checked before anything is written: it must verify what the API server really shows at api-int to that node. Each file is checked after it was written, and put back if it fails. What was there before is kept on the node, in /var/lib/certrot/RUN; {} undo RUN puts it back.

On a node that is lost to the API only ssh leads there, or --local on the node itself.

Exit codes: 0 done, or so already; 1 a dry run would change something; 2 usage or no access; 3 done, and whether a node reports again is not known, or nodes could not be read; 4 a write failed, or was stopped or undone; 5 refused, or nobody said yes.`, "{}", app.Called),
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

  # As a script for somebody at the node's console
  {} fix-api-int --nodes worker-1 --ca-file kube-apiserver-server-ca.crt --emit-script scripts

  # On the node itself, without the API, with a CA copied from a master
  {} fix-api-int --local --ca-file kube-apiserver-server-ca.crt`, "{}", app.Called)),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.lines(cmd)
			return f.run(cmd.Context())
		},
	}
	f.mendFlags.addFlags(cmd, "Nodes to repair, by name; one after another, in this order. Without it, or with all: all nodes, in waves.", allNodes)
	f.addSources(cmd)
	addEmitFlag(cmd, &f.scripts)
	f.preflightFlags.addFlags(cmd)
	f.waves.addFlags(cmd)
	f.pods.addFlags(cmd)
	cmd.AddCommand(newFixStatusCommand(app, config))
	return cmd
}

func (f *fixFlags) addSources(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.caFile, "ca-file", "", "PEM file with the CAs that kubelets are to trust, in place of the ConfigMap's; - for standard input.")
	cmd.Flags().StringVar(&f.caFrom, "api-ca-from", "", "Where your own kubeconfig fails, too. "+masterCAUsage+" The API server is trusted by them, and if it does not answer, they are what kubelets are to trust.")
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "Make the plan from this snapshot, as a dry run; repeatable.")
	addApproveFlag(cmd, &f.approve)
	addRebootstrapFlag(cmd, &f.anew)
	must(cmd.MarkFlagFilename("ca-file"))
	must(cmd.MarkFlagFilename("from"))
}

// lines are the commands that go on.
func (f *fixFlags) lines(cmd *cobra.Command) {
	f.resume, f.line = commandLine(cmd), commandLine(cmd, "only", "accept-risk")
	f.named = commandLine(cmd, "nodes", "node-selector", "only", "max-unavailable")
}

// commandLine is how the command was called, with its flags by name but for some.
// What is secret is left out.
func commandLine(cmd *cobra.Command, but ...string) string {
	var words []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains(but, flag.Name) {
			return
		}
		name := "--" + flag.Name
		values := []string{flag.Value.String()}
		if many, ok := flag.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
			if flag.Value.Type() == "stringSlice" {
				values = []string{strings.Join(values, ",")}
			}
		}
		for _, value := range values {
			switch {
			case flag.Name == "token" || flag.Name == "password":
				words = append(words, name, "SECRET")
			case flag.Name == "server":
				words = append(words, name, inspect.ServerURL(value))
			case flag.NoOptDefVal != "" && value == flag.NoOptDefVal:
				words = append(words, name)
			case flag.NoOptDefVal != "":
				words = append(words, name+"="+value)
			default:
				words = append(words, name, value)
			}
		}
	})
	if len(words) == 0 {
		return cmd.CommandPath()
	}
	return cmd.CommandPath() + " " + nodeexec.Quote(words...)
}

func (f *fixFlags) run(ctx context.Context) error {
	if err := errors.Join(f.mendFlags.check(), f.nodes.check(), f.waves.check(), f.preflightFlags.check(), f.pods.check(f.risks), f.checkRebootstrap()); err != nil {
		return err
	}
	if len(f.from) > 0 {
		return f.offline(ctx)
	}
	if err := f.give(ctx); err != nil {
		return err
	}
	f.api = writing(f.risks, f.given != nil)
	w, err := f.workplace(ctx, nil)
	if err != nil {
		return err
	}
	w.choice.comeback, w.script = f.anew, !f.anew
	if f.scripts != "" {
		err = f.emit(ctx, w)
	} else {
		err = f.mend(ctx, w)
	}
	if closed := w.close(); closed != nil {
		warn(f.app.Streams, "clean up: ", closed)
	}
	return err
}

func (f *fixFlags) mend(ctx context.Context, w *workplace) error {
	fix, err := f.repair(ctx, w)
	if err != nil {
		return err
	}
	a := &applying{mendFlags: f.mendFlags, workplace: w, command: f.command(), run: remediate.NewRun(collect.Taken()), resume: f.resume, named: f.named, noLease: slices.Contains(f.risks, remediate.NoLease), risks: f.risks}
	if f.caFile == "-" {
		a.resume += " # with the same CAs on its standard input once more"
	}
	if w.all {
		a.past = pastMasters(f.line, f.risks)
		if !slices.Contains(f.risks, preflight.WorkersBack) {
			a.others = f.resume + " --accept-risk=" + preflight.WorkersBack
		}
	}
	if w.all && w.conn != nil && len(f.waves.only) == 0 {
		a.verified = f.verified
	}
	a.plan = func(ctx context.Context) (*remediate.Plan, error) {
		facts := f.accepted(w.facts(ctx, gather.Options{}))
		if ctx.Err() != nil {
			return nil, nothingChanged(errors.New("interrupted"))
		}
		fix := fix
		if err := f.after(ctx, w, facts, &fix, func(text string) { a.say("    %s\n", clean(text)) }); err != nil {
			return nil, err
		}
		if patch := fix.After.Patch; patch != nil {
			js, err := journals()
			if err != nil {
				return nil, err
			}
			kept := js.Kept(a.run)
			patch.Keep = func(text []byte) error { return keepFile(kept, text) }
		}
		p, err := f.plan(fix, a.run, facts)
		err = f.preflight(ctx, w, facts, fix.CA, p, withPast(err, a.past))
		if err == nil && w.noAPI != nil {
			p.Notes = append(p.Notes, "Without the API server: "+foreign.Prose(w.noAPI.Error()))
		}
		return p, err
	}
	a.about = func(out io.Writer, p *remediate.Plan) { aboutCA(out, fix, p) }
	return a.do(ctx)
}

// give reads the CAs that flags name. The administrator's own kubeconfig may lack them as
// kubelets' do: the API server is trusted by them, too.
func (f *fixFlags) give(ctx context.Context) (err error) {
	switch {
	case f.caFile != "" && f.caFrom != "":
		return errors.New("--ca-file and --api-ca-from are two sources of the CA: give one")
	case f.caFrom != "":
		f.given, err = fromMaster(ctx, f.app, &f.nodes.ssh, f.caFrom)
	case f.caFile != "":
		f.given, err = collect.ReadNamed(ctx, f.caFile, f.app.Streams.In, maxCAFile)
	}
	if err != nil && f.caFile != "" {
		err = fmt.Errorf("--ca-file: %w", err)
	}
	if err == nil && f.given != nil && f.config != nil {
		f.trusted, f.untrust = f.given, trusting(f.config, f.given)
	}
	return err
}

// repair is what is asked for of the nodes of a workplace.
func (f *fixFlags) repair(ctx context.Context, w *workplace) (fix apiint.Repair, err error) {
	fix.API, fix.ApproveCSRs, fix.Rebootstrap = w.conn != nil, f.approve, f.anew
	if fix.Order, err = f.waves.order(!w.all, f.risks); err != nil {
		return fix, err
	}
	if !w.all {
		fix.Nodes = w.names()
		return fix, f.ca(ctx, w, &fix)
	}
	fix.APIServers = w.conn.apiServers(ctx)
	workers := func(wave string) bool { return wave != remediate.WaveMasters && wave != remediate.WaveControlPlane }
	if len(fix.Order.Only) > 0 && !slices.ContainsFunc(fix.Order.Only, workers) && fix.APIServers != nil { // else it is the nodes' files that tell
		w.keep(func(o collect.NodeObject) bool {
			return o.Role != catalog.RoleWorker || slices.Contains(fix.APIServers, o.Name)
		})
	}
	return fix, f.ca(ctx, w, &fix)
}

// after reads what decides on the steps that follow those of kubelets. say is told what
// is waited for.
func (f *fixFlags) after(ctx context.Context, w *workplace, facts inspect.Snapshot, fix *apiint.Repair, say func(string)) error {
	if w.conn == nil {
		return nil
	}
	if deleting, err := w.conn.cluster.DeletingPods(ctx); err == nil { // else the plan says that it is not known
		fix.Deleting = deleting
	}
	if !w.all {
		return nil
	}
	ca := certsIn(fix.CA)
	wants := func(wave string) bool { return len(f.waves.only) == 0 || slices.Contains(f.waves.only, wave) }
	var network networkFacts
	if wants(remediate.WaveMasters) || wants(remediate.WaveControlPlane) || wants(remediate.WaveNetwork) {
		var err error
		if network, err = networkOf(ctx, w, facts.Cluster.Versions); err != nil && f.pods.restart != restartNever {
			return err
		}
	}
	fix.After.Requests = true
	if network.rollout.Operator || len(network.rollout.RootCAs) > 0 {
		step := network.rootCA(ca, say)
		fix.After.RootCA = &step
	}
	if restarts, wanted := f.pods.restarts(network, f.nodes.debug, ca); wanted {
		fix.After.Network = &restarts
	}
	patch, wanted, err := f.pods.patches(ctx, w, ca, facts.Taken)
	if wanted {
		fix.After.Patch = &patch
	}
	return err
}

// certsIn are the certificates in PEM text.
func certsIn(text []byte) []*pki.Cert {
	var out []*pki.Cert
	for _, found := range pki.NewScanner().Scan(text) {
		out = append(out, found.Content.Certs...)
	}
	return out
}

// ca finds out what kubelets are to trust.
func (f *fixFlags) ca(ctx context.Context, w *workplace, fix *apiint.Repair) error {
	if w.conn != nil { // else it is not known, as where it can't be read
		fix.Since, _ = w.conn.cluster.Changed(ctx, catalog.APIServerCA())
	}
	if f.caFile != "" {
		fix.From, fix.CA = "--ca-file "+f.caFile, f.given
		return nil
	}
	if f.caFrom != "" && (w.conn == nil || w.conn.unauthenticated != "") {
		fix.From, fix.CA = "--api-ca-from "+f.caFrom, f.given
		return nil
	}
	if w.conn == nil && w.choice.local {
		// This machine may be a master, which has them.
		err := w.onto(ctx, w.names()[0], func(ctx context.Context, n nodeexec.Node) (err error) {
			fix.CA, err = masterCAs(ctx, n)
			return err
		})
		if err == nil {
			fix.From = "this master's " + catalog.NodeKubeconfigs + ", or its kube-apiserver's newest revision, or kubeadm's " + catalog.KubeadmCA
			return nil
		}
	}
	if w.conn == nil {
		var published, disk []string
		for _, row := range catalog.KubeletSetups(catalog.Versions{}) {
			published = append(published, fmt.Sprintf("%s (%s)", row.CA, row.Name))
			disk = append(disk, fmt.Sprintf("%s (%s)", row.Disk, row.Name))
		}
		return withHint(fmt.Errorf("the CA for kubelets is in %s, and no API server can be asked: %w", strings.Join(published, " or "), w.noAPI),
			"read it from a master with --api-ca-from ssh://core@MASTER, or give it with --ca-file FILE: on a master it is in %s; it is checked against what the API server shows", strings.Join(disk, " or "))
	}
	row := w.conn.setup(ctx)
	var err error
	fix.From, fix.Published = row.CA.String(), row.Operators
	if fix.CA, err = w.conn.cluster.Value(ctx, row.CA); err != nil {
		return withHint(err, "give the CA with --ca-file FILE; %s", inspect.Hints{}.Unread(inspect.MayGet("configmaps", row.CA.Namespace)))
	}
	return nil
}

// setup is how the cluster's kubelets are set up, as far as its versions tell.
func (c *connection) setup(ctx context.Context) catalog.KubeletSetup {
	s := collect.All(ctx, c.cluster.Identity(c.server, c.context))
	return catalog.KubeletSetups(s.Cluster.Versions)[0]
}

// maxCAFile bounds a file of CAs, in bytes: more than a ConfigMap can hold.
const maxCAFile = 1 << 20

// offline shows the plan for facts from a file.
func (f *fixFlags) offline(ctx context.Context) error {
	if f.dryRun == dryRunNone && f.scripts == "" {
		return errors.New("--from makes a plan and changes nothing: say --dry-run=client")
	}
	if f.nodes.local || f.nodes.via != viaAuto || f.nodes.ssh.given() || f.nodes.allowPods {
		return errFromAndNodes
	}
	if err := checkFrom(f.from); err != nil {
		return err
	}
	s, fix, err := f.inFile(ctx)
	if err == nil {
		err = writing(f.risks, f.given != nil).refusesCluster(s.Cluster)
	}
	if err != nil {
		return err
	}
	if f.scripts != "" {
		if err := f.checkEmit(); err != nil {
			return err
		}
		return f.emitFor(ctx, nil, fix, s)
	}
	s = f.accepted(s)
	a := &applying{mendFlags: f.mendFlags, command: f.command(), run: remediate.NewRun(s.Taken)}
	a.plan = func(ctx context.Context) (*remediate.Plan, error) {
		p, err := f.plan(fix, a.run, s)
		return p, f.preflight(ctx, nil, s, fix.CA, p, err)
	}
	a.about = func(out io.Writer, p *remediate.Plan) { aboutCA(out, fix, p) }
	return a.do(ctx)
}

// inFile reads facts from files, and says what is asked for of the nodes in them.
func (f *fixFlags) inFile(ctx context.Context) (s inspect.Snapshot, fix apiint.Repair, err error) {
	if f.caFrom != "" {
		return s, fix, errFromAndNodes
	}
	fix = apiint.Repair{API: true, ApproveCSRs: f.approve, Rebootstrap: f.anew}
	named := len(f.nodes.nodes) > 0 && f.nodes.nodes[0] != allNodes
	if named {
		fix.Nodes = f.nodes.nodes
	}
	if fix.Order, err = f.waves.order(named, f.risks); err != nil {
		return s, fix, err
	}
	if s, err = (reading{app: f.app, config: f.config}).files(ctx, f.from); err != nil {
		return s, fix, err
	}
	if len(s.Nodes) == 0 {
		return s, fix, withHint(errors.New("no node is in the file"), "%s snapshot reads them", f.app.Called)
	}
	if f.caFile != "" {
		if err := f.give(ctx); err != nil {
			return s, fix, err
		}
		return s, fix, f.ca(ctx, &workplace{}, &fix)
	}
	row := catalog.KubeletSetups(s.Cluster.Versions)[0]
	fix.From, fix.CA = row.CA.String()+" in the file", published(s, row.CA)
	return s, fix, nil
}

// published is the ConfigMap's value as far as a file of facts has it: the
// certificates, without what may stand between them.
func published(s inspect.Snapshot, ref catalog.Ref) []byte {
	at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
	var out []byte
	for _, b := range s.Bundles {
		if b.At != at {
			continue
		}
		loaded, _ := b.Content.LoadedBy(pki.ReaderGo)
		for _, c := range loaded {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER})...)
		}
	}
	return out
}
