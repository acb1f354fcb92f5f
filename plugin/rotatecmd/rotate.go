package rotatecmd

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// rotateFlags is what was typed, of rotate and of its subcommands.
type rotateFlags struct {
	app     cli.App
	config  *genericclioptions.ConfigFlags
	nodes   connect.NodeFlags
	from    []string
	list    bool
	how     bool
	sources bool
	version string
	dryRun  string
	yes     bool
	output  string
	rows    ui.RowFlags
	risks   []string
	wait    time.Duration
	leaf    bool
	details bool
}

// rotateOptions is what a run needs, of rotate and of its subcommands.
type rotateOptions struct {
	app     cli.App
	reading connect.Reading
	names   []string
	list    bool
	how     bool   // only how it goes is explained
	sources bool   // with where that is known from
	version string // of that; empty: the cluster's own
	dryRun  string // apply.DryRunNone, apply.DryRunClient or apply.DryRunServer
	yes     bool
	output  string
	// listed prints --list in a form that each list has; nil: output is another one.
	listed    func(io.Writer, any) error
	noHeaders bool // of --list
	risks     []string
	wait      time.Duration
	leaf      bool   // what the signer signs is rotated, too
	line      string // how it was called, without NAMEs
	reads     string // its flags about the cluster and nodes; see apply.ReadingFlags
	again     string // the same without what makes it a dry run, or says how it is printed
	details   bool   // everything is printed, not one screen
	board     *ui.Board
}

// NewCommand is the command rotate.
func NewCommand(app cli.App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &rotateFlags{app: app, config: config}
	cmd := &cobra.Command{
		Use:        "rotate NAME... | --list",
		SuggestFor: []string{"renew", "replace"},
		Short:      "Have a signer rotated by its owner, and track its CA to all clients that need it",
		Long: strings.ReplaceAll(`Rotates a certificate before its time: certrot removes the annotation by which its owner, an operator of OpenShift, decides. The owner makes the new one; certrot makes no key.

NAME is a signer, such as kube-apiserver-to-kubelet-signer, or what one signs; NAMESPACE/NAME where the name alone is ambiguous; or the CN that inspect prints of its certificate. --list lists all of them, when each is rotated automatically, and whether it would be rotated now. Some are rotated in another way: then it says how.

Before anything is changed, the whole cluster is checked. Each check has a name; --accept-risk=NAME accepts that it fails or is unknown. The annotation is removed only from the Secret that was displayed, and only if it did not change since.

With --leaf, what the signer signs is rotated too: one after the other, and each only when all its clients are seen to trust the new CA. That is checked again just before each; what could not be read is not trust. Interrupted or stopped, the same command goes on from there, and makes no second signer: one that is less than 36 hours old stays.

Several NAMEs are planned together, and rotated one after the other: the next when the one before is in all bundles; then all are tracked to the end.

A rotation can't be undone: the old key is gone. Clients that trust the old CA trust it until it expires.

Exit codes: 0 done; 1 a dry run would change something, or --wait was over before it was through; 2 usage or no access; 3 done, and something that decides could not be read; 4 it failed, or its owner did not answer; 5 refused, or not confirmed.`, "{}", app.ProgramName),
		Example: templates.Examples(strings.ReplaceAll(`  # What there is, and what would be done now
  {} rotate --list

  # What would happen, as the API server sees it
  {} rotate kube-apiserver-to-kubelet-signer --dry-run=server

  # Do it, and track the new CA
  {} rotate kube-apiserver-to-kubelet-signer --wait 10m

  # Do it, and rotate what it signs once all clients trust the new CA
  {} rotate kube-apiserver-to-kubelet-signer --leaf --nodes all --wait 30m

  # How it goes in a version, from the catalog
  {} rotate kube-apiserver-to-kubelet-signer --explain --for-version 4.12

  # How far it is, at any time
  {} rotate status kube-apiserver-to-kubelet-signer --nodes all`, "{}", app.ProgramName)),
		ValidArgsFunction: completeRotated,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !f.list && !f.how {
				apply.FromIsDryRun(cmd, f.from, &f.dryRun)
			}
			if !cmd.Flags().Changed("wait") {
				f.wait = f.usualWait(len(args))
			}
			o, err := f.toOptions(cmd.Context(), args)
			if err != nil {
				return err
			}
			o.line, o.reads = apply.CommandLine(cmd), apply.ReadingFlags(cmd)
			o.again = apply.CommandLine(cmd, "dry-run", "from", "details", "output", "yes")
			return o.run(cmd.Context())
		},
	}
	f.addFlags(cmd)
	cmd.AddCommand(newRotateStatusCommand(app, config), newRotatePruneCommand(app, config))
	return cmd
}

func (f *rotateFlags) addFlags(cmd *cobra.Command) {
	f.addReading(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.list, "list", false, "List what can be rotated, and whether it would be now.")
	flags.BoolVar(&f.how, "explain", false, "Only explain how a rotation of this signer goes, step by step.")
	flags.BoolVar(&f.sources, "sources", false, "With --explain: also print where it is known from: repositories, paths and commits.")
	flags.StringVar(&f.version, "for-version", "", "With --explain: in this version, such as 4.12, without a cluster.")
	apply.AddDryRunFlag(cmd, &f.dryRun, `"client", or no value, only runs the checks; "server" has the API server try it and prints what would change. Exit code 1 if anything would be done.`, apply.DryRunClient, apply.DryRunServer)
	flags.BoolVarP(&f.yes, "yes", "y", false, "Apply the plan without asking.")
	flags.StringSliceVar(&f.risks, "accept-risk", nil, "Accept that this check fails or is unknown, by its name; repeatable: "+strings.Join(rotate.Risks(), ", ")+".")
	flags.BoolVar(&f.leaf, "leaf", false, "Rotate what the signer signs too, once all its clients trust the new CA.")
	cli.DurationVar(flags, &f.wait, "wait", 0, "Track the new certificate for this long (such as 10m), until all clients trust it: all NAMEs and --leaf together. Nothing is started after that. 0 does not wait. Default: 30m on a terminal, with --leaf and with several NAMEs, else 0.")
	flags.StringVarP(&f.output, "output", "o", "", "Form of the answer: json, yaml; of --explain also mermaid (a sequence diagram), of --list wide, name, "+ui.TemplateForms+" (and the -file variants of the last three).")
	f.rows.AddFlags(cmd, "wide", "json", "yaml", "name", formMermaid)
	ui.Must(cmd.RegisterFlagCompletionFunc("accept-risk", cobra.FixedCompletions(rotate.Risks(), cobra.ShellCompDirectiveNoFileComp)))
}

// addReading adds the flags that say from where facts are read.
func (f *rotateFlags) addReading(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "Read this snapshot or must-gather instead of a cluster, - for standard input; repeatable.")
	cmd.Flags().BoolVar(&f.details, "details", false, "Print everything: each object, check and reason in full.")
	ui.Must(cmd.MarkFlagFilename("from"))
	f.nodes.AddFlags(cmd, f.config)
}

// completeRotated suggests what is rotated in some version: that asks no cluster.
func completeRotated(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return connect.Without(catalog.RotatableNames(), args), cobra.ShellCompDirectiveNoFileComp
}

func (f *rotateFlags) check(args []string) error {
	forms := []string{"", "json", "yaml"}
	if f.how {
		forms = append(forms, formMermaid)
	}
	switch {
	case f.version != "" && !f.how:
		return errors.New("--for-version goes with --explain")
	case f.sources && !f.how:
		return errors.New("--sources goes with --explain")
	case f.how && (f.list || f.dryRun != apply.DryRunNone):
		return errors.New("--explain goes with NAME, --for-version, --sources and -o only")
	case f.list && len(args) > 0:
		return errors.New("--list lists all: give no NAME")
	case !f.list && len(args) == 0:
		return cli.WithHint(errors.New("no NAME"), "%s", inspect.LiveHints(f.app.ProgramName).Next("list the names: {} rotate --list")+connect.Reading{From: f.from}.Hints().From())
	case !f.list && !slices.Contains(forms, f.output):
		return ui.Invalid("--output", f.output, forms[1:]...)
	case !slices.Contains([]string{apply.DryRunNone, apply.DryRunClient, apply.DryRunServer}, f.dryRun):
		return ui.Invalid("--dry-run", f.dryRun, apply.DryRunNone, apply.DryRunClient, apply.DryRunServer)
	case f.leaf && (f.list || f.how):
		return errors.New("--leaf goes with NAME")
	case f.how && len(args) > 1:
		return errors.New("--explain takes one NAME")
	case f.wait == 0 && f.dryRun == apply.DryRunNone && len(f.from) == 0 && (f.leaf || len(args) > 1):
		return errors.New("--leaf and several NAMEs wait for each step: give --wait a time such as 30m")
	case len(f.from) > 0 && !f.list && !f.how && f.dryRun != apply.DryRunClient:
		return errors.New("--from changes nothing: --dry-run=client goes with it, and --list")
	}
	for _, risk := range f.risks {
		if !slices.Contains(rotate.Risks(), risk) {
			return ui.Invalid("--accept-risk", risk, rotate.Risks()...)
		}
	}
	return nil
}

// usualWait is how long it is waited where nothing is said: somebody looks on, or it has
// to be waited.
func (f *rotateFlags) usualWait(names int) time.Duration {
	const usual = 30 * time.Minute
	_, onTerminal := (&connect.Prompter{App: f.app}).Terminal()
	if f.list || f.how || f.dryRun != apply.DryRunNone || !onTerminal && !f.leaf && names < 2 {
		return 0
	}
	return usual
}

func (f *rotateFlags) toOptions(ctx context.Context, args []string) (*rotateOptions, error) {
	if err := f.check(args); err != nil {
		return nil, err
	}
	nodes := f.nodes
	if f.how || f.list && !nodes.Given() && len(f.from) == 0 {
		nodes.Nodes = []string{connect.NoNodes}
	}
	o, err := f.optionsFor(ctx, nodes, args)
	if err == nil && f.list {
		o.noHeaders = f.rows.NoHeaders
		o.listed, err = f.rows.ToPrinter(ctx, f.output, ui.RowsOf[rotationEntry]("rotations"), "wide", "json", "yaml", "name")
	}
	if err != nil || f.list || f.how {
		return o, err
	}
	return o, o.checkNames()
}

// optionsFor checks what rotate and its subcommands have in common. nodes are those to read.
func (f *rotateFlags) optionsFor(ctx context.Context, nodes connect.NodeFlags, names []string) (*rotateOptions, error) {
	choice, err := nodes.ToChoice(ctx, f.app, collect.Scope{})
	if err != nil {
		return nil, err
	}
	if err := nodes.CheckFrom(f.from); err != nil {
		return nil, err
	}
	return &rotateOptions{
		app: f.app, names: names, list: f.list, how: f.how, reading: connect.Reading{App: f.app, Config: f.config, From: f.from, Nodes: choice},
		version: f.version, sources: f.sources, dryRun: f.dryRun, yes: f.yes, output: f.output, risks: f.risks, wait: f.wait, leaf: f.leaf, details: f.details,
	}, nil
}

func (o *rotateOptions) checkNames() error {
	run := o.runner(nil)
	for _, name := range o.names {
		if err := run.CheckName(name); err != nil {
			return exitError(suggested(err, name, o.reading.Hints().From()))
		}
	}
	return nil
}

func (o *rotateOptions) run(ctx context.Context) error {
	switch {
	case o.list:
		return o.showList(ctx)
	case o.how:
		return o.explain(ctx)
	}
	return o.rotate(ctx)
}

// read reads the cluster, or files.
func (o *rotateOptions) read(ctx context.Context) (rotate.Reading, error) {
	s, err := o.reading.Read(ctx)
	if err != nil {
		return rotate.Reading{}, err
	}
	if ctx.Err() != nil {
		return rotate.Reading{}, cli.NothingChanged(errors.New("interrupted"))
	}
	s.Cluster.Versions.UnreviewedAccepted = slices.Contains(o.risks, preflight.UnreviewedVersion)
	r := rotate.NewReading(ctx, inspect.NewFacts(s, s.Taken, connect.DefaultWithin))
	if ctx.Err() != nil {
		return rotate.Reading{}, cli.NothingChanged(errors.New("interrupted"))
	}
	tell(&r, s.Status)
	return r, nil
}

// The document that --list prints as JSON and YAML; see docs/rotate.md.
type (
	rotationsDocument struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Cluster    report.Cluster  `json:"cluster"`
		Taken      time.Time       `json:"taken"`
		Rotations  []rotationEntry `json:"rotations"`
		Gaps       []report.Gap    `json:"gaps"`
	}
	rotationEntry struct {
		Name      string           `json:"name"` // as rotate takes it
		Secret    string           `json:"secret"`
		Role      string           `json:"role"` // signer, or signed
		By        string           `json:"signedBy,omitempty"`
		Subject   string           `json:"subject,omitempty"`
		SHA256    *pki.Fingerprint `json:"sha256,omitempty"`
		NotBefore *time.Time       `json:"notBefore,omitempty"`
		NotAfter  *time.Time       `json:"notAfter,omitempty"`
		Next      *time.Time       `json:"nextRotation,omitempty"`
		Consumers []string         `json:"consumers"`
		Effect    []string         `json:"effect"`  // on nodes, in this version
		Rotates   string           `json:"rotates"` // yes, no, unknown: whether certrot would do it now
		Checks    []rotationCheck  `json:"checks"`
		Doc       string           `json:"description"` // of how it is rotated
	}
	rotationCheck struct {
		assess.Assessment
		Acceptable bool `json:"acceptable"`            // by --accept-risk and its ID
		NoAPI      bool `json:"noAPIServer,omitempty"` // only an API server could tell, and none was asked
		blocks     bool
	}
)
