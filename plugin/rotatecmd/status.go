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
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/verifycmd"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

func newRotateStatusCommand(app cli.App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &rotateFlags{seen: verifycmd.Flags{App: app, Config: config}, shown: true}
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Tell how far a signer's newest certificate is on its way to all who verify by it",
		Long: `Tells how far the newest certificate of a signer is, by what is there now, and not by what a run has kept: made; in its bundle; in all bundles that are made of that; trusted by all who verify by it; whether what the signer signs is signed by it already, and is what servers show; and whether all holds that is known of who shows and who verifies that. Of what kube-apiserver shows kubelets, these are asked on a master, by the certificate and the key that lie there and stay there. It does not matter who had it made, or when, and nothing is changed.

What a signer signs follows by itself, when everybody had time to trust the new CA: up to 15 days later.

Exit codes: 0 it is through; 1 it is on its way; 2 usage or no access; 3 something that decides could not be read.`,
		Example: templates.Examples(strings.ReplaceAll(`  # How far is it?
  {} rotate status kube-apiserver-to-kubelet-signer --nodes all

  # Until all who verify by it trust it
  {} rotate status loadbalancer-serving-signer --nodes all --via ssh --wait 30m`, "{}", app.Called)),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRotated,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.status(cmd.Context(), args[0]) },
	}
	f.addReading(cmd)
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "While it is on its way, ask again every 10 s, for this long (such as 10m).")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Form of the answer: json, yaml.")
	ui.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
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
		Stage   string `json:"stage"`
		Reached string `json:"reached"` // yes, no, unknown
		Text    string `json:"text"`
		Next    string `json:"next,omitempty"`
		// Seconds after the begin when it was first seen reached; null: it was so, or is not.
		Seconds *int `json:"seconds,omitempty"`
	}
)

func (f *rotateFlags) status(ctx context.Context, name string) error {
	switch {
	case !slices.Contains([]string{"", "json", "yaml"}, f.output):
		return fmt.Errorf("-o %q is none of json, yaml", f.output)
	case f.wait < 0 || f.wait > 0 && len(f.seen.From) > 0:
		return errors.New("--wait is a time such as 10m, and goes with a cluster, not with --from")
	case !slices.Contains(knownNames(), strings.TrimPrefix(name, "secret/")):
		return cli.WithHint(fmt.Errorf("%q: %w", name, rotate.ErrNoSuchRotation), "%s rotate --list shows what there is", f.seen.App.Called)
	}
	var conn *connect.Connection
	if len(f.seen.From) == 0 {
		var err error
		if conn, err = connect.Connect(ctx, f.seen.App, f.seen.Config, pki.NewScanner(), connect.ToRead); err != nil {
			return err
		}
	}
	w := f.following(conn, rotate.Rotatable{}, nil)
	w.name, w.next = name, inspect.LiveHints(f.seen.App.Called).Next("{} rotate status %s", name)
	p, _, err := w.until(ctx, f.wait, through)
	if err != nil {
		return err
	}
	stages := p.stages()
	if err := f.showStages(p, stages, w); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return verdictOn(stages)
}

// verdictOn is the exit code that stages come to.
func verdictOn(stages []rotate.Stage) error {
	code := cli.ExitFine
	for _, s := range stages {
		switch {
		case s.Reached == catalog.No:
			code = cli.ExitFindings
		case s.Reached == catalog.Unknown && code == cli.ExitFine:
			code = cli.ExitIncomplete
		}
	}
	if code == cli.ExitFine {
		return nil
	}
	return &cli.ExitError{Code: code}
}

func sameCert(a, b *pki.Cert) bool { return a != nil && b != nil && a.Fingerprint == b.Fingerprint }

func (f *rotateFlags) showStages(p rotation, stages []rotate.Stage, w *following) error {
	out := f.seen.App.Streams.Out
	if f.output == "" {
		return printStages(out, p, stages, w)
	}
	c := p.facts.Snapshot.Cluster
	d := rotationStatusDocument{
		APIVersion: report.APIVersion, Kind: "RotationStatus", Server: c.Server, Version: c.Versions.Cluster, Unreviewed: c.Versions.NotReviewed(), Unauthenticated: c.Unauthenticated, Taken: p.facts.Snapshot.Taken,
		Secret: p.of.At.Namespace + "/" + p.of.At.Name, Stages: []rotationStage{},
	}
	if cert := p.of.Cert(); cert != nil {
		d.Certificate = &apply.PlanCert{SHA256: cert.Fingerprint, Subject: cert.Subject, NotBefore: cert.NotBefore, NotAfter: cert.NotAfter}
	}
	for _, s := range stages {
		e := rotationStage{Stage: s.Name, Reached: s.Reached.String(), Text: s.Text, Next: s.Next}
		if took, ok := w.took[s.Name]; ok && s.Reached == catalog.Yes {
			seconds := int(took.Seconds())
			e.Seconds = &seconds
		}
		d.Stages = append(d.Stages, e)
	}
	return ui.PrintDocument(out, f.output, d)
}

func printStages(out io.Writer, p rotation, stages []rotate.Stage, seen *following) error {
	w := &strings.Builder{}
	ui.PrintUnauthenticated(w, p.facts.Snapshot.Cluster.Unauthenticated)
	ui.Printf(w, "%s, of %s\n", p.of.At, p.owner())
	if cert := p.of.Cert(); cert != nil {
		ui.Printf(w, "  %s\n  %s\n", pki.Foreign(cert.Subject), apply.Identity(cert))
	}
	for _, s := range stages {
		ui.Wrap(w, fmt.Sprintf("%s %-11s", reachedMark(s.Reached), s.Name), s.Text)
		if s.Reached != catalog.Yes && s.Next != "" {
			ui.Wrap(w, "    next: ", s.Next)
		}
	}
	if took := seen.times(stages); took != "" {
		ui.Wrap(w, "Took ", took)
	}
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}
