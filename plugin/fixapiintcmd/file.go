package fixapiintcmd

import (
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"io"

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

// offline prints the plan for facts from a file.
func (o *fixOptions) offline(ctx context.Context) error {
	s, fix, err := o.inFile(ctx)
	if err == nil {
		err = o.Purpose.RefusesCluster(s.Cluster)
	}
	if err != nil {
		return err
	}
	if o.scripts != "" {
		return o.emitFor(ctx, nil, fix, s, fix.Nodes == nil)
	}
	for _, name := range o.Nodes.Names {
		if err := connect.NoNode(&s, name, s.Hints); err != nil {
			return err
		}
	}
	s = o.preflight.Accepted(s)
	a := &apply.Execution{Options: o.Options, Command: o.command(), RunID: remediate.NewRun(s.Taken), Summary: !o.details, CASource: fix.CASource,
		Lines: apply.Lines{Apply: o.lines.apply + wayIn(s), OfFile: true, Details: o.lines.details, Reads: cmp.Or(o.lines.reads, wayIn(s))}}
	if !o.named() {
		a.Lines.ApplyNamed = o.lines.applyNamed + wayIn(s)
	}
	if err := o.followUpInFile(s, &fix); err != nil {
		return err
	}
	a.Plan = func(ctx context.Context) (*remediate.Plan, error) {
		return o.checkedPlan(ctx, nil, fix, a, s)
	}
	a.PrintBasis = func(out io.Writer, p *remediate.Plan) { apply.AboutCA(out, fix, p) }
	return a.Execute(ctx)
}

// liveRemark stands below a command that changes a cluster where a file was read.
const liveRemark = "on the live cluster; asks before it changes anything"

// wayIn are the flags by which the nodes in a file can be reached again: a way that has to be named to
// be the first one, and that all of them were read by.
func wayIn(snapshot inspect.Snapshot) string {
	way := ""
	for _, n := range snapshot.Nodes {
		switch {
		case n.Via == "" || n.Via == way:
		case way != "" || !nodeexec.WayOf(n.Via).Resumable:
			return ""
		default:
			way = n.Via
		}
	}
	if way == "" {
		return ""
	}
	return " --via " + way
}

// inFile reads facts from files, and says what is asked for of the nodes in them.
func (o *repairOptions) inFile(ctx context.Context) (s inspect.Snapshot, fix apiint.Repair, err error) {
	fix = apiint.Repair{API: true, ApproveCSRs: o.approve, Rebootstrap: o.rebootstrap, Order: o.order}
	if len(o.Nodes.Names) > 0 {
		fix.Nodes = o.Nodes.Names
	}
	if s, err = (connect.Reading{App: o.App, Config: o.Config, From: o.from}).Read(ctx); err != nil {
		return s, fix, err
	}
	if len(s.Nodes) == 0 {
		return s, fix, cli.WithHint(errors.New("no node is in the file"), "%s snapshot reads them", o.App.ProgramName)
	}
	if s.Status != nil {
		fix.Since = s.Status.Published
		if s.Status.ControlPlane != nil {
			fix.StaticPodNodes = s.Status.ControlPlane.StaticPodNodes()
		}
	}
	if o.source.file != "" {
		fix.CASource = "--ca-file " + o.source.file
		fix.CA, err = o.source.read(ctx, o.App)
		return s, fix, err
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
