package plugin

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
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

type runsFlags struct {
	mendFlags
	fromNodes bool
	olderThan string
	risks     []string
}

func newRunsCommand(app App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &runsFlags{mendFlags: mendFlags{app: app, config: config}}
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List what was changed by this program, and remove what is kept of it",
		Long: `Lists the runs that changed something: those with a journal on this machine, the newest first, or with --from-nodes those of which nodes keep what was before.

A run is put back with undo, as long as the nodes keep what was before.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.list(cmd.Context()) },
	}
	f.addReadFlags(cmd, "With --from-nodes: nodes to ask, by name; with all: all nodes.", allNodes)
	cmd.Flags().BoolVar(&f.fromNodes, "from-nodes", false, "Ask the nodes named with --nodes which runs they keep.")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Form of the list: json, yaml, name.")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp)))
	cmd.AddCommand(newPruneCommand(app, config))
	return cmd
}

// addReadFlags adds the flags for a command that changes no node's files.
func (f *runsFlags) addReadFlags(cmd *cobra.Command, nodes string, special ...string) {
	f.nodes.parallel = 10
	f.dryRun = dryRunNone
	f.nodes.addWays(cmd, f.config, nodes, "auto tries local, ssh where it is configured, exec, and debug with --allow-pods.", "Only the machine that this runs on.", special...)
}

func newPruneCommand(app App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &runsFlags{mendFlags: mendFlags{app: app, config: config}}
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
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "Do it without asking.")
	cmd.Flags().StringSliceVar(&f.risks, "accept-risk", nil, "Go on in spite of this risk, by its name: "+strings.Join(runsRisks(), ", ")+".")
	must(cmd.RegisterFlagCompletionFunc("accept-risk", cobra.FixedCompletions(runsRisks(), cobra.ShellCompDirectiveNoFileComp)))
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
	if !slices.Contains([]string{"", "json", "yaml", "name"}, f.output) {
		return fmt.Errorf("-o %q is none of json, yaml, name", f.output)
	}
	var runs []runEntry
	var err error
	if f.fromNodes {
		runs, err = f.onNodes(ctx)
	} else {
		if f.nodes.given() {
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
		return &exitError{code: exitIncomplete, err: err}
	}
	return nil
}

func journalled() ([]runEntry, error) {
	js, err := journals()
	if err != nil {
		return nil, err
	}
	stories, err := js.List()
	var out []runEntry
	for _, s := range slices.Backward(stories) {
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
	f.api = toRead
	f.everyone = slices.Equal(f.nodes.nodes, []string{allNodes})
	w, err := f.workplace(ctx, nil)
	if err != nil {
		return nil, err
	}
	return f.askNodes(ctx, w)
}

func (f *runsFlags) askNodes(ctx context.Context, w *workplace) ([]runEntry, error) {
	var out []runEntry
	var errs []error
	for _, name := range w.names() {
		err := w.onto(ctx, name, func(ctx context.Context, n nodeexec.Node) error {
			runs, err := host.Runs(ctx, n, "")
			for _, r := range runs {
				out = append(out, nodeRun(name, r))
			}
			return err
		})
		errs = append(errs, err)
	}
	return out, errors.Join(append(errs, w.close())...)
}

// onto does something on a node.
func (w *workplace) onto(ctx context.Context, node string, do func(context.Context, nodeexec.Node) error) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.choice.timeout, fmt.Errorf("not done after %s", w.choice.timeout))
	defer cancel()
	n, err := w.open(ctx, node)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	return do(ctx, n)
}

func (f *runsFlags) print(runs []runEntry) error {
	out := f.app.Streams.Out
	switch f.output {
	case "name":
		for _, r := range runs {
			printf(out, "%s\n", pki.Foreign(r.Run))
		}
		return nil
	case "json", "yaml":
		return printDocument(out, f.output, runsDocument{APIVersion: report.APIVersion, Kind: "RunList", Runs: append([]runEntry{}, runs...)})
	}
	if len(runs) == 0 {
		printf(f.app.Streams.ErrOut, "No runs.\n")
		return nil
	}
	t := printers.GetNewTabWriter(out)
	now := collect.Taken()
	printf(t, "RUN\tCOMMAND\tSTARTED\tNODES\tFILES\tOUTCOME\n")
	for _, r := range runs {
		command := r.Command
		if r.Undoes != "" {
			command += " " + r.Undoes
		}
		started := "unknown"
		if r.Started != nil {
			started = inTime(now, *r.Started)
		}
		printf(t, "%s\t%s\t%s\t%s\t%d\t%s\n", pki.Foreign(r.Run), orDash(foreign.Prose(command)), started, orDash(pki.Foreign(strings.Join(r.Nodes, ","))), r.Files, orDash(foreign.Prose(r.Outcome)))
	}
	return t.Flush()
}

func (f *runsFlags) prune(ctx context.Context, args []string) error {
	for _, risk := range f.risks {
		if !slices.Contains(runsRisks(), risk) {
			return fmt.Errorf("--accept-risk=%s is none of: %s", risk, strings.Join(runsRisks(), ", "))
		}
	}
	js, err := journals()
	if err != nil {
		return err
	}
	stories, damaged, err := f.chosen(js, args)
	if err != nil {
		return err
	}
	if len(stories) == 0 && damaged != nil {
		return &exitError{code: exitStopped, err: withHint(damaged, "nothing was removed. Move a journal that can't be read away")}
	}
	if len(stories) == 0 {
		printf(f.app.Streams.Out, "No such runs: nothing to remove.\n")
		return nil
	}
	f.api = writing(f.risks, false)
	if slices.ContainsFunc(stories, func(s remediate.Story) bool { return len(keeping(s)) > 0 }) && !f.nodes.local {
		if err := f.api.allows(f.config); err != nil {
			return err
		}
	}
	for _, s := range stories {
		printf(f.app.Streams.Out, "%s  %s  %s  nodes: %s\n", pki.Foreign(s.Run), foreign.Prose(s.Command), s.Started.UTC().Format(time.RFC3339), orDash(foreign.Texts(s.Nodes)))
	}
	a := &applying{mendFlags: f.mendFlags, workplace: &workplace{}}
	printf(f.app.Streams.Out, "What nodes keep of them will be removed, and then their journals. After that they can't be undone.\n")
	if err := a.consent(ctx); err != nil {
		return err
	}
	errs := []error{damaged}
	for _, s := range stories {
		errs = append(errs, f.remove(ctx, js, s))
	}
	if err := errors.Join(errs...); err != nil {
		return &exitError{code: exitStopped, err: err}
	}
	return nil
}

// chosen are the runs to remove, and damaged why some journals could not be read.
func (f *runsFlags) chosen(js remediate.Journals, args []string) (out []remediate.Story, damaged, err error) {
	if (len(args) == 0) == (f.olderThan == "") {
		return nil, nil, withHint(errors.New("name runs, or give --older-than"), "%s runs", f.app.Called)
	}
	for _, run := range args {
		s, err := js.Read(run)
		if err != nil {
			return nil, nil, withHint(err, "%s runs; on a node itself, a run is the folder %s/RUN", f.app.Called, host.DefaultFolder)
		}
		out = append(out, s)
	}
	if f.olderThan == "" {
		return out, nil, nil
	}
	age, err := parseDuration(f.olderThan)
	if err != nil {
		return nil, nil, fmt.Errorf("parse --older-than %q: %w", f.olderThan, err)
	}
	all, damaged := js.List()
	for _, s := range all {
		if collect.Taken().Sub(s.Started) > age {
			out = append(out, s)
		}
	}
	return out, damaged, nil
}

// keeping are the nodes that keep something of a run.
func keeping(s remediate.Story) (names []string) {
	touched := s.Touched()
	for _, n := range s.Nodes {
		if slices.Contains(touched, n) && s.Undoes == "" { // an undo keeps nothing of its own
			names = append(names, n)
		}
	}
	return names
}

// remove removes a run from its nodes, and its journal after that.
func (f *runsFlags) remove(ctx context.Context, js remediate.Journals, s remediate.Story) error {
	names := keeping(s)
	left := 0
	if len(names) > 0 {
		nodes := f.mendFlags
		if len(nodes.nodes.nodes) > 0 {
			left = len(names)
			names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(nodes.nodes.nodes, n) })
			left -= len(names)
			nodes.nodes.nodes = nil
		}
		if len(names) > 0 {
			if err := nodes.removeFrom(ctx, s.Run, names); err != nil {
				return fmt.Errorf("run %s: %w; its journal stays", s.Run, err)
			}
		}
	}
	if left > 0 {
		printf(f.app.Streams.Out, "run %s: removed from %s; its journal stays for %d more\n", s.Run, strings.Join(names, ", "), left)
		return nil
	}
	if err := js.Remove(s.Run); err != nil {
		return err
	}
	printf(f.app.Streams.Out, "run %s: removed\n", s.Run)
	return nil
}

func (f mendFlags) removeFrom(ctx context.Context, run string, names []string) error {
	w, err := f.workplace(ctx, names)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, w.onto(ctx, name, func(ctx context.Context, n nodeexec.Node) error {
			if err := collect.IsNode(ctx, n, name); err != nil {
				return err
			}
			return host.Run{ID: run}.Remove(ctx, n)
		}))
	}
	return errors.Join(append(errs, w.close())...)
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
