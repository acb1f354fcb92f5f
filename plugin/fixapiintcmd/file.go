package fixapiintcmd

import (
	"context"
	"encoding/pem"
	"errors"
	"io"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// offline shows the plan for facts from a file.
func (f *fixFlags) offline(ctx context.Context) error {
	if f.DryRun == apply.DryRunNone && f.scripts == "" {
		return errors.New("--from makes a plan and changes nothing: say --dry-run=client")
	}
	if f.Nodes.Local || f.Nodes.Via != connect.ViaAuto || f.Nodes.SSH.Given() || f.Nodes.AllowPods {
		return connect.ErrFromAndNodes
	}
	if err := connect.CheckFrom(f.from); err != nil {
		return err
	}
	s, fix, err := f.inFile(ctx)
	if err == nil {
		err = connect.Writing(f.Risks, f.given != nil).RefusesCluster(s.Cluster)
	}
	if err != nil {
		return err
	}
	if f.scripts != "" {
		if err := f.checkEmit(); err != nil {
			return err
		}
		return f.emitFor(ctx, nil, fix, s)
	}
	s = f.preflight().Accepted(s)
	a := &apply.Run{Options: apply.Options{App: f.App, DryRun: f.DryRun == apply.DryRunClient, Output: f.Output}, Command: f.command(), Run: remediate.NewRun(s.Taken)}
	if err := f.afterInFile(s, &fix); err != nil {
		return err
	}
	a.Plan = func(ctx context.Context) (*remediate.Plan, error) {
		p, err := f.plan(fix, a.Run, s)
		return p, f.preflight().Preflight(ctx, nil, s, fix.CA, p, err)
	}
	a.PrintBasis = func(out io.Writer, p *remediate.Plan) { apply.AboutCA(out, fix, p) }
	return a.Execute(ctx)
}

// inFile reads facts from files, and says what is asked for of the nodes in them.
func (f *fixFlags) inFile(ctx context.Context) (s inspect.Snapshot, fix apiint.Repair, err error) {
	if f.caFrom != "" {
		return s, fix, connect.ErrFromAndNodes
	}
	fix = apiint.Repair{API: true, ApproveCSRs: f.approve, Rebootstrap: f.rebootstrap}
	named := len(f.Nodes.Nodes) > 0 && f.Nodes.Nodes[0] != connect.AllNodes
	if named {
		fix.Nodes = f.Nodes.Nodes
	}
	if fix.Order, err = f.waves.order(named, f.Risks); err != nil {
		return s, fix, err
	}
	if s, err = (connect.Reading{App: f.App, Config: f.Config, From: f.from}).Read(ctx); err != nil {
		return s, fix, err
	}
	if len(s.Nodes) == 0 {
		return s, fix, cli.WithHint(errors.New("no node is in the file"), "%s snapshot reads them", f.App.ProgramName)
	}
	if s.Status != nil {
		fix.Since = s.Status.Published
	}
	if f.caFile != "" {
		if err := f.give(ctx); err != nil {
			return s, fix, err
		}
		return s, fix, f.ca(ctx, &apply.Session{}, &fix)
	}
	row := catalog.KubeletSetups(s.Cluster.Versions)[0]
	fix.CASource, fix.CA = row.CA.String()+" in the file", published(s, row.CA)
	return s, fix, nil
}

// published is the ConfigMap's value as far as a file of facts has it: the
// certificates, without what may stand between them.
func published(s inspect.Snapshot, ref catalog.Ref) []byte {
	at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
	var out []byte
	for _, b := range s.Bundles {
		if b.At != at {
			continue
		}
		loaded, _ := b.Content.LoadedBy(pki.ReaderGo)
		for _, c := range loaded {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER})...)
		}
	}
	return out
}
