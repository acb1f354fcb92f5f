package rotatecmd

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// readFlags are those that rotate and its subcommands share: from where facts are read, and how
// the answer is printed.
type readFlags struct {
	app     cli.App
	config  *cli.ConfigFlags
	nodes   connect.NodeFlags
	from    []string
	output  string
	details bool
}

// rotateFlags is what was typed of rotate itself.
type rotateFlags struct {
	readFlags
	list    bool
	how     bool
	sources bool
	version string
	dryRun  string
	yes     bool
	rows    ui.RowFlags
	risks   []string
	wait    time.Duration
	leaf    bool
}

// addReading adds the flags that say from where facts are read.
func (f *readFlags) addReading(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "Read this snapshot or must-gather instead of a cluster, - for standard input; repeatable.")
	cmd.Flags().BoolVar(&f.details, "details", false, "Print everything: each object, check and reason in full.")
	ui.Must(cmd.MarkFlagFilename("from"))
	f.nodes.AddFlags(cmd, f.config)
}

// optionsFor checks what rotate and its subcommands have in common. nodes are those to read.
func (f *readFlags) optionsFor(ctx context.Context, nodes connect.NodeFlags, names []string) (*rotateOptions, error) {
	choice, err := nodes.ToChoice(ctx, f.app, collect.Scope{})
	if err != nil {
		return nil, err
	}
	if err := nodes.CheckFrom(f.from); err != nil {
		return nil, err
	}
	return &rotateOptions{
		app: f.app, names: names, reading: connect.Reading{App: f.app, Config: f.config, From: f.from, Nodes: choice}, output: f.output, details: f.details,
	}, nil
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
	apply.AddRiskFlag(cmd, &f.risks, "Accept that this check fails or is unknown, by its name; repeatable", rotate.Risks())
	flags.BoolVar(&f.leaf, "leaf", false, "Rotate what the signer signs too, once all its clients trust the new CA.")
	cli.DurationVar(flags, &f.wait, "wait", 0, "Track the new certificate for this long (such as 10m), until all clients trust it: all NAMEs and --leaf together. Nothing is started after that. 0 does not wait. Default: 30m on a terminal, with --leaf and with several NAMEs, else 0.")
	flags.StringVarP(&f.output, "output", "o", "", "Form of the answer: json, yaml; of --explain also mermaid (a sequence diagram), of --list wide, name, "+ui.TemplateForms+" (and the -file variants of the last three).")
	f.rows.AddFlags(cmd, "wide", "json", "yaml", "name", formMermaid)
}

func (f *rotateFlags) check(args []string) error {
	forms := []string{"", "json", "yaml"}
	if f.how {
		forms = append(forms, formMermaid)
	}
	dryRun := apply.CheckDryRun(f.dryRun, apply.DryRunClient, apply.DryRunServer)
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
		return noName(connect.Reading{App: f.app, From: f.from}.Hints())
	case !f.list && !slices.Contains(forms, f.output):
		return ui.Invalid("--output", f.output, forms[1:]...)
	case dryRun != nil:
		return dryRun
	case f.leaf && (f.list || f.how):
		return errors.New("--leaf goes with NAME")
	case f.how && len(args) > 1:
		return errors.New("--explain takes one NAME")
	case f.wait == 0 && f.dryRun == apply.DryRunNone && len(f.from) == 0 && (f.leaf || len(args) > 1):
		return errors.New("--leaf and several NAMEs wait for each step: give --wait a time such as 30m")
	case len(f.from) > 0 && !f.list && !f.how && f.dryRun != apply.DryRunClient:
		return errors.New("--from changes nothing: --dry-run=client goes with it, and --list")
	}
	return apply.CheckRisks(f.risks, rotate.Risks())
}

// usualWait is how long it is waited where nothing is said: a user looks on, or it has
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
	if err != nil {
		return nil, err
	}
	o.list, o.how, o.version, o.sources = f.list, f.how, f.version, f.sources
	o.dryRun, o.yes, o.risks, o.wait, o.leaf = f.dryRun, f.yes, f.risks, f.wait, f.leaf
	switch {
	case f.list:
		o.noHeaders = f.rows.NoHeaders
		o.listed, err = f.rows.ToPrinter(ctx, f.output, ui.RowsOf[rotationEntry]("rotations"), "wide", "json", "yaml", "name")
		return o, err
	case f.how:
		return o, nil
	}
	return o, o.checkNames()
}
