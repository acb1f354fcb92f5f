package fixapiintcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// caSource is where a flag says that the CAs are; the zero value: none does.
type caSource struct {
	file   string          // --ca-file; empty: not given
	master *connect.Master // --api-ca-from; nil: not given
}

// toCASource checks the flags that lead to CAs.
func (f *repairFlags) toCASource(ctx context.Context) (s caSource, err error) {
	if f.caFile != "" && f.caFrom != "" {
		return s, errors.New("--ca-file and --api-ca-from are two sources of the CA: give one")
	}
	s.file = f.caFile
	if f.caFrom != "" {
		var master connect.Master
		master, err = f.Nodes.SSH.ToMaster(ctx, f.caFrom)
		s.master = &master
	}
	return s, err
}

// read reads the CAs; nil: no flag leads to any.
func (s caSource) read(ctx context.Context, app cli.App) (cas []byte, err error) {
	switch {
	case s.master != nil:
		return s.master.CAs(ctx, app)
	case s.file != "":
		if cas, err = collect.ReadNamed(ctx, s.file, app.Streams.In, connect.MaxCAFile); err != nil {
			err = fmt.Errorf("--ca-file: %w", err)
		}
	}
	return cas, err
}

// findCA finds out what kubelets are to trust. given are the CAs that a flag leads to.
func (o *repairOptions) findCA(ctx context.Context, w *apply.Session, given []byte, fix *apiint.Repair) error {
	if w.Conn != nil { // else it is unknown, as where it can't be read
		fix.Since, _ = w.Conn.Cluster.Changed(ctx, catalog.APIServerCA())
	}
	if o.source.file != "" {
		fix.CASource, fix.CA = "--ca-file "+o.source.file, given
		return nil
	}
	if o.source.master != nil && (w.Conn == nil || w.Conn.Unauthenticated != "") {
		fix.CASource, fix.CA = "--api-ca-from "+o.source.master.From, given
		return nil
	}
	if w.Conn == nil && w.Choice.Local {
		// This machine may be a master, which has them.
		err := w.OnNode(ctx, w.Names()[0], func(ctx context.Context, n nodeexec.Node) (err error) {
			fix.CA, err = connect.MasterCAs(ctx, n)
			return err
		})
		if err == nil {
			fix.CASource = "this control plane node's " + catalog.NodeKubeconfigs + ", or its kube-apiserver's newest revision, or kubeadm's " + catalog.KubeadmCA
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
			"read it from a control plane node with --api-ca-from ssh://core@NODE, or give it with --ca-file FILE: on a control plane node it is in %s; it is checked against the certificate that the API server presents", strings.Join(disk, " or "))
	}
	row := w.Conn.Setup(ctx)
	var err error
	fix.CASource, fix.Published = row.CA.String(), row.HasOperators
	if fix.CA, err = w.Conn.Cluster.Value(ctx, row.CA); err != nil {
		return cli.WithHint(err, "give the CA with --ca-file FILE; %s", inspect.Hints{}.Unread(inspect.MayGet("configmaps", row.CA.Namespace)))
	}
	return nil
}
