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

// give reads the CAs that flags name. The administrator's own kubeconfig may lack them as
// kubelets' do: see Options.Trust.
func (f *fixFlags) give(ctx context.Context) (err error) {
	switch {
	case f.caFile != "" && f.caFrom != "":
		return errors.New("--ca-file and --api-ca-from are two sources of the CA: give one")
	case f.caFrom != "":
		var master connect.Master
		if master, err = f.Nodes.SSH.ToMaster(ctx, f.caFrom); err == nil {
			f.given, err = master.CAs(ctx, f.App)
		}
	case f.caFile != "":
		f.given, err = collect.ReadNamed(ctx, f.caFile, f.App.Streams.In, connect.MaxCAFile)
	}
	if err != nil && f.caFile != "" {
		err = fmt.Errorf("--ca-file: %w", err)
	}
	return err
}

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
