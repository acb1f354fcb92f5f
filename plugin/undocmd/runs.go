package undocmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

type runsFlags struct {
	apply.Flags
	fromNodes bool
	noHeaders bool
	olderThan string
	risks     []string
}

// NewRunsCommand is the command runs.
func NewRunsCommand(app cli.App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &runsFlags{Flags: apply.Flags{App: app, Config: config}}
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List what was changed by this program, and remove what is kept of it",
		Long: `Lists the runs that changed something: those with a journal on this machine, the newest first, or with --from-nodes those of which nodes keep backups.

undo puts a run back, as long as the nodes keep its backups.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.list(cmd.Context()) },
	}
	f.addReadFlags(cmd, "With --from-nodes: nodes to ask, by name; with all: all nodes.", connect.AllNodes)
	cmd.Flags().BoolVar(&f.fromNodes, "from-nodes", false, "Ask the nodes named with --nodes which runs they keep.")
	cmd.Flags().StringVarP(&f.Output, "output", "o", "", "Form of the list: json, yaml, name.")
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Leave the header line of the table out.")
	ui.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp)))
	cmd.AddCommand(newPruneCommand(app, config))
	return cmd
}

// addReadFlags adds the flags for a command that changes no node's files.
func (f *runsFlags) addReadFlags(cmd *cobra.Command, nodes string, special ...string) {
	f.Nodes.Parallel = 10
	f.DryRun = apply.DryRunNone
	f.Nodes.AddWays(cmd, f.Config, nodes, "auto tries local, ssh where it is configured, exec, and debug with --allow-pods.", "Only the machine that this runs on.", special...)
}

func newPruneCommand(app cli.App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &runsFlags{Flags: apply.Flags{App: app, Config: config}}
	cmd := &cobra.Command{
		Use:   "prune [RUN...]",
		Short: "Remove what is kept of runs: on their nodes, then their journals",
		Long: `Removes what nodes keep of runs (copies of kubeconfigs, with the tokens that were in them), and then the journals. A run that was pruned can't be undone any more.

Runs are named, or chosen by --older-than. A journal stays as long as one of its nodes could not be reached.`,
		ValidArgsFunction: completeRuns,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.prune(cmd.Context(), args) },
	}
	f.addReadFlags(cmd, "Only these nodes.")
	cmd.Flags().StringVar(&f.olderThan, "older-than", "", "All runs that began longer ago than this, such as 30d.")
	cmd.Flags().BoolVarP(&f.Yes, "yes", "y", false, "Do it without asking.")
	cmd.Flags().StringSliceVar(&f.risks, "accept-risk", nil, "Accept this risk, by its name: "+strings.Join(runsRisks(), ", ")+".")
	ui.Must(cmd.RegisterFlagCompletionFunc("accept-risk", cobra.FixedCompletions(runsRisks(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func runsRisks() []string { return []string{preflight.UnauthenticatedAPI} }

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
}

func (f *runsFlags) list(ctx context.Context) error {
	if !slices.Contains([]string{"", "json", "yaml", "name"}, f.Output) {
		return fmt.Errorf("-o %q is none of json, yaml, name", f.Output)
	}
	var runs []runEntry
	var err error
	if f.fromNodes {
		runs, err = f.onNodes(ctx)
	} else {
		if f.Nodes.Given() {
			return errors.New("--nodes, --via and the like go with --from-nodes")
		}
		runs, err = journalled()
	}
	if err != nil && len(runs) == 0 {
		return err
	}
	if printed := f.print(runs); printed != nil {
		return printed
	}
	if err != nil {
		return &cli.ExitError{Code: cli.ExitIncomplete, Err: err}
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
		e := runEntry{Run: s.Run, Command: s.Command, Undoes: s.Undoes, Started: &s.Started, Server: s.Server, Nodes: s.Nodes, Outcome: s.Outcome()}
		for _, files := range s.Changed() {
			e.Files += len(files)
		}
		out = append(out, e)
	}
	return out, err
}

// nodeRun is a run as a node knows it. When it began is in its ID; else in what it wrote.
func nodeRun(node string, r host.Summary) runEntry {
	e := runEntry{Run: r.ID, Nodes: []string{node}, Files: r.Files}
	if at, ok := remediate.RunStarted(r.ID); ok {
		e.Started = &at
	} else if !r.Began.IsZero() {
		e.Started = &r.Began
	}
	return e
}

// onNodes asks nodes, one after another.
func (f *runsFlags) onNodes(ctx context.Context) ([]runEntry, error) {
	f.Purpose = connect.ToRead
	f.AllByDefault = slices.Equal(f.Nodes.Nodes, []string{connect.AllNodes})
	w, err := f.NewSession(ctx, nil)
	if err != nil {
		return nil, err
	}
	return f.askNodes(ctx, w)
}

func (f *runsFlags) askNodes(ctx context.Context, w *apply.Session) ([]runEntry, error) {
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

func (f *runsFlags) print(runs []runEntry) error {
	out := f.App.Streams.Out
	switch f.Output {
	case "name":
		for _, r := range runs {
			ui.Printf(out, "%s\n", pki.Foreign(r.Run))
		}
		return nil
	case "json", "yaml":
		return ui.PrintDocument(out, f.Output, runsDocument{APIVersion: report.APIVersion, Kind: "RunList", Runs: append([]runEntry{}, runs...)})
	}
	if len(runs) == 0 {
		ui.Printf(f.App.Streams.ErrOut, "No runs.\n")
		return nil
	}
	t := printers.GetNewTabWriter(out)
	now := collect.Now()
	if !f.noHeaders {
		ui.Printf(t, "RUN\tCOMMAND\tSTARTED\tNODES\tFILES\tOUTCOME\n")
	}
	for _, r := range runs {
		command := r.Command
		if r.Undoes != "" {
			command += " " + r.Undoes
		}
		started := "unknown"
		if r.Started != nil {
			started = ui.RelativeTime(now, *r.Started)
		}
		ui.Printf(t, "%s\t%s\t%s\t%s\t%d\t%s\n", pki.Foreign(r.Run), ui.OrDash(foreign.Prose(command)), started, ui.OrDash(pki.Foreign(strings.Join(r.Nodes, ","))), r.Files, ui.OrDash(foreign.Prose(r.Outcome)))
	}
	return t.Flush()
}

func (f *runsFlags) prune(ctx context.Context, args []string) error {
	for _, risk := range f.risks {
		if !slices.Contains(runsRisks(), risk) {
			return fmt.Errorf("--accept-risk=%s is none of: %s", risk, strings.Join(runsRisks(), ", "))
		}
	}
	js, err := apply.Journals()
	if err != nil {
		return err
	}
	records, damaged, err := f.chosen(js, args)
	if err != nil {
		return err
	}
	if len(records) == 0 && damaged != nil {
		return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(damaged, "nothing was removed. Move a journal that can't be read out of its folder")}
	}
	if len(records) == 0 {
		ui.Printf(f.App.Streams.Out, "No such runs: nothing to remove.\n")
		return nil
	}
	f.Purpose = connect.Writing(f.risks, false)
	if slices.ContainsFunc(records, func(s remediate.RunRecord) bool { return len(keeping(s)) > 0 }) && !f.Nodes.Local {
		if err := f.Purpose.Allows(f.Config); err != nil {
			return err
		}
	}
	for _, s := range records {
		ui.Printf(f.App.Streams.Out, "%s  %s  %s  nodes: %s\n", pki.Foreign(s.Run), foreign.Prose(s.Command), s.Started.UTC().Format(time.RFC3339), ui.OrDash(foreign.Texts(s.Nodes)))
	}
	a := &apply.Run{Flags: f.Flags, Session: &apply.Session{}}
	ui.Printf(f.App.Streams.Out, "What nodes keep of them will be removed, and then their journals. After that they can't be undone.\n")
	if err := a.Consent(ctx); err != nil {
		return err
	}
	errs := []error{damaged}
	for _, s := range records {
		errs = append(errs, f.remove(ctx, js, s))
	}
	if err := errors.Join(errs...); err != nil {
		return &cli.ExitError{Code: cli.ExitStopped, Err: err}
	}
	return nil
}

// chosen are the runs to remove, and damaged why some journals could not be read.
func (f *runsFlags) chosen(js remediate.Journals, args []string) (out []remediate.RunRecord, damaged, err error) {
	if (len(args) == 0) == (f.olderThan == "") {
		return nil, nil, cli.WithHint(errors.New("name runs, or give --older-than"), "%s runs", f.App.ProgramName)
	}
	for _, run := range args {
		s, err := js.Read(run)
		if err != nil {
			return nil, nil, cli.WithHint(err, "%s runs; on a node itself, a run is the folder %s/RUN", f.App.ProgramName, host.DefaultFolder)
		}
		out = append(out, s)
	}
	if f.olderThan == "" {
		return out, nil, nil
	}
	age, err := connect.ParseDuration(f.olderThan)
	if err != nil {
		return nil, nil, fmt.Errorf("parse --older-than %q: %w", f.olderThan, err)
	}
	all, damaged := js.List()
	for _, s := range all {
		if collect.Now().Sub(s.Started) > age {
			out = append(out, s)
		}
	}
	return out, damaged, nil
}

// keeping are the nodes that keep something of a run.
func keeping(s remediate.RunRecord) (names []string) {
	touched := s.Touched()
	for _, n := range s.Nodes {
		if slices.Contains(touched, n) && s.Undoes == "" { // an undo keeps nothing of its own
			names = append(names, n)
		}
	}
	return names
}

// remove removes a run from its nodes, and its journal after that.
func (f *runsFlags) remove(ctx context.Context, js remediate.Journals, s remediate.RunRecord) error {
	names := keeping(s)
	left := 0
	if len(names) > 0 {
		nodes := f.Flags
		if len(nodes.Nodes.Nodes) > 0 {
			left = len(names)
			names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(nodes.Nodes.Nodes, n) })
			left -= len(names)
			nodes.Nodes.Nodes = nil
		}
		if len(names) > 0 {
			if err := removeFrom(ctx, nodes, s.Run, names); err != nil {
				return fmt.Errorf("run %s: %w; its journal stays", s.Run, err)
			}
		}
	}
	if left > 0 {
		ui.Printf(f.App.Streams.Out, "run %s: removed from %s; its journal stays for %d more\n", s.Run, strings.Join(names, ", "), left)
		return nil
	}
	if err := js.Remove(s.Run); err != nil {
		return err
	}
	ui.Printf(f.App.Streams.Out, "run %s: removed\n", s.Run)
	return nil
}

func removeFrom(ctx context.Context, f apply.Flags, run string, names []string) error {
	w, err := f.NewSession(ctx, names)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, w.OnNode(ctx, name, func(ctx context.Context, n nodeexec.Node) error {
			if err := collect.IsNode(ctx, n, name); err != nil {
				return err
			}
			return host.Run{ID: run}.Remove(ctx, n)
		}))
	}
	return errors.Join(append(errs, w.Close())...)
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
