package fixapiintcmd

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// ca finds out what kubelets are to trust.
func (f *fixFlags) ca(ctx context.Context, w *apply.Session, fix *apiint.Repair) error {
	if w.Conn != nil { // else it is not known, as where it can't be read
		fix.Since, _ = w.Conn.Cluster.Changed(ctx, catalog.APIServerCA())
	}
	if f.caFile != "" {
		fix.CASource, fix.CA = "--ca-file "+f.caFile, f.given
		return nil
	}
	if f.caFrom != "" && (w.Conn == nil || w.Conn.Unauthenticated != "") {
		fix.CASource, fix.CA = "--api-ca-from "+f.caFrom, f.given
		return nil
	}
	if w.Conn == nil && w.Choice.Local {
		// This machine may be a master, which has them.
		err := w.OnNode(ctx, w.Names()[0], func(ctx context.Context, n nodeexec.Node) (err error) {
			fix.CA, err = connect.MasterCAs(ctx, n)
			return err
		})
		if err == nil {
			fix.CASource = "this master's " + catalog.NodeKubeconfigs + ", or its kube-apiserver's newest revision, or kubeadm's " + catalog.KubeadmCA
			return nil
		}
	}
	if w.Conn == nil {
		var published, disk []string
		for _, row := range catalog.KubeletSetups(catalog.Versions{}) {
			published = append(published, fmt.Sprintf("%s (%s)", row.CA, row.Name))
			disk = append(disk, fmt.Sprintf("%s (%s)", row.MasterCAFile, row.Name))
		}
		return cli.WithHint(fmt.Errorf("the CA for kubelets is in %s, and no API server can be asked: %w", strings.Join(published, " or "), w.NoAPI),
			"read it from a master with --api-ca-from ssh://core@MASTER, or give it with --ca-file FILE: on a master it is in %s; it is checked against the certificate that the API server presents", strings.Join(disk, " or "))
	}
	row := w.Conn.Setup(ctx)
	var err error
	fix.CASource, fix.Published = row.CA.String(), row.HasOperators
	if fix.CA, err = w.Conn.Cluster.Value(ctx, row.CA); err != nil {
		return cli.WithHint(err, "give the CA with --ca-file FILE; %s", inspect.Hints{}.Unread(inspect.MayGet("configmaps", row.CA.Namespace)))
	}
	return nil
}

// offline shows the plan for facts from a file.
func (f *fixFlags) offline(ctx context.Context) error {
	if f.DryRun == apply.DryRunNone && f.scripts == "" {
		return errors.New("--from makes a plan and changes nothing: --dry-run=client goes with it")
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
	s = f.Accepted(s)
	a := &apply.Run{Options: apply.Options{App: f.App, DryRun: f.DryRun == apply.DryRunClient, Output: f.Output}, Command: f.command(), Run: remediate.NewRun(s.Taken)}
	if err := f.afterInFile(s, &fix); err != nil {
		return err
	}
	a.Plan = func(ctx context.Context) (*remediate.Plan, error) {
		p, err := f.plan(fix, a.Run, s)
		return p, f.Preflight(ctx, nil, s, fix.CA, p, err)
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
