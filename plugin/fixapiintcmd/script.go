package fixapiintcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

func addEmitFlag(cmd *cobra.Command, folder *string) {
	cmd.Flags().StringVar(folder, "emit-script", "", "Change nothing: write a shell script for each node into this new or empty folder, which does the same at the node's console without certrot, oc and the API.")
	ui.Must(cmd.MarkFlagDirname("emit-script"))
}

// emit writes the scripts for nodes that are read where that is possible. given are the CAs
// that a flag leads to.
func (o *fixOptions) emit(ctx context.Context, w *apply.Session, given []byte) error {
	fix := apiint.Repair{Nodes: w.Names(), API: w.Conn != nil, Order: o.order}
	if err := o.findCA(ctx, w, given, &fix); err != nil {
		return err
	}
	snapshot := o.preflight.Accepted(w.ReadSnapshot(ctx, gather.Options{}))
	if ctx.Err() != nil {
		return cli.NothingChanged(errors.New("interrupted"))
	}
	if err := o.emitFor(ctx, w, fix, snapshot, w.All); err != nil || w.NoAPI == nil {
		return err
	}
	ui.Printf(o.App.Streams.ErrOut, "Without the API server: %s\n", foreign.Prose(w.NoAPI.Error()))
	return nil
}

// checkEmit refuses a folder in which something is already, and what no script does.
func (f *fixFlags) checkEmit() error {
	if f.scripts == "" {
		return nil
	}
	if f.Output != "" {
		return errors.New("-o is the form of a plan: --emit-script writes scripts")
	}
	if f.preflight.Pause {
		return errors.New("--pause-remediation and --emit-script: a script does not reach the API, where health checks are paused; without it they are named, if there are any")
	}
	if f.DryRun == apply.DryRunClient {
		return errors.New("--dry-run=client and --emit-script: scripts are what is written, and nothing else is done; each has a --dry-run of its own")
	}
	if len(f.waves.only) > 0 || f.waves.maxUnavailable != "1" {
		return errors.New("--only and --max-unavailable are for a run: a script is for one node. Name the nodes with --nodes")
	}
	if f.approve {
		return errors.New("--approve-csrs and --emit-script: a script does not reach the API, where requests are approved; they are looked at with kubectl get csr")
	}
	if f.network.Patch || f.network.Probe || f.network.Restart != apply.RestartNeeded {
		return errors.New("--restart-network, --probe-network and --patch-kube-root-ca are done over the API, which a script does not reach")
	}
	there, err := os.ReadDir(f.scripts)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("--emit-script: %w", err)
	case len(there) > 0:
		return cli.WithHint(fmt.Errorf("--emit-script %s: %s is in it already", f.scripts, there[0].Name()), "name a new folder, or an empty one")
	}
	return nil
}

// emitFor writes the scripts if the cluster's state allows what they do. w is nil for
// facts from a file. whole: they are for all nodes, and workers are left out that must not be repaired now.
func (o *fixOptions) emitFor(ctx context.Context, w *apply.Session, fix apiint.Repair, snapshot inspect.Snapshot, whole bool) error {
	if len(fix.Nodes) == 0 {
		for _, n := range snapshot.Nodes {
			fix.Nodes = append(fix.Nodes, n.Name)
		}
	}
	set, p, err := o.checkedScripts(ctx, w, fix, snapshot, whole)
	if err != nil {
		return apply.Refused(err)
	}
	if err := o.writeScripts(set, p); err != nil || len(set.LeftOut) == 0 {
		return err
	}
	return cli.Incomplete(cli.WithHint(fmt.Errorf("the other scripts were written; left out: %w", remediate.UnknownNodesError(set.LeftOut)), "%s", set.LeftOut[0].Next))
}

// checkedScripts makes the scripts, and asks what has to hold of the whole cluster, which it notes in p. What a
// worker says of itself leaves it out of those for all nodes, which are made once more.
func (o *fixOptions) checkedScripts(ctx context.Context, w *apply.Session, fix apiint.Repair, snapshot inspect.Snapshot, whole bool) (apiint.ScriptSet, *remediate.Plan, error) {
	checks := o.preflight
	checks.All = whole
	for {
		set, err := fix.Scripts(remediate.NewRun(collect.Now()), snapshot, snapshot.Taken, whole)
		p := &remediate.Plan{Notes: slices.Clone(set.Notes)}
		if err == nil && len(set.Scripts) == 0 && len(set.LeftOut) > 0 {
			err = remediate.UnknownNodesError(set.LeftOut)
		}
		err = checkScripts(ctx, w, checks, fix, snapshot, set.Scripts, p, err)
		var busy *preflight.BusyError
		if !errors.As(err, &busy) {
			return set, p, err
		}
		fix.Busy = append(fix.Busy, busy.Workers...)
		checks.All = len(fix.Busy) < len(fix.Nodes) // each time there is another one
	}
}

// checkScripts asks what has to hold of the whole cluster. err is why there are no scripts.
func checkScripts(ctx context.Context, w *apply.Session, checks apply.PreflightOptions, fix apiint.Repair, snapshot inspect.Snapshot, scripts []apiint.Script, p *remediate.Plan, err error) error {
	var nodes []string // to which something is done, as far as is known
	unchecked := false // something is done to a node, and neither it nor the cluster was read
	for i := range scripts {
		n, ok := snapshot.Node(scripts[i].Node)
		switch {
		case scripts[i].Idle:
		case ok && n.Via != "" || clusterKnown(w, snapshot):
			nodes = append(nodes, scripts[i].Node)
		default:
			unchecked = true
		}
	}
	switch {
	case err != nil || len(nodes) > 0:
		return checks.Ask(ctx, w, snapshot, fix.CA, nodes, p, err)
	case unchecked:
		p.Notes.Add(remediate.Note{Text: "Not checked: the state of the cluster. Neither an API server nor a snapshot tells whether an upgrade, a rollout or a reboot is under way: oc get clusterversion,clusteroperators,machineconfigpools"})
		return apply.Unreviewed(snapshot.Cluster, checks.Risks)
	}
	return nil
}

// writeScripts writes them. p has the notes of the set, and behind them those of the whole cluster.
func (o *fixOptions) writeScripts(set apiint.ScriptSet, p *remediate.Plan) error {
	out := o.App.Streams.Out
	if err := ui.BeginAnswer(out); err != nil {
		return err
	}
	if err := os.MkdirAll(o.scripts, 0o700); err != nil {
		return fmt.Errorf("--emit-script: %w", err)
	}
	p.Notes.Add(remediate.PlainNotes(apply.PlanChecks{Checked: p.Checked}.Sentences()...)...)
	for _, s := range set.Scripts {
		s.Notes = append(s.Notes, p.Notes[len(set.Notes):].Texts()...) // of the whole cluster
		name := filepath.Join(o.scripts, s.Name())
		if err := writeNew(name, s.Text(o.App.Version)); err != nil {
			return fmt.Errorf("--emit-script: %w", err)
		}
		ui.Printf(out, "%s\n", ui.Clean(name))
	}
	for _, n := range p.Notes {
		ui.Printf(o.App.Streams.ErrOut, "%s\n", ui.Clean(n.Text))
	}
	ui.Printf(o.App.Streams.ErrOut, "Read it, copy it to its node, and there, as root: sh FILE --dry-run; sh FILE; back: sh FILE undo. One node after another, control plane nodes first; each is to be Ready before the next.\n")
	return nil
}

// clusterKnown reports whether the checks of the whole cluster have someone to ask: the API
// server, or the file that was given in its place.
func clusterKnown(w *apply.Session, snapshot inspect.Snapshot) bool {
	return w != nil && w.Conn != nil || w == nil && snapshot.Status != nil
}

// writeNew writes a file that is not there yet.
func writeNew(name string, text []byte) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(text)
	return err
}
