package rotatecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

func pruneRisks() []string {
	return []string{rotate.SignerTrusted, rotate.AllRead, rotate.TenantsRead, rotate.TenantsHold, rotate.JustSigned, remediate.NoLease, preflight.UnauthenticatedAPI, preflight.UnreviewedVersion}
}

// pruneFlags is what was typed of rotate prune.
type pruneFlags struct {
	readFlags
	dryRun string
	yes    bool
	risks  []string
}

func newRotatePruneCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &pruneFlags{readFlags: readFlags{app: app, config: config}}
	cmd := &cobra.Command{
		Use:   "prune NAME",
		Short: "Remove old CAs of a signer that no certificate needs",
		Long: `Lists which CAs in the bundle of a signer could be removed, and removes them after a yes. A CA stays if it is the current signer or newer, or if any certificate that was read needs it: in a Secret, a ConfigMap, a file on a node, or presented by a server. Where anything was not read, nothing is removed: a certificate there may need it. Neither is it while a client trusts an old CA and not the current signer.

This is for a leaked key. Otherwise there is no need: old CAs expire, and operators remove expired ones. All nodes are read, unless --nodes says otherwise.

A backup of the bundle is kept beside the run's journal, as a patch that restores it.

Exit codes: 0 done, or there is nothing to remove; 1 a dry run would remove something; 2 usage or no access; 4 it failed; 5 refused, or not confirmed.`,
		Example: templates.Examples(strings.ReplaceAll(`  # Which could be removed, and why the others stay
  {} rotate prune loadbalancer-serving-signer --via ssh --dry-run=server

  # Remove them
  {} rotate prune loadbalancer-serving-signer --via ssh`, "{}", app.ProgramName)),
		Args:              oneName(app),
		ValidArgsFunction: completeRotated,
		RunE: func(cmd *cobra.Command, args []string) error {
			apply.FromIsDryRun(cmd, f.from, &f.dryRun)
			o, err := f.toOptions(cmd.Context(), args)
			if err != nil {
				return err
			}
			o.again = apply.CommandLine(cmd, "dry-run", "from", "details", "yes")
			return o.prune(cmd.Context())
		},
	}
	f.addReading(cmd)
	flags := cmd.Flags()
	apply.AddDryRunFlag(cmd, &f.dryRun, `"client", or no value, only lists what could be removed; "server" has the API server try it. Exit code 1 if anything could.`, apply.DryRunClient, apply.DryRunServer)
	flags.BoolVarP(&f.yes, "yes", "y", false, "Apply the plan without asking.")
	apply.AddRiskFlag(cmd, &f.risks, "Accept this risk, by its name", pruneRisks())
	return cmd
}

func (f *pruneFlags) check() error {
	if err := apply.CheckRisks(f.risks, pruneRisks()); err != nil {
		return err
	}
	if err := apply.CheckDryRun(f.dryRun, apply.DryRunClient, apply.DryRunServer); err != nil {
		return err
	}
	if len(f.from) > 0 && f.dryRun != apply.DryRunClient {
		return errors.New("--from changes nothing: --dry-run=client goes with it")
	}
	return nil
}

// pruneNodes are the nodes to read: all, unless it is said otherwise.
func (f *pruneFlags) pruneNodes() connect.NodeFlags {
	nodes := f.nodes
	if !nodes.Given() && len(nodes.Nodes) == 0 && len(f.from) == 0 { // "none" is not given, and meant
		nodes.Nodes = []string{connect.AllNodes}
	}
	return nodes
}

func (f *pruneFlags) toOptions(ctx context.Context, args []string) (*rotateOptions, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	o, err := f.optionsFor(ctx, f.pruneNodes(), args)
	if err != nil {
		return nil, err
	}
	o.dryRun, o.yes, o.risks, o.reading.Nodes.Served = f.dryRun, f.yes, f.risks, true
	return o, o.checkNames()
}

func (o *rotateOptions) prune(ctx context.Context) error {
	if err := o.allowed(); err != nil {
		return err
	}
	r, err := o.read(ctx)
	if err != nil {
		return err
	}
	run := o.runner(nil)
	p, err := run.SelectPruning(r, o.names[0])
	if err != nil {
		return exitError(err)
	}
	o.names[0] = p.Of.Name
	var conn *connect.Connection
	if len(o.reading.From) == 0 {
		if conn, err = connect.Connect(ctx, o.app, o.reading.Config, pki.NewScanner(), connect.Writing(o.risks, false)); err != nil {
			return err
		}
		r.Facts.Snapshot.Cluster.Clock = conn.Clock.Reading()
		run = o.runner(conn)
	}
	if err := run.PlanPruning(ctx, &p); err != nil {
		return exitError(err)
	}
	show := o.pruneScreen
	if o.details {
		show = o.pruneInFull
	}
	if err := show(o.app.Streams.Out, p); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	switch {
	case p.Removed() == 0:
		return nil
	case o.dryRun != apply.DryRunNone:
		return cli.Findings(nil)
	}
	return o.remove(ctx, conn, p)
}

// pruneInFull prints each CA, and why it stays or is removed.
func (o *rotateOptions) pruneInFull(out io.Writer, p rotate.Pruning) error {
	w := ui.NewPage(out)
	printHead(w, report.ClusterOf(p.Facts.Snapshot.Cluster), p.Facts.Now, o.from())
	ui.Printf(w, "\nBundle   %s\n", p.Of.Rotation.Bundle)
	for _, ca := range p.CAs {
		mark, why := " ", "stays: "+ca.Keep
		if ca.Keep == "" {
			mark, why = "-", "removed: no certificate that was read needs it"
			if !ca.NotAfter.After(p.Facts.Now) {
				why = "removed: it is expired"
			}
			if len(ca.Tenants) > 0 {
				why = "removed, and clients refuse what only tenants hold: " + strings.Join(ca.Tenants, "; ")
			}
		}
		ui.Printf(w, "\n%s %s\n  %s\n", mark, pki.Foreign(ca.Subject), apply.Identity(ca.Cert))
		ui.Wrap(w, "  ", why)
	}
	if p.Removed() == 0 {
		ui.Printf(w, "\nNothing to do.\n")
	} else {
		ui.Wrap(w, "\nNote     ", "Copies of these CAs elsewhere stay trusted: administrators' kubeconfigs, files on nodes that this version does not write, programs outside of the cluster. A certificate of theirs that was not read is refused from now on.")
		for _, note := range p.Notes.Texts() {
			ui.Wrap(w, "\nNote     ", note)
		}
	}
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

// pruneScreen prints which CAs are removed, each of them, and how many stay.
func (o *rotateOptions) pruneScreen(out io.Writer, p rotate.Pruning) error {
	a, page := ui.NewOneScreen(out), ui.NewPage(out)
	most := screenLines
	o.head(a, page, p.Reading)
	at := p.Of.Rotation.Bundle
	a.Line(ui.Always, "%s%s/%s", label("bundle"), at.Namespace, at.Name)
	a.Line(ui.Always, "%s%s, %d removed", label(""), ui.Count(len(p.CAs), "CA"), p.Removed())
	for _, ca := range p.CAs {
		if ca.Keep == "" {
			a.Whole("%s", "- remove  "+pki.Named(ca.Cert)+", "+validity(ca.Cert, p.Facts.Now))
		}
		for _, cert := range ca.Tenants {
			a.Line(ui.Useful, "%s%s", label("  refused"), cert)
		}
	}
	for _, ca := range p.CAs {
		if ca.Keep != "" {
			a.Line(ui.Useful, "%s%s: %s", label("  stays"), shortName(p.Of, ca.Cert), ca.Keep)
		}
	}
	a.Gap()
	if p.Removed() == 0 {
		a.Line(ui.Always, "No changes: no CA of the bundle can be removed")
		return a.Print(out, most, "all of it: --details")
	}
	a.Prose(ui.Always, 2, label("note"), "copies of these CAs elsewhere stay trusted; a certificate of theirs that was not read is refused from now on")
	for _, note := range p.Notes.Texts() {
		a.Prose(ui.Always, 3, label("note"), note)
	}
	a.Line(ui.Always, "%sa patch that restores the bundle is kept, and printed at the end", label("undo"))
	next := o.again + " " + nodeexec.Quote(o.names...)
	switch o.dryRun {
	case apply.DryRunClient:
		a.Whole("%s", label("next")+next+" --dry-run="+apply.DryRunServer)
	case apply.DryRunServer:
		a.Whole("%s", label("next")+next)
	default: // it is asked
		most -= questionLines
	}
	return a.Print(out, most, "all of it: --details")
}

// remove asks, and does it.
func (o *rotateOptions) remove(ctx context.Context, conn *connect.Connection, p rotate.Pruning) error {
	a := o.applyRun(conn, rotate.PruneCommand)
	if err := a.Consent(ctx); err != nil {
		return err
	}
	js, err := apply.Journals()
	if err != nil {
		return err
	}
	kept := js.ObjectBackup(a.RunID)
	bundle := p.Of.Rotation.Bundle
	p.Action.Keep = func(text []byte) error { return apply.KeepFile(kept, text) }
	p.Undo = foreign.Command("", "kubectl -n %s patch configmap %s --type merge --patch-file %s", bundle.Namespace, bundle.Name, foreign.Words(nodeexec.Quote(kept)))
	run := o.runner(conn)
	run.Cluster = oneRun{cluster{o, conn}, a}
	defer o.progress().Close()
	if err := run.Prune(ctx, p); err != nil {
		return exitError(err)
	}
	a.Printf("\nDone. To undo it:\n    %s\n", p.Undo)
	return nil
}
