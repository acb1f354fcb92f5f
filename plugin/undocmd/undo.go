package undocmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/undo"
)

// undoFlags is what was typed.
type undoFlags struct {
	apply.Flags
	fromNodes bool
	risks     []string
}

// undoOptions is what a run needs.
type undoOptions struct {
	apply.Options
	undoes    string // the ID of the run to put back
	fromNodes bool
	risks     []string
	line      string // as it was called, but for what names nodes
}

// NewCommand is the command undo.
func NewCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &undoFlags{Flags: apply.Flags{App: app, Config: config}}
	cmd := &cobra.Command{
		Use:        "undo RUN",
		SuggestFor: []string{"rollback", "revert", "restore"},
		Short:      "Put back what a run changed on nodes",
		Long: `Puts back, byte for byte, the files that a run changed, with their owner, mode and label, and restarts the kubelet. A file that was changed after the run is left alone.

The run's journal on this machine names those nodes; without it, name them with --nodes and --from-nodes. Backups are on the nodes themselves, in /var/lib/certrot/RUN, with a script "undo" for the node's console.

It refuses to put back a file with which the kubelet would not trust the certificate that the API server presents now, unless --accept-risk=breaks-trust.`,
		Example: templates.Examples(strings.ReplaceAll(`  # Which runs there were
  {} runs

  # What undoing one would do, then do it
  {} undo 20260131-120000-1a2b3c --via ssh --dry-run=client
  {} undo 20260131-120000-1a2b3c --via ssh

  # A run of another user
  {} undo 20260131-120000-1a2b3c --from-nodes --nodes worker-1 --via ssh`, "{}", app.ProgramName)),
		Args:              oneRun(f.App),
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.toOptions(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			o.line = lineOf(cmd, args[0])
			return o.run(cmd.Context())
		},
	}
	f.addFlags(cmd)
	return cmd
}

// lineOf is how the command was called for a run, but for what names nodes, and for a dry run.
func lineOf(cmd *cobra.Command, run string) string {
	flags, _ := strings.CutPrefix(apply.CommandLine(cmd, "nodes", "yes", "dry-run", "output"), cmd.CommandPath())
	return cmd.CommandPath() + " " + run + flags
}

// oneRun takes the ID of one run.
func oneRun(app cli.App) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return cli.WithHint(errors.New("no RUN"), "%s", app.Hints().Next("list the runs: {} runs"))
		case 1:
			return nil
		}
		return cli.WithHint(fmt.Errorf("undo takes one RUN, not %d", len(args)), "%s --help", cmd.CommandPath())
	}
}

func (f *undoFlags) addFlags(cmd *cobra.Command) {
	f.AddFlags(cmd, "Only these nodes of the run, in this order.")
	cmd.Flags().BoolVar(&f.fromNodes, "from-nodes", false, "Do without the journal: what the run changed is read from the nodes named with --nodes.")
	apply.AddRiskFlag(cmd, &f.risks, "Accept this risk, by its name", undoRisks())
}

func undoRisks() []string {
	return []string{remediate.BreaksTrust, csr.RequestsPending, remediate.NoLease, preflight.UnauthenticatedAPI, preflight.StaticPodsSettled}
}

func (f *undoFlags) toOptions(ctx context.Context, run string) (*undoOptions, error) {
	options, err := f.ToOptions(ctx, connect.Writing(f.risks, false))
	if err != nil {
		return nil, err
	}
	if err := apply.CheckRisks(f.risks, undoRisks()); err != nil {
		return nil, err
	}
	if !remediate.ValidRun(run) {
		return nil, cli.WithHint(fmt.Errorf("run %q: the ID of a run is such as 20260131-120000-1a2b3c", run), "%s", f.App.Hints().Next("{} runs"))
	}
	if f.fromNodes && len(f.Nodes.Nodes) == 0 && !f.Nodes.Local {
		return nil, errors.New("--from-nodes: name the nodes with --nodes")
	}
	return &undoOptions{Options: options, undoes: run, fromNodes: f.fromNodes, risks: f.risks}, nil
}

func (o *undoOptions) run(ctx context.Context) error {
	names, record, err := o.nodesOf()
	if err != nil {
		return err
	}
	if len(names) == 0 && action.Paused(record) {
		return o.undoPauses(ctx, record)
	}
	if len(names) == 0 && !o.fromNodes {
		ui.Printf(o.App.Streams.Out, "Run %s changed nothing: nothing to put back.\n", o.undoes)
		return nil
	}
	w, err := o.NewSession(ctx, names)
	if err != nil {
		return err
	}
	err = o.undo(ctx, w, record)
	if closed := w.Close(); closed != nil {
		cli.Warn(o.App.Streams, "clean up: ", closed)
	}
	return err
}

// nodesOf are the nodes that the journal names, and what else it tells.
func (o *undoOptions) nodesOf() (names []string, record remediate.RunRecord, err error) {
	if o.fromNodes {
		return nil, record, nil
	}
	js, err := apply.Journals()
	if err != nil {
		return nil, record, err
	}
	if record, err = js.Read(o.undoes); err != nil {
		return nil, record, cli.WithHint(err, "%s lists those with a journal on this machine; for others: --from-nodes --nodes NAME", o.App.Hints().Next("{} runs"))
	}
	if record.Command == rotate.RotateCommand {
		return nil, record, cli.WithHint(fmt.Errorf("run %s was a rotation, which can't be taken back: the old key is gone", o.undoes),
			"%s", o.App.Hints().Next("what trusted the old CA still does. How far the new one is: {} rotate --list, then rotate status NAME"))
	}
	if record.Command == rotate.PruneCommand {
		return nil, record, cli.WithHint(fmt.Errorf("run %s removed CAs from a bundle, which is put back by hand", o.undoes), "how, is said in %s", js.ObjectBackup(o.undoes))
	}
	if record.Undoes != "" {
		return nil, record, cli.WithHint(fmt.Errorf("run %s is itself an undo, of %s", o.undoes, foreign.Name(record.Undoes)), "%s", o.App.Hints().Next("do what that run did once more: {} fix-api-int"))
	}
	changed := record.Changed()
	for _, n := range o.Nodes.Names {
		if changed[n] == nil {
			return nil, record, fmt.Errorf("--nodes %s: run %s changed nothing there, but on %s", n, o.undoes, ui.OrDash(strings.Join(slices.Sorted(maps.Keys(changed)), ", ")))
		}
	}
	for _, n := range slices.Backward(record.Nodes) { // the last one first
		if changed[n] != nil {
			names = append(names, n)
		}
	}
	if patched := action.Patched(record); len(patched) > 0 && len(names) == 0 && !action.Paused(record) {
		return nil, record, cli.WithHint(fmt.Errorf("run %s changed no file on nodes, but ConfigMap %s, which is put back by hand", o.undoes, strings.Join(patched, ", ")), "how, is said in %s", js.ObjectBackup(o.undoes))
	}
	return names, record, nil
}

func (o *undoOptions) undo(ctx context.Context, w *apply.Session, record remediate.RunRecord) error {
	if err := refuseOther(ctx, w.Conn, record); err != nil {
		return err
	}
	read := gather.Options{Paths: []string{host.DefaultFolder + "/" + o.undoes}}
	a := &apply.Execution{Options: o.Options, Session: w, Command: "undo", RunID: remediate.NewRun(collect.Now()), Undoes: o.undoes, Read: read, NoLease: slices.Contains(o.risks, remediate.NoLease), Recheck: apply.Recheck{Accept: o.risks, Only: []string{preflight.StaticPodsSettled}}}
	a.Lines.NamedNodes = o.line
	a.Plan = func(ctx context.Context) (*remediate.Plan, error) {
		byHand, err := byHand(o.undoes, record)
		if err != nil {
			return nil, err
		}
		var left []string
		u := undo.Undo{API: w.Conn != nil, AcceptBreaksTrust: slices.Contains(o.risks, remediate.BreaksTrust), AcceptRequestsPending: slices.Contains(o.risks, csr.RequestsPending), Line: o.line}
		for _, name := range w.Names() {
			kept, notes := o.keptOn(ctx, w, name, record)
			u.Nodes, left = append(u.Nodes, kept), append(left, notes...)
		}
		snapshot := w.ReadSnapshot(ctx, read)
		if ctx.Err() != nil {
			return nil, cli.NothingChanged(errors.New("interrupted"))
		}
		p, err := u.Plan(o.undoes, snapshot, snapshot.Taken)
		if err == nil {
			err = o.settled(ctx, w, snapshot, p)
		}
		if err == nil {
			err = w.AddUnpauseSteps(ctx, o.undoes, record, p)
		}
		if err == nil {
			p.Notes.Add(remediate.PlainNotes(slices.Concat(left, byHand)...)...)
		}
		if err == nil && w.NoAPI != nil {
			p.Notes.Add(remediate.Note{Text: "Without the API server: " + ui.OneLine(w.NoAPI.Error())})
		}
		return p, err
	}
	a.PrintBasis = func(out io.Writer, _ *remediate.Plan) { ui.Printf(out, "Undo     of run %s\n", o.undoes) }
	return a.Execute(ctx)
}

// keptOn is what a node keeps of the run, or why that is unknown, and notes of what is left alone there.
func (o *undoOptions) keptOn(ctx context.Context, w *apply.Session, node string, record remediate.RunRecord) (kept undo.NodeBackups, notes []string) {
	entries, err := backupsOf(ctx, w, node, o.undoes)
	if errors.Is(err, host.ErrNoRun) && !o.fromNodes {
		err = asBefore(ctx, w, node, record, err)
	}
	if err == nil {
		notes, err = leftAlone(ctx, w, node, o.undoes, record.Changed()[node], entries)
	}
	if err == nil {
		return undo.NodeBackups{Node: node, Backups: entries}, notes
	}
	unread := &remediate.Refusal{Name: undo.BackupRead, Node: node, Reason: foreign.Prose(ui.OneLine(err.Error())), Cause: err}
	var hint *cli.HintError
	if errors.As(err, &hint) {
		unread.Next = hint.Hint
	}
	return undo.NodeBackups{Node: node, Unread: unread}, nil
}

// byHand says what of a run is not put back on nodes.
func byHand(run string, record remediate.RunRecord) (notes []string, err error) {
	for _, of := range action.Patched(record) {
		js, err := apply.Journals()
		if err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("The run patched ConfigMap %s, too. A kube-controller-manager that works puts it back by itself; by hand, how is said in %s.", of, js.ObjectBackup(run)))
	}
	return notes, nil
}

// settled refuses to restart kubelets of masters while static pods are rolled out to them.
func (o *undoOptions) settled(ctx context.Context, w *apply.Session, snapshot inspect.Snapshot, p *remediate.Plan) error {
	if w.Conn == nil || p.Empty() {
		return nil
	}
	snapshot.Status = w.Status(ctx, snapshot, false)
	ask := preflight.Of(snapshot)
	ask.Nodes = apply.NodesOf(p)
	for _, v := range ask.Check() {
		switch {
		case v.ID != preflight.StaticPodsSettled || !v.Blocks():
		case slices.Contains(o.risks, v.ID):
			p.Notes.Add(remediate.AcceptedNote(v.ID + ": " + v.Reason))
		default:
			return apply.Stopped([]preflight.Verdict{v})
		}
	}
	return nil
}

// asBefore says whether a node that keeps nothing of a run is as it was before:
// the run was interrupted before it did anything there. noRun is what the node
// answered.
func asBefore(ctx context.Context, w *apply.Session, node string, record remediate.RunRecord, noRun error) error {
	before := map[string]*pki.Fingerprint{}
	for _, r := range record.Records {
		if r.Node != node || r.Path == "" {
			continue
		}
		if before[r.Path] == nil {
			before[r.Path] = r.Before
		}
		if r.Event != remediate.Begun && r.Event != remediate.Failed {
			return backupGone(fmt.Errorf("the journal says that %s was changed on %s, and the node keeps nothing of it: %w", r.Path, node, noRun))
		}
	}
	return w.OnNode(ctx, node, func(ctx context.Context, n nodeexec.Node) error {
		for _, path := range slices.Sorted(maps.Keys(before)) {
			files, err := host.Look(ctx, n, path)
			if err != nil {
				return err
			}
			if before[path] == nil || files[0].SHA256 != [32]byte(*before[path]) {
				return backupGone(fmt.Errorf("%s on %s is not what it was before the run, and the node keeps nothing of the run: %w", path, node, noRun))
			}
		}
		return nil
	})
}

// leftAlone says of files that a run changed, by its journal, and that are not its own any
// more, by the node, whose they are.
func leftAlone(ctx context.Context, w *apply.Session, node, run string, paths []string, entries []host.Backup) (notes []string, err error) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(entries, func(e host.Backup) bool { return e.Before.Path == path })
	})
	if len(paths) == 0 {
		return nil, nil
	}
	owner := map[string]string{}
	err = w.OnNode(ctx, node, func(ctx context.Context, n nodeexec.Node) error {
		runs, err := host.Runs(ctx, n, "")
		if err != nil {
			return err
		}
		for _, r := range runs {
			if r.ID == run {
				continue
			}
			theirs, err := host.RunFolder{ID: r.ID}.Backups(ctx, n)
			if err != nil {
				return err
			}
			for _, e := range theirs {
				if e.Later == "" {
					owner[e.Before.Path] = r.ID
				}
			}
		}
		return nil
	})
	for _, path := range paths {
		whose := "its change failed, or was put back"
		if owner[path] != "" {
			whose = "run " + owner[path] + " changed it after that"
		}
		notes = append(notes, fmt.Sprintf("%s on %s is left alone: it is not this run's. It was as before the run, and %s.", path, node, whose))
	}
	return notes, err
}

func backupGone(err error) error {
	return cli.Refused(cli.WithHint(cli.NothingChanged(err), "is it the same machine, and was the run not pruned? Compare the file with that of another node of the same kind"))
}

// backupsOf is what a node keeps of a run.
func backupsOf(ctx context.Context, w *apply.Session, node, run string) (entries []host.Backup, err error) {
	err = w.OnNode(ctx, node, func(ctx context.Context, n nodeexec.Node) (err error) {
		entries, err = host.RunFolder{ID: run}.Backups(ctx, n)
		return err
	})
	if errors.Is(err, host.ErrNoRun) {
		return nil, cli.WithHint(err, "which runs it keeps: %s", w.App.Hints().Next("{} runs --from-nodes --nodes %s", node))
	}
	for _, e := range entries {
		if !foreign.Word(e.Before.Path) { // what a run changes has a plain path: this is not of certrot
			return nil, cli.Refused(cli.WithHint(cli.NothingChanged(fmt.Errorf("what %s keeps of run %s has a path that no run has: %s", node, foreign.Name(run), foreign.Quoted(e.Before.Path))), "who wrote into %s on that node?", host.DefaultFolder))
		}
	}
	return entries, err
}
