package undocmd

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// runsFlags is what was typed.
type runsFlags struct {
	apply.Flags
	fromNodes bool
	rows      ui.RowFlags
	output    string
}

// runsOptions is what a run needs.
type runsOptions struct {
	apply.Options // of --from-nodes; without it, only App
	fromNodes     bool
	reads         string // the flags by which nodes are read
	noHeaders     bool
	output        string                     // json, yaml or name; empty: for people
	printer       func(io.Writer, any) error // of a form that each list has; nil: output is another
}

// NewRunsCommand is the command runs.
func NewRunsCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &runsFlags{Flags: apply.Flags{App: app, Config: config}}
	cmd := &cobra.Command{
		Use:        "runs",
		SuggestFor: []string{"history"},
		Short:      "List what was changed by this program, and remove what is kept of it",
		Long: `Lists the runs that changed something: those with a journal on this machine, the newest first, or with --from-nodes those of which nodes keep backups.

UNDO says whether undo puts a run back, as long as the nodes keep its backups: yes; done, where that was done; by hand, where undo says how; no, as of a rotation; - where nothing was changed.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions(cmd.Context())
			if err != nil {
				return err
			}
			o.reads = apply.ReadingFlags(cmd, "nodes", "node-selector")
			return o.run(cmd.Context())
		},
	}
	f.addFlags(cmd)
	cmd.AddCommand(newPruneCommand(app, config))
	return cmd
}

func (f *runsFlags) addFlags(cmd *cobra.Command) {
	addReadFlags(&f.Flags, cmd, "With --from-nodes: nodes to ask, by name; with all: all nodes.", connect.AllNodes)
	cmd.Flags().BoolVar(&f.fromNodes, "from-nodes", false, "Ask the nodes named with --nodes which runs they keep.")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", ui.OutputUsage("the list", strings.Join(runsForms(), ", ")))
	f.rows.AddFlags(cmd, runsForms()...)
}

// runsForms are the forms of the list besides those that each list has.
func runsForms() []string { return []string{"json", "yaml", "name"} }

// addReadFlags adds the flags for a command that changes no node's files.
func addReadFlags(f *apply.Flags, cmd *cobra.Command, nodes string, special ...string) {
	f.Nodes.Parallel = 10
	f.DryRun = apply.DryRunNone
	f.Nodes.AddWays(cmd, f.Config, nodes, "Only the machine that this runs on.", special...)
}

// runsDocument is what -o json and -o yaml print.
type runsDocument struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Runs       []runEntry `json:"runs"`
}

type runEntry struct {
	Run     string     `json:"run"`
	Command string     `json:"command,omitempty"` // as the journal says
	Undoes  string     `json:"undoes,omitempty"`
	Started *time.Time `json:"started,omitempty"` // nil: unknown
	Server  string     `json:"server,omitempty"`
	Nodes   []string   `json:"nodes"`
	Files   int        `json:"files"` // changed; of a node: and not put back
	Outcome string     `json:"outcome,omitempty"`

	// For people alone: whether undo takes it back, what it changed besides files, and the nodes on
	// which it changed some; nil: Nodes.
	undo, what   string
	changedNodes []string
}

func (f *runsFlags) toOptions(ctx context.Context) (*runsOptions, error) {
	printer, err := f.rows.ToPrinter(ctx, f.output, ui.RowsOf[runEntry]("runs"), runsForms()...)
	if err != nil {
		return nil, err
	}
	o := &runsOptions{Options: apply.Options{App: f.App}, fromNodes: f.fromNodes, noHeaders: f.rows.NoHeaders, output: f.output, printer: printer}
	if !f.fromNodes {
		if f.Nodes.Given() {
			return nil, errors.New("--nodes, --via and the like go with --from-nodes")
		}
		return o, nil
	}
	f.AllByDefault = slices.Equal(f.Nodes.Nodes, []string{connect.AllNodes})
	options, err := f.ToOptions(ctx, connect.ToRead)
	o.Options = options
	return o, err
}

func (o *runsOptions) run(ctx context.Context) error {
	read := journalled
	if o.fromNodes {
		read = func() ([]runEntry, error) { return o.onNodes(ctx) }
	}
	runs, err := read()
	if err != nil && len(runs) == 0 {
		return err
	}
	if printed := o.print(runs); printed != nil {
		return printed
	}
	if err != nil {
		return cli.Incomplete(err)
	}
	return nil
}

func journalled() ([]runEntry, error) {
	js, err := apply.Journals()
	if err != nil {
		return nil, err
	}
	records, err := js.List()
	var out []runEntry
	for _, s := range slices.Backward(records) {
		out = append(out, entryOf(s, records))
	}
	return out, err
}

// nodeRun is a run as a node knows it. When it began is in its ID; else in what it wrote.
func nodeRun(node string, r host.Summary) runEntry {
	e := runEntry{Run: r.ID, Nodes: []string{node}, Files: r.Files}
	if r.Files > 0 {
		e.undo = undoYes
	}
	if at, ok := remediate.RunStarted(r.ID); ok {
		e.Started = &at
	} else if !r.Began.IsZero() {
		e.Started = &r.Began
	}
	return e
}

// onNodes asks nodes, one after another.
func (o *runsOptions) onNodes(ctx context.Context) ([]runEntry, error) {
	w, err := o.NewSession(ctx, nil)
	if err != nil {
		return nil, err
	}
	return askNodes(ctx, w)
}

func askNodes(ctx context.Context, w *apply.Session) ([]runEntry, error) {
	var out []runEntry
	var errs []error
	for _, name := range w.Names() {
		err := w.OnNode(ctx, name, func(ctx context.Context, n nodeexec.Node) error {
			runs, err := host.Runs(ctx, n, "")
			for _, r := range runs {
				out = append(out, nodeRun(name, r))
			}
			return err
		})
		errs = append(errs, err)
	}
	return out, errors.Join(append(errs, w.Close())...)
}

func (o *runsOptions) print(runs []runEntry) error {
	out := o.App.Streams.Out
	document := runsDocument{APIVersion: report.APIVersion, Kind: "RunList", Runs: append([]runEntry{}, runs...)}
	if o.printer != nil {
		return o.printer(out, document)
	}
	switch o.output {
	case "name":
		for _, r := range runs {
			ui.Printf(out, "%s\n", pki.Foreign(r.Run))
		}
		return nil
	case "json", "yaml":
		return ui.PrintDocument(out, o.output, document)
	}
	return o.printTable(runs)
}

// completeRuns suggests runs with a journal here.
func completeRuns(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	runs, _ := journalled() // no answer is no suggestion
	var out []string
	for _, r := range runs {
		if !slices.Contains(args, r.Run) {
			out = append(out, r.Run)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
