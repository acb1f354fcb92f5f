package undocmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// pruneFlags is what was typed.
type pruneFlags struct {
	apply.Flags
	olderThan string
	risks     []string
}

// pruneOptions is what a run needs.
type pruneOptions struct {
	apply.Options
	runs      []string      // empty: by their age
	olderThan time.Duration // of runs that are not named
	only      []string      // nodes to remove from; empty: all
}

func newPruneCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &pruneFlags{Flags: apply.Flags{App: app, Config: config}}
	cmd := &cobra.Command{
		Use:   "prune [RUN...]",
		Short: "Remove what is kept of runs: on their nodes, then their journals",
		Long: `Removes what nodes keep of runs (copies of kubeconfigs, with the tokens that were in them), and then the journals. A run that was pruned can't be undone any more.

Runs are named, or chosen by --older-than. A journal stays as long as one of its nodes could not be reached.`,
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.toOptions(cmd.Context(), args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f.addFlags(cmd)
	return cmd
}

func (f *pruneFlags) addFlags(cmd *cobra.Command) {
	addReadFlags(&f.Flags, cmd, "Only these nodes.")
	cmd.Flags().StringVar(&f.olderThan, "older-than", "", "All runs that began longer ago than this, such as 30d or 1y.")
	apply.AddDryRunFlag(cmd, &f.DryRun, `"client", or no value, lists the runs and removes nothing; exit code 1 if there is one to remove.`, apply.DryRunClient)
	cmd.Flags().BoolVarP(&f.Yes, "yes", "y", false, "Do it without asking.")
	apply.AddRiskFlag(cmd, &f.risks, "Accept this risk, by its name", runsRisks())
}

func runsRisks() []string { return []string{preflight.UnauthenticatedAPI} }

func (f *pruneFlags) toOptions(ctx context.Context, args []string) (*pruneOptions, error) {
	if err := apply.CheckRisks(f.risks, runsRisks()); err != nil {
		return nil, err
	}
	if (len(args) == 0) == (f.olderThan == "") {
		return nil, cli.WithHint(errors.New("name runs, or give --older-than"), "%s", f.App.Hints().Next("{} runs"))
	}
	o := &pruneOptions{runs: args, only: f.Nodes.Nodes}
	var err error
	if f.olderThan != "" {
		if o.olderThan, err = cli.ParseDuration(f.olderThan); err != nil {
			return nil, fmt.Errorf("parse --older-than %q: %w", f.olderThan, err)
		}
	}
	theirs := f.Flags
	theirs.Nodes.Nodes = nil // each run has nodes of its own
	o.Options, err = theirs.ToOptions(ctx, connect.Writing(f.risks, false))
	return o, err
}

func (o *pruneOptions) run(ctx context.Context) error {
	js, err := apply.Journals()
	if err != nil {
		return err
	}
	records, damaged, err := o.chosen(js)
	if err != nil {
		return err
	}
	var c cluster
	if slices.ContainsFunc(records, func(s remediate.RunRecord) bool { return len(keeping(s)) > 0 || !s.Ended() }) {
		if !o.Nodes.Local {
			if err := o.Purpose.Allows(o.Config); err != nil {
				return err
			}
		}
		if c, err = o.cluster(ctx); err != nil {
			return err
		}
		if records, err = o.ofCluster(records, c, js.Folder); err != nil {
			return err
		}
	}
	if len(records) == 0 && damaged != nil {
		return cli.Stopped(cli.WithHint(damaged, "nothing was removed. Move a journal that can't be read out of its folder"))
	}
	if len(records) == 0 {
		ui.Printf(o.App.Streams.Out, "No such runs: nothing to remove.\n")
		return nil
	}
	for _, s := range records {
		ui.Printf(o.App.Streams.Out, "%s  %s  %s  nodes: %s\n", pki.Foreign(s.Run), foreign.Prose(s.Command), s.Started.UTC().Format(time.RFC3339), ui.OrDash(foreign.Texts(s.Nodes)))
	}
	a := &apply.Execution{Options: o.Options, Session: &apply.Session{}}
	if o.DryRun {
		ui.Printf(o.App.Streams.Out, "Dry run: what nodes keep of them would be removed, and then their journals.\n")
		return cli.Findings(damaged)
	}
	ui.Printf(o.App.Streams.Out, "What nodes keep of them will be removed, and then their journals. After that they can't be undone.\n")
	if err := a.Consent(ctx); err != nil {
		return err
	}
	errs := []error{damaged}
	for _, s := range records {
		errs = append(errs, o.remove(ctx, js, s, c))
	}
	if err := errors.Join(errs...); err != nil {
		return cli.Stopped(err)
	}
	return nil
}

// chosen are the runs to remove, and damaged why some journals could not be read.
func (o *pruneOptions) chosen(js remediate.Journals) (out []remediate.RunRecord, damaged, err error) {
	for _, run := range o.runs {
		s, err := js.Read(run)
		if err != nil {
			return nil, nil, cli.WithHint(err, "%s; on a node itself, a run is the folder %s/RUN", o.App.Hints().Next("{} runs"), host.DefaultFolder)
		}
		out = append(out, s)
	}
	if len(o.runs) > 0 {
		return out, nil, nil
	}
	all, damaged := js.List()
	for _, s := range all {
		if collect.Now().Sub(s.Started) > o.olderThan {
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
func (o *pruneOptions) remove(ctx context.Context, js remediate.Journals, s remediate.RunRecord, c cluster) error {
	if err := c.underWay(ctx, js, s); err != nil {
		return fmt.Errorf("run %s: %w; its journal stays", s.Run, err)
	}
	names := keeping(s)
	left := 0
	var without []string
	if len(names) > 0 {
		if len(o.only) > 0 {
			left = len(names)
			names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(o.only, n) })
			left -= len(names)
		}
		if len(names) > 0 {
			r := removal{run: s.Run, earlier: js.ExpiredHolders(collect.Now().Add(-host.HoldTime)), still: func() error { return grew(js, s) }}
			var err error
			if without, err = removeFrom(ctx, o.Options, r, names); err != nil {
				return fmt.Errorf("run %s: %w; its journal stays", s.Run, err)
			}
		}
	}
	kept := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(without, n) })
	if len(kept) == 0 && len(without) > 0 && !connect.SameCluster(recorded(s), c.is) {
		return cli.WithHint(fmt.Errorf("run %s: nothing of it is kept on %s, and whether that is of its cluster is unknown: it is of %s, and %s was reached; its journal stays",
			s.Run, foreign.Texts(without), clusterName(recorded(s)), c), "%s", itsCluster(s, js.Folder))
	}
	nothing := ""
	if len(without) > 0 {
		nothing = "; nothing of it was kept on " + foreign.Texts(without)
	}
	if left > 0 {
		ui.Printf(o.App.Streams.Out, "run %s: removed from %s%s; its journal stays for %d more\n", s.Run, ui.OrDash(foreign.Texts(kept)), nothing, left)
		return nil
	}
	if err := js.Remove(s.Run); err != nil {
		return err
	}
	ui.Printf(o.App.Streams.Out, "run %s: removed%s\n", s.Run, nothing)
	return nil
}
