package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

func newRotateStatusCommand(app App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &rotateFlags{seen: verifyFlags{app: app, config: config}, shown: true}
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Tell how far a signer's newest certificate is on its way to all who verify by it",
		Long: `Tells by the certificates alone how far the newest one of a signer is: made; in its bundle; in all bundles that are made of that; trusted by all who verify by it; and whether what the signer signs is signed by it already. It does not matter who had it made, or when, and nothing is changed.

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
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// The document of rotate status; see docs/rotate.md.
type (
	rotationStatusDocument struct {
		APIVersion  string          `json:"apiVersion"`
		Kind        string          `json:"kind"`
		Server      string          `json:"server,omitempty"`
		Version     string          `json:"version,omitempty"`
		Taken       time.Time       `json:"taken"`
		Secret      string          `json:"secret"`
		Certificate *planCert       `json:"certificate,omitempty"`
		Stages      []rotationStage `json:"stages"`
	}
	rotationStage struct {
		Stage   string `json:"stage"`
		Reached string `json:"reached"` // yes, no, unknown
		Text    string `json:"text"`
		Next    string `json:"next,omitempty"`
	}
)

func (f *rotateFlags) status(ctx context.Context, name string) error {
	switch {
	case !slices.Contains([]string{"", "json", "yaml"}, f.output):
		return fmt.Errorf("-o %q is none of json, yaml", f.output)
	case f.wait < 0 || f.wait > 0 && len(f.seen.from) > 0:
		return errors.New("--wait is a time such as 10m, and goes with a cluster, not with --from")
	case !slices.Contains(knownNames(), strings.TrimPrefix(name, "secret/")):
		return withHint(fmt.Errorf("%q: %w", name, remediate.ErrNoSuchRotation), "%s rotate --list shows what there is", f.seen.app.Called)
	}
	p, err := f.await(ctx, name, nil)
	if err != nil {
		return err
	}
	stages := p.chain(p.of).Stages()
	if err := f.showStages(p, stages); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return verdictOn(stages)
}

// verdictOn is the exit code that stages come to.
func verdictOn(stages []remediate.Stage) error {
	code := exitFine
	for _, s := range stages {
		switch {
		case s.Reached == catalog.No:
			code = exitFindings
		case s.Reached == catalog.Unknown && code == exitFine:
			code = exitIncomplete
		}
	}
	if code == exitFine {
		return nil
	}
	return &exitError{code: code}
}

// await reads until it is through, and for no longer than --wait. was is the
// certificate that is to be replaced; nil: whichever stands now counts.
func (f *rotateFlags) await(ctx context.Context, name string, was *pki.Cert) (rotation, error) {
	began := collect.Taken()
	var last *pki.Cert
	said := map[string]string{}
	for {
		r, err := f.read(ctx)
		if err != nil && was != nil && ctx.Err() == nil { // it goes on by itself, and the API server may be rolled out
			if collect.Taken().Sub(began) >= f.wait {
				return rotation{}, &exitError{code: exitIncomplete, err: withHint(fmt.Errorf("it is done, and how far it is could not be read: %w", err), "%s rotate status %s", f.seen.app.Called, name)}
			}
			select {
			case <-ctx.Done():
			case <-time.After(min(askAgain, f.wait)):
			}
			continue
		}
		if err != nil {
			return rotation{}, err
		}
		p := rotation{rotations: r}
		if p.of, err = r.find(f.seen.app, name); err != nil {
			return p, err
		}
		now := collect.Taken()
		stages := p.chain(p.of).Stages()
		f.progress(stages, said, now.Sub(began))
		// Two owners may each have made one, and the last one stays: it counts when it
		// has stood for two readings.
		stands := sameCert(p.of.Cert(), last) && !sameCert(p.of.Cert(), was)
		if last = p.of.Cert(); f.through(p, stages) && (stands || was == nil) || now.Sub(began) >= f.wait {
			return p, nil
		}
		select {
		case <-ctx.Done():
			return p, &exitError{code: exitIncomplete, err: withHint(errors.New("interrupted while following it; it goes on by itself"), "%s rotate status %s", f.seen.app.Called, name)}
		case <-time.After(min(askAgain, max(0, f.wait-now.Sub(began)))):
		}
	}
}

func sameCert(a, b *pki.Cert) bool { return a != nil && b != nil && a.Fingerprint == b.Fingerprint }

// through reports whether there is nothing more to wait for. What a signer signs may
// follow days later.
func (f *rotateFlags) through(p rotation, stages []remediate.Stage) bool {
	return !slices.ContainsFunc(stages, func(s remediate.Stage) bool {
		return s.Reached == catalog.No && (s.Name != remediate.StageLeaf || !p.of.Signer())
	})
}

// progress says on stderr which stages are new, while it is waited for them.
func (f *rotateFlags) progress(stages []remediate.Stage, said map[string]string, after time.Duration) {
	if f.wait == 0 {
		return
	}
	for _, s := range stages {
		if said[s.Name] != s.Reached.String() {
			said[s.Name] = s.Reached.String()
			printf(f.seen.app.Streams.ErrOut, "after %s: %s %s: %s\n", duration.HumanDuration(after), reachedMark(s.Reached), s.Name, clean(s.Text))
		}
	}
}

func reachedMark(a catalog.Answer) string {
	return map[catalog.Answer]string{catalog.Yes: "✓", catalog.No: "…", catalog.Unknown: "?"}[a]
}

// follow waits for a certificate that was just triggered, and tells how it went.
func (f *rotateFlags) follow(ctx context.Context, triggered rotation) error {
	f.shown = true
	p, err := f.await(ctx, triggered.of.At.Namespace+"/"+triggered.of.At.Name, triggered.of.Cert())
	if err != nil {
		return err
	}
	stages := p.chain(p.of).Stages()
	if f.output == "" {
		printf(f.seen.app.Streams.Out, "\n")
		if err := printStages(f.seen.app.Streams.Out, p, stages); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	if sameCert(p.of.Cert(), triggered.of.Cert()) {
		return &exitError{code: exitFindings, err: fmt.Errorf("%s is still the certificate of before", p.of.At)}
	}
	if p.of.Signer() { // what it signs follows by itself
		stages = slices.DeleteFunc(stages, func(s remediate.Stage) bool { return s.Name == remediate.StageLeaf && s.Reached == catalog.No })
	}
	return verdictOn(stages)
}

func (f *rotateFlags) showStages(p rotation, stages []remediate.Stage) error {
	out := f.seen.app.Streams.Out
	if f.output == "" {
		return printStages(out, p, stages)
	}
	c := p.facts.Snapshot.Cluster
	d := rotationStatusDocument{
		APIVersion: inspect.InventoryAPIVersion, Kind: "RotationStatus", Server: c.Server, Version: c.Versions.Cluster, Taken: p.facts.Snapshot.Taken,
		Secret: p.of.At.Namespace + "/" + p.of.At.Name, Stages: []rotationStage{},
	}
	if cert := p.of.Cert(); cert != nil {
		d.Certificate = &planCert{cert.Fingerprint, cert.Subject, cert.NotBefore, cert.NotAfter}
	}
	for _, s := range stages {
		d.Stages = append(d.Stages, rotationStage{s.Name, s.Reached.String(), s.Text, s.Next})
	}
	return printDocument(out, f.output, d)
}

func printStages(out io.Writer, p rotation, stages []remediate.Stage) error {
	w := &strings.Builder{}
	printf(w, "%s, of %s\n", p.of.At, p.owner())
	if cert := p.of.Cert(); cert != nil {
		printf(w, "  %s\n  %s\n", cert.Subject, identity(cert))
	}
	for _, s := range stages {
		wrap(w, fmt.Sprintf("%s %-11s", reachedMark(s.Reached), s.Name), s.Text)
		if s.Reached != catalog.Yes && s.Next != "" {
			wrap(w, "    next: ", s.Next)
		}
	}
	_, err := io.WriteString(out, cleanLines(w.String()))
	return err
}
