package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

type undoFlags struct {
	mendFlags
	fromNodes bool
	risks     []string
}

func newUndoCommand(app App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &undoFlags{mendFlags: mendFlags{app: app, config: config}}
	cmd := &cobra.Command{
		Use:   "undo RUN",
		Short: "Put back what a run changed on nodes",
		Long: `Puts back, byte for byte, the files that a run changed, with their owner, mode and label, and restarts the kubelet. A file that was changed after the run is left alone.

Which nodes those are is in the run's journal on this machine; without it, name them with --nodes and --from-nodes. What was before is on the nodes themselves, in /var/lib/certrot/RUN, with a script "undo" for somebody at a console.

It refuses to put back a file with which the kubelet would not trust what the API server shows it now, unless --accept-risk=breaks-trust.`,
		Example: templates.Examples(strings.ReplaceAll(`  # Which runs there were
  {} runs

  # What undoing one would do, then do it
  {} undo 20260131-120000-1a2b3c --via ssh --dry-run=client
  {} undo 20260131-120000-1a2b3c --via ssh

  # A run of somebody else
  {} undo 20260131-120000-1a2b3c --from-nodes --nodes worker-1 --via ssh`, "{}", app.Called)),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRuns,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args[0]) },
	}
	f.addFlags(cmd, "Only these nodes of the run, in this order.")
	cmd.Flags().BoolVar(&f.fromNodes, "from-nodes", false, "Do without the journal: what the run changed is read from the nodes named with --nodes.")
	cmd.Flags().StringSliceVar(&f.risks, "accept-risk", nil, "Go on in spite of this risk, by its name: "+remediate.BreaksTrust+".")
	must(cmd.RegisterFlagCompletionFunc("accept-risk", cobra.FixedCompletions([]string{remediate.BreaksTrust}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (f *undoFlags) run(ctx context.Context, run string) error {
	if err := f.check(); err != nil {
		return err
	}
	for _, risk := range f.risks {
		if risk != remediate.BreaksTrust {
			return fmt.Errorf("--accept-risk=%s is none of: %s", risk, remediate.BreaksTrust)
		}
	}
	if !remediate.ValidRun(run) {
		return withHint(fmt.Errorf("run %q: the ID of a run is such as 20260131-120000-1a2b3c", run), "%s runs", f.app.Called)
	}
	names, err := f.nodesOf(run)
	if err != nil {
		return err
	}
	w, err := f.workplace(ctx, names)
	if err != nil {
		return err
	}
	err = f.undo(ctx, w, run)
	if closed := w.close(); closed != nil {
		_, _ = fmt.Fprintf(f.app.Streams.ErrOut, "warning: clean up: %v\n", closed)
	}
	return err
}

// nodesOf are the nodes that the journal names.
func (f *undoFlags) nodesOf(run string) ([]string, error) {
	if f.fromNodes {
		if len(f.nodes.nodes) == 0 && !f.nodes.local {
			return nil, errors.New("--from-nodes: name the nodes with --nodes")
		}
		return nil, nil
	}
	js, err := journals()
	if err != nil {
		return nil, err
	}
	story, err := js.Read(run)
	if err != nil {
		return nil, withHint(err, "%s runs shows those that are known here; of others: --from-nodes --nodes NAME", f.app.Called)
	}
	if story.Undoes != "" {
		return nil, withHint(fmt.Errorf("run %s is itself an undo, of %s", run, story.Undoes), "do what that run did once more: %s fix-api-int", f.app.Called)
	}
	changed := story.Changed()
	if len(changed) == 0 {
		return nil, &exitError{code: exitFine, err: fmt.Errorf("run %s changed nothing: nothing to put back", run)}
	}
	for _, n := range f.nodes.nodes {
		if changed[n] == nil {
			return nil, fmt.Errorf("--nodes %s: run %s changed nothing there, but on %s", n, run, strings.Join(slices.Sorted(maps.Keys(changed)), ", "))
		}
	}
	var names []string // the last one first
	for _, n := range slices.Backward(story.Nodes) {
		if changed[n] != nil {
			names = append(names, n)
		}
	}
	return names, nil
}

func (f *undoFlags) undo(ctx context.Context, w *workplace, run string) error {
	read := gather.Options{Paths: []string{host.DefaultFolder + "/" + run}}
	a := applying{mendFlags: f.mendFlags, workplace: w, command: "undo", run: remediate.NewRun(collect.Taken()), undoes: run, read: read}
	a.plan = func(ctx context.Context) (*remediate.Plan, error) {
		u := remediate.Undo{API: w.conn != nil, AcceptBreaksTrust: slices.Contains(f.risks, remediate.BreaksTrust)}
		for _, name := range w.names() {
			entries, err := w.kept(ctx, name, run)
			if errors.Is(err, host.ErrNoRun) && !f.fromNodes {
				err = nil // begun here, and nothing was done there
			}
			if err != nil {
				return nil, err
			}
			u.Nodes = append(u.Nodes, remediate.Kept{Node: name, Entries: entries})
		}
		facts := w.facts(ctx, read)
		if ctx.Err() != nil {
			return nil, errors.New("interrupted: nothing was changed")
		}
		p, err := u.Plan(run, facts, facts.Taken)
		if err == nil && w.noAPI != nil {
			p.Notes = append(p.Notes, "Without the API server: "+oneLine(w.noAPI.Error()))
		}
		return p, err
	}
	a.about = func(out io.Writer, _ *remediate.Plan) { printf(out, "Undo     of run %s\n", run) }
	return a.do(ctx)
}

// kept is what a node keeps of a run.
func (w *workplace) kept(ctx context.Context, node, run string) (entries []host.Entry, err error) {
	err = w.onto(ctx, node, func(ctx context.Context, n nodeexec.Node) (err error) {
		entries, err = host.Run{ID: run}.Entries(ctx, n)
		return err
	})
	if errors.Is(err, host.ErrNoRun) {
		return nil, withHint(err, "which runs it keeps: %s runs --from-nodes --nodes %s", w.app.Called, node)
	}
	return entries, err
}
