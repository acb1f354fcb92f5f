package rotatecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// statusFlags is what was typed of rotate status.
type statusFlags struct {
	readFlags
	wait time.Duration
}

func newRotateStatusCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &statusFlags{readFlags: readFlags{app: app, config: config}}
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Tell how far a signer's newest certificate is on its way to all clients",
		Long: `Tells how far the newest certificate of a signer is, by the certificates themselves and not by a run's record: made; in its bundle; in all bundles made of that; trusted by all clients that verify what it signs; whether it signs what the signer signs already, and servers present that; and whether all checks of verify about it pass. kube-apiserver's client certificates for kubelets are tried on a control plane node, with the certificate and key there, which stay there. It does not matter who triggered the rotation, or when. Nothing is changed.

What a signer signs is rotated automatically, when all clients had time to trust the new CA: up to 15 days later.

Exit codes: 0 all stages are reached; 1 some are not yet; 2 usage or no access; 3 something that decides could not be read.`,
		Example: templates.Examples(strings.ReplaceAll(`  # How far is it?
  {} rotate status kube-apiserver-to-kubelet-signer --nodes all

  # Until all clients trust it
  {} rotate status loadbalancer-serving-signer --nodes all --via ssh --wait 30m`, "{}", app.ProgramName)),
		Args:              oneName(app),
		ValidArgsFunction: completeRotated,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.toOptions(cmd.Context(), args)
			if err != nil {
				return err
			}
			o.reads = apply.ReadingFlags(cmd)
			return o.status(cmd.Context())
		},
	}
	f.addReading(cmd)
	cli.DurationVar(cmd.Flags(), &f.wait, "wait", 0, "While it is on its way, ask again every 10 s, for this long (such as 10m).")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Form of the answer: json, yaml.")
	ui.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// oneName takes one NAME, and says what is wrong with none and with several as rotate does.
func oneName(app cli.App) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			from, _ := cmd.Flags().GetStringArray("from") // none: it has no such flag
			return noName(connect.Reading{App: app, From: from}.Hints())
		case 1:
			return nil
		}
		return cli.WithHint(fmt.Errorf("rotate %s takes one NAME, not %d", cmd.Name(), len(args)), "%s --help", cmd.CommandPath())
	}
}

// noName is the error of a command without its NAME.
func noName(hints inspect.Hints) error {
	return cli.WithHint(errors.New("no NAME"), "%s", hints.Next("list the names: {} rotate --list")+hints.From())
}

// The document of rotate status; see docs/rotate.md.
type (
	rotationStatusDocument struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Server     string `json:"server,omitempty"`
		Version    string `json:"version,omitempty"`
		Unreviewed string `json:"unreviewed,omitempty"` // versions that run and were not reviewed
		// Unauthenticated says why another server than the API server may have answered.
		Unauthenticated string          `json:"unauthenticated,omitempty"`
		Taken           time.Time       `json:"taken"`
		Secret          string          `json:"secret"`
		Certificate     *apply.PlanCert `json:"certificate,omitempty"`
		Stages          []rotationStage `json:"stages"`
	}
	rotationStage struct {
		assess.Assessment // pass: reached; warn: not yet
		// Seconds after the begin when it was first seen reached; null: it was so, or is not.
		Seconds *int `json:"seconds,omitempty"`
	}
)

func (f *statusFlags) toOptions(ctx context.Context, args []string) (*rotateOptions, error) {
	switch {
	case !slices.Contains([]string{"", "json", "yaml"}, f.output):
		return nil, ui.Invalid("--output", f.output, "json", "yaml")
	case f.wait > 0 && len(f.from) > 0:
		return nil, errors.New("--wait goes with a cluster, not with --from")
	}
	o, err := f.optionsFor(ctx, f.nodes, args)
	if err != nil {
		return nil, err
	}
	o.wait, o.reading.Nodes.Served = f.wait, true
	return o, o.checkNames()
}

func (o *rotateOptions) status(ctx context.Context) error {
	var conn *connect.Connection
	if len(o.reading.From) == 0 {
		var err error
		if conn, err = connect.Connect(ctx, o.app, o.reading.Config, pki.NewScanner(), connect.ToRead); err != nil {
			return err
		}
	}
	run := o.runner(nil)
	run.Cluster = cluster{o, conn}
	p, err := run.Status(ctx, o.names[0])
	if err != nil {
		o.progress().Close()
		return exitError(err)
	}
	o.progress().Clear()
	o.progress().Close()
	if err := o.showStages(p); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return exitError(p.Outcome())
}

func (o *rotateOptions) showStages(p rotate.Progress) error {
	out := o.app.Streams.Out
	switch {
	case o.output == "" && o.details:
		return printStages(out, p)
	case o.output == "":
		return o.stagesScreen(out, p)
	}
	snapshot, of := p.Planned.Facts.Snapshot, p.Planned.Of
	c := snapshot.Cluster
	d := rotationStatusDocument{
		APIVersion: report.APIVersion, Kind: "RotationStatus", Server: c.Server, Version: c.Versions.Cluster, Unreviewed: c.Versions.WhyUnreviewed(), Unauthenticated: c.Unauthenticated, Taken: snapshot.Taken,
		Secret: of.At.Namespace + "/" + of.At.Name, Stages: []rotationStage{},
	}
	if cert := of.Cert(); cert != nil {
		d.Certificate = &apply.PlanCert{SHA256: cert.Fingerprint, Subject: cert.Subject, NotBefore: cert.NotBefore, NotAfter: cert.NotAfter}
	}
	for _, s := range p.Stages {
		e := rotationStage{Assessment: s.Assessment}
		if took, ok := p.Took[s.ID]; ok && s.Status == assess.Pass {
			seconds := int(took.Seconds())
			e.Seconds = &seconds
		}
		d.Stages = append(d.Stages, e)
	}
	return ui.PrintDocument(out, o.output, d)
}

func printStages(out io.Writer, p rotate.Progress) error {
	w := ui.NewPage(out)
	ui.PrintUnauthenticated(w, p.Planned.Facts.Snapshot.Cluster.Unauthenticated)
	ui.Printf(w, "%s, of %s\n", p.Planned.Of.At, p.Planned.Owner())
	if cert := p.Planned.Of.Cert(); cert != nil {
		ui.Printf(w, "  %s\n  %s\n", pki.Foreign(cert.Subject), apply.Identity(cert))
	}
	fails := failing(p.Stages)
	for _, s := range p.Stages {
		mark := reachedMark(s.Status)
		if fails(s) {
			mark = failingMark(s)
		}
		ui.Judged(w, leadOf(mark, s), "    ", s.Assessment)
	}
	if took := times(p); took != "" {
		ui.Wrap(w, "Took ", took)
	}
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

// times are how long each stage took since the begin; empty: none was seen to be reached.
func times(p rotate.Progress) string {
	var out []string
	for _, s := range p.Stages {
		if took, ok := p.Took[s.ID]; ok && s.Status == assess.Pass {
			out = append(out, fmt.Sprintf("%s %s", s.ID, took))
		}
	}
	return strings.Join(out, ", ")
}
